#include "trainers/export/onnx_writer.hpp"

#include <cstring>

#include "base/sha256.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

// Weights that are exact in both precisions, so that the bytes are known.
ModelInfo info_for(Kind kind) {
  ModelInfo info;
  info.kind = kind;
  info.sizes = {5, 3};
  if (kind == Kind::kMlp) info.sizes = {5, 4, 3};
  info.classes = 3;
  info.scaling = {{1, 2, 3, 4, 5}, {0.5F, 0.25F, 1, 2, 4}, 0.0, 1.0};
  return info;
}

Status counted(std::uint64_t first, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(static_cast<int>((first + i) % 64) - 32) / 16.0F;
  }
  return {};
}

std::string written(const ModelInfo& info, Precision precision) {
  std::string out;
  const Status s = write_onnx(info, precision, counted, [&](std::string_view bytes) -> Status {
    out += bytes;
    return {};
  });
  TEST_ASSERT_TRUE(s.has_value());
  return out;
}

}  // namespace

// The bytes are the same on every machine: this test runs on x86 and under qemu-aarch64. That they
// are right is for onnxruntime to say (tests/e2e/models).
TEST(the_same_models_give_the_same_bytes) {
  Sha256 all;
  for (const Kind kind : {Kind::kLinear, Kind::kSvm, Kind::kSoftmax, Kind::kMlp}) {
    for (const Precision precision : {Precision::kSingle, Precision::kHalf}) {
      all.add(written(info_for(kind), precision));
    }
  }
  TEST_ASSERT_EQUAL_STRING("77386ecddf83309fee5d41ce91adff8d50a6b6014b1f4b137f0b383eaf8e0527",
                           all.hex().c_str());
}

TEST(weights_are_read_once_in_small_blocks) {
  ModelInfo info = info_for(Kind::kSoftmax);
  info.sizes = {3000, 500};
  info.scaling = {{0}, {1}, 0.0, 1.0};
  std::uint64_t read = 0;
  std::size_t largest = 0;
  std::uint64_t bytes = 0;
  const Status s = write_onnx(
      info, Precision::kSingle,
      [&](std::uint64_t first, std::span<float> out) -> Status {
        read += out.size();
        largest = std::max(largest, out.size());
        return counted(first, out);
      },
      [&](std::string_view part) -> Status {
        bytes += part.size();
        return {};
      });
  TEST_ASSERT_TRUE(s.has_value());
  TEST_ASSERT_EQUAL_UINT64(3000 * 500 + 500, read);
  TEST_ASSERT_TRUE(largest <= 16 * 1024);
  TEST_ASSERT_TRUE(bytes > 4 * read && bytes < 4 * read + 1000);
}

TEST(what_half_precision_cannot_hold_is_refused) {
  const auto large = [](std::uint64_t, std::span<float> out) -> Status {
    std::fill(out.begin(), out.end(), 70000.0F);
    return {};
  };
  const auto nowhere = [](std::string_view) -> Status { return {}; };
  const ModelInfo info = info_for(Kind::kSvm);
  TEST_ASSERT_TRUE(write_onnx(info, Precision::kSingle, large, nowhere).has_value());
  const Status half = write_onnx(info, Precision::kHalf, large, nowhere);
  TEST_ASSERT_TRUE(!half.has_value() && half.error().code == Code::kRefused);
  TEST_ASSERT_NOT_NULL(std::strstr(half.error().context.c_str(), "fp32"));
}

TEST(a_weight_that_is_no_number_is_not_written) {
  const auto broken = [](std::uint64_t, std::span<float> out) -> Status {
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::infinity());
    return {};
  };
  const Status s = write_onnx(info_for(Kind::kSvm), Precision::kSingle, broken,
                              [](std::string_view) -> Status { return {}; });
  TEST_ASSERT_TRUE(!s.has_value() && s.error().code == Code::kCorrupt);
}

TEST(a_full_disk_ends_the_writing) {
  const Status s =
      write_onnx(info_for(Kind::kMlp), Precision::kSingle, counted,
                 [](std::string_view) -> Status { return fail(Code::kFull, "no room"); });
  TEST_ASSERT_TRUE(!s.has_value() && s.error().code == Code::kFull);
}
