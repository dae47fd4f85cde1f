#include "consensus/cotrain/delta_codec.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

std::vector<float> made_up(std::size_t n, std::uint64_t seed) {
  RandomOf<Range::kUnbiased> random(seed);
  std::vector<float> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = 2.0 * random.unit() - 1.0;
    out.push_back(static_cast<float>(u * u * u));
  }
  return out;
}

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST(both_ends_hold_the_same_copy_to_the_bit) {
  for (const std::size_t n : {1U, 2U, 7U, 1000U, 5000U}) {
    std::vector<float> here(n, 0.0F);
    std::vector<float> there(n, 0.0F);
    for (std::uint64_t round = 0; round < 12; ++round) {
      Bytes out;
      put_delta(out, made_up(n, round), here, {0.25, 0.3});
      TEST_ASSERT_TRUE(add_delta(text(out), there, 0.25).has_value());
      TEST_ASSERT_TRUE(here == there);
    }
  }
}

TEST(what_was_left_out_is_sent_later_and_the_copy_comes_to_the_vector) {
  const std::vector<float> wanted = made_up(2000, 5);
  std::vector<float> held(wanted.size(), 0.0F);
  double before = 1e9;
  for (int round = 0; round < 40; ++round) {
    Bytes out;
    put_delta(out, wanted, held, {0.25, 0.2});
    double off = 0.0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      off = std::max(off, std::abs(static_cast<double>(wanted[i] - held[i])));
    }
    TEST_ASSERT_TRUE(off <= before * 1.0001);
    before = off;
  }
  TEST_ASSERT_TRUE(before < 1e-4);
}

TEST(few_changes_cost_few_bytes) {
  std::vector<float> wanted(10'000, 0.0F);
  std::vector<float> held = wanted;
  for (std::size_t i = 0; i < 100; ++i) wanted[97 * i] = 1.0F + static_cast<float>(i);
  Bytes out;
  put_delta(out, wanted, held, {0.25, 0.5});
  // A hundred places of ten thousand are 81 bytes, a hundred levels and signs at most 88.
  TEST_ASSERT_TRUE(out.size() < 260);
  Bytes nothing;
  put_delta(nothing, held, held, {0.25, 0.5});
  TEST_ASSERT_EQUAL_UINT64(4, nothing.size());
}

TEST(refuses_what_is_cut_too_long_or_no_number) {
  const std::vector<float> wanted = made_up(300, 9);
  std::vector<float> held(300, 0.0F);
  Bytes out;
  put_delta(out, wanted, held, {0.25, 0.5});
  const std::string whole(text(out));
  for (const std::string& bad :
       {whole.substr(0, whole.size() - 1), whole + "x", std::string("abc"),
        std::string("\0\0\xC0\x7F", 4) + whole.substr(4),
        std::string("\0\0\x80\x7F", 4) + whole.substr(4), std::string(4, '\0') + "x"}) {
    std::vector<float> copy(300, 0.0F);
    TEST_ASSERT_FALSE(add_delta(bad, copy, 0.25).has_value());
  }
}

TEST(a_change_too_large_to_tell_is_told_in_part_and_what_is_no_number_not_at_all) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> wanted = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                                     3e38F, 1.0F};
  std::vector<float> held = {0.0F, 0.0F, 0.0F, -1e30F, 0.0F};
  std::vector<float> there = held;
  Bytes out;
  put_delta(out, wanted, held, {0.25, 1.0});
  TEST_ASSERT_TRUE(add_delta(text(out), there, 0.25).has_value());
  TEST_ASSERT_TRUE(held == there);
  TEST_ASSERT_TRUE(there[0] == kScaleMax && there[1] == -kScaleMax && there[2] == 0.0F);
  TEST_ASSERT_TRUE(there[3] == 0.0F);
}

TEST(no_message_leads_beyond_the_largest_number_however_often_it_comes) {
  std::vector<float> held(3, 0.0F);
  Bytes out;
  put_delta(out, std::vector<float>{kScaleMax, -kScaleMax, 1.0F}, held, {0.25, 1.0});
  std::vector<float> there(3, 0.0F);
  for (int k = 0; k < 100; ++k) {
    TEST_ASSERT_TRUE(check_delta(text(out), 3, 0.25).has_value());
    TEST_ASSERT_TRUE(add_delta(text(out), there, 0.25).has_value());
    TEST_ASSERT_TRUE(there[0] == kScaleMax && there[1] == -kScaleMax);
  }
}

TEST(refuses_a_scale_beyond_the_largest) {
  std::vector<float> held(3, 0.0F);
  Bytes out;
  put_delta(out, std::vector<float>{kScaleMax, 1.0F, 2.0F}, held, {0.25, 1.0});
  std::string bytes(text(out));
  TEST_ASSERT_TRUE(check_delta(bytes, 3, 0.25).has_value());
  for (const float scale : {1.1e30F, 3e38F, -1.0F}) {
    std::memcpy(bytes.data(), &scale, sizeof scale);
    TEST_ASSERT_FALSE(check_delta(bytes, 3, 0.25).has_value());
    TEST_ASSERT_FALSE(add_delta(bytes, held, 0.25).has_value());
  }
}
