// The page's server: one thread, few browsers, bounded memory. It takes what the fleet says from
// the client and tells it to the browsers as server-sent events.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/fleet/fleet_client.hpp"
#include "control/serve/browser_queue.hpp"
#include "control/serve/feed.hpp"
#include "control/serve/guard.hpp"
#include "control/serve/order_runner.hpp"
#include "http/response.hpp"
#include "os/fd.hpp"

namespace laird::control::serve {

inline constexpr std::size_t kBrowsersMax = 8;   // that watch
inline constexpr std::size_t kVisitorsMax = 32;  // connections of any kind
inline constexpr std::size_t kQuestionsMax = 8;  // to boards, under way

struct ServerOptions {
  std::string listen;  // "127.0.0.1:9478"
  Guard guard;
  FeedOptions feed;
  DurationNs timeout = 10 * kSecond;  // for a board's answer
};

class Server {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(ServerOptions options,
                                                            FleetClient& client,
                                                            OrderRunner& orders);
  // Until a signal that `signals` tells of. Returns its number.
  [[nodiscard]] int run(int signals);

 private:
  struct Visitor {
    Fd fd;
    std::uint64_t number = 0;  // in the order in which they came
    std::string asked;
    BrowserQueue out;
    bool answered = false;    // nothing more is read from it
    bool watching = false;    // it gets every change
    TimeNs until = 0;         // then it is dropped
    std::string question;     // id of the command whose reply it waits for
    std::string board;        // that was asked
    std::uint64_t order = 0;  // that it waits for
  };

  Server(ServerOptions options, FleetClient& client, OrderRunner& orders, Fd listener);
  void wait_for_something(int signals);
  void tick();
  void accept_some();
  void make_room();
  void read_some(Visitor& visitor);
  void write_some(Visitor& visitor);
  void handle(Visitor& visitor, const http::Request& request);
  void watch(Visitor& visitor);
  void take_order(Visitor& visitor, const http::Request& request);
  void ask_why(Visitor& visitor, const http::Request& request);
  void collect_replies();
  void collect_orders();
  void answer(Visitor& visitor, http::Response response);
  void answer_json(Visitor& visitor, int status, const json::Value& value);
  void refuse(Visitor& visitor, int status, const std::string& why);
  void drop_late();
  [[nodiscard]] Link link() const { return {link_up_, link_since_ / kMillisecond}; }
  [[nodiscard]] TimeNs now() const;

  ServerOptions options_;
  FleetClient& client_;
  OrderRunner& orders_;
  Fd listener_;
  Feed feed_;
  std::map<int, Visitor> visitors_;  // by descriptor
  std::uint64_t came_ = 0;
  bool link_up_ = true;
  TimeNs link_since_ = 0;
  TimeNs tick_at_ = 0;
};

// The wall clock at the first call, and from then on what the steady clock adds: it never goes
// back.
[[nodiscard]] TimeNs steady_wall_ns();

}  // namespace laird::control::serve
