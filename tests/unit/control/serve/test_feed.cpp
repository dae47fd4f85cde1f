#include "control/serve/feed.hpp"

#include "control/serve/page_rows.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/control/serve/serve_view.hpp"

using namespace laird;
using namespace laird::control;
using namespace laird::control::serve;
using test::tell_board;
using test::tell_power;
using test::tell_task;

namespace {

constexpr TimeNs kStart = 1'800'000'000 * kSecond;

struct Stand {
  FleetView view;
  Feed feed{{"lab", "op-alice", false}, kStart};
  TimeNs now = kStart;
  Stand() { view.note_changes(); }
  json::Value parsed(const std::string& event) {
    const std::size_t at = event.find("\ndata: ");
    json::ParseLimits roomy;
    roomy.bytes_max = event.size();
    roomy.values_max = 10'000'000;
    auto out = json::parse(std::string_view(event).substr(at + 7), "event", roomy);
    TEST_ASSERT_TRUE(out.has_value());
    return std::move(*out);
  }
  json::Value change(DurationNs passed = kSecond) {
    now += passed;
    feed.take(view, {true, 0}, now);
    return parsed(feed.changes(view, now));
  }
};

std::string text_of(const json::Value& value) { return json::to_text(value); }

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(a_change_tells_what_changed_and_only_that) {
  Stand s;
  tell_board(s.view, "n-10");
  tell_board(s.view, "n-2");
  TEST_ASSERT_EQUAL_UINT64(2, s.change().find("boards")->items().size());
  TEST_ASSERT_NULL(s.change().find("boards"));
  tell_power(s.view, "n-2", 1, 6.5);
  const json::Value change = s.change();
  TEST_ASSERT_EQUAL_UINT64(1, change.find("boards")->items().size());
  TEST_ASSERT_TRUE(has(text_of(change), R"("drawn_w":6.5)"));
  TEST_ASSERT_TRUE(has(text_of(change), R"("temperature_c":51.5)"));
  const std::string whole = s.feed.whole(s.view, s.now);
  TEST_ASSERT_TRUE(whole.find(R"("id":"n-2")") < whole.find(R"("id":"n-10")"));
}

TEST(a_task_that_is_cleared_is_told_as_gone) {
  Stand s;
  tell_board(s.view, "n-1");
  tell_task(s.view, "n-1", "a", "running", 0.9);
  static_cast<void>(s.change());
  test::tell(s.view, "n-1", mqtt::TopicKind::kTask, "", "a");
  TEST_ASSERT_TRUE(has(text_of(s.change()), R"("gone":["n-1/a"])"));
}

TEST(a_schedule_is_not_late_and_has_no_deadline) {
  Stand s;
  tell_board(s.view, "n-1");
  for (const char* deadline : {"0.0", "60"}) {
    test::tell(
        s.view, "n-1", mqtt::TopicKind::kTask,
        std::string(R"({"s":"laird.task/1.0","ts":"2026-11-18T17:00:00.000Z","name":"night",)"
                    R"("lane":"cpu","state":"paused","samples":0,"target_loss":0.1,)"
                    R"("deadline_in_s":)") +
            deadline + R"(,"reason":"","recurs":{"every":"22:00-06:00 daily"}})",
        "night");
    const std::string told = text_of(s.change());
    const bool is_quiet = has(told, R"("live":0)") && has(told, R"("attention":[])");
    TEST_ASSERT_TRUE_MESSAGE(is_quiet, told.c_str());
    const std::string row = text_of(task_row(s.view.tasks().begin()->second));
    TEST_ASSERT_FALSE_MESSAGE(has(row, "deadline_ms") || has(row, "at_risk"), row.c_str());
  }
}

TEST(the_verdict_comes_first_and_names_what_needs_somebody) {
  Stand s;
  tell_board(s.view, "n-1");
  tell_task(s.view, "n-1", "good", "running", 0.9);
  TEST_ASSERT_TRUE(has(text_of(s.change()), "The one task is on time."));
  tell_task(s.view, "n-1", "late", "running", 0.1);
  tell_board(s.view, "n-2", mqtt::NodeState::kLost);
  const std::string told = text_of(s.change());
  TEST_ASSERT_TRUE_MESSAGE(has(told, "1 of 2 tasks will probably miss its deadline."),
                           told.c_str());
  TEST_ASSERT_TRUE(has(told, "n-2 is lost"));
}

TEST(a_board_that_says_nothing_is_silent_until_it_speaks) {
  Stand s;
  tell_board(s.view, "n-1");
  tell_power(s.view, "n-1", 1, 5);
  TEST_ASSERT_FALSE(has(text_of(s.change()), "silent"));
  TEST_ASSERT_TRUE(has(text_of(s.change(5 * kSecond)), "n-1 has been silent since"));
  tell_power(s.view, "n-1", 7, 5);
  TEST_ASSERT_FALSE(has(text_of(s.change()), "silent"));
}

TEST(of_ten_thousand_tasks_those_in_trouble_are_shown) {
  Stand s;
  tell_board(s.view, "n-1");
  for (int i = 0; i < 10'000; ++i) {
    tell_task(s.view, "n-1", "t-" + std::to_string(i), "queued", i == 7'777 ? 0.1 : 0.9);
  }
  static_cast<void>(s.change(3 * kSecond));
  const json::Value whole = s.parsed(s.feed.whole(s.view, s.now));
  TEST_ASSERT_EQUAL_UINT64(kTasksShown, whole.find("tasks")->items().size());
  TEST_ASSERT_TRUE(has(text_of(*whole.find("tasks")), "n-1/t-7777"));
  TEST_ASSERT_TRUE(has(text_of(whole), R"("tasks_hidden":9500)"));
}

TEST(what_boards_say_is_made_harmless) {
  Stand s;
  tell_board(s.view, "n-1");
  tell_task(s.view, "n-1", "a", "running", 0.9, "a\\u202eb\\u001b[2J\\n\\ndata: c");
  const std::string told = s.feed.whole(s.view, s.now);
  TEST_ASSERT_FALSE(has(told, "\xe2\x80\xae"));
  TEST_ASSERT_FALSE(has(told, "\\u001b"));
  TEST_ASSERT_EQUAL_UINT64(told.size() - 2, told.find("\n\n"));
}

TEST(the_past_of_a_week_fits_into_bounds) {
  Stand s;
  tell_board(s.view, "n-1");
  for (int i = 1; i < 60'000; ++i) {
    tell_power(s.view, "n-1", i, i % 1000 == 0 ? 9.0 : 5.0);
    s.now += 10 * kSecond;
    s.feed.take(s.view, {true, 0}, s.now);
  }
  const std::string past = text_of(s.feed.board(s.view, "n-1"));
  TEST_ASSERT_TRUE(past.size() < 100'000);
  TEST_ASSERT_TRUE(has(past, ",9"));
}
