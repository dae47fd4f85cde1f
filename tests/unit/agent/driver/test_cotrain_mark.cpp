// A co-training task is one from its submission on, and after a restart of the agent as well.
#include "agent/core/state/state.hpp"
#include "tests/unit/agent/driver/one_board.hpp"

using namespace laird;
using test::OneBoard;

namespace {

constexpr const char* kFleet = R"({"name": "lab", "brokers": ["mqtt://127.0.0.1:1"],
    "insecure_lab": true, "budget": {"power": "20W"},
    "members": {"n-1": {"power": "2W"}}})";

core::TaskSpec task(const char* text) {
  std::vector<config::Problem> problems;
  const Result<json::Value> given = json::parse(text, "task");
  TEST_ASSERT_TRUE(given.has_value());
  core::TaskSpec spec = agent::parse_task(*given, "task", problems);
  for (const config::Problem& p : problems) TEST_FAIL_MESSAGE(p.text().c_str());
  return spec;
}

}  // namespace

TEST(the_mark_of_a_fleet_task_outlives_a_restart) {
  OneBoard board(kFleet);
  board.agent->submit(task(R"({"name": "shared", "trainer": "linear", "deadline": "1h",
      "target_loss": 0.1, "memory": "1MB", "fleet": true})"),
                      {});
  board.agent->submit(task(R"({"name": "own", "trainer": "linear", "deadline": "1h",
      "target_loss": 0.1, "memory": "1MB", "params": {"note": "fleet"}})"),
                      {});
  board.agent->process();
  for (int life = 0; life < 2; ++life) {
    const core::State& state = board.agent->state();
    TEST_ASSERT_NOT_NULL(state.find_named("shared"));
    TEST_ASSERT_TRUE(state.find_named("shared")->spec.cotrain);
    TEST_ASSERT_FALSE(state.find_named("own")->spec.cotrain);
    board.config.reset();
    board.agent.reset();
    auto again = agent::Agent::create(*board.loop, board.machine, board.settings,
                                      [](agent::LogLevel, const std::string&) {});
    TEST_ASSERT_TRUE(again.has_value());
    board.agent = std::move(*again);
    board.agent->process();
  }
}
