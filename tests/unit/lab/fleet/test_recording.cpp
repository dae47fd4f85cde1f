#include "lab/fleet/recording.hpp"

#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using lab::FleetRecording;

namespace {

Result<FleetRecording> read(const std::string& lines) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/recording";
  std::ofstream(path) << lines;
  return lab::read_recording(path);
}

std::string shares_line(const char* at, const char* epoch, const char* points) {
  return std::string(at) + R"( laird/v1/lab/node/n-1/tele/shares {"s":"laird.tele/1.0","epoch":)" +
         epoch + R"(,"points":)" + points + "}\n";
}

}  // namespace

TEST(points_that_are_repeated_count_once) {
  const auto got = read(shares_line("100.5", "7", "[[100000000,5,50]]") +
                        shares_line("101.5", "7", "[[100000000,5,50],[101000000,6,60]]"));
  TEST_ASSERT_TRUE(got.has_value());
  const auto& shares = got->nodes.at("n-1").shares;
  TEST_ASSERT_EQUAL_UINT64(2, shares.size());
  TEST_ASSERT_EQUAL_INT64(101'000'000, shares[1].unix_us);
  TEST_ASSERT_EQUAL_INT64(6, shares[1].parts);
  TEST_ASSERT_EQUAL_INT64(60, shares[1].enforced_mw);
}

TEST(an_agent_that_starts_anew_has_given_up_what_it_had) {
  const std::string report =
      R"(100.1 laird/v1/lab/node/n-1/report {"shares":{"power":{"floor_w":2,"budget_w":40}}})"
      "\n";
  const auto got = read(report + shares_line("100.5", "7", "[[100000000,5,5000]]") +
                        shares_line("110.5", "8", "[[110000000,1,2100]]"));
  TEST_ASSERT_TRUE(got.has_value());
  const auto& shares = got->nodes.at("n-1").shares;
  TEST_ASSERT_EQUAL_UINT64(3, shares.size());
  TEST_ASSERT_EQUAL_INT64(100'000'001, shares[1].unix_us);
  TEST_ASSERT_EQUAL_INT64(0, shares[1].parts);
  TEST_ASSERT_EQUAL_INT64(2'000, shares[1].enforced_mw);
}

TEST(tasks_events_states_and_the_first_budget_are_read) {
  const auto got = read(
      R"(100.1 laird/v1/lab/node/n-1/status {"state":"ready"})"
      "\n"
      R"(100.2 laird/v1/lab/node/n-1/report {"shares":{"power":{"floor_w":2,"budget_w":40}}})"
      "\n"
      R"(100.3 laird/v1/lab/node/n-1/task/night {"state":"running","loss":0.5,"target_loss":0.1})"
      "\n"
      R"(105.3 laird/v1/lab/node/n-1/task/night {"state":"succeeded","loss":0.1,"energy_j":7})"
      "\n"
      R"(105.4 laird/v1/lab/node/n-1/evt/task {"text":"night: succeeded"})"
      "\n"
      R"(106.4 laird/v1/lab/node/n-1/tele/power {"power_w":9.5})"
      "\n"
      R"(107.4 laird/v1/lab/node/n-1/task/night )"
      "\n");
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_EQUAL_UINT64(0, got->unreadable);
  TEST_ASSERT_EQUAL_UINT64(1, got->tasks.size());
  TEST_ASSERT_EQUAL_UINT64(2, got->tasks[0].states.size());
  TEST_ASSERT_EQUAL_STRING("succeeded", got->tasks[0].states[1].state.c_str());
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 5.2, got->tasks[0].states[1].at_s);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 7.0, got->tasks[0].energy_j);
  TEST_ASSERT_EQUAL_UINT64(1, got->events.size());
  TEST_ASSERT_EQUAL_INT64(40'000, got->budgets.at(0).mw);
  TEST_ASSERT_EQUAL_UINT64(1, got->nodes.at("n-1").power_w.size());
}

TEST(what_cannot_be_read_is_counted_and_harms_nothing) {
  const auto got = read("nonsense\n" + shares_line("100.5", "7", "[[100000000,5,50]]") +
                        shares_line("101.0", "7", R"([[1,2],["a",1,1],7])") +
                        "102 laird/v1/lab/node/n-1/report {\n"
                        "103 other/topic {}\n"
                        "-5 laird/v1/lab/node/n-1/report {}\n" +
                        std::string(300'000, 'x') + "\n");
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_EQUAL_UINT64(8, got->unreadable);
  TEST_ASSERT_EQUAL_UINT64(1, got->nodes.at("n-1").shares.size());
}

TEST(a_recording_without_a_message_is_an_error_that_says_how_to_record) {
  const auto empty = read("");
  TEST_ASSERT_FALSE(empty.has_value());
  TEST_ASSERT_TRUE(empty.error().context.find("mosquitto_sub") != std::string::npos);
  TEST_ASSERT_TRUE(lab::read_recording("/nowhere").error().code == Code::kNotFound);
}

TEST(lives_are_told_apart_by_what_only_a_living_agent_says) {
  const auto power = [](const char* at, const char* epoch, const char* rest) {
    return std::string(at) + R"( laird/v1/lab/node/n-1/tele/power {"epoch":)" + epoch + rest +
           "}\n";
  };
  const auto got = read(power("100", "7", R"(,"power_w":9,"power_mean_w":5.5)") +
                        power("104", "7", R"(,"power_w":9,"power_mean_w":6.5)") +
                        // The will of the first life, from the broker and late.
                        R"(109 laird/v1/lab/node/n-1/status {"state":"lost","epoch":7})"
                        "\n" +
                        power("112", "8", R"(,"power_w":20,"power_mean_w":null)") +
                        power("113", "8", R"(,"power_w":20,"power_mean_w":7.5)"));
  TEST_ASSERT_TRUE(got.has_value());
  const lab::FleetNode& node = got->nodes.at("n-1");
  TEST_ASSERT_EQUAL_UINT64(2, node.lives.size());
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 4.0, node.lives[0].to_s);
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 12.0, node.lives[1].from_s);
  // Without a mean there is no point: one reading of 20 W is not what was drawn.
  TEST_ASSERT_EQUAL_UINT64(3, node.power_w.size());
  TEST_ASSERT_EQUAL_DOUBLE(7.5, node.power_w[2].value);
}

TEST(a_task_that_a_board_takes_back_before_its_end_has_moved) {
  const auto got =
      read(R"(100.3 laird/v1/lab/node/n-1/task/goes {"state":"running","target_loss":0.1})"
           "\n"
           R"(100.4 laird/v1/lab/node/n-1/task/ends {"state":"succeeded","target_loss":0.1})"
           "\n"
           "105.3 laird/v1/lab/node/n-1/task/goes \n"
           "105.4 laird/v1/lab/node/n-1/task/ends \n");
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_EQUAL(2, got->tasks.size());
  for (const lab::RecordedTask& task : got->tasks) {
    TEST_ASSERT_EQUAL_STRING(task.name == "goes" ? "moved" : "succeeded",
                             task.states.back().state.c_str());
  }
}
