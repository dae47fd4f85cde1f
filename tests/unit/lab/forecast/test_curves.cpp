#include "lab/forecast/curves.hpp"

#include <cstring>
#include <fstream>

#include "lab/forecast/page.hpp"
#include "tests/harness/unit.hpp"

using laird::lab::averaged;
using laird::lab::Curve;
using laird::lab::load_curves;
using laird::lab::parse_curve;

TEST(reads_lines_of_samples_and_loss_after_a_header) {
  std::vector<std::string> remarks;
  const auto curve = parse_curve("samples_or_step,loss\n1,2.5\n20,1.5\r\n", "a", remarks);
  TEST_ASSERT_TRUE(curve.has_value());
  TEST_ASSERT_EQUAL_UINT64(2, curve->samples.size());
  TEST_ASSERT_EQUAL_DOUBLE(20.0, curve->samples[1]);
  TEST_ASSERT_EQUAL_DOUBLE(1.5, curve->loss[1]);
  TEST_ASSERT_TRUE(remarks.empty());
}

TEST(names_the_line_that_is_not_two_numbers) {
  std::vector<std::string> remarks;
  const auto curve = parse_curve("samples,loss\n1,2\nthree,4\n", "bad", remarks);
  TEST_ASSERT_FALSE(curve.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(curve.error().context.c_str(), "bad:3"));
}

TEST(leaves_out_unusable_losses_and_says_so) {
  std::vector<std::string> remarks;
  const auto curve = parse_curve("1,2\n2,nan\n3,0\n4,-1\n5,inf\n3,1\n6,1\n", "a", remarks);
  TEST_ASSERT_EQUAL_UINT64(3, curve->samples.size());  // 1, 3 and 6: the 3 comes after the 1
  TEST_ASSERT_EQUAL_UINT64(1, remarks.size());
  TEST_ASSERT_NOT_NULL(std::strstr(remarks[0].c_str(), "4 lines"));
}

TEST(averages_long_curves_into_bins_that_end_at_their_last_sample) {
  Curve curve;
  for (int i = 1; i <= 1000; ++i) {
    curve.samples.push_back(i);
    curve.loss.push_back(i % 2 == 0 ? 1.0 : 3.0);
  }
  const Curve binned = averaged(curve, 500);
  TEST_ASSERT_EQUAL_UINT64(500, binned.samples.size());
  TEST_ASSERT_EQUAL_DOUBLE(2.0, binned.samples[0]);
  TEST_ASSERT_EQUAL_DOUBLE(1000.0, binned.samples[499]);
  TEST_ASSERT_EQUAL_DOUBLE(2.0, binned.loss[250]);
  TEST_ASSERT_EQUAL_UINT64(1000, averaged(curve, 2000).samples.size());
}

TEST(a_folder_without_curves_is_an_error_that_names_it) {
  laird::test::TemporaryFolder folder;
  const auto none = load_curves(folder.path());
  TEST_ASSERT_FALSE(none.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(none.error().context.c_str(), folder.path().c_str()));
  TEST_ASSERT_FALSE(load_curves(folder.path() + "/absent").has_value());
}

TEST(sources_come_from_the_manifest_and_may_be_absent) {
  laird::test::TemporaryFolder folder;
  const std::string points = "1,5\n2,4\n3,3\n4,2\n5,1\n";
  std::ofstream(folder.path() + "/a.csv") << points;
  std::ofstream(folder.path() + "/b.csv") << points;
  std::ofstream(folder.path() + "/manifest.json")
      << R"([{"file": "b.csv", "source_repo": "someone/something"}])";
  const auto set = load_curves(folder.path());
  TEST_ASSERT_TRUE(set.has_value());
  TEST_ASSERT_EQUAL_UINT64(2, set->curves.size());
  TEST_ASSERT_EQUAL_STRING("", set->curves[0].source.c_str());
  TEST_ASSERT_EQUAL_STRING("someone/something", set->curves[1].source.c_str());
}

TEST(the_page_shows_every_curve_and_escapes_names) {
  Curve curve;
  curve.name = "a<b&c";
  for (int i = 1; i <= 100; ++i) {
    curve.samples.push_back(i);
    curve.loss.push_back(3.0 / i);
  }
  const std::string page = laird::lab::draw_page({curve});
  TEST_ASSERT_NOT_NULL(std::strstr(page.c_str(), "a&lt;b&amp;c"));
  TEST_ASSERT_NULL(std::strstr(page.c_str(), "a<b"));
  TEST_ASSERT_NULL(std::strstr(page.c_str(), "nan"));
  std::size_t bands = 0;
  for (std::size_t at = page.find("class=band"); at != std::string::npos;
       at = page.find("class=band", at + 1)) {
    ++bands;
  }
  TEST_ASSERT_EQUAL_UINT64(3, bands);
}
