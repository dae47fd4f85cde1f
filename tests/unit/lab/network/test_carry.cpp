#include "lab/network/carry.hpp"

#include <cstdint>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

struct Quality {
  double loss = 0.0;
  double duplicate = 0.0;
  std::int64_t delay_min = 1;
  std::int64_t delay_max = 1;
};
using Source = RandomOf<Range::kScaled>;

constexpr int kMessages = 20'000;

// How many messages arrived so many times.
std::map<std::size_t, int> arrivals(const Quality& quality) {
  Source random(7);
  std::map<std::size_t, int> out;
  for (int i = 0; i < kMessages; ++i) {
    std::size_t copies = 0;
    lab::carry(quality, random, [&](std::int64_t delay) {
      TEST_ASSERT_TRUE(delay >= quality.delay_min && delay <= quality.delay_max);
      ++copies;
    });
    ++out[copies];
  }
  return out;
}

void assert_about(double part, int count) {
  TEST_ASSERT_INT_WITHIN(kMessages / 50, static_cast<int>(part * kMessages), count);
}

}  // namespace

TEST(a_good_network_carries_every_message_once_and_draws_only_its_delay) {
  Source random(3);
  Source twin(3);
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int64_t> delays;
    lab::carry(Quality{0.0, 0.0, 2, 9}, random, [&](std::int64_t d) { delays.push_back(d); });
    TEST_ASSERT_EQUAL_UINT64(1, delays.size());
    TEST_ASSERT_EQUAL_INT64(twin.between(2, 9), delays[0]);
  }
}

TEST(a_bad_network_loses_and_repeats_as_often_as_it_is_told) {
  std::map<std::size_t, int> seen = arrivals(Quality{0.3, 0.2, 1, 40});
  // Lost without a copy; once, either the message or its copy; both.
  assert_about(0.3 * 0.8, seen[0]);
  assert_about(0.7 * 0.8 + 0.3 * 0.2, seen[1]);
  assert_about(0.7 * 0.2, seen[2]);
}

TEST(messages_overtake_one_another_unless_the_way_keeps_them_in_order) {
  const auto overtaken = [](bool ordered) {
    Source random(5);
    lab::InOrder way;
    TimeNs before = 0;
    int count = 0;
    for (TimeNs now = 0; now < 1000; ++now) {
      lab::carry(Quality{0.0, 0.0, 1, 20}, random, [&](std::int64_t delay) {
        const TimeNs at = ordered ? way.arrival(now + delay) : now + delay;
        if (at < before) ++count;
        before = at;
      });
    }
    return count;
  };
  TEST_ASSERT_TRUE(overtaken(false) > 100);
  TEST_ASSERT_EQUAL_INT(0, overtaken(true));
}
