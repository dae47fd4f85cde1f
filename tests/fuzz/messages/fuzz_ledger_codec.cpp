// Any bytes either decode to a message that encodes back to the same bytes, or are refused.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "consensus/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto message = laird::consensus::decode(bytes);
  if (!message) return 0;
  laird::Bytes again;
  laird::consensus::encode(*message, again);
  if (again.size() != size || std::memcmp(again.data(), data, size) != 0) std::abort();
  return 0;
}
