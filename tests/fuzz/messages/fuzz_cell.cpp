// What comes over the socket of laird-cell, which root may run: a request, an order, a report.
#include <cstddef>
#include <cstdint>

#include "base/require.hpp"
#include "cell/message.hpp"

using namespace laird;
using namespace laird::cell;

namespace {

// What is taken is what was meant: written again it is the same.
template <class T>
void read_and_write(const Bytes& bytes) {
  if (const auto message = decoded<T>(bytes)) {
    LAIRD_REQUIRE(encoded(*message) == bytes, "a message is written as it was read");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, data + size);
  read_and_write<Order>(bytes);
  read_and_write<Report>(bytes);
  if (const auto request = decoded<Request>(bytes)) {
    LAIRD_REQUIRE(encoded(*request).size() <= bytes.size(), "a request does not grow");
    if (check(request->spec).has_value() && !request->spec.argv.empty()) {
      LAIRD_REQUIRE(request->spec.folder().find("/../") == std::string::npos,
                    "a task's folder is below the tasks' folder");
    }
  }
  return 0;
}
