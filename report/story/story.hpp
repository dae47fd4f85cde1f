// What a journal tells, as tables: a board's tasks, what they did, what the board drew and was
// allowed to draw, what was decided and what happened.
//
// A story is made by a Teller (teller.hpp), which sees every event and the state after it. All
// moments are the agent's own time, which never goes back; `wall_minus_agent` of the journal's end
// makes wall-clock time of them, so the stories of a fleet's boards lie beside each other and a
// clock that was set in the middle bends nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/state/task.hpp"
#include "report/story/series.hpp"

namespace laird::story {

// A limit on everything that is kept for each board.
inline constexpr std::size_t kForecastsKept = 48;  // of a task
inline constexpr std::size_t kForecastSteps = 12;  // of a forecast, from then to the deadline
inline constexpr std::size_t kDecisionsKept = 1500;
inline constexpr std::size_t kHappeningsKept = 5000;
inline constexpr std::size_t kBreachesKept = 200;
inline constexpr std::size_t kRailsKept = 12;
inline constexpr std::size_t kSharesKept = 2'000'000;
// Places of all tasks' series and cells of all their tracks, together.
inline constexpr std::size_t kTaskPlacesAll = 60'000;
inline constexpr std::size_t kTaskPlacesMin = 8;

struct ForecastStep {
  TimeNs at = 0;
  double low = 0.0;  // nine of ten lie between
  double middle = 0.0;
  double high = 0.0;
};

// What was expected of a task at one moment: the loss from then to its deadline, if it went on with
// the share of its lane that it had had so far.
struct ForecastThen {
  TimeNs at = 0;
  double probability = 0.0;  // that it reaches its target by its deadline, with the whole lane
  std::vector<ForecastStep> steps;
};

struct TimeSpent {
  std::string what;  // "waiting for 'hog'"
  DurationNs ns = 0;
};

struct TaskStory {
  core::TaskKey key = 0;
  std::string name;
  std::string trainer;
  std::string lane_kind;
  double weight = 1.0;
  double target = 0.0;
  TimeNs accepted_at = 0;
  TimeNs deadline_at = 0;
  TimeNs ended_at = 0;  // 0: it was not over when the journal ended
  std::string state;    // the outcome, or what it was doing when the journal ended
  core::Outcome outcome = core::Outcome::kNone;
  std::string cause;     // as `lairctl why` names it
  std::string headline;  // the cause in one sentence
  std::string why;       // the whole of what `lairctl why` says
  std::vector<TimeSpent> spent;
  std::optional<double> loss;
  std::optional<double> best_loss;
  std::uint64_t samples = 0;
  std::uint64_t planned_samples = 0;
  std::int64_t energy_uj = -1;  // -1: not metered
  DurationNs busy_ns = 0;
  std::uint32_t switches = 0;
  std::uint32_t crashes = 0;  // within the journal
  std::uint64_t reports = 0;
  Series losses;  // beside each: the samples
  std::vector<ForecastThen> forecasts;
  Track track;

  [[nodiscard]] bool over() const { return ended_at != 0; }
  // How long before its deadline it ended; negative: after it.
  [[nodiscard]] DurationNs margin() const { return deadline_at - ended_at; }
};

struct LaneStory {
  std::string name;
  std::string kind;
};

// Somebody got a slice of a lane, and why.
struct Decision {
  TimeNs at = 0;
  std::uint32_t lane = 0;
  core::TaskKey task = 0;
  double share = 1.0;
  DurationNs slice = 0;
  std::string why;
};

enum class Kind : std::uint8_t {
  kTask,     // accepted, ended
  kAgent,    // it started or stopped, its clock was set
  kCrash,    // of a trainer
  kCommand,  // an operator asked for something
  kFault,    // the agent was away, a clock jumped, the board was cut off
  kPower,    // a cap or a budget changed, or was not held
};
[[nodiscard]] const char* name(Kind kind);

struct Happening {
  TimeNs at = 0;
  Kind kind = Kind::kTask;
  std::string by;    // the operator, where there is one
  std::string task;  // its name, where it is about one
  std::string text;
};

// The board drew more than its cap allowed, for longer than a cap takes to be held.
struct Breach {
  TimeNs from = 0;
  TimeNs to = 0;
  double over_w = 0.0;  // at most
  double cap_w = 0.0;   // then
};

struct PowerStory {
  Series drawn_w;  // as read
  Series mean_w;   // means of a few seconds
  Series cap_w;    // in force; a value below zero: none
  Series hottest_c;
  Series gpu_mhz;
  Series cpu_mhz;
  Series gpu_load;  // percent
  Series cpu_load;
  Series ceiling;  // percent of lane time that power and the fleet leave, the lowest of all lanes
  struct Rail {
    std::string name;
    Series w;
  };
  std::vector<Rail> rails;
  std::string source;     // "modelled", "tegrastats"
  double energy_j = 0.0;  // of the board, within the journal
  double peak_w = 0.0;    // the highest reading
  TimeNs peak_at = 0;
  DurationNs metered_ns = 0;
  DurationNs capped_ns = 0;  // with a cap in force all the time
  DurationNs over_ns = 0;    // above it by however little, as means of a few seconds
  double over_most_w = 0.0;
  std::uint64_t breaches = 0;
  std::vector<Breach> breach_list;
};

// What the board held of its fleet's power from a moment on.
struct SharePoint {
  TimeNs at = 0;
  std::int64_t parts = 0;        // of consensus::kWhole
  std::int64_t enforced_mw = 0;  // its floor and its share
};

struct BudgetPoint {
  TimeNs at = 0;
  std::int64_t mw = 0;  // below zero: no limit
};

struct FleetStory {
  bool member = false;
  std::vector<SharePoint> shares;
  std::vector<BudgetPoint> budgets;
  bool shares_cut = false;  // there were more than kSharesKept
  Series asked_w;
  std::uint64_t fenced = 0;  // times
};

// How far the journal could be believed.
struct Source {
  std::string path;
  std::uint64_t events = 0;
  std::uint64_t unverified = 0;
  std::vector<std::string> notes;  // damage, older files, the first difference
  bool whole = true;               // nothing was lost and nothing differed
};

struct BoardStory {
  std::string node;
  Source source;
  DurationNs wall_minus_agent = 0;
  TimeNs from = 0;
  TimeNs to = 0;
  std::string policy;
  std::vector<LaneStory> lanes;
  std::vector<TaskStory> tasks;  // in the order of their acceptance
  PowerStory power;
  FleetStory fleet;
  std::vector<Decision> decisions;  // some of them, evenly over time
  std::uint64_t decisions_all = 0;
  std::vector<Happening> happenings;
  std::uint64_t happenings_left_out = 0;
  std::uint64_t starts = 0;  // of the agent
  std::uint64_t crashes = 0;
  std::uint64_t switches = 0;

  // In Unix time.
  [[nodiscard]] TimeNs wall(TimeNs at) const { return at + wall_minus_agent; }
};

}  // namespace laird::story
