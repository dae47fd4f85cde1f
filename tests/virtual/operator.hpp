// Whoever steers a virtual fleet: signs commands, sends them again until they are answered or
// expire, as lairctl does, and knows what the boards have promised.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "json/value.hpp"
#include "mqtt/sign/ed25519.hpp"
#include "tests/virtual/fake_broker.hpp"

namespace laird::test {

class Operator {
 public:
  static constexpr const char* kName = "op-alice";
  using Answered = std::function<void(const std::string& code, const std::string& text)>;

  Operator(Timeline& time, FakeBroker& broker);

  // The base64 of the public key, for the boards' configs.
  [[nodiscard]] std::string key() const;
  // Answered once: with the board's code, or with "no answer" when the command has expired.
  void command(const std::string& board, const std::string& verb, json::Value body,
               Answered answered);
  // Somebody who has heard everything sends a board again what was signed for it within the two
  // minutes that ended so long ago.
  void repeat(const std::string& board, DurationNs ago);
  // The fleet's budget, retained, as `lairctl cap set` publishes it.
  void set_budget(json::Value body);

 private:
  struct Asked {
    std::string board;
    mqtt::Outgoing message;
    TimeNs expires = 0;
    Answered answered;
  };

  void send_again(const std::string& id);
  void hear(const mqtt::Incoming& message);
  [[nodiscard]] std::string sealed(const std::string& board, const std::string& verb,
                                   const std::string& id, json::Value body,
                                   std::int64_t valid_ms) const;

  Timeline& time_;
  mqtt::SigningKey key_;
  std::unique_ptr<FakeConnection> connection_;
  std::map<std::string, Asked> asked_;
  struct Sent {
    TimeNs at = 0;
    std::string board;
    mqtt::Outgoing message;
  };
  std::vector<Sent> sent_;
  std::uint64_t next_id_ = 1;
};

}  // namespace laird::test
