// lairctl's connection to a fleet: collects what the boards say and sends them signed commands.
//
// Short-lived and of one thread. Every run has a client name of its own, the operator's name and a
// random end, so that two terminals of one operator do not throw each other out; replies come to
// res/<that name>/<board>.
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

// What to listen to besides the replies.
enum class Listen : std::uint8_t {
  kNothing,
  kStates,  // status, info, report, tasks, the budget
  kEvents,  // the same and events
};

struct SentCommand {
  std::string id;
  std::string to;
  // After this the board refuses it, however its clock is set within the allowed skew.
  SteadyTime dead_at;
};

class FleetClient {
 public:
  // Returns when connected and, with kStates, when all that was retained has been heard.
  [[nodiscard]] static Result<std::unique_ptr<FleetClient>> open(Access access, Listen listen,
                                                                 DurationNs timeout);
  ~FleetClient();
  FleetClient(const FleetClient&) = delete;
  FleetClient& operator=(const FleetClient&) = delete;

  [[nodiscard]] const Access& access() const { return access_; }
  [[nodiscard]] FleetView& view() { return view_; }
  [[nodiscard]] bool connected() const { return client_->connected(); }
  // How often the link came up; more than once when it was away in between.
  [[nodiscard]] std::uint64_t connects() const { return client_->counters().connects; }
  // Readable while wait() has something to take.
  [[nodiscard]] int ready_fd() const { return client_->ready_fd(); }
  [[nodiscard]] const std::string& client_name() const { return name_; }

  // Takes messages until `done` says so or the time is over; false in the second case.
  bool wait(SteadyTime until, const std::function<bool()>& done);

  // Signs and sends. `to`: a board or "all"; `life`: how long the board may still take it.
  [[nodiscard]] Result<SentCommand> send(const std::string& to, const std::string& verb,
                                         json::Value body, DurationNs life);
  // The replies so far to a command, by board.
  [[nodiscard]] const std::map<std::string, mqtt::Reply>& replies(const std::string& id) const;

  // Sends and waits for one board's answer.
  [[nodiscard]] Result<mqtt::Reply> ask(const std::string& to, const std::string& verb,
                                        json::Value body, DurationNs timeout);
  // Sends to all and waits until each of `boards` answered or the time is over.
  [[nodiscard]] Result<std::map<std::string, mqtt::Reply>> ask_all(
      const std::string& verb, json::Value body, const std::set<std::string>& boards,
      DurationNs timeout);

  // Sends it to each of `boards`, signed for each, and waits until all answered or the time is
  // over.
  [[nodiscard]] Result<std::vector<SentCommand>> send_each(const std::string& verb,
                                                           const json::Value& body,
                                                           const std::set<std::string>& boards,
                                                           DurationNs timeout);
  // The replies to those commands, by board.
  [[nodiscard]] std::map<std::string, mqtt::Reply> replies_to(
      const std::vector<SentCommand>& commands) const;
  // The same, only the replies.
  [[nodiscard]] Result<std::map<std::string, mqtt::Reply>> ask_each(
      const std::string& verb, const json::Value& body, const std::set<std::string>& boards,
      DurationNs timeout);

  // Publishes the budget, signed and retained, and waits until the broker has it.
  [[nodiscard]] Status publish_plan(const json::Value& budget, DurationNs timeout);
  // Whether the retained budget, if there is one, bears this operator's own signature; load_key()
  // must have been called.
  [[nodiscard]] bool plan_is_mine() const;
  // Reads the signing key, if it has not been read yet.
  [[nodiscard]] Status load_key();

  // Publishes where no operator may; true when the broker refused it, as it must.
  [[nodiscard]] Result<bool> is_forbidden(const std::string& topic, DurationNs timeout);

 private:
  FleetClient(Access access, std::string name);
  [[nodiscard]] Result<std::string> seal(const mqtt::Command& command);
  void take();
  void publish(mqtt::Outgoing message);
  [[nodiscard]] Status sync(SteadyTime until);

  Access access_;
  std::string name_;
  std::unique_ptr<mqtt::Client> client_;
  std::unique_ptr<mqtt::SigningKey> key_;
  FleetView view_;
  std::map<std::string, std::map<std::string, mqtt::Reply>> replies_;  // by command, by board
  std::string why_;
  std::vector<std::string> problems_;
  std::string marker_topic_;
  bool marked_ = false;
  std::uint64_t published_ = 0;
};

[[nodiscard]] std::int64_t unix_ms_now();
[[nodiscard]] SteadyTime after(DurationNs wait);
// Hexadecimal digits from the system's random source.
[[nodiscard]] std::string random_hex(std::size_t digits);

}  // namespace laird::control
