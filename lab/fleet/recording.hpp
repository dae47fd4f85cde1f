// What a fleet said, as `mosquitto_sub -F '%U %t %p'` wrote it down: one message a line, the time
// it came, its topic, its payload. Everything here is seen from outside the boards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "consensus/ledger/demand.hpp"
#include "json/value.hpp"

namespace laird::lab {

// Times are seconds since the recording's first message, unless named otherwise.
struct SharePoint {
  std::int64_t unix_us = 0;
  std::int64_t parts = 0;
  std::int64_t enforced_mw = 0;
};

// How much of the power budget the board wanted, and since when; only journals have it.
struct DemandPoint {
  std::int64_t unix_us = 0;
  consensus::Demand demand;
};

struct Sample {
  double at_s = 0.0;
  double value = 0.0;
};

struct StateChange {
  double at_s = 0.0;
  std::string state;
};

// One run of a board's agent, from its first message to its last.
struct Life {
  double epoch = 0.0;
  double from_s = 0.0;
  double to_s = 0.0;
};

// What a task was expected to come to by its deadline, at that time.
struct Forecast {
  double at_s = 0.0;
  double loss = 0.0;
  double low = 0.0;  // nine of ten lie between
  double high = 0.0;
  double probability = 0.0;
};

struct FleetNode {
  std::string model;
  std::string power_source;
  std::vector<Life> lives;
  std::vector<SharePoint> shares;
  std::vector<DemandPoint> demands;
  std::int64_t heard_unix_us = 0;  // its last word on its shares
  double epoch = 0.0;              // of the agent's run
  std::int64_t floor_mw = 0;
  std::vector<Sample> power_w;
  std::vector<Sample> asked_w;    // its floor and its demand, as it reported them
  std::vector<Sample> throttled;  // 1 while its power cap holds a task back
  std::vector<StateChange> states;
};

struct RecordedTask {
  std::string node;
  std::string name;
  double target = 0.0;
  double deadline_at_s = 0.0;
  double energy_j = -1.0;
  std::vector<Sample> loss;
  std::vector<Sample> samples;
  std::vector<Sample> busy_s;  // how long it had run
  std::vector<Forecast> forecasts;
  std::vector<StateChange> states;
  // Whoever submitted it knew that it would not reach its target; nothing the boards are told.
  bool out_of_reach = false;
};

struct FleetEvent {
  double at_s = 0.0;
  std::string node;
  std::string kind;
  std::string text;
};

// What whoever made the recording did to the fleet.
struct FleetMark {
  double at_s = 0.0;
  std::string text;
};

struct BudgetChange {
  std::int64_t unix_us = 0;
  std::int64_t mw = 0;
};

struct FleetRecording {
  std::int64_t first_unix_us = 0;
  std::int64_t last_unix_us = 0;
  std::uint64_t messages = 0;
  std::uint64_t unreadable = 0;
  std::map<std::string, FleetNode> nodes;
  std::vector<RecordedTask> tasks;  // in the order they were first seen
  std::vector<FleetEvent> events;
  std::vector<BudgetChange> budgets;
  std::vector<FleetMark> marks;

  [[nodiscard]] double seconds(std::int64_t unix_us) const {
    return static_cast<double>(unix_us - first_unix_us) * 1e-6;
  }
};

[[nodiscard]] Result<FleetRecording> read_recording(const std::string& path);

// Takes the boards' shares and the fates of their tasks from their journals instead: every change
// is there, also what an agent did between its last word and its death. `folder` holds a state
// folder for each board.
[[nodiscard]] Status take_from_journals(const std::string& folder, FleetRecording& recording);

}  // namespace laird::lab
