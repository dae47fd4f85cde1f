#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "agent/replay/replay.hpp"
#include "lab/fleet/recording.hpp"
#include "report/story/share_watch.hpp"

namespace laird::lab {
namespace {

constexpr auto kPower = static_cast<std::size_t>(core::Resource::kPower);

// Follows one board through its journal.
class BoardWatch {
 public:
  void see(const core::Event& event, const core::State& state) {
    node_ = state.config.node;
    wall_minus_agent_ = state.wall_minus_agent;
    shares_.see(event, state);
    see_demand(state);
    see_tasks(state);
  }

  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::vector<SharePoint> points() {
    std::vector<SharePoint> out;
    for (const story::SharePoint& p : shares_.points()) {
      out.push_back({(p.at + wall_minus_agent_) / 1000, p.parts, p.enforced_mw});
    }
    return out;
  }
  [[nodiscard]] std::vector<DemandPoint>& demands() { return demands_; }
  // By name: each task ever accepted, and the ends it came to.
  [[nodiscard]] const std::map<std::string, std::vector<StateChange>>& ends() const {
    return ends_;
  }

 private:
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

  std::string node_;
  story::ShareWatch shares_;
  DurationNs wall_minus_agent_ = 0;
  std::vector<DemandPoint> demands_;
  std::map<std::string, std::vector<StateChange>> ends_;
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
    const Result<ReplayResult> result =
        replay(journal.string(), {},
               [&watch](const core::Event& event, const core::State& state, const core::Effects&) {
                 watch.see(event, state);
               });
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
    node.shares = watch.points();
    node.demands = std::move(watch.demands());
    take_tasks(watch, recording);
  }
  if (taken.empty()) return fail(Code::kNotFound, "no journals in " + folder);
  return {};
}

}  // namespace laird::lab
