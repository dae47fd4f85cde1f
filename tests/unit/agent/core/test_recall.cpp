// A new task begins from what an earlier run of the same task left.
#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;

namespace {

TaskSpec task_of(const std::string& name, const std::string& params) {
  TaskSpec spec = test::small_task(name, 10 * kMinute, 0.2);
  spec.params = params;
  return spec;
}

// A board on which "first" ran to its target.
FakeBoard board_with_a_past() {
  FakeBoard board(test::small_board("foresight"));
  board.submit(task_of("first", R"({"a": 1})"));
  board.run_for(5 * kMinute);
  TEST_ASSERT_TRUE(board.task("first")->outcome == Outcome::kSucceeded);
  return board;
}

}  // namespace

TEST(a_task_with_the_parameters_of_one_that_ended_recalls_it_and_says_so) {
  FakeBoard board = board_with_a_past();
  board.submit(task_of("second", R"({"a": 1})"));
  const Task* second = board.task("second");
  TEST_ASSERT_EQUAL_UINT32(board.task("first")->key, second->recalled);
  TEST_ASSERT_TRUE(second->forecast.reports() == 0);
  TEST_ASSERT_TRUE(second->forecast.loss_at(20'000.0).has_value());
  const auto said = explain(board.state, "second");
  TEST_ASSERT_TRUE(said.has_value());
  TEST_ASSERT_TRUE_MESSAGE(said->find("the earlier run 'first'") != std::string::npos,
                           said->c_str());
}

TEST(a_task_with_other_parameters_recalls_only_its_own_name) {
  FakeBoard board = board_with_a_past();
  board.submit(task_of("other", R"({"a": 2})"));
  TEST_ASSERT_EQUAL_UINT32(0, board.task("other")->recalled);
  const TaskKey first = board.task("first")->key;
  board.tell(Submitted{9, task_of("first", R"({"a": 3})"), true});
  const Task* again = board.task("first");
  TEST_ASSERT_TRUE(again->key != first);
  TEST_ASSERT_EQUAL_UINT32(first, again->recalled);
}

TEST(what_is_recalled_survives_a_restart) {
  FakeBoard board = board_with_a_past();
  board.submit(task_of("second", R"({"a": 1})"));
  board.run_for(2 * kSecond);
  const double before = board.task("second")->forecast.recalled_part(20'000.0);
  State back = test::read_back(board.state);
  TEST_ASSERT_EQUAL_UINT64(board.state.digest(), back.digest());
  const Task* second = back.find_named("second");
  TEST_ASSERT_EQUAL_DOUBLE(before, second->forecast.recalled_part(20'000.0));
  TEST_ASSERT_TRUE(second->recalled != 0);
}

TEST(a_submitter_is_told_what_earlier_tasks_say_against_the_new_one) {
  FakeBoard board = board_with_a_past();
  const auto answer_to = [&](const char* name, DurationNs deadline, double target,
                             const char* params) {
    TaskSpec spec = task_of(name, params);
    spec.deadline_after = deadline;
    spec.target_loss = target;
    board.tell(Submitted{50, spec});
    TEST_ASSERT_TRUE(board.answers.back().ok);
    return board.answers.back().text;
  };
  TEST_ASSERT_EQUAL_STRING("accepted", answer_to("good", kHour, 0.2, R"({"a": 1})").c_str());
  TEST_ASSERT_EQUAL_STRING(
      "accepted; but its deadline is in 50 ms, and trainer 'fake' took at least 100 ms to start "
      "here",
      answer_to("short", 50 * kMillisecond, 0.2, R"({"a": 1})").c_str());
  TEST_ASSERT_EQUAL_STRING(
      "accepted; but by the earlier run 'first' it reaches its target in time with less than 5%",
      answer_to("steep", 2 * kSecond, 0.001, R"({"a": 1})").c_str());
  // Nothing is known of this one.
  TEST_ASSERT_EQUAL_STRING("accepted", answer_to("new", 2 * kSecond, 0.001, R"({"b": 1})").c_str());
}

namespace {

// Two boards of a fleet; what one says on earlier runs the other hears when a test delivers it.
struct Pair {
  FakeBoard one{config("n-1")};
  FakeBoard two{config("n-2")};

  static CoreConfig config(const std::string& node) {
    CoreConfig config = test::small_board("foresight");
    config.node = node;
    config.fleet.budget.founding_epoch = 1;
    for (const char* id : {"n-1", "n-2"}) {
      config.fleet.budget.founders.emplace_back(id);
      config.fleet.budget.members.push_back({id, {}});
    }
    return config;
  }
  static void deliver(FakeBoard& from, FakeBoard& to) {
    RunsHeard heard;
    for (const SendRun& word : from.sent_runs) {
      TEST_ASSERT_EQUAL_STRING(to.config.node.c_str(), word.to.c_str());
      heard.messages.push_back({from.config.node, word.bytes});
    }
    from.sent_runs.clear();
    if (!heard.messages.empty()) to.tell(std::move(heard));
  }
  void ask_and_answer() {
    deliver(two, one);
    deliver(one, two);
  }
};

}  // namespace

TEST(a_task_that_a_peer_has_run_begins_from_that_run_and_says_whose_it_was) {
  Pair fleet;
  fleet.one.submit(task_of("first", R"({"a": 1})"));
  fleet.one.run_for(5 * kMinute);
  TEST_ASSERT_TRUE(fleet.one.task("first")->outcome == Outcome::kSucceeded);
  fleet.one.sent_runs.clear();  // it asked when it began, and nobody knew

  fleet.two.submit(task_of("second", R"({"a": 1})"));
  TEST_ASSERT_EQUAL_UINT64(1, fleet.two.sent_runs.size());
  fleet.ask_and_answer();
  const Task* second = fleet.two.task("second");
  TEST_ASSERT_EQUAL_STRING("n-1", second->recalled_from.c_str());
  TEST_ASSERT_TRUE(second->recalled_same && second->recalled == 0);
  TEST_ASSERT_TRUE(second->forecast.reports() == 0 && second->forecast.loss_at(2e4).has_value());
  const auto said = explain(fleet.two.state, "second");
  TEST_ASSERT_TRUE_MESSAGE(said->find("the earlier run 'first' on n-1 has") != std::string::npos,
                           said->c_str());
  State back = test::read_back(fleet.two.state);
  TEST_ASSERT_EQUAL_UINT64(fleet.two.state.digest(), back.digest());

  // The next task of this work has a run at home, and asks nobody.
  fleet.two.run_for(5 * kMinute);
  fleet.two.submit(task_of("third", R"({"a": 1})"));
  TEST_ASSERT_TRUE(fleet.two.sent_runs.empty());
  TEST_ASSERT_TRUE(fleet.two.task("third")->recalled != 0);
}

TEST(a_peers_run_of_the_same_work_replaces_an_own_one_of_the_same_name_and_not_the_other_way) {
  Pair fleet;
  for (FakeBoard* board : {&fleet.one, &fleet.two}) {
    board->submit(task_of("nightly", R"({"day": 1})"));
    board->run_for(5 * kMinute);
    board->sent_runs.clear();
  }
  fleet.one.tell(Submitted{9, task_of("nightly", R"({"day": 2})"), true});
  fleet.one.run_for(5 * kMinute);
  fleet.one.sent_runs.clear();
  // Its own run of day 1 serves until the peer's of day 2 is heard.
  fleet.two.tell(Submitted{9, task_of("nightly", R"({"day": 2})"), true});
  TEST_ASSERT_TRUE(fleet.two.task("nightly")->recalled != 0);
  fleet.ask_and_answer();
  TEST_ASSERT_EQUAL_STRING("n-1", fleet.two.task("nightly")->recalled_from.c_str());
  fleet.two.run_for(5 * kMinute);
  // A peer's run of other parameters does not replace it.
  fleet.two.tell(Submitted{9, task_of("nightly", R"({"day": 3})"), true});
  const TaskKey own = fleet.two.task("nightly")->recalled;
  TEST_ASSERT_TRUE(own != 0);
  fleet.ask_and_answer();
  TEST_ASSERT_EQUAL_UINT32(own, fleet.two.task("nightly")->recalled);
}

TEST(words_on_runs_that_are_late_strange_or_of_nobody_change_nothing) {
  Pair fleet;
  fleet.one.submit(task_of("first", R"({"a": 1})"));
  fleet.one.run_for(5 * kMinute);
  fleet.one.sent_runs.clear();
  fleet.two.submit(task_of("second", R"({"a": 1})"));
  Pair::deliver(fleet.two, fleet.one);
  TEST_ASSERT_EQUAL_UINT64(1, fleet.one.sent_runs.size());
  const std::string told = fleet.one.sent_runs.front().bytes;
  const std::uint64_t refused = fleet.two.state.fleet.counters.peer_messages_refused;
  // Cut anywhere, of another version, or from a board that is no member.
  RunsHeard heard;
  for (std::size_t length = 0; length < told.size(); ++length) {
    heard.messages.push_back({"n-1", told.substr(0, length)});
  }
  heard.messages.push_back({"n-1", '\x7f' + told.substr(1)});
  heard.messages.push_back({"n-9", told});
  const std::size_t words = heard.messages.size();
  fleet.two.tell(std::move(heard));
  TEST_ASSERT_EQUAL_UINT64(refused + words, fleet.two.state.fleet.counters.peer_messages_refused);
  // A curve that is none: each byte of it changed once, never a value that is not finite.
  for (std::size_t at = 2; at < told.size(); ++at) {
    std::string changed = told;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    fleet.two.tell(RunsHeard{{{"n-1", changed}}});
    const auto loss = fleet.two.task("second")->forecast.loss_at(2e4);
    TEST_ASSERT_TRUE(!loss || loss->loss - loss->loss == 0.0);
  }
  // Once the task has told enough of itself, the word of another board comes too late.
  FakeBoard late(Pair::config("n-2"));
  late.submit(task_of("second", R"({"a": 1})"));
  late.run_for(kMinute);
  TEST_ASSERT_TRUE(late.task("second")->forecast.reports() > 16);
  late.tell(RunsHeard{{{"n-1", told}}});
  TEST_ASSERT_TRUE(late.task("second")->recalled_from.empty());
}
