#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "agent/replay/replay.hpp"
#include "lab/fleet/recording.hpp"

namespace laird::lab {
namespace {

// Points are known to the microsecond. A fall and a rise within the same one would be sorted with
// the rise last.
constexpr DurationNs kAfter = 1000;
constexpr auto kPower = static_cast<std::size_t>(core::Resource::kPower);

// Follows one board through its journal.
class BoardWatch {
 public:
  void see(const core::Event& event, const core::State& state) {
    see_share(event, state);
    see_demand(state);
    see_tasks(state);
  }

  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::vector<SharePoint>& points() { return points_; }
  [[nodiscard]] std::vector<DemandPoint>& demands() { return demands_; }
  // By name: each task ever accepted, and the ends it came to.
  [[nodiscard]] const std::map<std::string, std::vector<StateChange>>& ends() const {
    return ends_;
  }

 private:
  void see_share(const core::Event& event, const core::State& state) {
    const core::Fleet& fleet = state.fleet;
    node_ = state.config.node;
    const core::FleetMember* self = fleet.budget.member(node_);
    const std::int64_t floor = self == nullptr ? 0 : self->floor[kPower];
    const TimeNs wall = state.now + state.wall_minus_agent;
    // From its fence on a board uses nothing above its floor, whether its agent runs or not; and
    // the trainers of an agent that died died with it, after its last event.
    if (known_ && fence_wall_ < wall) add(fence_wall_, 0, floor);
    if (known_ && std::holds_alternative<core::Booted>(event.body)) {
      add(seen_wall_ + kAfter, 0, floor);
    }
    const DurationNs margin = core::fence_margin(state.config.slice, state.config.fleet.lease);
    const bool on_floor = fleet.on_floor(state.now + margin);
    add(wall, on_floor ? 0 : fleet.ledger->effective(state.now)[kPower], fleet.enforced[kPower]);
    fence_wall_ = on_floor || fleet.ledger->fence_deadline() > core::kTimeMax
                      ? core::kTimeMax
                      : fleet.ledger->fence_deadline() - margin + state.wall_minus_agent;
    seen_wall_ = wall;
    known_ = fleet.member();
  }

  void see_demand(const core::State& state) {
    if (!state.fleet.ledger) return;
    const consensus::Demand& wanted = state.fleet.ledger->demand(kPower);
    if (!demands_.empty() && demands_.back().demand == wanted) return;
    demands_.push_back({(state.now + state.wall_minus_agent) / 1000, wanted});
  }

  void see_tasks(const core::State& state) {
    for (const core::Task& task : state.live) ends_[task.spec.name];
    for (const core::Task& task : state.ended) {
      std::vector<StateChange>& ends = ends_[task.spec.name];
      const std::string_view outcome = core::name(task.outcome);
      if (ends.empty() || ends.back().state != outcome) {
        ends.push_back({static_cast<double>(task.ended_at) * 1e-9, std::string(outcome)});
      }
    }
  }

  void add(TimeNs wall, std::int64_t parts, std::int64_t enforced_mw) {
    if (enforced_mw == core::kUnlimited) return;
    if (!points_.empty() && points_.back().parts == parts &&
        points_.back().enforced_mw == enforced_mw) {
      return;
    }
    points_.push_back({wall / 1000, parts, enforced_mw});
  }

  std::string node_;
  std::vector<SharePoint> points_;
  std::vector<DemandPoint> demands_;
  std::map<std::string, std::vector<StateChange>> ends_;
  TimeNs fence_wall_ = core::kTimeMax;
  TimeNs seen_wall_ = 0;
  bool known_ = false;
};

void take_tasks(const BoardWatch& watch, FleetRecording& recording) {
  for (const auto& [name, ends] : watch.ends()) {
    const auto found = std::find_if(recording.tasks.begin(), recording.tasks.end(),
                                    [&, &task_name = name](const RecordedTask& t) {
                                      return t.node == watch.node() && t.name == task_name;
                                    });
    RecordedTask& task = found == recording.tasks.end() ? recording.tasks.emplace_back() : *found;
    task.node = watch.node();
    task.name = name;
    task.states = ends;
    for (StateChange& end : task.states) {
      end.at_s -= static_cast<double>(recording.first_unix_us) * 1e-6;
    }
  }
}

}  // namespace

Status take_from_journals(const std::string& folder, FleetRecording& recording) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::set<std::string> taken;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const fs::path journal = entry.path() / "journal";
    if (!fs::is_directory(journal, error)) continue;
    BoardWatch watch;
    const Result<ReplayResult> result = replay(
        journal.string(), {},
        [&watch](const core::Event& event, const core::State& state) { watch.see(event, state); });
    LAIRD_TRY(result);
    if (result->difference) {
      return fail(Code::kCorrupt, journal.string() + ": the journal does not replay");
    }
    if (watch.node().empty()) continue;
    // Two journals of one name are two agents, each with what it used.
    const bool again = !taken.insert(watch.node()).second;
    const std::string name =
        watch.node() + (again ? " (" + entry.path().filename().string() + ")" : "");
    FleetNode& node = recording.nodes[name];
    node.shares = std::move(watch.points());
    node.demands = std::move(watch.demands());
    take_tasks(watch, recording);
  }
  if (taken.empty()) return fail(Code::kNotFound, "no journals in " + folder);
  return {};
}

}  // namespace laird::lab
