#include "datasets/csv.hpp"

#include <cstring>

#include "datasets/csv_rows.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::datasets;

namespace {

Result<Dataset> read(const std::string& text, const CsvLayout& layout = {}) {
  const auto source = from_memory(text, "x.csv");
  return read_csv(*source, layout);
}

void refused(const Result<Dataset>& r, const char* why) {
  TEST_ASSERT_FALSE_MESSAGE(r.has_value(), why);
  TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(r.error().context.c_str(), why),
                               r.error().context.c_str());
}

}  // namespace

TEST(reads_features_and_text_classes_in_sorted_order) {
  const auto data = read("a,b,kind\r\n1,2,pear\r\n\r\n-3.5,4e1,apple\r\n5,6,pear");
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(3, data->rows);
  TEST_ASSERT_EQUAL_UINT32(2, data->features);
  TEST_ASSERT_EQUAL_UINT32(2, data->classes);
  TEST_ASSERT_EQUAL_UINT16(1, data->labels[0]);
  TEST_ASSERT_EQUAL_UINT16(0, data->labels[1]);
  TEST_ASSERT_EQUAL_FLOAT(-3.5F, data->values[2]);
  TEST_ASSERT_EQUAL_FLOAT(40.0F, data->values[3]);
}

TEST(whole_number_classes_sort_by_value) {
  CsvLayout layout;
  layout.header = false;
  layout.label = "0";
  const auto data = read("10,1\n9,2\n10,3\n", layout);
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT16(1, data->labels[0]);
  TEST_ASSERT_EQUAL_UINT16(0, data->labels[1]);
  TEST_ASSERT_EQUAL_FLOAT(1.0F, data->values[0]);
}

TEST(the_label_column_goes_by_name_or_number) {
  CsvLayout layout;
  layout.label = "y";
  layout.label_is_number = true;
  const auto data = read("x,y,z\n1,2,3\n", layout);
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(0, data->classes);
  TEST_ASSERT_EQUAL_FLOAT(2.0F, data->targets[0]);
  TEST_ASSERT_EQUAL_FLOAT(3.0F, data->values[1]);
  layout.label = "w";
  refused(read("x,y,z\n1,2,3\n", layout), "x.csv:1: there is no label column \"w\"");
  layout.label = "3";
  refused(read("x,y,z\n1,2,3\n", layout), "a number from 0 to 2");
}

TEST(quotes_hold_commas_and_quotes) {
  const auto data = read("\"a, b\",kind\n\"1\",\"say \"\"x\"\", y\"\n2,z\n");
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(2, data->classes);
  refused(read("a,b\n\"1,2\n"), "x.csv:2: a quote is not closed");
  refused(read("a,b\n\"1\"2,2\n"), "text follows it");
}

TEST(every_problem_names_its_line) {
  refused(read(""), "holds no row");
  refused(read("a,b\n"), "holds no row");
  refused(read("a\n1\n"), "x.csv:1: 1 columns");
  refused(read("a,b\n1,2\n1,2,3\n"), "x.csv:3: 3 columns, the first line has 2");
  refused(read("a,b\n1,2\n,3\n"), "x.csv:3: column 0 holds no number");
  refused(read("a,b\nnan,2\n"), "column 0 holds no number");
  refused(read("a,b\n1e999,2\n"), "holds no number");
  CsvLayout layout;
  layout.header = false;
  refused(read("a,b\n1,2\n", layout), "set \"header\": true");
}

// A task may name any file that the trainer can read, and errors reach whoever asks for them.
TEST(no_problem_tells_what_the_file_holds) {
  const std::string secret = "root:x:0";
  CsvLayout layout;
  const auto says_nothing = [&](const std::string& text) {
    const auto data = read(text, layout);
    TEST_ASSERT_FALSE(data.has_value());
    TEST_ASSERT_TRUE_MESSAGE(data.error().context.find("root") == std::string::npos,
                             data.error().context.c_str());
  };
  says_nothing("a,b\n" + secret + ",1\n");
  says_nothing("a,b\n\"" + secret + "\n");
  says_nothing(secret + "\n" + secret + "\n");
  says_nothing("a,b\n1,2\n" + secret + "\n");
  layout.class_count = 3;
  says_nothing("a,b\n1," + secret + "\n");
}

TEST(hostile_tables_are_bounded) {
  refused(read(std::string(2 * kCsvLineMax, 'x')), "the line is longer");
  refused(read(std::string(kCsvColumnsMax + 5, ',') + "\n"), "fewer than 20000 columns");
  std::string many = "a,b\n";
  for (int i = 0; i < 2000; ++i) many += "1,label" + std::to_string(i) + "\n";
  refused(read(many), "more than 1000 different labels");
}

TEST(stops_at_the_row_limit) {
  CsvLayout layout;
  layout.rows_max = 2;
  const auto data = read("a,b\n1,x\n2,y\nbroken", layout);
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(2, data->rows);
}
