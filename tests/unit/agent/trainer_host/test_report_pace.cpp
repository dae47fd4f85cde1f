#include "agent/trainer_host/report_pace.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using agent::kReportRound;
using agent::ReportPace;

namespace {

// A trainer that reports every `step` ns, `per_report` samples each, heard as the pace says; gives
// how late the end of its grant was heard.
struct Life {
  DurationNs late = 0;
  int looks = 0;
};
Life live_through(ReportPace& pace, TimeNs from, DurationNs step, std::uint64_t per_report,
                  std::uint64_t until) {
  pace.granted(from, 0, until);
  const auto said_by = [&](TimeNs now) {
    const auto reports = static_cast<std::uint64_t>((now - from) / step);
    return std::min(until, reports * per_report);
  };
  const TimeNs end = from + step * static_cast<DurationNs>((until + per_report - 1) / per_report);
  Life life;
  for (TimeNs now = from + step;; ++life.looks) {
    const std::uint64_t samples = said_by(now);
    pace.heard(now, samples);
    if (samples >= until) {
      life.late = now - end;
      return life;
    }
    const ReportPace::Look next = pace.next_look(now, samples);
    // Watched: the next word is heard when it is said.
    now = next.watch ? from + ((now - from) / step + 1) * step : next.at;
  }
}

}  // namespace

TEST(one_report_goes_on_in_each_round) {
  ReportPace pace;
  TimeNs now = 7 * kReportRound + 20 * kMillisecond;
  TEST_ASSERT_TRUE(pace.is_due(now));
  pace.went_on(now);
  TEST_ASSERT_FALSE(pace.is_due(now));
  TEST_ASSERT_FALSE(pace.is_due(8 * kReportRound - 1));
  TEST_ASSERT_TRUE(pace.is_due(8 * kReportRound));
}

TEST(trainers_are_looked_at_together) {
  ReportPace one;
  ReportPace other;
  one.granted(3 * kMillisecond, 0, 1'000'000);
  other.granted(41 * kMillisecond, 500, 1'000'000);
  TEST_ASSERT_EQUAL_INT64(kReportRound, one.next_look(10 * kMillisecond, 10).at);
  TEST_ASSERT_EQUAL_INT64(kReportRound, other.next_look(45 * kMillisecond, 510).at);
}

TEST(a_fast_trainer_takes_a_look_a_round_and_its_grant_ends_on_time) {
  // 2000 reports a second, a grant of three seconds: sixty rounds.
  ReportPace pace;
  const Life life = live_through(pace, kSecond + 123456, kMillisecond / 2, 10, 60'000);
  TEST_ASSERT_TRUE(life.looks < 85);
  TEST_ASSERT_TRUE(life.late <= kMillisecond / 2);
}

TEST(a_speed_that_doubles_is_caught_up_with) {
  ReportPace pace;
  TEST_ASSERT_TRUE(live_through(pace, kSecond, kMillisecond, 10, 10'000).late <= kMillisecond);
  // Twice as fast as the grant before, from its first report on.
  const Life life = live_through(pace, 5 * kSecond, kMillisecond, 20, 10'000);
  TEST_ASSERT_TRUE(life.late <= kMillisecond);
}

TEST(a_speed_that_misleads_costs_a_round_at_most) {
  ReportPace pace;
  live_through(pace, kSecond, kMillisecond, 1, 1'000);
  const Life life = live_through(pace, 5 * kSecond, kMillisecond, 1'000, 10'000);
  TEST_ASSERT_TRUE(life.late <= kReportRound);
}

TEST(after_its_grant_a_trainer_has_no_end_to_wait_for) {
  ReportPace pace;
  live_through(pace, kSecond, kMillisecond, 10, 10'000);
  const TimeNs now = 3 * kSecond + 1;
  const ReportPace::Look next = pace.next_look(now, 10'000);
  TEST_ASSERT_FALSE(next.watch);
  TEST_ASSERT_EQUAL_INT64(3 * kSecond + kReportRound, next.at);
}
