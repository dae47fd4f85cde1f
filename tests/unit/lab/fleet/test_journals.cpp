// Real journals of whole boards, judged.
#include <filesystem>
#include <memory>

#include "agent/journal/journal.hpp"
#include "lab/fleet/verdict.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using consensus::kWhole;
using lab::FleetRecording;

namespace {

constexpr std::int64_t kFloorMw = 1'000;

core::CoreConfig alone_in_its_fleet(const std::string& node) {
  core::CoreConfig config = test::small_board();
  config.node = node;
  config.meter.gpu_weight = 100'000;
  config.meter.cpu_weight = 100'000;
  config.fleet.budget.founding_epoch = 1;
  config.fleet.budget.founders = {node};
  config.fleet.budget.members = {{node, {0, 0, kFloorMw}}};
  config.fleet.budget.total = {core::kUnlimited, core::kUnlimited, 21'000};
  return config;
}

// A board that has the whole budget to itself, every event of it in a journal.
struct Journalled {
  Journalled(const std::string& folder, const std::string& node, const std::string& under = "")
      : board(alone_in_its_fleet(node)) {
    journal::Recovery recovery;
    const std::string place = folder + "/" + (under.empty() ? node : under) + "/journal";
    std::filesystem::create_directories(place);
    auto opened = journal::Journal::open(place, {}, board.now(), node, recovery);
    TEST_ASSERT_TRUE_MESSAGE(opened.has_value(), opened ? "" : opened.error().context.c_str());
    log = std::move(*opened);
    TEST_ASSERT_TRUE(log->close(board.state).has_value());
    board.after_step = [this](const core::Event& event, const core::Effects& commands) {
      core::Event copy = event;
      core::Effects answers = commands;
      const std::uint64_t seq = log->append(copy);
      log->record(seq, answers, board.state.digest());
      TEST_ASSERT_TRUE(log->commit(false).has_value());
    };
  }

  test::FakeBoard board;
  std::unique_ptr<journal::Journal> log;
};

FleetRecording judged(const std::string& folder) {
  FleetRecording out;
  out.budgets.push_back({0, 21'000});
  const Status ok = lab::take_from_journals(folder, out);
  TEST_ASSERT_TRUE_MESSAGE(ok.has_value(), ok ? "" : ok.error().context.c_str());
  return out;
}

}  // namespace

TEST(the_share_of_a_board_is_in_its_journal_to_the_part) {
  const test::TemporaryFolder folder;
  Journalled one(folder.path(), "n-1");
  one.board.tell(core::FleetJoined{false});
  one.board.run_for(10 * kSecond);
  FleetRecording got = judged(folder.path());
  TEST_ASSERT_EQUAL_UINT64(1, got.nodes.size());
  TEST_ASSERT_EQUAL_INT64(kWhole, got.nodes["n-1"].shares.back().parts);
  TEST_ASSERT_EQUAL_INT64(21'000, got.nodes["n-1"].shares.back().enforced_mw);
  TEST_ASSERT_TRUE(judge(got).shares_kept());
  TEST_ASSERT_TRUE(judge(got).budget_kept());
}

TEST(two_boards_that_both_have_the_whole_are_found) {
  const test::TemporaryFolder folder;
  Journalled one(folder.path(), "n-1");
  Journalled two(folder.path(), "n-2");
  for (Journalled* each : {&one, &two}) {
    each->board.tell(core::FleetJoined{false});
    each->board.run_for(10 * kSecond);
  }
  const lab::FleetVerdict got = judge(judged(folder.path()));
  TEST_ASSERT_EQUAL_INT64(2 * kWhole, got.most_parts);
  TEST_ASSERT_EQUAL_INT64(21'000, got.most_over_mw);
}

TEST(two_agents_of_one_name_are_two) {
  const test::TemporaryFolder folder;
  Journalled one(folder.path(), "n-1");
  Journalled twin(folder.path(), "n-1", "n-1-twin");
  for (Journalled* each : {&one, &twin}) {
    each->board.tell(core::FleetJoined{false});
    each->board.run_for(10 * kSecond);
  }
  const FleetRecording got = judged(folder.path());
  TEST_ASSERT_EQUAL_UINT64(2, got.nodes.size());
  TEST_ASSERT_EQUAL_INT64(2 * kWhole, judge(got).most_parts);
}

TEST(an_agent_that_was_killed_counts_as_nothing_from_its_last_event_on) {
  const test::TemporaryFolder folder;
  Journalled one(folder.path(), "n-1");
  Journalled two(folder.path(), "n-2");
  // Killed in the very event that gave it the whole.
  one.board.tell(core::FleetJoined{false});
  TEST_ASSERT_EQUAL_INT64(21'000, one.board.state.fleet.enforced[2]);
  one.board.skip(kHour);
  two.board.skip(kMinute);
  two.board.tell(core::FleetJoined{false});
  two.board.run_for(10 * kSecond);
  two.board.tell(core::ShutdownRequested{});
  two.board.skip(2 * kHour);
  // Both come back later, and only then is it known that they were away.
  one.board.machine_boot = two.board.machine_boot = 2;
  one.board.restart();
  two.board.restart();
  FleetRecording got = judged(folder.path());
  const auto& shares = got.nodes["n-1"].shares;
  TEST_ASSERT_TRUE(shares.size() >= 2);
  const lab::FleetVerdict verdict = judge(got);
  TEST_ASSERT_EQUAL_INT64(kWhole, verdict.most_parts);
}

TEST(every_task_ever_accepted_is_in_the_journal_with_its_one_end) {
  const test::TemporaryFolder folder;
  Journalled one(folder.path(), "n-1");
  one.board.submit(test::small_task("easy", kMinute, 0.3));
  one.board.submit(test::small_task("late", 5 * kSecond, 1e-9));
  one.board.submit(test::small_task("open", kHour, 1e-9));
  one.board.run_for(30 * kSecond);
  const lab::FleetVerdict got = judge(judged(folder.path()));
  TEST_ASSERT_EQUAL_UINT64(3, got.tasks);
  TEST_ASSERT_EQUAL_UINT64(2, got.tasks_ended);
  TEST_ASSERT_EQUAL_UINT64(1, got.tasks_succeeded);
  TEST_ASSERT_EQUAL_UINT64(0, got.tasks_ended_twice);
}

TEST(a_folder_without_journals_is_an_error) {
  const test::TemporaryFolder folder;
  FleetRecording out;
  const Status got = lab::take_from_journals(folder.path(), out);
  TEST_ASSERT_FALSE(got.has_value());
  TEST_ASSERT_TRUE(got.error().code == Code::kNotFound);
}
