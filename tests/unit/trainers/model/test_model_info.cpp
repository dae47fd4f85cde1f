#include "trainers/model/model_info.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

ModelInfo sample() {
  ModelInfo info;
  info.kind = Kind::kMlp;
  info.sizes = {3, 4, 2};
  info.scaling = {{1, 2, 3}, {4, 5, 6}, 0.5, 2.0};
  info.classes = 2;
  info.params = "{}";
  return info;
}

std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool accepted(const ModelInfo& info) { return read_info(view(begin_payload(info, 0))).has_value(); }

}  // namespace

TEST(an_info_comes_back_and_says_where_the_state_begins) {
  Bytes bytes = begin_payload(sample(), 8);
  const std::size_t length = bytes.size();
  bytes.insert(bytes.end(), 8, 7);
  const Result<Payload> back = read_info(view(bytes));
  TEST_ASSERT_TRUE(back.has_value() && back->info.has_value());
  TEST_ASSERT_EQUAL_UINT64(length, back->state_at);
  TEST_ASSERT_TRUE(back->info->sizes == sample().sizes);
  TEST_ASSERT_TRUE(back->info->scaling.shift == sample().scaling.shift);
  TEST_ASSERT_EQUAL_DOUBLE(2.0, back->info->scaling.target_deviation);
}

TEST(a_payload_without_one_is_all_state) {
  const Result<Payload> back = read_info("12345678 and so on");
  TEST_ASSERT_TRUE(back.has_value() && !back->info.has_value() && back->state_at == 0);
}

TEST(a_cut_or_impossible_info_is_refused) {
  const Bytes good = begin_payload(sample(), 0);
  for (std::size_t length = 8; length < good.size(); ++length) {
    TEST_ASSERT_FALSE(read_info(view(good).substr(0, length)).has_value());
  }
  TEST_ASSERT_TRUE(accepted(sample()));
  ModelInfo info = sample();
  info.sizes = {3, 0, 2};
  TEST_ASSERT_FALSE(accepted(info));
  info = sample();
  info.sizes = {1'000'000, 1'000'000};
  TEST_ASSERT_FALSE(accepted(info));
  info = sample();
  info.scaling.scale.pop_back();
  TEST_ASSERT_FALSE(accepted(info));
  info = sample();
  info.scaling.target_deviation = 0.0;
  TEST_ASSERT_FALSE(accepted(info));
}

TEST(a_judge_follows_from_the_model) {
  ModelInfo info = sample();
  TEST_ASSERT_TRUE(info.judge().decision == models::Decision::kLargest);
  info.kind = Kind::kSvm;
  info.sizes = {3, 1};
  TEST_ASSERT_TRUE(info.judge().decision == models::Decision::kSign);
  TEST_ASSERT_TRUE(info.judge().loss == models::Loss::kHinge);
  info.classes = 0;
  TEST_ASSERT_TRUE(info.judge().decision == models::Decision::kNumber);
}
