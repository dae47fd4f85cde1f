// What the three kinds of threads share: Paho's (client_events.cpp), our worker, which alone calls
// Paho (client_worker.cpp), and the owner's (client.cpp). Core::mutex is held for moments only and
// never while Paho is called: its callbacks come under a lock of its own.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>

#include "mqtt/client/client.hpp"
#include "mqtt/client/paho_link.hpp"

namespace laird::mqtt {

inline constexpr auto kDiagnoseAfter = std::chrono::seconds(5);  // of an outage, and then
inline constexpr auto kDiagnoseEvery = std::chrono::minutes(5);
inline constexpr const char* kLinkLost = "the connection was lost";

using SteadyClock = std::chrono::steady_clock;

[[nodiscard]] inline TimeNs steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now().time_since_epoch())
      .count();
}

struct Client::Core final : LinkEvents {
  // One message in Paho's hands. The context of its callbacks; never moves.
  struct Slot {
    Outgoing message;
    bool busy = false;
  };

  explicit Core(Options given)
      : options(std::move(given)),
        outbox(options.outbox),
        slots(options.in_flight_max),
        filters(options.subscriptions.begin(), options.subscriptions.end()) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() {
    if (event_fd >= 0) ::close(event_fd);
  }

  // --- called by Paho's threads ---
  void link_up() override;
  void link_down(const std::string& cause) override;
  void taken_over() override;
  void connect_failed(const std::string& reason, bool by_broker) override;
  [[nodiscard]] bool wants(const std::string& topic, int qos, std::size_t bytes) override;
  void arrived(Incoming message, std::size_t oversized_bytes) override;
  void published(void* context, Delivery how, int reason) override;
  void subscribed(const std::string& filter, Delivery how) override;

  // --- called by the worker ---
  static void run(const std::shared_ptr<Core>& core);
  void attempt(std::unique_lock<std::mutex>& lock);
  void go_home(std::unique_lock<std::mutex>& lock);
  void end_link(std::unique_lock<std::mutex>& lock);
  void yield(std::unique_lock<std::mutex>& lock);
  void work(const std::shared_ptr<Core>& self);
  void pump(std::unique_lock<std::mutex>& lock);
  void change_subscriptions(std::unique_lock<std::mutex>& lock);
  void hand_over(Slot& slot, std::unique_lock<std::mutex>& lock);
  void drain(std::unique_lock<std::mutex>& lock);

  // --- called by a thread for it alone: a resolver may hold it for long ---
  static void diagnose(const std::shared_ptr<Core>& core);
  static void look_home(const std::shared_ptr<Core>& core, std::size_t before);

  // --- with the mutex held ---
  void signal();
  void problem(std::string text);
  void broke(std::uint64_t connection);
  void announce();
  void lost();
  void attempt_failed();
  [[nodiscard]] std::chrono::milliseconds pause(std::uint32_t seconds);
  [[nodiscard]] SteadyClock::time_point next_due() const;
  [[nodiscard]] bool has_room_for(const std::string& topic, int qos, std::size_t bytes);
  void leave_inbox(const std::string& topic);
  [[nodiscard]] Slot* free_slot();
  [[nodiscard]] std::size_t in_flight() const;
  [[nodiscard]] bool has_work() const {
    return up && (!to_subscribe.empty() || !to_leave.empty() ||
                  (!outbox.empty() && in_flight() < slots.size()));
  }

  [[nodiscard]] bool is_watching() const {
    return !up && !diagnosing && diagnose_at != SteadyClock::time_point::max();
  }
  [[nodiscard]] bool diagnosis_due() const {
    return is_watching() && SteadyClock::now() >= diagnose_at;
  }
  [[nodiscard]] bool attempt_due() const { return !up && SteadyClock::now() >= attempt_at; }
  [[nodiscard]] bool look_home_due() const {
    return up && at != 0 && !looking_home && SteadyClock::now() >= look_home_at;
  }

  Options options;
  std::vector<std::uint16_t> ports;  // of the brokers
  int event_fd = -1;

  mutable std::mutex mutex;
  std::condition_variable wake;    // the worker waits for work
  std::condition_variable closed;  // close() waits for the worker
  Outbox outbox;
  std::vector<Slot> slots;
  std::deque<Incoming> inbox;
  struct TopicShare {
    std::size_t waiting = 0;
    std::size_t in_second = 0;  // taken in the second that began then
    SteadyClock::time_point since{};
  };
  std::map<std::string, TopicShare> inbox_by_topic;  // of QoS 0
  std::size_t inbox_bytes = 0;
  std::vector<std::string> problems;
  std::set<std::string> refused_topics;
  std::map<std::string, int> filters;  // subscribed to, with their QoS
  // A session at the broker outlives the connection, and the agent: it is told each time.
  std::set<std::string> left;
  std::set<std::string> to_subscribe;  // of `filters`, not asked for yet on this connection
  std::set<std::string> to_leave;
  std::set<std::string> awaited;  // filters whose subscription is not acknowledged yet
  Counters counters;
  std::uint64_t dropped_told = 0;
  std::string why = "connecting";
  bool up = false;
  bool announced = false;  // up, and subscribed: what we are sent from now on arrives
  bool link_changed = false;
  bool signalled = false;
  bool closing = false;
  bool done = false;
  bool diagnosing = false;
  std::size_t at = 0;      // which of the brokers the link is to, or is tried at
  std::size_t failed = 0;  // attempts that failed since there was a link
  bool attempting = false;
  SteadyClock::time_point attempt_at{};  // the next, or when the one under way has taken too long
  std::random_device random;
  bool looking_home = false;
  std::optional<std::size_t> home;  // an earlier broker of the list that answers
  SteadyClock::time_point look_home_at = SteadyClock::time_point::max();
  bool yielding = false;  // to another client of our id
  bool tell_taken_over = false;
  std::uint32_t yield_s = 0;  // the next time
  SteadyClock::time_point yield_until = SteadyClock::time_point::max();
  SteadyClock::time_point diagnose_at = SteadyClock::time_point::max();
  SteadyClock::time_point close_by = SteadyClock::time_point::max();

  std::unique_ptr<PahoLink> link;  // of the worker alone
};

}  // namespace laird::mqtt
