// Any bytes as an event or a command of a journal: what decodes encodes to the same bytes.
#include <cstddef>
#include <cstdint>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "base/require.hpp"

namespace {

using namespace laird;

template <class T>
void read_and_write(const Bytes& bytes) {
  T value;
  Archive reader = Archive::reader(bytes);
  reader(value);
  if (reader.failed() || !reader.at_end()) return;
  Bytes again;
  Archive writer = Archive::writer(again);
  writer(value);
  LAIRD_REQUIRE(again == bytes, "what decodes encodes to the same bytes");
  LAIRD_REQUIRE(!describe(value.body).empty(), "it has words");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const Bytes bytes(data + 1, data + size);
  if ((data[0] & 1) == 0) {
    read_and_write<core::Event>(bytes);
  } else {
    read_and_write<core::Effect>(bytes);
  }
  return 0;
}
