#include "report/page.hpp"

#include <algorithm>
#include <vector>

#include "json/value.hpp"
#include "report/summary.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/report/told_board.hpp"

using namespace laird;
using test::ToldBoard;

namespace {

std::string page_of(const std::vector<story::BoardStory>& boards) {
  return report::page_of(boards, story::judge(boards));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=data>";
  const std::size_t from = page.find(open) + open.size();
  return page.substr(from, page.find("</script>", from) - from);
}

json::Value parsed(const std::string& data) {
  json::ParseLimits limits;
  limits.bytes_max = 64 << 20;
  limits.values_max = 10'000'000;
  Result<json::Value> value = json::parse(data, "page", limits);
  TEST_ASSERT_TRUE_MESSAGE(value.has_value(), value ? "" : value.error().context.c_str());
  return std::move(*value);
}

}  // namespace

TEST(a_page_begins_with_its_verdict_and_works_without_a_network) {
  ToldBoard told;
  const std::vector<story::BoardStory> boards = {told.finish()};
  const std::string page = page_of(boards);
  TEST_ASSERT_TRUE(page.find("1 of 2 tasks reached") < page.find("<h2>"));
  TEST_ASSERT_FALSE(has(page, "http:"));
  TEST_ASSERT_FALSE(has(page, "https:"));
  TEST_ASSERT_FALSE(has(page, " src="));
  TEST_ASSERT_TRUE(has(page, "script-src 'sha256-"));
  TEST_ASSERT_FALSE(has(page, "onclick"));
  TEST_ASSERT_FALSE(has(page, "onload"));
  // The tables are there without a script: the task, its end and why.
  TEST_ASSERT_TRUE(has(page, "<a href=\"#task-1\">hopeless</a>"));
  TEST_ASSERT_TRUE(has(page, "<details class=task id=task-1 open>"));
  TEST_ASSERT_TRUE(has(page, "account of 20 s"));
}

TEST(the_data_of_a_page_holds_the_curve_the_runs_and_the_forecasts) {
  ToldBoard told;
  const std::vector<story::BoardStory> boards = {told.finish()};
  const json::Value data = parsed(data_of(page_of(boards)));
  const json::Value& task = data.find("tasks")->items()[1];
  TEST_ASSERT_EQUAL_STRING("hopeless", task.find("name")->as_string().c_str());
  const std::size_t reports = boards[0].tasks[1].reports;
  TEST_ASSERT_EQUAL_UINT64(reports, task.find("loss")->find("v")->items().size());
  TEST_ASSERT_EQUAL_UINT64(reports, task.find("loss")->find("s")->items().size());
  TEST_ASSERT_FALSE(task.find("cells")->items().empty());
  TEST_ASSERT_FALSE(task.find("forecasts")->items().empty());
  const json::Value& read = *data.find("boards")->items()[0].find("read");
  TEST_ASSERT_EQUAL_DOUBLE(5.299, read.find("v")->items().back().as_double());
}

TEST(no_text_of_a_board_becomes_markup) {
  ToldBoard told;
  story::BoardStory story = told.finish();
  const std::string bad = test::kHostileName;
  story.node = bad;
  for (story::TaskStory& task : story.tasks) {
    task.name = task.headline = task.why = task.trainer = task.state = bad;
  }
  for (story::Happening& h : story.happenings) h.text = h.by = h.task = bad;
  for (story::Decision& d : story.decisions) d.why = bad;
  story.source.notes = {bad};
  const std::string page = page_of({std::move(story)});
  TEST_ASSERT_FALSE(has(page, "<img"));
  TEST_ASSERT_FALSE(has(page, "\xE2\x80\xAE"));
  // The script elements are the data and the page's own.
  TEST_ASSERT_EQUAL_UINT64(2, count(page, "</script"));
  TEST_ASSERT_FALSE(has(data_of(page), "<"));
  const json::Value data = parsed(data_of(page));
  TEST_ASSERT_TRUE(has(data.find("boards")->items()[0].find("name")->as_string(), "</script>"));
}

TEST(a_page_of_ten_thousand_tasks_stays_small_and_says_what_it_left_out) {
  ToldBoard told;
  story::BoardStory story = told.finish();
  const story::TaskStory good = story.tasks[0];
  const story::TaskStory lost = story.tasks[1];
  story.tasks.assign(9'999, good);
  story.tasks.push_back(lost);
  for (std::size_t i = 0; i < story.tasks.size(); ++i) {
    story.tasks[i].key = static_cast<core::TaskKey>(i + 1);
    story.tasks[i].track.shrink(story::kTaskPlacesMin);
    story.tasks[i].losses.shrink(story::kTaskPlacesMin);
  }
  const std::string page = page_of({std::move(story)});
  TEST_ASSERT_TRUE_MESSAGE(page.size() < 3'000'000, std::to_string(page.size()).c_str());
  TEST_ASSERT_TRUE(has(page, "9000 more tasks have no room here"));
  TEST_ASSERT_TRUE(has(page, "<a href=\"#task-999\">hopeless</a>"));
  TEST_ASSERT_EQUAL_UINT64(report::kPageDetailsMax, count(page, "<details class=task"));
}

TEST(a_fleet_has_one_page_with_the_budget_and_every_board) {
  std::vector<story::BoardStory> boards;
  for (int i = 0; i < 24; ++i) {
    story::BoardStory board;
    board.node = "n-" + std::to_string(i);
    board.to = 100 * kSecond;
    board.fleet.member = true;
    board.fleet.budgets = {{0, 240'000}};
    board.fleet.shares = {{0, 1, 10'000}, {50 * kSecond, 2, 9'000}};
    boards.push_back(std::move(board));
  }
  const std::string page = page_of(boards);
  TEST_ASSERT_TRUE(has(page, "A fleet of 24 boards"));
  TEST_ASSERT_TRUE(has(page, "id=shares-chart"));
  const json::Value data = parsed(data_of(page));
  TEST_ASSERT_EQUAL_UINT64(24, data.find("boards")->items().size());
  TEST_ASSERT_EQUAL_DOUBLE(240.0, data.find("budget")->find("v")->items()[0].as_double());
  TEST_ASSERT_EQUAL_DOUBLE(216.0, data.find("caps")->find("v")->items()[1].as_double());
}

TEST(a_summary_has_the_verdict_the_boards_and_their_tasks) {
  ToldBoard told;
  const std::vector<story::BoardStory> boards = {told.finish()};
  const json::Value summary = report::summary_of(boards, story::judge(boards));
  TEST_ASSERT_EQUAL_INT64(2, summary.find("verdict")->find("tasks")->as_integer());
  TEST_ASSERT_EQUAL_INT64(1, summary.find("verdict")->find("met")->as_integer());
  const json::Value& task = summary.find("boards")->items()[0].find("tasks")->items()[1];
  TEST_ASSERT_EQUAL_STRING("missed", task.find("state")->as_string().c_str());
  double spent = 0.0;
  for (const json::Value& use : task.find("spent")->items()) spent += use.find("s")->as_double();
  const story::TaskStory& told_task = boards[0].tasks[1];
  const DurationNs whole = told_task.ended_at - told_task.accepted_at;
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, static_cast<double>(whole) * 1e-9, spent);
}
