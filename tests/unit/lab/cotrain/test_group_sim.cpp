// Whole groups in virtual time: whatever goes wrong, every board that can end does, and all models
// are one.
#include "lab/cotrain/group_sim.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

constexpr std::uint64_t kSeeds = 40;  // laird-lab cotrain --groups 500 makes more

void check(Trouble trouble, bool all_came_back, bool says_without) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    GroupSimConfig config;
    config.trouble = trouble;
    config.seed = seed;
    const GroupSimResult result = run_group(config);
    const std::string context =
        std::string(name(trouble)) + ", seed " + std::to_string(seed) + ": " + result.note;
    TEST_ASSERT_FALSE_MESSAGE(result.hung, context.c_str());
    TEST_ASSERT_TRUE_MESSAGE(result.apart < 0.01, context.c_str());
    TEST_ASSERT_TRUE_MESSAGE(!all_came_back || result.off < 0.02, context.c_str());
    const bool without = result.note.find("without") != std::string::npos;
    TEST_ASSERT_TRUE_MESSAGE(without == says_without, context.c_str());
  }
}

}  // namespace

TEST(a_group_without_trouble) { check(Trouble::kNone, true, false); }
TEST(nobody_hears_anybody_for_a_while) { check(Trouble::kBrokerOff, true, false); }
TEST(a_trainer_stands_still_for_a_while) { check(Trouble::kStopped, true, false); }
TEST(a_board_is_killed_and_comes_back) { check(Trouble::kKilled, true, false); }
TEST(boards_are_killed_again_and_again) { check(Trouble::kChurn, true, false); }
TEST(a_board_is_taken_out_of_the_fleet) { check(Trouble::kGone, false, true); }
TEST(a_board_falls_silent_for_good) { check(Trouble::kSilent, false, true); }
TEST(a_board_comes_late) { check(Trouble::kLate, false, false); }
TEST(a_board_comes_after_the_end) { check(Trouble::kAfterTheEnd, false, false); }
