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
             .send_all = [this](const std::vector<std::string>& peers,
                                const std::string& body) { sent_to_all.emplace_back(peers, body); },
             .tell = [this](core::TaskKey, const std::string& line,
                            bool may_drop) { (may_drop ? parts : told).push_back(line); },
             .parcels = [this](const std::string&, std::size_t at,
                               std::size_t most) { return part_of_parcels(at, most); }}) {
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
  void end_the_task() {
    core::Task ended = state.live[0];
    ended.state = core::TaskState::kEnded;
    ended.outcome = core::Outcome::kSucceeded;
    ended.ended_at = kHour;
    state.live.clear();
    state.ended = {ended};
    refresh();
  }
  // The file `repeated` times one after the other.
  std::string part_of_parcels(std::size_t at, std::size_t most) {
    read_most = std::max(read_most, most);
    std::string out;
    for (std::size_t end = parcels.size() * repeated; at < end && out.size() < most;) {
      const std::string_view part =
          std::string_view(parcels).substr(at % parcels.size(), most - out.size());
      out += part;
      at += part.size();
    }
    return out;
  }

  core::State state;
  std::vector<std::string> words, told, parts;
  std::vector<std::pair<std::string, std::string>> sent;
  std::vector<std::pair<std::vector<std::string>, std::string>> sent_to_all;
  std::string parcels;
  std::size_t repeated = 1;
  std::size_t read_most = 0;
  GroupTracker groups;
};

}  // namespace

TEST(a_group_is_the_members_that_say_they_have_the_task) {
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
      R"({"type":"peers","me":"n-1","life":3600000,"peers":[{"node":"n-2","state":"at-work"},{"node":"n-3","state":"at-work"},{"node":"n-4","state":"away"},{"node":"n-5","state":"away"},{"node":"n-9","state":"left"}]})"
      "\n",
      rig.told[0].c_str());
  TEST_ASSERT_EQUAL_STRING(R"({"shared":"at-work"})", rig.words[0].c_str());
  rig.refresh();  // nothing new
  TEST_ASSERT_EQUAL_UINT64(1, rig.told.size());
  TEST_ASSERT_EQUAL_UINT64(1, rig.words.size());
}

TEST(who_is_lost_is_away_and_who_has_the_task_no_more_has_left) {
  Rig rig;
  rig.works("n-2");
  rig.works("n-3");
  rig.works("n-4");
  rig.refresh();
  const auto says = [&](const char* what) {
    rig.refresh();
    return rig.told.back().find(what) != std::string::npos;
  };
  rig.groups.on_status("n-2", status("lost", 0));  // a will of an earlier life
  TEST_ASSERT_TRUE(says(R"({"node":"n-2","state":"at-work"})"));
  rig.groups.on_status("n-2", status("lost", 1));
  TEST_ASSERT_TRUE(says(R"({"node":"n-2","state":"away"})"));
  rig.groups.on_word("n-3", word(1, "done"));
  TEST_ASSERT_TRUE(says(R"({"node":"n-3","state":"done"})"));
  rig.groups.on_word("n-4", word(1, "held"));
  TEST_ASSERT_TRUE(says(R"({"node":"n-4","state":"away"})"));
  rig.groups.on_status("n-4", status("drained", 1));
  TEST_ASSERT_TRUE(says(R"({"node":"n-4","state":"left"})"));
  rig.groups.on_word("n-2", R"({"s":"laird.cotrain/1.0","epoch":1,"ts":"","tasks":{}})");
  TEST_ASSERT_TRUE(says(R"({"node":"n-2","state":"left"})"));
  // Out of the fleet: the trainer that counts it as one of its group hears of it.
  rig.state.fleet.budget.members.pop_back();
  rig.state.fleet.budget.members.pop_back();
  rig.state.fleet.budget.members.pop_back();
  TEST_ASSERT_TRUE(says(R"({"node":"n-3","state":"left"})"));
}

TEST(whom_the_trainer_counts_as_its_group_is_away_until_it_is_heard) {
  Rig rig;
  rig.refresh();
  trainer_protocol::GroupStatus status;
  status.round = 12;
  status.boards = {{"n-1", 100, {}}, {"n-2", 100, {}}, {"n-8", 100, {}}};
  rig.groups.on_group(7, status);
  rig.refresh();
  TEST_ASSERT_TRUE(rig.told.back().find(R"({"node":"n-2","state":"away"})") != std::string::npos);
  TEST_ASSERT_TRUE(rig.told.back().find(R"({"node":"n-8","state":"left"})") != std::string::npos);
  TEST_ASSERT_EQUAL_UINT32(12, rig.groups.group("shared")->round);
}

TEST(a_board_that_is_done_hands_the_model_to_whoever_still_speaks_of_the_task) {
  Rig rig;
  rig.works("n-2");
  rig.refresh();
  rig.end_the_task();
  rig.parcels = std::string("\3\0\0\0one\5\0\0\0three\7\0\0\0cut", 4 + 3 + 4 + 5 + 4 + 3);
  const std::string ask = mqtt::model_body("shared", "ask");
  rig.groups.on_part("n-2", ask, kHour);
  rig.groups.on_part("n-2", ask, kHour + kSecond);  // it is under way
  rig.groups.serve(kHour);
  TEST_ASSERT_EQUAL_UINT64(2, rig.sent.size());
  const auto part = mqtt::parse_model_body(rig.sent[1].second);
  TEST_ASSERT_TRUE(rig.sent[1].first == "n-2" && part && part->bytes == "three");
  rig.groups.serve(kHour + kSecond);
  TEST_ASSERT_EQUAL_UINT64(2, rig.sent.size());
  rig.groups.on_part("n-2", ask, kHour + 6 * kSecond);
  rig.groups.on_part("n-7", ask, kHour + 6 * kSecond);  // nobody knows it
  rig.groups.serve(kHour + 6 * kSecond);
  TEST_ASSERT_EQUAL_UINT64(4, rig.sent.size());
}

TEST(a_model_of_any_size_is_handed_over_a_little_at_a_time_and_no_faster_than_a_board_hears) {
  Rig rig;
  rig.works("n-2");
  rig.refresh();
  rig.end_the_task();
  // 16 million weights, what moves them and the best ones.
  constexpr std::size_t kPart = 32 * 1024;
  rig.parcels = std::string("\0\x80\0\0", 4) + std::string(kPart, 'x');
  rig.repeated = 12 * 16'000'000 / kPart;
  rig.groups.on_part("n-2", mqtt::model_body("shared", "ask"), kHour);
  std::size_t sent = 0;
  TimeNs now = kHour;
  for (std::size_t before = SIZE_MAX; before != sent;) {
    before = sent;
    for (const TimeNs until = now + kSecond; now < until; now += 20 * kMillisecond) {
      rig.groups.serve(now);
    }
    TEST_ASSERT_TRUE(rig.sent.size() * kPart <= 2 * 1024 * 1024);
    sent += rig.sent.size();
    rig.sent.clear();
  }
  TEST_ASSERT_EQUAL_UINT64(rig.repeated, sent);
  TEST_ASSERT_TRUE(rig.read_most <= 64 * 1024);
  TEST_ASSERT_TRUE(now - kHour < 4 * kMinute);
}

TEST(a_model_is_not_handed_over_any_more_when_its_task_is_there_anew) {
  Rig rig;
  rig.works("n-2");
  rig.refresh();
  rig.end_the_task();
  rig.parcels = std::string("\3\0\0\0one", 7);
  rig.repeated = 100;
  rig.groups.on_part("n-2", mqtt::model_body("shared", "ask"), kHour);
  rig.groups.serve(kHour);
  TEST_ASSERT_EQUAL_UINT64(4, rig.sent.size());
  rig.state.live.push_back(fleet_task(core::TaskState::kReady));
  rig.refresh();
  rig.groups.serve(kHour + kSecond);
  TEST_ASSERT_EQUAL_UINT64(4, rig.sent.size());
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

TEST(parts_go_to_the_group_in_one_packet_and_come_from_the_group_only) {
  Rig rig;
  rig.works("n-2");
  rig.works("n-3");
  rig.refresh();
  rig.groups.on_to_peers(7, "", "abc");
  TEST_ASSERT_EQUAL_UINT64(0, rig.sent.size());
  TEST_ASSERT_EQUAL_UINT64(1, rig.sent_to_all.size());  // once, for both
  TEST_ASSERT_EQUAL_UINT64(2, rig.sent_to_all[0].first.size());
  rig.groups.on_to_peers(7, "n-3", "abc");
  rig.groups.on_to_peers(7, "n-4", "abc");
  rig.groups.on_to_peers(8, "", "abc");
  TEST_ASSERT_EQUAL_UINT64(1, rig.sent.size());
  const auto part = mqtt::parse_model_body(rig.sent[0].second);
  TEST_ASSERT_TRUE(part && part->task == "shared" && part->bytes == "abc");

  rig.groups.on_part("n-2", mqtt::model_body("shared", "abc"), kHour);
  TEST_ASSERT_EQUAL_UINT64(1, rig.parts.size());
  TEST_ASSERT_EQUAL_STRING("{\"type\":\"peer\",\"from\":\"n-2\",\"data\":\"YWJj\"}\n",
                           rig.parts[0].c_str());
  rig.groups.on_part("n-4", mqtt::model_body("shared", "abc"), kHour);
  rig.groups.on_part("n-2", mqtt::model_body("other", "abc"), kHour);
  rig.groups.on_part("n-2", "\x02", kHour);
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
  TEST_ASSERT_EQUAL_STRING("", cotrain_task_problem(spec, trainers, true).c_str());
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

TEST(a_board_hears_others_words_from_the_acceptance_of_a_task_until_nobody_may_ask_for_its_model) {
  Rig rig;
  for (const core::TaskState state : {core::TaskState::kQueued, core::TaskState::kPreempting,
                                      core::TaskState::kStarting, core::TaskState::kRunning}) {
    rig.state.live[0].state = state;
    TEST_ASSERT_TRUE(has_fleet_task(rig.state, kHour));
  }
  rig.state.live[0].spec.cotrain = false;
  TEST_ASSERT_FALSE(has_fleet_task(rig.state, kHour));
  core::Task ended = fleet_task(core::TaskState::kEnded);
  ended.ended_at = kHour;
  ended.deadline_at = 2 * kHour;
  ended.outcome = core::Outcome::kCancelled;
  rig.state.ended = {ended};
  rig.state.live.clear();
  TEST_ASSERT_FALSE(has_fleet_task(rig.state, kHour));
  rig.state.ended[0].change().outcome = core::Outcome::kSucceeded;
  TEST_ASSERT_TRUE(has_fleet_task(rig.state, kHour));
  TEST_ASSERT_FALSE(has_fleet_task(rig.state, 3 * kHour));
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
