// Any bytes are refused or come apart into messages that make the same bytes again. The same for
// base64.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/coop.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto messages = laird::mqtt::parse_coop(bytes)) {
    laird::mqtt::CoopWriter writer;
    for (const std::string_view message : *messages) {
      if (!writer.add(message)) std::abort();
    }
    if (writer.take() != bytes) std::abort();
  }
  if (const auto part = laird::mqtt::parse_model_part(bytes)) {
    if (laird::mqtt::model_payload(part->task, part->bytes) != bytes) std::abort();
  }
  if (const auto raw = laird::mqtt::from_base64(bytes)) {
    if (laird::mqtt::to_base64(*raw) != bytes) std::abort();
  }
  if (laird::mqtt::from_base64(laird::mqtt::to_base64(bytes)) != bytes) std::abort();
  return 0;
}
