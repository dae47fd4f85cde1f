// Any file as a checkpoint: with its true digest put in, so that the reader behind it is reached.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/require.hpp"
#include "trainers/model/checkpoint.hpp"
#include "trainers/model/training.hpp"

namespace {

laird::trainers::Training small_run() {
  laird::trainers::Params params;
  params.kind = laird::trainers::Kind::kMlp;
  params.hidden = {3};
  params.data.rows = 20;
  params.data.features = 2;
  params.batch = 4;
  auto training = laird::trainers::Training::create(params, 1);
  LAIRD_REQUIRE(training.has_value(), "the run is a good one");
  return std::move(*training);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird;
  using namespace laird::trainers;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  (void)unpack_checkpoint(file);

  static Training training = small_run();
  static const Bytes good = training.save();
  // Half of the inputs are edits to a good state (two bytes where, one byte what): a mutation would
  // not find the digest of the run's shape and the right length by itself.
  Bytes payload(data, data + size);
  if (size > 0 && (data[0] & 1) != 0) {
    payload = good;
    for (std::size_t i = 1; i + 3 <= size; i += 3) {
      payload[(std::size_t{data[i]} << 8 | data[i + 1]) % payload.size()] = data[i + 2];
    }
  }
  const Bytes packed = pack_checkpoint(payload);
  const auto unpacked =
      unpack_checkpoint({reinterpret_cast<const char*>(packed.data()), packed.size()});
  LAIRD_REQUIRE(unpacked.has_value() && unpacked->size() == payload.size(),
                "what is packed unpacks");
  if (training.restore(*unpacked)) {
    // Behind the run's own description of its model, whatever the file had in its place.
    const auto state_bytes = [](const Bytes& from) {
      const auto info = read_info({reinterpret_cast<const char*>(from.data()), from.size()});
      return from.size() - info->state_at;
    };
    LAIRD_REQUIRE(state_bytes(training.save()) == state_bytes(payload),
                  "what was taken saves to the same size");
    if (training.may_advance(UINT64_MAX)) (void)training.advance(UINT64_MAX);
    training = small_run();
  }
  return 0;
}
