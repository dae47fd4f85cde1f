// A broker and the network around it, in virtual time: sessions, retained messages, wills and QoS
// as MQTT 5 has them, over links that delay, lose, repeat, fall silent and are cut.
//
// What a link may do to a message: one of QoS 0 can be lost, come twice or late; one of QoS 1 can
// come twice or late, and is sent again after a cut. Messages of one connection stay in order, as
// over TCP.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/network/carry.hpp"
#include "mqtt/client/connection.hpp"
#include "mqtt/client/outbox.hpp"
#include "tests/virtual/timeline.hpp"

namespace laird::test {

class FakeBroker;

struct LinkQuality {
  DurationNs delay_min = kMillisecond;
  DurationNs delay_max = 20 * kMillisecond;
  double loss = 0.0;       // the chance of a message of QoS 0
  double duplicate = 0.0;  // of both
};

class FakeConnection final : public mqtt::Connection {
 public:
  // `signal` is called with true when take() has something to give, with false when it has not.
  FakeConnection(FakeBroker& broker, mqtt::Options options, int fd,
                 std::function<void(bool)> signal);
  ~FakeConnection() override;

  [[nodiscard]] int ready_fd() const override { return fd_; }
  [[nodiscard]] Batch take(std::size_t messages_max = SIZE_MAX) override;
  void publish(mqtt::Outgoing message) override;
  bool subscribe(const std::string& filter, int qos) override;
  bool unsubscribe(const std::string& filter) override;
  void yield_to_other() override;
  [[nodiscard]] bool connected() const override { return connected_; }
  [[nodiscard]] mqtt::Counters counters() const override { return counters_; }
  void close(mqtt::Outgoing last_word, DurationNs wait_max) override;

  // The process behind it is gone, without a word: whatever it still says is not heard.
  void die();

 private:
  friend class FakeBroker;
  void try_to_connect();
  void lose_link(const std::string& why);
  void flush();
  void send(mqtt::Outgoing message);
  void hear(mqtt::Incoming message);
  void changed(bool connected, std::string why);

  FakeBroker& broker_;
  const mqtt::Options options_;
  const int fd_;
  const std::function<void(bool)> signal_;
  // Plans that outlive the connection find this gone.
  std::shared_ptr<FakeConnection*> self_ = std::make_shared<FakeConnection*>(this);
  std::map<std::string, int> filters_;
  mqtt::Outbox outbox_;
  mqtt::Counters counters_;
  Batch batch_;
  bool connected_ = false;
  bool dead_ = false;
  std::uint64_t link_ = 0;  // counts connections made and lost
  lab::InOrder to_broker_;
  DurationNs retry_ = 0;
};

class FakeBroker {
 public:
  FakeBroker(Timeline& time, Chance& chance) : time_(time), chance_(chance) {}

  // How the client of that name reaches the broker from now on; `cut`: not at all.
  void set_link(const std::string& client, const LinkQuality& quality) { links_[client] = quality; }
  void cut(const std::string& client, DurationNs for_ns);
  // Everybody is thrown out; `forget`: it comes back without sessions and retained messages.
  void stop(bool forget);
  void start();
  [[nodiscard]] bool running() const { return running_; }

  [[nodiscard]] const std::map<std::string, std::string>& retained() const { return retained_; }
  [[nodiscard]] std::uint64_t routed() const { return routed_; }

 private:
  friend class FakeConnection;
  struct Session {
    std::map<std::string, int> filters;
    std::deque<std::pair<mqtt::Incoming, TimeNs>> queued;  // QoS 1, while the client is away
    FakeConnection* client = nullptr;
    std::optional<mqtt::Outgoing> will;
    std::uint64_t attached = 0;  // counts the times somebody came
    lab::InOrder to_client;
  };

  [[nodiscard]] bool reachable(const std::string& client) const;
  // What the client's link does to a message of that QoS.
  [[nodiscard]] LinkQuality link(const std::string& client, int qos) const;
  void attach(FakeConnection& client);
  void detach(FakeConnection& client, bool with_will);
  void subscribed(Session& session, const std::string& filter);
  void route(const mqtt::Outgoing& message);
  [[nodiscard]] const std::vector<std::string>& hearers_of(const std::string& topic);
  void deliver(const std::string& client, Session& session, const mqtt::Incoming& message,
               TimeNs expires);

  static constexpr std::size_t kQueuedMax = 1000;

  Timeline& time_;
  Chance& chance_;
  bool running_ = true;
  std::map<std::string, Session> sessions_;
  std::map<std::string, LinkQuality> links_;
  std::map<std::string, TimeNs> cut_until_;
  std::map<std::string, std::string> retained_;
  // Who hears a topic, worked out when it is first used; forgotten when anybody's filters change.
  std::map<std::string, std::vector<std::string>> hearers_;
  std::uint64_t routed_ = 0;
};

}  // namespace laird::test
