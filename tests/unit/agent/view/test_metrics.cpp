#include "agent/view/metrics.hpp"

#include <map>
#include <set>
#include <sstream>

#include "agent/board_power/cap_watch.hpp"
#include "agent/placement/need.hpp"
#include "power/boards/catalogue.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

// The rules of OpenMetrics that a scraper insists on; stops at the first breach.
std::map<std::string, double> strictly_parsed(const std::string& text) {
  std::map<std::string, double> samples;
  std::map<std::string, std::string> types;
  std::string family;
  std::istringstream in(text);
  std::string line;
  bool ended = false;
  while (std::getline(in, line)) {
    TEST_ASSERT_FALSE_MESSAGE(ended, "something follows # EOF");
    if (line == "# EOF") {
      ended = true;
      continue;
    }
    if (line.starts_with("# ")) {
      std::istringstream words(line.substr(2));
      std::string what;
      std::string name;
      std::string rest;
      words >> what >> name >> rest;
      if (what == "TYPE") {
        TEST_ASSERT_TRUE_MESSAGE(types.emplace(name, rest).second, line.c_str());
        family = name;
      }
      TEST_ASSERT_EQUAL_STRING_MESSAGE(family.c_str(), name.c_str(), "metadata of another family");
      const bool fits = what != "UNIT" || name.ends_with("_" + rest);
      TEST_ASSERT_TRUE_MESSAGE(fits, line.c_str());
      continue;
    }
    const std::size_t space = line.rfind(' ');
    const std::string id = line.substr(0, space);
    std::string name = id.substr(0, id.find('{'));
    const std::string suffix = types[family] == "counter" ? "_total"
                               : types[family] == "info"  ? "_info"
                                                          : "";
    TEST_ASSERT_EQUAL_STRING_MESSAGE((family + suffix).c_str(), name.c_str(), line.c_str());
    const bool labelled = id.find('{') != std::string::npos;
    TEST_ASSERT_TRUE_MESSAGE(!labelled || id.back() == '}', line.c_str());
    bool quoted = false;
    for (std::size_t i = 0; i < id.size(); ++i) {
      if (id[i] == '\\')
        ++i;
      else if (id[i] == '"')
        quoted = !quoted;
    }
    TEST_ASSERT_FALSE_MESSAGE(quoted, line.c_str());
    TEST_ASSERT_TRUE_MESSAGE(samples.emplace(id, std::stod(line.substr(space + 1))).second,
                             line.c_str());
  }
  TEST_ASSERT_TRUE_MESSAGE(ended, "no # EOF");
  return samples;
}

struct Board {
  core::State state;
  power::Board board = *power::find_board("generic", "");
  MetricsInput input() {
    MetricsInput in;
    in.state = &state;
    in.board = &board;
    in.version = "1.2.3";
    in.now = 100 * kSecond;
    return in;
  }
};

core::Task task(core::TaskKey key, const std::string& name) {
  core::Task out;
  out.key = key;
  out.spec.name = name;
  out.spec.target_loss = 0.5;
  out.deadline_at = 160 * kSecond;
  out.loss = 0.75;
  out.loss_known = true;
  return out;
}

}  // namespace

TEST(a_board_that_does_nothing_has_well_formed_metrics) {
  Board board;
  const auto samples = strictly_parsed(metrics_text(board.input()));
  TEST_ASSERT_EQUAL_DOUBLE(1.0, samples.at("laird_build_info{version=\"1.2.3\"}"));
  TEST_ASSERT_EQUAL_DOUBLE(0.0, samples.at("laird_tasks{state=\"running\"}"));
  TEST_ASSERT_EQUAL_UINT64(0, samples.count("laird_mqtt_connected"));
  TEST_ASSERT_EQUAL_UINT64(0, samples.count("laird_fleet_fenced"));
}

TEST(a_task_with_a_forecast_says_what_it_needs) {
  Board board;
  core::Task known = task(1, "known");
  known.rate = 100.0;
  for (int i = 1; i <= 20; ++i) {
    known.samples += 100;
    static_cast<void>(known.forecast.observe(static_cast<double>(known.samples), 1.0 - 0.01 * i));
  }
  board.state.live = {known, task(2, "young")};
  const auto samples = strictly_parsed(metrics_text(board.input()));
  const placement::Need need = placement::need_of(known, 100.0, board.input().now);
  const std::string id = "laird_task_need_seconds{task=\"known\",quantile=";
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, need.seconds.low, samples.at(id + "\"0.1\"}"));
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, need.seconds.median, samples.at(id + "\"0.5\"}"));
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, need.seconds.high, samples.at(id + "\"0.9\"}"));
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, need.probability,
                            samples.at("laird_task_success_probability_ratio{task=\"known\"}"));
  TEST_ASSERT_EQUAL_UINT64(
      0, samples.count("laird_task_need_seconds{task=\"young\",quantile=\"0.5\"}"));
}

TEST(a_co_training_task_says_its_round_who_takes_part_and_what_the_model_is_worth) {
  Board board;
  board.state.live = {task(1, "shared")};
  MetricsInput in = board.input();
  trainer_protocol::GroupStatus group;
  group.round = 82;
  group.boards = {{"n-1", 1500, 0.81}, {"n-2", 900, std::nullopt}};
  group.waits_for = {"n-2"};
  group.accuracy = 0.823;
  group.epsilon = 3.25;
  in.groups = {{"shared", group}};
  const auto samples = strictly_parsed(metrics_text(in));
  const auto expect = [&](const char* id, double v) {
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(1, samples.count(id), id);
    TEST_ASSERT_EQUAL_DOUBLE_MESSAGE(v, samples.at(id), id);
  };
  expect("laird_cotrain_round{task=\"shared\"}", 82);
  expect("laird_cotrain_boards{task=\"shared\"}", 2);
  expect("laird_cotrain_waited_for{task=\"shared\"}", 1);
  expect("laird_cotrain_accuracy_ratio{task=\"shared\"}", 0.823);
  expect("laird_cotrain_epsilon{task=\"shared\"}", 3.25);
  expect("laird_cotrain_board_rows{task=\"shared\",board=\"n-2\"}", 900);
  expect("laird_cotrain_board_accuracy_ratio{task=\"shared\",board=\"n-1\"}", 0.81);
  TEST_ASSERT_EQUAL_UINT64(
      0, samples.count("laird_cotrain_board_accuracy_ratio{task=\"shared\",board=\"n-2\"}"));
}

TEST(tasks_the_fleet_and_the_link_are_in_it) {
  Board board;
  board.state.live.push_back(task(1, "night-run"));
  board.state.live.back().state = core::TaskState::kRunning;
  board.state.live.back().time_sheet.add_throttled(core::Throttler::kOperator, 8'000, 4 * kSecond);
  board.state.power.mean_mw = 9'250;
  board.state.wall_minus_agent = 1000 * kSecond;
  board.state.config.power.cap_mw = 15'000;
  board.state.fleet.budget.founding_epoch = 1;
  board.state.fleet.budget.rev = 7;
  board.state.fleet.budget.total[2] = 60'000;
  // Not in the ledger: it has its floor.
  board.state.fleet.budget.members = {{board.state.config.node, {0, 0, 12'500}}};
  board.state.fleet.enforced[2] = 12'500;
  MetricsInput in = board.input();
  in.ended[core::Outcome::kMissed] = 3;
  in.has_link = true;
  in.connected = true;
  in.link.connects = 2;
  in.link.dropped[1] = 5;
  in.link.received = 9;
  const auto samples = strictly_parsed(metrics_text(in));
  const auto expect = [&](const char* id, double v) {
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(1, samples.count(id), id);
    TEST_ASSERT_EQUAL_DOUBLE_MESSAGE(v, samples.at(id), id);
  };
  expect("laird_task_loss{task=\"night-run\"}", 0.75);
  expect("laird_task_loss_target{task=\"night-run\"}", 0.5);
  expect("laird_task_deadline_timestamp_seconds{task=\"night-run\"}", 1160.0);
  expect("laird_tasks{state=\"running\"}", 1);
  expect("laird_tasks{state=\"throttled\"}", 0);
  expect("laird_task_throttled_seconds_total{task=\"night-run\"}", 4.0);
  expect("laird_fleet_drawn_watts", 9.25);
  expect("laird_task_deadline_miss_total", 3);
  expect("laird_tasks_ended_total{outcome=\"missed\"}", 3);
  expect("laird_power_cap_watts{source=\"config\"}", 15.0);
  expect("laird_fleet_plan_revision", 7);
  expect("laird_fleet_share_watts", 12.5);
  expect("laird_fleet_budget_watts", 60.0);
  expect("laird_mqtt_connected", 1);
  expect("laird_mqtt_connects_total", 2);
  expect("laird_mqtt_dropped_total{class=\"telemetry\"}", 5);
  expect("laird_mqtt_messages_total{direction=\"received\"}", 9);
  expect("laird_task_share_ratio{task=\"night-run\",resource=\"cpu\"}", 0.0);
}

TEST(how_the_agreement_stands_is_in_it) {
  Board board;
  core::Fleet& fleet = board.state.fleet;
  fleet.budget.founding_epoch = 1;
  board.state.config.node = "n-1";
  fleet.budget.founders = {"n-1", "n-2", "n-3"};
  for (const std::string& id : fleet.budget.founders) fleet.budget.members.push_back({id, {}});
  fleet.budget.total[2] = 60'000;
  const auto samples_at = [&board](TimeNs now) {
    MetricsInput in = board.input();
    in.now = now;
    return strictly_parsed(metrics_text(in));
  };
  TEST_ASSERT_EQUAL_UINT64(0, samples_at(kHour).count("laird_coop_rounds_total"));
  const auto remote = core::graph_of_founders(fleet.budget);
  core::FleetConfig config;
  config.budget = fleet.budget;
  const consensus::LedgerConfig terms = core::ledger_config(config, 1);
  std::map<consensus::NodeId, consensus::Ledger> others;
  TimeNs now = kHour;
  const consensus::NodeId self = core::node_number("n-1");
  fleet.ledger = std::make_unique<consensus::Ledger>(terms, self, 1, remote, remote, now);
  for (const char* id : {"n-2", "n-3"}) {
    const consensus::NodeId number = core::node_number(id);
    others.emplace(number, consensus::Ledger(terms, number, 1, remote, remote, now));
  }
  const auto of = [&](consensus::NodeId id) -> consensus::Ledger& {
    return id == self ? *fleet.ledger : others.at(id);
  };
  // Everybody hears everybody, but for a while at the end nobody is heard by n-1.
  const auto tick = [&](bool deaf) {
    now += terms.tick;
    for (const consensus::NodeId id : remote->members()) {
      consensus::Out out;
      of(id).on_tick(now, out);
      for (std::size_t i = 0; i < out.messages.size(); ++i) {
        const consensus::Outgoing message = out.messages[i];
        if (deaf && message.to == self) continue;
        consensus::Out back;
        of(message.to).on_message(id, message.message, now, back);
      }
    }
  };
  for (int k = 0; k < 4; ++k) tick(false);
  auto samples = samples_at(now);
  TEST_ASSERT_EQUAL_DOUBLE(4, samples.at("laird_coop_rounds_total"));
  TEST_ASSERT_EQUAL_DOUBLE(3, samples.at("laird_fleet_members"));
  TEST_ASSERT_EQUAL_DOUBLE(0, samples.at("laird_fleet_fenced"));
  TEST_ASSERT_TRUE(samples.at("laird_fleet_fenced_in_seconds") > 1.0);
  TEST_ASSERT_EQUAL_DOUBLE(2, samples.at("laird_coop_neighbours{state=\"heard\"}"));
  TEST_ASSERT_EQUAL_DOUBLE(0, samples.at("laird_coop_neighbours{state=\"silent\"}"));
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 0.0,
                            samples.at("laird_coop_disagreement_ratio{resource=\"power\"}"));
  // Only what has a budget is divided.
  TEST_ASSERT_EQUAL_UINT64(0, samples.count("laird_coop_disagreement_ratio{resource=\"cpu\"}"));
  consensus::Demand all;
  all.demand = consensus::kWhole;
  fleet.ledger->set_demand(2, all);
  TEST_ASSERT_EQUAL_DOUBLE(60.0, samples_at(now).at("laird_fleet_demand_watts"));
  const double want = samples_at(now).at("laird_coop_disagreement_ratio{resource=\"power\"}");
  TEST_ASSERT_TRUE(want > 0.1 && want <= 1.0);
  for (int k = 0; k <= kHeardRounds; ++k) tick(true);
  samples = samples_at(now);
  TEST_ASSERT_EQUAL_DOUBLE(0, samples.at("laird_coop_neighbours{state=\"heard\"}"));
  TEST_ASSERT_EQUAL_DOUBLE(2, samples.at("laird_coop_neighbours{state=\"silent\"}"));
  for (int k = 0; k < 40; ++k) tick(true);
  samples = samples_at(now);
  TEST_ASSERT_EQUAL_DOUBLE(1, samples.at("laird_fleet_fenced"));
  TEST_ASSERT_EQUAL_DOUBLE(0, samples.at("laird_fleet_fenced_in_seconds"));
  TEST_ASSERT_EQUAL_UINT64(0, samples.count("laird_coop_disagreement_ratio{resource=\"power\"}"));
}

TEST(time_over_the_cap_counts_by_the_mean_and_not_over_gaps) {
  CapWatch watch;
  watch.on_mean(10 * kSecond, 16'000, 15'000);  // the first says nothing about the time before
  watch.on_mean(11 * kSecond, 16'000, 15'000);
  watch.on_mean(11 * kSecond, 16'000, 15'000);  // the same one
  watch.on_mean(12 * kSecond, 14'000, 15'000);
  watch.on_mean(13 * kSecond, 16'000, std::nullopt);
  watch.on_mean(100 * kSecond, 16'000, 15'000);  // a gap
  watch.on_mean(102 * kSecond, 16'000, 15'000);
  TEST_ASSERT_EQUAL_INT64(3 * kSecond, watch.over_ns());
  Board board;
  MetricsInput in = board.input();
  in.over_cap_ns = watch.over_ns();
  TEST_ASSERT_EQUAL_DOUBLE(
      3.0, strictly_parsed(metrics_text(in)).at("laird_power_cap_exceeded_seconds_total"));
}

TEST(labels_are_bounded_and_hostile_names_stay_inside_them) {
  Board board;
  for (core::TaskKey i = 1; i <= 3 * kTasksLabelledMax; ++i) {
    board.state.live.push_back(task(i, "t" + std::to_string(i)));
  }
  board.state.live.front().spec.name = "a\"} 1\n# EOF\n\\";
  const auto samples = strictly_parsed(metrics_text(board.input()));
  std::size_t losses = 0;
  for (const auto& [id, v] : samples) losses += id.starts_with("laird_task_loss{") ? 1 : 0;
  TEST_ASSERT_EQUAL_UINT64(kTasksLabelledMax, losses);
}
