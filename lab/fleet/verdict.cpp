#include "lab/fleet/verdict.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "consensus/limits.hpp"

namespace laird::lab {
namespace {

// Boards report their shares every five seconds at least.
constexpr std::int64_t kSilenceUs = 8'000'000;

struct Change {
  std::int64_t unix_us = 0;
  const FleetNode* node = nullptr;  // none: nothing changes, the sum is held against the budget
  std::int64_t parts = 0;
  std::int64_t enforced_mw = 0;
};

std::vector<Change> changes_of(const FleetRecording& recording) {
  std::vector<Change> out;
  for (const auto& [id, node] : recording.nodes) {
    for (const SharePoint& p : node.shares) {
      out.push_back({p.unix_us, &node, p.parts, p.enforced_mw});
    }
    // Silent at the end: it died, or the recording did. After its last change, if that was its last
    // word: at one instant a rise would come last.
    if (!node.shares.empty() && node.heard_unix_us + kSilenceUs < recording.last_unix_us) {
      out.push_back(
          {std::max(node.heard_unix_us, node.shares.back().unix_us + 1), &node, 0, node.floor_mw});
    }
  }
  // A board that does not follow a cut reports no change, so the sum is also looked at when the
  // budget changes.
  for (std::size_t i = 1; i < recording.budgets.size(); ++i) {
    const std::int64_t at = recording.budgets[i].unix_us;
    out.push_back({at, nullptr, 0, 0});
    out.push_back({at + kCutGraceUs + 1, nullptr, 0, 0});
  }
  // At one instant falls come before rises: that is the order they happened in.
  std::stable_sort(out.begin(), out.end(), [](const Change& a, const Change& b) {
    return a.unix_us != b.unix_us ? a.unix_us < b.unix_us : a.parts < b.parts;
  });
  return out;
}

// The most the budget was within the grace before that time.
std::int64_t budget_allowing_grace(const FleetRecording& recording, std::int64_t unix_us) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < recording.budgets.size(); ++i) {
    const std::int64_t until = i + 1 < recording.budgets.size()
                                   ? recording.budgets[i + 1].unix_us + kCutGraceUs
                                   : INT64_MAX;
    const bool begun = i == 0 || recording.budgets[i].unix_us <= unix_us + kCutGraceUs;
    if (begun && unix_us <= until) most = std::max(most, recording.budgets[i].mw);
  }
  return most;
}

std::int64_t budget_now(const FleetRecording& recording, std::int64_t unix_us) {
  std::int64_t now = recording.budgets.empty() ? 0 : recording.budgets.front().mw;
  for (const BudgetChange& b : recording.budgets) {
    if (b.unix_us <= unix_us) now = b.mw;
  }
  return now;
}

// The newest of the samples at that time; nullptr when there is none that is not too old.
const Sample* fresh(const std::vector<Sample>& samples, double at_s) {
  const auto after = std::upper_bound(samples.begin(), samples.end(), at_s,
                                      [](double at, const Sample& s) { return at < s.at_s; });
  if (after == samples.begin() || at_s - (after - 1)->at_s > kPowerFreshS) return nullptr;
  return &*(after - 1);
}

// All boards' power at each second, from each one's newest mean that is not too old.
std::vector<Sample> power_sum(const FleetRecording& recording) {
  const double end = recording.seconds(recording.last_unix_us);
  std::vector<Sample> out;
  for (double t = 1.0; t <= end; t += 1.0) {
    double sum = 0.0;
    for (const auto& [id, node] : recording.nodes) {
      if (const Sample* newest = fresh(node.power_w, t)) sum += newest->value;
    }
    out.push_back({t, sum});
  }
  return out;
}

// Once a cut had its grace and the means reach back no further than that.
void judge_drawn(const FleetRecording& recording, FleetVerdict& out) {
  out.drawn_w = power_sum(recording);
  for (const Sample& drawn : out.drawn_w) {
    const auto at_us = recording.first_unix_us + static_cast<std::int64_t>(drawn.at_s * 1e6);
    const auto window_us = static_cast<std::int64_t>(kDrawnWindowS * 1e6);
    const std::int64_t budget_mw = std::max(budget_allowing_grace(recording, at_us - window_us),
                                            budget_allowing_grace(recording, at_us));
    const double budget_w = static_cast<double>(budget_mw) * 1e-3;
    if (budget_w <= 0.0 || drawn.value * out.drawn_budget_w < out.drawn_most_w * budget_w) continue;
    out.drawn_most_w = drawn.value;
    out.drawn_budget_w = budget_w;
    out.drawn_at_s = drawn.at_s;
  }
}

bool somebody_throttled(const FleetRecording& recording, double at_s) {
  return std::any_of(recording.nodes.begin(), recording.nodes.end(), [&](const auto& entry) {
    const Sample* said = fresh(entry.second.throttled, at_s);
    return said != nullptr && said->value > 0.0;
  });
}

bool all_heard(const FleetRecording& recording, double at_s) {
  return std::all_of(recording.nodes.begin(), recording.nodes.end(), [&](const auto& entry) {
    return fresh(entry.second.power_w, at_s) != nullptr;
  });
}

// How much of the budget was drawn while there was somebody who could have used more. What is drawn
// is told as a mean of the last seconds, so somebody must have been throttled in all of them: the
// mean of a board that has just begun to work still holds the time before. Not counted are seconds
// in which some board is not heard: nobody may use its share until its lease has ended.
void judge_throttled(const FleetRecording& recording, FleetVerdict& out) {
  double parts = 0.0;
  for (const Sample& drawn : out.drawn_w) {
    bool counts = true;
    for (double t = drawn.at_s; counts && t > drawn.at_s - kDrawnWindowS; t -= 1.0) {
      counts = somebody_throttled(recording, t) && all_heard(recording, t);
    }
    const auto at_us = recording.first_unix_us + static_cast<std::int64_t>(drawn.at_s * 1e6);
    const double budget_w = static_cast<double>(budget_now(recording, at_us)) * 1e-3;
    if (!counts || budget_w <= 0.0) continue;
    ++out.throttled_seconds;
    parts += std::min(1.0, drawn.value / budget_w);
  }
  if (out.throttled_seconds > 0) {
    out.drawn_throttled_part = parts / static_cast<double>(out.throttled_seconds);
  }
}

void judge_tasks(const FleetRecording& recording, FleetVerdict& out) {
  std::map<std::string, std::vector<std::string>> ends;
  std::set<std::string> out_of_reach;
  for (const RecordedTask& task : recording.tasks) {
    std::vector<std::string>& of = ends[task.name];
    if (task.out_of_reach) out_of_reach.insert(task.name);
    std::vector<std::string> here;
    for (const StateChange& s : task.states) {
      // On a board that it left it has not ended.
      if (is_end(s.state) && s.state != "moved") here.push_back(s.state);
    }
    here.erase(std::unique(here.begin(), here.end()), here.end());
    of.insert(of.end(), here.begin(), here.end());
  }
  for (const auto& [name, of] : ends) {
    ++out.tasks;
    if (!of.empty()) ++out.tasks_ended;
    if (of.size() > 1) ++out.tasks_ended_twice;
    const bool succeeded = of.size() == 1 && of[0] == "succeeded";
    if (succeeded) ++out.tasks_succeeded;
    if (out_of_reach.count(name) == 0) continue;
    ++out.tasks_out_of_reach;
    if (succeeded) ++out.out_of_reach_succeeded;
  }
}

void judge_comebacks(const FleetRecording& recording, FleetVerdict& out) {
  for (const auto& [id, node] : recording.nodes) {
    for (std::size_t i = 1; i < node.lives.size(); ++i) {
      Comeback back{id, node.lives[i - 1].to_s, node.lives[i].from_s, {}};
      for (const RecordedTask& task : recording.tasks) {
        const bool over = std::any_of(
            task.states.begin(), task.states.end(),
            [&](const StateChange& s) { return is_end(s.state) && s.at_s <= back.silent_at_s; });
        if (task.node != id || over) continue;
        const Sample* before = nullptr;
        const Sample* least = nullptr;
        for (const Sample& s : task.samples) {
          if (s.at_s <= back.silent_at_s) {
            before = &s;
          } else if (least == nullptr || s.value < least->value) {
            least = &s;
          }
        }
        if (before == nullptr || least == nullptr || before->value <= 0.0) continue;
        back.tasks.push_back({task.name, before->value, least->value});
      }
      out.comebacks.push_back(std::move(back));
    }
  }
}

}  // namespace

bool is_end(std::string_view state) {
  constexpr std::array<std::string_view, 6> kEnds = {"succeeded", "missed",    "exhausted",
                                                     "failed",    "cancelled", "moved"};
  return std::find(kEnds.begin(), kEnds.end(), state) != kEnds.end();
}

Spread spread_of(const std::vector<Sample>& samples, double end_s, double fresh_s) {
  Spread out;
  double sum = 0.0;
  double known_s = 0.0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& s = samples[i];
    if (i == 0 || s.value > out.peak) {
      out.peak = s.value;
      out.peak_at_s = s.at_s;
    }
    const double next = i + 1 < samples.size() ? samples[i + 1].at_s : end_s;
    const double held = std::clamp(next - s.at_s, 0.0, fresh_s);
    sum += s.value * held;
    known_s += held;
  }
  out.mean = known_s > 0.0 ? sum / known_s : out.peak;
  return out;
}

std::vector<Stretch> throttled_stretches(const RecordedTask& task, double end_s) {
  std::vector<Stretch> out;
  for (std::size_t i = 0; i < task.states.size(); ++i) {
    if (task.states[i].state != "throttled") continue;
    const double to = i + 1 < task.states.size() ? task.states[i + 1].at_s : end_s;
    out.push_back({task.states[i].at_s, to});
  }
  return out;
}

double throttled_s(const FleetRecording& recording, const std::string& node) {
  double sum = 0.0;
  for (const RecordedTask& task : recording.tasks) {
    if (task.node != node) continue;
    for (const Stretch& s : throttled_stretches(task, recording.seconds(recording.last_unix_us))) {
      sum += s.to_s - s.from_s;
    }
  }
  return sum;
}

FleetVerdict judge(const FleetRecording& recording) {
  FleetVerdict out;
  out.whole_parts = consensus::kWhole;
  std::map<const FleetNode*, Change> last;
  std::int64_t parts = 0;
  std::int64_t enforced = 0;
  std::int64_t cut_at = -1;
  std::int64_t budget_before = 0;
  for (const Change& change : changes_of(recording)) {
    if (change.node != nullptr) {
      Change& known = last[change.node];
      parts += change.parts - known.parts;
      enforced += change.enforced_mw - known.enforced_mw;
      known = change;
    }
    ++out.instants;
    const std::int64_t budget = budget_now(recording, change.unix_us);
    if (budget < budget_before) {
      cut_at = change.unix_us;
      ++out.cuts;
    }
    budget_before = budget;
    if (cut_at >= 0) {
      out.cut_settled_s =
          std::max(out.cut_settled_s, static_cast<double>(change.unix_us - cut_at) * 1e-6);
      if (enforced <= budget) cut_at = -1;
    }
    out.most_parts = std::max(out.most_parts, parts);
    out.most_over_mw =
        std::max(out.most_over_mw, enforced - budget_allowing_grace(recording, change.unix_us));
    out.enforced_w.push_back(
        {recording.seconds(change.unix_us), static_cast<double>(enforced) * 1e-3});
  }
  for (std::size_t i = 0; i < recording.budgets.size(); ++i) {
    const BudgetChange& b = recording.budgets[i];
    out.budget_w.push_back(
        {i == 0 ? 0.0 : recording.seconds(b.unix_us), static_cast<double>(b.mw) * 1e-3});
  }
  if (!out.budget_w.empty()) {
    out.budget_w.push_back({recording.seconds(recording.last_unix_us), out.budget_w.back().value});
  }
  judge_drawn(recording, out);
  const double end_s = recording.seconds(recording.last_unix_us);
  out.drawn = spread_of(out.drawn_w, end_s);
  out.enforced = spread_of(out.enforced_w, end_s);
  judge_throttled(recording, out);
  judge_tasks(recording, out);
  judge_comebacks(recording, out);
  return out;
}

}  // namespace laird::lab
