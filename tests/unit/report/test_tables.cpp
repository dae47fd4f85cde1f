#include "report/tables.hpp"

#include <algorithm>

#include "tests/harness/unit.hpp"
#include "tests/unit/report/told_board.hpp"

using namespace laird;
using report::csv_cell;
using report::Table;
using test::ToldBoard;

namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::size_t columns_of(std::string_view line) {
  std::size_t n = 1;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) ++n;
  }
  return n;
}

}  // namespace

TEST(a_cell_is_quoted_where_it_must_be_and_is_never_a_formula) {
  TEST_ASSERT_EQUAL_STRING("plain", csv_cell("plain").c_str());
  TEST_ASSERT_EQUAL_STRING("\"a,b\"", csv_cell("a,b").c_str());
  TEST_ASSERT_EQUAL_STRING("\"say \"\"no\"\"\"", csv_cell("say \"no\"").c_str());
  TEST_ASSERT_EQUAL_STRING("\"'=1+1\"", csv_cell("=1+1").c_str());
  TEST_ASSERT_EQUAL_STRING("\"'@x\"", csv_cell("@x").c_str());
  TEST_ASSERT_EQUAL_STRING("\"'-x\"", csv_cell("-x").c_str());
  TEST_ASSERT_EQUAL_STRING("\"'+x\"", csv_cell("+x").c_str());
  // A leading control character hides a formula from no one.
  TEST_ASSERT_EQUAL_STRING("\" =1\"", csv_cell("\t=1").c_str());
  TEST_ASSERT_EQUAL_STRING("", csv_cell("").c_str());
}

TEST(every_report_reading_and_rail_is_a_row_with_all_columns) {
  ToldBoard told("one, two");
  const story::BoardStory story = told.finish();
  report::write_tables({&story, 1}, [&](Table table, std::string_view lines) {
    told.tables[static_cast<std::size_t>(table)] += lines;
  });
  const auto rows = [&](Table table) {
    return lines_of(told.tables[static_cast<std::size_t>(table)]);
  };
  std::uint64_t reports = 0;
  for (const story::TaskStory& task : story.tasks) reports += task.reports;
  TEST_ASSERT_EQUAL_UINT64(reports, rows(Table::kReports));
  TEST_ASSERT_EQUAL_UINT64(300, rows(Table::kPower));
  TEST_ASSERT_EQUAL_UINT64(600, rows(Table::kRails));
  TEST_ASSERT_EQUAL_UINT64(2, rows(Table::kTasks));
  TEST_ASSERT_EQUAL_UINT64(story.happenings.size(), rows(Table::kEvents));
  TEST_ASSERT_TRUE(rows(Table::kDecisions) > 10);
  for (std::size_t i = 0; i < report::kTables; ++i) {
    const std::size_t wanted = columns_of(report::head_of(static_cast<Table>(i)));
    std::string_view rest = told.tables[i];
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      TEST_ASSERT_EQUAL_UINT64(wanted, columns_of(rest.substr(0, end)));
      rest.remove_prefix(end + 1);
    }
  }
  TEST_ASSERT_TRUE(told.tables[static_cast<std::size_t>(Table::kRails)].find(",\"'=cmd()\",") !=
                   std::string::npos);
}
