#include "os/clock.hpp"

#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

// The zone of this process, for as long as it is there.
class ZoneSet {
 public:
  explicit ZoneSet(const char* zone) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    ::setenv("TZ", zone, 1);
  }
  ~ZoneSet() {
    if (before_.empty()) {
      ::unsetenv("TZ");
    } else {
      ::setenv("TZ", before_.c_str(), 1);
    }
    ::tzset();
  }
  ZoneSet(const ZoneSet&) = delete;
  ZoneSet& operator=(const ZoneSet&) = delete;

 private:
  std::string before_;
};

constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";
// 2026-03-29 and 2026-10-25, 01:00 UTC.
constexpr TimeNs kSpring = 1'774'746'000 * kSecond;
constexpr TimeNs kAutumn = 1'792'890'000 * kSecond;

void assert_zone(const LocalTime& at, DurationNs offset, TimeNs change, DurationNs after) {
  TEST_ASSERT_EQUAL_INT64(offset, at.offset);
  TEST_ASSERT_EQUAL_INT64(change, at.change_wall);
  TEST_ASSERT_EQUAL_INT64(after, at.offset_after);
}

}  // namespace

TEST(local_time_comes_with_the_next_change_of_it) {
  const ZoneSet zone(kBerlin);
  SystemClock clock;
  // In the middle of a second too: the change is at the beginning of one.
  for (const DurationNs before : {kSecond, 90 * kMinute, 3 * kDay + 7, 8 * kDay - kHour}) {
    assert_zone(clock.local_time(kSpring - before), kHour, kSpring, 2 * kHour);
    assert_zone(clock.local_time(kAutumn - before), 2 * kHour, kAutumn, kHour);
  }
}

TEST(local_time_after_a_change_knows_of_none) {
  const ZoneSet zone(kBerlin);
  SystemClock clock;
  assert_zone(clock.local_time(kSpring), 2 * kHour, kNever, 2 * kHour);
  assert_zone(clock.local_time(kAutumn), kHour, kNever, kHour);
  assert_zone(clock.local_time(kSpring - 9 * kDay), kHour, kNever, kHour);
}

TEST(local_time_follows_the_zone_as_it_is_set_now) {
  SystemClock clock;
  const ZoneSet utc("UTC0");
  assert_zone(clock.local_time(kSpring - kDay), 0, kNever, 0);
  const ZoneSet india("IST-5:30");
  assert_zone(clock.local_time(kSpring - kDay), 5 * kHour + 30 * kMinute, kNever,
              5 * kHour + 30 * kMinute);
}
