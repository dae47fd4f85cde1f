#include "trainers/privacy/spent_budget.hpp"

#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

TEST(what_was_told_is_never_forgotten_and_at_most_a_part_is_counted_for_nothing) {
  const test::TemporaryFolder temporary;
  double told = 0.0;
  for (int life = 0; life < 5; ++life) {
    auto spent = SpentBudget::open(temporary.path());
    TEST_ASSERT_TRUE(spent.has_value());
    TEST_ASSERT_TRUE(spent->zcdp() >= told);
    const double before = spent->zcdp();
    for (int round = 0; round < 20; ++round) {
      TEST_ASSERT_TRUE(spent->spend(0.25).has_value());
      told += 0.25;
    }
    TEST_ASSERT_EQUAL_DOUBLE(before + 5.0, spent->zcdp());
    TEST_ASSERT_TRUE(spent->zcdp() <= told + 0.25 * 16 * life);
  }
}

TEST(nothing_is_told_when_the_account_is_damaged_or_cannot_be_kept) {
  const test::TemporaryFolder temporary;
  const std::string path = temporary.path() + "/" + std::string(kSpentFile);
  for (const char* text : {"", "{}", "{\"zcdp\": -1}", "{\"zcdp\": \"x\"}", "{\"zcdp\": 1", "7"}) {
    std::ofstream(path) << text;
    const auto spent = SpentBudget::open(temporary.path());
    TEST_ASSERT_FALSE_MESSAGE(spent.has_value(), text);
    TEST_ASSERT_TRUE(spent.error().context.find(path) != std::string::npos);
  }
  auto gone = SpentBudget::open(temporary.path() + "/not-there");
  TEST_ASSERT_TRUE(gone.has_value());
  TEST_ASSERT_FALSE(gone->spend(0.25).has_value());
  TEST_ASSERT_EQUAL_DOUBLE(0.0, gone->zcdp());
}

TEST(words_never_tell_a_smaller_budget) {
  // 0.5 + 2 sqrt(0.5 ln 1e5) = 5.2985
  TEST_ASSERT_EQUAL_STRING("epsilon 5.30 at delta 1e-05", privacy_words(0.5, 1e-5).c_str());
  TEST_ASSERT_EQUAL_STRING("epsilon 0.00 at delta 1e-06", privacy_words(0.0, 1e-6).c_str());
}
