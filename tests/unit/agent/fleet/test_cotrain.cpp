#include "agent/fleet/cotrain.hpp"

#include <set>

#include "agent/core/state/fleet.hpp"
#include "agent/settings/cotrain_task.hpp"
#include "mqtt/codec/coop.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

core::Task fleet_task(core::TaskState state) {
  core::Task task;
  task.key = 7;
  task.attempt = 1;
  task.state = state;
  task.spec.name = "shared";
  task.spec.params = R"({"fleet":{}})";
  task.spec.cotrain = true;
  return task;
}

std::string status(std::string_view state, int epoch) {
  return R"({"s":"laird.status/1.0","state":")" + std::string(state) + R"(","epoch":)" +
         std::to_string(epoch) + R"(,"ts":"2026-11-16T07:16:53.850Z"})";
}

std::string word(int epoch, std::string_view what) {
  return R"({"s":"laird.cotrain/1.0","epoch":)" + std::to_string(epoch) +
         R"(,"ts":"2026-11-16T07:16:53.850Z","tasks":{"shared":")" + std::string(what) + R"("}})";
}

// A groups of the board n-1 in a fleet of five, and what it did.
struct Rig {
  Rig()
      : groups(
            "n-1",
            {.publish = [this](const std::string& w) { words.push_back(w); },
             .send = [this](const std::string& peer,
                            std::string payload) { sent.emplace_back(peer, std::move(payload)); },
             .tell = [this](core::TaskKey, const std::string& line,
                            bool may_drop) { (may_drop ? parts : told).push_back(line); }}) {
    for (const char* node : {"n-1", "n-2", "n-3", "n-4", "n-5"}) {
      core::FleetMember member;
      member.id = node;
      state.fleet.budget.members.push_back(member);
    }
    state.live.push_back(fleet_task(core::TaskState::kReady));
  }

  void works(const std::string& node, int epoch = 1) {
    groups.on_status(node, status("ready", epoch));
    groups.on_word(node, word(epoch, "at-work"));
  }
  void refresh() { groups.refresh(state, kHour); }

  core::State state;
  std::vector<std::string> words, told, parts;
  std::vector<std::pair<std::string, std::string>> sent;
  GroupTracker groups;
};

}  // namespace

TEST(both_ends_of_an_edge_have_the_same_weight_whatever_the_size_of_the_group) {
  for (const std::size_t n : {2U, 4U, 7U, 8U, 20U, 60U}) {
    std::vector<std::string> members;
    for (std::size_t i = 0; i < n; ++i) members.push_back("n-" + std::to_string(i));
    for (const std::string& a : members) {
      double sum = 0;
      for (const auto& [b, weight] : neighbours_in(members, a)) {
        sum += weight;
        bool back = false;
        for (const auto& [c, other] : neighbours_in(members, b)) back |= c == a && other == weight;
        TEST_ASSERT_TRUE(back);
      }
      TEST_ASSERT_TRUE(sum > 0 && sum <= 1.0);
    }
  }
  TEST_ASSERT_TRUE(neighbours_in({"n-1", "n-2"}, "n-3").empty());
  TEST_ASSERT_TRUE(neighbours_in({"n-1"}, "n-1").empty());
}

TEST(a_group_is_the_live_members_that_say_they_work_on_the_task) {
  Rig rig;
  rig.works("n-2");
  rig.works("n-3");
  rig.works("n-9");                               // not of the budget
  rig.groups.on_word("n-4", word(1, "at-work"));  // nobody heard it live
  rig.groups.on_status("n-5", status("ready", 2));
  rig.groups.on_word("n-5", word(1, "at-work"));  // of an earlier life
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(3, rig.groups.boards("shared"));
  TEST_ASSERT_EQUAL_UINT64(1, rig.told.size());
  TEST_ASSERT_EQUAL_STRING(
      R"({"type":"peers","me":"n-1","life":3600000,"peers":[{"node":"n-2","weight":0.3333333333333333},{"node":"n-3","weight":0.3333333333333333}],"done":false})"
      "\n",
      rig.told[0].c_str());
  TEST_ASSERT_EQUAL_STRING(R"({"shared":"at-work"})", rig.words[0].c_str());
  rig.refresh();  // nothing new
  TEST_ASSERT_EQUAL_UINT64(1, rig.told.size());
  TEST_ASSERT_EQUAL_UINT64(1, rig.words.size());
}

TEST(who_is_lost_or_done_leaves_the_group) {
  Rig rig;
  rig.works("n-2");
  rig.works("n-3");
  rig.refresh();
  rig.groups.on_status("n-2", status("lost", 0));  // a will of an earlier life
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(3, rig.groups.boards("shared"));
  rig.groups.on_status("n-2", status("lost", 1));
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(2, rig.groups.boards("shared"));
  rig.groups.on_word("n-3", word(1, "done"));
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(1, rig.groups.boards("shared"));
  TEST_ASSERT_TRUE(rig.told.back().find(R"("peers":[],"done":true)") != std::string::npos);
}

TEST(a_trainer_hears_of_its_group_once_it_is_ready_and_each_process_of_its_own_life) {
  Rig rig;
  rig.works("n-2");
  rig.state.live[0].state = core::TaskState::kStarting;
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(0, rig.told.size());
  TEST_ASSERT_EQUAL_UINT64(1, rig.words.size());
  rig.state.live[0].state = core::TaskState::kReady;
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(1, rig.told.size());
  rig.state.live[0].attempt = 2;
  rig.groups.refresh(rig.state, 2 * kHour);
  TEST_ASSERT_EQUAL_UINT64(2, rig.told.size());
  TEST_ASSERT_TRUE(rig.told[1].find(R"("life":7200000)") != std::string::npos);
}

TEST(a_task_that_ended_as_planned_is_told_as_done_and_other_tasks_are_not_told) {
  Rig rig;
  rig.refresh();
  core::Task ended = rig.state.live[0];
  ended.state = core::TaskState::kEnded;
  ended.outcome = core::Outcome::kExhausted;
  ended.ended_at = kHour;
  core::Task plain = ended;
  plain.spec.name = "plain";
  plain.spec.cotrain = false;
  rig.state.live.clear();
  rig.state.ended = {ended, plain};
  rig.refresh();
  TEST_ASSERT_EQUAL_STRING(R"({"shared":"done"})", rig.words.back().c_str());
  // Whoever was away hears it until the deadline, and no longer.
  rig.state.ended[0].change().deadline_at = 5 * kHour;
  rig.groups.refresh(rig.state, 5 * kHour);
  TEST_ASSERT_EQUAL_STRING(R"({"shared":"done"})", rig.words.back().c_str());
  rig.groups.refresh(rig.state, 6 * kHour);
  TEST_ASSERT_EQUAL_STRING("{}", rig.words.back().c_str());
}

TEST(parts_go_to_neighbours_and_come_from_neighbours_only) {
  Rig rig;
  rig.works("n-2");
  rig.works("n-3");
  rig.refresh();
  rig.groups.on_to_peers(7, "", "abc");
  TEST_ASSERT_EQUAL_UINT64(2, rig.sent.size());
  rig.groups.on_to_peers(7, "n-3", "abc");
  rig.groups.on_to_peers(7, "n-4", "abc");
  rig.groups.on_to_peers(8, "", "abc");
  TEST_ASSERT_EQUAL_UINT64(3, rig.sent.size());
  const auto part = mqtt::parse_model_body(rig.sent[2].second);
  TEST_ASSERT_TRUE(part && part->task == "shared" && part->bytes == "abc");

  rig.groups.on_part("n-2", mqtt::model_body("shared", "abc"));
  TEST_ASSERT_EQUAL_UINT64(1, rig.parts.size());
  TEST_ASSERT_EQUAL_STRING("{\"type\":\"peer\",\"from\":\"n-2\",\"data\":\"YWJj\"}\n",
                           rig.parts[0].c_str());
  rig.groups.on_part("n-4", mqtt::model_body("shared", "abc"));
  rig.groups.on_part("n-2", mqtt::model_body("other", "abc"));
  rig.groups.on_part("n-2", "\x02");
  TEST_ASSERT_EQUAL_UINT64(1, rig.parts.size());
}

TEST(words_that_are_not_well_formed_are_dropped) {
  Rig rig;
  rig.works("n-2");
  rig.refresh();
  for (const char* bad : {"", "{}", R"({"s":"laird.cotrain/2.0","epoch":3,"tasks":{}})",
                          R"({"s":"laird.cotrain/1.0","epoch":-3,"tasks":{}})",
                          R"({"s":"laird.cotrain/1.0","epoch":3,"tasks":[]})"}) {
    rig.groups.on_word("n-2", bad);
  }
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(2, rig.groups.boards("shared"));
}

TEST(a_board_says_why_it_cannot_take_a_fleet_task) {
  core::TaskSpec spec = fleet_task(core::TaskState::kQueued).spec;
  spec.trainer = "t";
  std::map<std::string, TrainerProgram> trainers;
  trainers["t"].argv = {"/usr/lib/laird/laird-train", "softmax"};
  TEST_ASSERT_EQUAL_STRING("", cotrain_task_problem(spec, trainers, true).c_str());
  TEST_ASSERT_TRUE(cotrain_task_problem(spec, trainers, false).find("\"fleet\"") !=
                   std::string::npos);
  trainers["t"].argv[1] = "mlp";
  TEST_ASSERT_TRUE(cotrain_task_problem(spec, trainers, true).find("mlp") != std::string::npos);
  trainers["t"].argv = {"/opt/own"};
  TEST_ASSERT_EQUAL_STRING("", cotrain_task_problem(spec, trainers, true).c_str());
  trainers["t"].lines_only = true;
  TEST_ASSERT_TRUE(cotrain_task_problem(spec, trainers, true).find("only prints") !=
                   std::string::npos);
  spec.cotrain = false;
  TEST_ASSERT_EQUAL_STRING("", cotrain_task_problem(spec, trainers, false).c_str());
}

TEST(a_fleet_task_is_known_by_the_section_fleet_of_its_params) {
  core::State state;
  state.live = {fleet_task(core::TaskState::kQueued), fleet_task(core::TaskState::kQueued)};
  state.live[1].spec.params = R"({"note":"fleet","fleet":true})";
  state.ended = {fleet_task(core::TaskState::kEnded), fleet_task(core::TaskState::kEnded)};
  state.ended[1].change().spec.params = "{ not JSON \"fleet\"";
  state.live[0].spec.cotrain = state.ended[0].change().spec.cotrain = false;
  mark_cotrain_tasks(state);
  TEST_ASSERT_TRUE(state.live[0].spec.cotrain);
  TEST_ASSERT_FALSE(state.live[1].spec.cotrain);
  TEST_ASSERT_TRUE(state.ended[0]->spec.cotrain);
  TEST_ASSERT_FALSE(state.ended[1]->spec.cotrain);
}

TEST(a_board_needs_others_words_from_the_acceptance_of_a_fleet_task_to_its_end) {
  Rig rig;
  for (const core::TaskState state : {core::TaskState::kQueued, core::TaskState::kPreempting,
                                      core::TaskState::kStarting, core::TaskState::kRunning}) {
    rig.state.live[0].state = state;
    TEST_ASSERT_TRUE(has_fleet_task(rig.state));
  }
  rig.state.live[0].spec.cotrain = false;
  TEST_ASSERT_FALSE(has_fleet_task(rig.state));
  rig.state.ended = {fleet_task(core::TaskState::kEnded)};
  rig.state.live.clear();
  TEST_ASSERT_FALSE(has_fleet_task(rig.state));
}

TEST(who_was_forgotten_is_no_member_until_heard_again) {
  Rig rig;
  rig.works("n-2");
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(2, rig.groups.boards("shared"));
  rig.groups.forget_others();
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(1, rig.groups.boards("shared"));
  rig.works("n-2");
  rig.refresh();
  TEST_ASSERT_EQUAL_UINT64(2, rig.groups.boards("shared"));
}
