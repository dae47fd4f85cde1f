#include "control/provision/enroll.hpp"

#include <sys/stat.h>

#include <fstream>

#include "control/fleet/fleet_budget.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/control/budget_of_two.hpp"

using namespace laird;
using namespace laird::control;
using test::budget_of_two;

namespace {

Enrolment board() {
  return {"n-9",
          "lab",
          {"mqtts://broker.local:8883"},
          {{"op-alice", std::string(44, 'A')}},
          budget_of_two()};
}

}  // namespace

TEST(a_new_boards_config_names_the_founders_of_the_plan_and_no_others) {
  Enrolment late = board();
  late.budget = with_member(late.budget, "n-9", 1'000);
  const auto config = board_config(late);
  TEST_ASSERT_TRUE_MESSAGE(config.has_value(), config ? "" : config.error().context.c_str());
  const json::Value* fleet = config->find("fleet");
  TEST_ASSERT_EQUAL_STRING(R"({"n-1":{"power":"2W"},"n-2":{"power":"3W","cpu":0.5,"gpu":0.25}})",
                           json::to_text(*fleet->find("members")).c_str());
  TEST_ASSERT_EQUAL_STRING(R"({"power":"60W"})", json::to_text(*fleet->find("budget")).c_str());
  TEST_ASSERT_EQUAL_INT64(2, fleet->find("epoch")->as_integer());
  TEST_ASSERT_EQUAL_STRING("n-9", config->find("node")->as_string().c_str());
}

TEST(a_config_the_agent_would_not_take_is_not_made) {
  Enrolment wrong = board();
  wrong.operators[0].key = "short";
  TEST_ASSERT_FALSE(board_config(wrong).has_value());
  wrong = board();
  wrong.brokers.clear();
  TEST_ASSERT_FALSE(board_config(wrong).has_value());
}

TEST(members_come_and_go_and_founders_stay) {
  const core::FleetBudget more = with_member(budget_of_two(), "n-10", 1'000);
  TEST_ASSERT_EQUAL_UINT64(5, more.rev);
  TEST_ASSERT_EQUAL_STRING("n-10", more.members[1].id.c_str());
  TEST_ASSERT_EQUAL_INT64(1'000, more.members[1].floor[2]);
  TEST_ASSERT_TRUE(core::check_fleet_budget(more).has_value());
  const core::FleetBudget fewer = without_member(more, "n-1");
  TEST_ASSERT_NULL(fewer.member("n-1"));
  TEST_ASSERT_EQUAL_UINT64(2, fewer.founders.size());
  TEST_ASSERT_TRUE(core::check_fleet_budget(fewer).has_value());
}

TEST(a_bundle_is_whole_or_not_there_and_its_key_is_secret) {
  const test::TemporaryFolder folder;
  const std::string identity = folder.path() + "/id";
  ::mkdir(identity.c_str(), 0700);
  const std::string out = folder.path() + "/out/n-9";
  TEST_ASSERT_FALSE(write_bundle(out, json::Value::object(), identity, IfThere::kRefuse));
  struct stat info {};
  TEST_ASSERT_NOT_EQUAL(0, ::stat(out.c_str(), &info));
  for (const char* name : {"ca.crt", "node.crt", "node.key"}) {
    std::ofstream(identity + "/" + name) << name;
  }
  TEST_ASSERT_TRUE(write_bundle(out, json::Value::object(), identity, IfThere::kRefuse));
  TEST_ASSERT_EQUAL_INT(0, ::stat((out + "/tls/node.key").c_str(), &info));
  TEST_ASSERT_EQUAL_UINT32(0600, info.st_mode & 0777);
  TEST_ASSERT_FALSE(write_bundle(out, json::Value::object(), identity, IfThere::kRefuse));
  TEST_ASSERT_TRUE(install_commands(out, "n-9").find("laird-n-9/tls/*") != std::string::npos);
}
