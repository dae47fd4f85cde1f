#include "control/doctor/doctor.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

TEST(what_a_trainer_could_do_is_listed_with_what_to_do_about_it) {
  const auto parsed = [](const char* text) { return *json::parse(text, "cell"); };
  const Finding held = judge_cell(parsed(R"({"guards": ["user", "files"], "open": []})"));
  TEST_ASSERT_TRUE(held.health == Health::kOk && held.remedy.empty());
  TEST_ASSERT_TRUE(held.text.find("user, files") != std::string::npos);
  const Finding open = judge_cell(parsed(R"({"guards": [], "open": ["kill the agent", "x"]})"));
  TEST_ASSERT_TRUE(open.health == Health::kWarning && !open.remedy.empty());
  TEST_ASSERT_TRUE(open.text.find("could kill the agent; x") != std::string::npos);
}

TEST(a_full_disk_fails_a_nearly_full_one_warns) {
  TEST_ASSERT_TRUE(judge_disk("/x", 40'000'000, 1'000'000'000).health == Health::kFailed);
  TEST_ASSERT_TRUE(judge_disk("/x", 400'000'000, 1'000'000'000).health == Health::kWarning);
  TEST_ASSERT_TRUE(judge_disk("/x", 5'000'000'000, 9'000'000'000).health == Health::kOk);
  TEST_ASSERT_FALSE(judge_disk("/x", 0, 1).remedy.empty());
}

TEST(certificates_are_renewed_a_month_before) {
  TEST_ASSERT_TRUE(judge_certificate("c", -1).health == Health::kFailed);
  TEST_ASSERT_TRUE(judge_certificate("c", 29 * 86'400).health == Health::kWarning);
  TEST_ASSERT_TRUE(judge_certificate("c", 31 * 86'400).health == Health::kOk);
}

TEST(clocks_fail_where_boards_would_refuse) {
  TEST_ASSERT_TRUE(judge_clock("n", 31.0).health == Health::kFailed);
  TEST_ASSERT_TRUE(judge_clock("n", -31.0).health == Health::kFailed);
  TEST_ASSERT_TRUE(judge_clock("n", -6.0).health == Health::kWarning);
  TEST_ASSERT_TRUE(judge_clock("n", 0.4).health == Health::kOk);
}

TEST(a_machine_without_an_agent_is_skipped_not_failed) {
  for (const Finding& finding : check_machine("/nowhere/laird.sock", kSecond)) {
    if (finding.subject == "agent") {
      TEST_ASSERT_TRUE(finding.health == Health::kSkipped);
    }
    if (finding.health == Health::kFailed || finding.health == Health::kWarning) {
      TEST_ASSERT_FALSE(finding.remedy.empty());
    }
  }
}
