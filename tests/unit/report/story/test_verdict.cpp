#include "report/story/verdict.hpp"

#include <algorithm>
#include <vector>

#include "consensus/limits.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::story;
using consensus::kWhole;

namespace {

BoardStory board_of(const std::string& node, std::vector<SharePoint> shares) {
  BoardStory out;
  out.node = node;
  out.to = 100 * kSecond;
  out.fleet.member = true;
  out.fleet.shares = std::move(shares);
  out.fleet.budgets = {{0, 20'000}};
  return out;
}

TaskStory task_of(core::Outcome outcome) {
  TaskStory out;
  out.outcome = outcome;
  out.ended_at = outcome == core::Outcome::kNone ? 0 : kSecond;
  return out;
}

bool says(const Verdict& v, Mark mark, const std::string& part) {
  return std::any_of(v.sentences.begin(), v.sentences.end(), [&](const Sentence& s) {
    return s.mark == mark && s.text.find(part) != std::string::npos;
  });
}

constexpr std::int64_t kHalf = kWhole / 2;

}  // namespace

TEST(tasks_are_counted_by_their_end) {
  BoardStory board;
  for (const core::Outcome o : {core::Outcome::kSucceeded, core::Outcome::kMissed,
                                core::Outcome::kCancelled, core::Outcome::kNone}) {
    board.tasks.push_back(task_of(o));
  }
  const Verdict v = judge({&board, 1});
  TEST_ASSERT_EQUAL_UINT64(4, v.tasks.all);
  TEST_ASSERT_EQUAL_UINT64(1, v.tasks.met);
  TEST_ASSERT_EQUAL_UINT64(1, v.tasks.open);
  TEST_ASSERT_TRUE(says(v, Mark::kBad, "1 of 2 tasks reached the target loss by the deadline"));
  TEST_ASSERT_TRUE(says(v, Mark::kNote, "1 cancelled"));
  board.tasks.resize(1);
  TEST_ASSERT_TRUE(says(judge({&board, 1}), Mark::kGood, "1 of 1 task reached"));
}

TEST(shares_that_change_hands_at_one_instant_are_kept) {
  const std::vector<BoardStory> boards = {
      board_of("a", {{0, kWhole, 20'000}, {50 * kSecond, kHalf, 10'000}}),
      board_of("b", {{0, 0, 0}, {50 * kSecond, kHalf, 10'000}})};
  const SharesKept kept = judge_shares(boards);
  TEST_ASSERT_TRUE(kept.judged);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, kept.most_part);
  TEST_ASSERT_EQUAL_INT64(0, kept.longest_over_ns);
  TEST_ASSERT_EQUAL_INT64(0, kept.longest_over_budget_ns);
  TEST_ASSERT_TRUE(says(judge(boards), Mark::kGood, "never added up to more than the whole"));
}

TEST(more_than_the_whole_is_found_and_clocks_that_differ_a_little_are_forgiven) {
  std::vector<BoardStory> boards = {
      board_of("a", {{0, kWhole, 20'000}, {50 * kSecond, kHalf, 10'000}}),
      board_of("b", {{0, 0, 0}, {50 * kSecond - 20 * kMillisecond, kHalf, 10'000}})};
  TEST_ASSERT_TRUE(says(judge(boards), Mark::kGood, "which clocks that differ explain"));
  boards[1].wall_minus_agent = -10 * kSecond;
  const SharesKept kept = judge_shares(boards);
  TEST_ASSERT_TRUE(kept.longest_over_ns > 9 * kSecond);
  TEST_ASSERT_TRUE(kept.longest_over_budget_ns > 9 * kSecond);
  TEST_ASSERT_TRUE(says(judge(boards), Mark::kBad, "more than the whole budget was given out"));
}

TEST(a_board_whose_journal_ended_holds_nothing) {
  std::vector<BoardStory> boards = {board_of("a", {{0, kWhole, 20'000}}),
                                    board_of("b", {{0, 0, 0}, {40 * kSecond, kWhole, 20'000}})};
  boards[0].to = 30 * kSecond;
  TEST_ASSERT_EQUAL_INT64(0, judge_shares(boards).longest_over_ns);
  TEST_ASSERT_EQUAL_DOUBLE(20.0, caps_sum(boards)[0].value);
}

TEST(one_board_alone_is_not_judged_by_shares) {
  const std::vector<BoardStory> boards = {board_of("a", {{0, kWhole, 20'000}})};
  TEST_ASSERT_FALSE(judge_shares(boards).judged);
}
