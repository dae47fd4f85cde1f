// lairctl's connection to a fleet: collects what the boards say and sends them signed commands.
//
// It lives as long as one lairctl command and runs on one thread. Every run connects under its own
// client name, the operator's name with a random end: a broker throws out the older of two clients
// of one name, and an operator may use two terminals. Replies come to res/<client name>/<board>.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "control/fleet/access.hpp"
#include "control/fleet/fleet_view.hpp"
#include "mqtt/client/client.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/sign/ed25519.hpp"

namespace laird::control {

using SteadyTime = std::chrono::steady_clock::time_point;

// Which topics to subscribe to besides the replies.
enum class Listen : std::uint8_t {
  kNothing,
  kStates,  // status, info, report, tasks, the budget
  kEvents,  // what kStates has, and events
  kJoin,    // what kEvents has, and boards that ask for a place in the fleet
  kLive,    // what kEvents has, and telemetry: for a view that stays open for days
};

struct SentCommand {
  std::string id;
  std::string to;
  // From this moment on the board refuses the command, for every clock within the allowed skew.
  SteadyTime dead_at;
};

class FleetClient {
 public:
  // Returns when connected and, unless it listens to nothing, when every retained message has come.
  [[nodiscard]] static Result<std::unique_ptr<FleetClient>> open(Access access, Listen listen,
                                                                 DurationNs timeout);
  ~FleetClient();
  FleetClient(const FleetClient&) = delete;
  FleetClient& operator=(const FleetClient&) = delete;

  [[nodiscard]] const Access& access() const { return access_; }
  [[nodiscard]] FleetView& view() { return view_; }
  [[nodiscard]] bool connected() const { return client_->connected(); }
  // How often the link came up. More than once means that it was lost in between.
  [[nodiscard]] std::uint64_t connects() const { return client_->counters().connects; }
  // A file that is readable while there are messages for wait() to take.
  [[nodiscard]] int ready_fd() const { return client_->ready_fd(); }
  [[nodiscard]] const std::string& client_name() const { return name_; }

  // Takes messages until `done` returns true; false when the time is over before that.
  bool wait(SteadyTime until, const std::function<bool()>& done);

  // Signs and sends a command to a board or to "all". A board refuses it once `valid_for` has
  // passed. While wait() waits and no answer has come, the same envelope is sent again a few times:
  // a board does it once, whatever arrives.
  [[nodiscard]] Result<SentCommand> send(const std::string& to, const std::string& verb,
                                         json::Value body, DurationNs valid_for);
  // Drops the replies to a command, and sends it no more. Who lives long forgets what it has done.
  void forget(const std::string& id);
  // The replies to a command that have come so far, by board.
  [[nodiscard]] const Replies& replies(const std::string& id) const;

  // Sends a command to one board and waits for its reply.
  [[nodiscard]] Result<mqtt::Reply> ask(const std::string& to, const std::string& verb,
                                        json::Value body, DurationNs timeout);
  // Sends a command to all and waits until each of `boards` has replied or the time is over.
  [[nodiscard]] Result<Replies> ask_all(const std::string& verb, json::Value body,
                                        const std::set<std::string>& boards, DurationNs timeout);

  // Sends a command of its own to each of `boards` and waits until all of them have replied or the
  // time is over.
  [[nodiscard]] Result<std::vector<SentCommand>> send_each(const std::string& verb,
                                                           const json::Value& body,
                                                           const std::set<std::string>& boards,
                                                           DurationNs timeout);
  // The replies to the commands of send_each, by board.
  [[nodiscard]] Replies replies_to(const std::vector<SentCommand>& commands) const;
  // send_each and replies_to in one.
  [[nodiscard]] Result<Replies> ask_each(const std::string& verb, const json::Value& body,
                                         const std::set<std::string>& boards, DurationNs timeout);

  // Publishes the budget, signed and retained, and waits until the broker has acknowledged it.
  [[nodiscard]] Status publish_budget(const json::Value& budget, DurationNs timeout);
  // Whether there is a retained budget and this operator signed it. Call load_key() before.
  [[nodiscard]] bool budget_is_mine() const;
  // Reads the signing key, if it has not been read yet.
  [[nodiscard]] Status load_key();

  // Publishes the list of revoked certificates, retained, and waits until the broker has it.
  [[nodiscard]] Status publish_revocations(const std::string& pem, DurationNs timeout);

  // What came of boards that ask for their place, since the last call, as it came: at most
  // kAsksMax, the first ones. Nothing of it has been checked.
  static constexpr std::size_t kAsksMax = 20'000;
  [[nodiscard]] std::vector<std::string> take_asks() { return std::exchange(asks_, {}); }
  // Publishes the answers, each by the fingerprint of the key that asked, retained for as long as a
  // board may be away, and waits until the broker has them.
  [[nodiscard]] Status answer_asks(const std::map<std::string, std::string>& answers,
                                   DurationNs timeout);

  // Publishes to a topic that is closed to operators. True when the broker refuses that, as it
  // must.
  [[nodiscard]] Result<bool> is_forbidden(const std::string& topic, DurationNs timeout);

 private:
  FleetClient(Access access, std::string name, ViewLimits limits);
  void on_link_lost();
  void on_link_up();
  [[nodiscard]] Result<std::string> seal(const mqtt::Command& command);
  void take();
  void publish(mqtt::Outgoing message);
  [[nodiscard]] Status published_well(std::uint64_t refused_before, DurationNs timeout);
  [[nodiscard]] mqtt::Outgoing marker() const;
  void send_again();
  [[nodiscard]] Status settle(SteadyTime until);
  [[nodiscard]] Status sync(SteadyTime until);

  Access access_;
  std::string name_;
  std::unique_ptr<mqtt::Client> client_;
  std::unique_ptr<mqtt::SigningKey> key_;
  FleetView view_;
  std::map<std::string, Replies> replies_;  // by command, by board
  struct Unanswered {
    mqtt::Outgoing message;
    SteadyTime again_at;
    int left = 0;  // times that it may be sent again
  };
  std::map<std::string, Unanswered> unanswered_;  // by command
  std::string why_;
  std::vector<std::string> problems_;
  std::vector<std::string> asks_;
  std::string marker_topic_;
  bool marked_ = false;
  bool beginning_ = false;  // the link was lost, and what is there is told anew
  std::uint64_t seen_connects_ = 0;
  std::uint64_t published_ = 0;
};

[[nodiscard]] std::int64_t unix_ms_now();
[[nodiscard]] SteadyTime after(DurationNs wait);
// Hexadecimal digits from the system's random source.
[[nodiscard]] std::string random_hex(std::size_t digits);

}  // namespace laird::control
