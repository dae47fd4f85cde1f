// The link to the broker: MQTT 5 over TLS with a client certificate, on Eclipse Paho.
//
// Threads: the owner's thread calls everything here and never waits for the network, not even for a
// name to be resolved. A thread of ours alone calls Paho; Paho's own threads call back and only
// put things into queues. Nothing throws. A program that uses this must ignore SIGPIPE.
//
// Delivery: while there is no link, publish() keeps what mqtt/client/outbox.hpp keeps, within its
// bounds; states are sent again on every connect, since a broker may come back with no memory, and
// so are the subscriptions.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "mqtt/client/connection.hpp"

namespace laird::mqtt {

class Client final : public Connection {
 public:
  // Starts to connect and returns. A broker that is away is no error; options that can never work
  // are: no such file, a key that does not fit its certificate, an expired one, a malformed
  // address.
  [[nodiscard]] static Result<std::unique_ptr<Client>> create(Options options);
  ~Client() override;

  [[nodiscard]] int ready_fd() const override;
  [[nodiscard]] Batch take(std::size_t messages_max = SIZE_MAX) override;
  void publish(Outgoing message) override;
  bool subscribe(const std::string& filter, int qos) override;
  bool unsubscribe(const std::string& filter) override;
  void yield_to_other() override;
  [[nodiscard]] bool connected() const override;
  [[nodiscard]] Counters counters() const override;
  void close(Outgoing last_word, DurationNs wait_max) override;

 private:
  struct Core;
  explicit Client(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace laird::mqtt
