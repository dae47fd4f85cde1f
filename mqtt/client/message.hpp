// What goes to and comes from the broker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace laird::mqtt {

// What a message is for decides what is dropped first and what is kept while the broker is away.
enum class Class : std::uint8_t {
  kPeer,       // ledger messages: the next tick makes new ones
  kTelemetry,  // the next sample is as good
  kState,      // retained: the newest of each topic is kept and sent again on every connect
  kEvent,      // kept for when the link is back, the oldest dropped when the ring is full
  kReply,      // an answer somebody waits for
  kModel,      // parts of a model: the receiver asks for what is missing
};
inline constexpr std::size_t kClasses = 6;

struct Outgoing {
  std::string topic;
  std::string payload;
  Class kind = Class::kTelemetry;
  bool retained = false;
  std::uint8_t qos = 0;        // 0 or 1; never 2
  std::uint32_t expiry_s = 0;  // counted from publish(); 0: none
  std::string response_topic;  // none when empty
  std::string correlation;     // any bytes; none when empty
  bool json = true;            // says so in the content type; false: application/octet-stream
};

struct Incoming {
  std::string topic;
  std::string payload;
  bool retained = false;
  std::uint8_t qos = 0;
  std::string response_topic;
  std::string correlation;
};

}  // namespace laird::mqtt
