#include "models/rows_file.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::models;

namespace {

Rows sample() {
  return {.rows = 2,
          .features = 3,
          .outputs = 1,
          .inputs = {1, 2, 3, 4, 5, 6},
          .labels = {0, 1},
          .answers = {-1.5F, 2.5F}};
}

}  // namespace

TEST(rows_come_back_as_they_went) {
  const Rows rows = sample();
  const std::string bytes = pack_rows(rows);
  TEST_ASSERT_EQUAL_UINT64(24 + 4 * (6 + 2 + 2), bytes.size());
  const Result<Rows> back = unpack_rows(bytes);
  TEST_ASSERT_TRUE(back.has_value());
  TEST_ASSERT_TRUE(back->inputs == rows.inputs && back->labels == rows.labels &&
                   back->answers == rows.answers);
}

TEST(what_is_no_file_of_rows_is_refused) {
  const std::string good = pack_rows(sample());
  for (std::size_t length = 0; length < good.size(); ++length) {
    TEST_ASSERT_FALSE(unpack_rows(std::string_view(good).substr(0, length)).has_value());
  }
  TEST_ASSERT_FALSE(unpack_rows(good + "x").has_value());
  std::string newer = good;
  newer[8] = 2;
  TEST_ASSERT_TRUE(unpack_rows(newer).error().code == Code::kRefused);
  // Counts whose product does not fit 64 bits allocate nothing.
  std::string huge = good;
  for (std::size_t i = 12; i < 24; ++i) huge[i] = '\xff';
  TEST_ASSERT_TRUE(unpack_rows(huge).error().code == Code::kCorrupt);
}
