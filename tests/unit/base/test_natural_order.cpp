#include "base/natural_order.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/unit.hpp"

using namespace laird;

TEST(names_are_ordered_as_people_count) {
  std::vector<std::string> names = {"n-10", "n-2", "n-1", "m-3", "n-02b", "n"};
  std::sort(names.begin(), names.end(), natural_less);
  const std::vector<std::string> wanted = {"m-3", "n", "n-1", "n-2", "n-02b", "n-10"};
  TEST_ASSERT_TRUE(names == wanted);
}

TEST(names_that_only_count_alike_stay_two) {
  const std::set<std::string, NaturalLess> names = {"n-1", "n-01", "n-1"};
  TEST_ASSERT_EQUAL_UINT64(2, names.size());
}
