#include "report/story/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "base/duration.hpp"
#include "consensus/limits.hpp"
#include "report/story/numbers.hpp"

namespace laird::story {
namespace {

std::string counted(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

void add(std::vector<Sentence>& out, Mark mark, std::string text) {
  out.push_back({mark, std::move(text)});
}

void say_tasks(const TaskCounts& tasks, std::vector<Sentence>& out) {
  if (tasks.all == 0) {
    add(out, Mark::kNote, "no task was there");
    return;
  }
  const std::uint64_t judged = tasks.all - tasks.open - tasks.cancelled;
  if (judged > 0) {
    add(out, tasks.met == judged ? Mark::kGood : Mark::kBad,
        std::to_string(tasks.met) + " of " + counted(judged, "task") +
            " reached the target loss by the deadline");
  }
  std::string rest;
  const auto name_some = [&rest](std::uint64_t n, const char* what) {
    if (n > 0) rest += (rest.empty() ? "" : ", ") + std::to_string(n) + " " + what;
  };
  name_some(tasks.missed, "missed the deadline");
  name_some(tasks.exhausted, "did all planned work without reaching the target");
  name_some(tasks.failed, "failed");
  name_some(tasks.cancelled, "cancelled");
  name_some(tasks.open, "not over when the journal ended");
  if (!rest.empty()) add(out, Mark::kNote, rest);
}

// The first of those that were lost, each with its cause.
void say_lost(std::span<const BoardStory> boards, std::vector<Sentence>& out) {
  constexpr std::size_t kNamedMax = 5;
  std::size_t named = 0;
  for (const BoardStory& board : boards) {
    for (const TaskStory& task : board.tasks) {
      const bool is_lost = task.over() && task.outcome != core::Outcome::kSucceeded &&
                           task.outcome != core::Outcome::kCancelled &&
                           task.outcome != core::Outcome::kMoved;
      if (!is_lost || named == kNamedMax) continue;
      ++named;
      add(out, Mark::kNote,
          task.name + (boards.size() > 1 ? " on " + board.node : "") + ": " + task.headline);
    }
  }
}

void say_power(const Verdict& v, std::span<const BoardStory> boards, std::vector<Sentence>& out) {
  if (!v.metered) {
    add(out, Mark::kNote, "no power was read, so there is no energy to tell");
    return;
  }
  std::string energy = fixed(v.energy_j, v.energy_j < 100 ? 1 : 0) + " J were used, " +
                       fixed(v.energy_tasks_j, v.energy_tasks_j < 100 ? 1 : 0) +
                       " J of them by tasks";
  if (v.tasks.met > 0) {
    energy +=
        "; " + fixed(v.energy_j / static_cast<double>(v.tasks.met), 1) + " J for each success";
  }
  const bool is_modelled = std::any_of(boards.begin(), boards.end(), [](const BoardStory& b) {
    return b.power.source == "modelled";
  });
  if (is_modelled) energy += " (modelled from the boards' files, not measured)";
  add(out, Mark::kNote, energy);
  if (v.capped_ns == 0) {
    add(out, Mark::kNote, "no power cap was in force");
  } else if (v.breaches == 0) {
    std::string text = "the power caps were held";
    if (v.over_cap_ns > 0) {
      text += ": as means of 5 s above one for " + spoken(v.over_cap_ns) + " of " +
              spoken(v.capped_ns) + " in all, by at most " + fixed(v.over_cap_most_w, 2) +
              " W, and never for long";
    }
    add(out, Mark::kGood, text);
  } else {
    add(out, Mark::kBad,
        "a power cap was not held " + counted(v.breaches, "time") + ", by at most " +
            fixed(v.over_cap_most_w, 1) + " W; above a cap for " + spoken(v.over_cap_ns) + " of " +
            spoken(v.capped_ns));
  }
}

void say_shares(const SharesKept& shares, std::vector<Sentence>& out) {
  if (!shares.judged) return;
  const bool kept = shares.longest_over_ns <= kClockSlack;
  std::string text =
      kept ? "shares of the budget never added up to more than the whole"
           : "more than the whole budget was given out for " + spoken(shares.longest_over_ns);
  text += ": at most " + figures(100.0 * shares.most_part, 5) + "% at once, at " +
          std::to_string(shares.instants) + " changes";
  if (kept && shares.longest_over_ns > 0) {
    text += "; above it for " + spoken(shares.longest_over_ns) +
            " at most, which clocks that differ explain";
  }
  add(out, kept ? Mark::kGood : Mark::kBad, text);
  const bool within = shares.longest_over_budget_ns <= kClockSlack;
  add(out, within ? Mark::kGood : Mark::kBad,
      within ? "the boards' power caps together stayed within the budget"
             : "the boards' power caps together were above the budget by up to " +
                   fixed(shares.most_over_budget_w, 1) + " W for " +
                   spoken(shares.longest_over_budget_ns));
}

// One change of one board's share, or (board: none) a moment to look at the sums.
struct Change {
  TimeNs wall = 0;
  std::size_t board = 0;
  std::int64_t parts = 0;
  std::int64_t mw = 0;
};

std::vector<Change> changes_of(std::span<const BoardStory> boards, TimeNs ends_before = INT64_MAX) {
  std::vector<Change> out;
  for (std::size_t i = 0; i < boards.size(); ++i) {
    const BoardStory& board = boards[i];
    for (const SharePoint& p : board.fleet.shares) {
      out.push_back({board.wall(p.at), i, p.parts, p.enforced_mw});
    }
    // What a board did after its journal ended nobody knows. It counts as nothing.
    if (!board.fleet.shares.empty()) {
      const TimeNs end = std::max(board.to, board.fleet.shares.back().at) + kMicrosecond;
      if (board.wall(end) < ends_before) out.push_back({board.wall(end), i, 0, 0});
    }
  }
  // At one instant falls come before rises: that is the order they happened in.
  std::stable_sort(out.begin(), out.end(), [](const Change& a, const Change& b) {
    const TimeNs at_a = a.wall / kMicrosecond;
    const TimeNs at_b = b.wall / kMicrosecond;
    return at_a != at_b ? at_a < at_b : a.parts < b.parts;
  });
  return out;
}

// The most the budget was within its grace before that time, in mW; below zero: no limit.
std::int64_t budget_with_grace(const std::vector<SumPoint>& budget, TimeNs wall) {
  double most = 0.0;
  for (std::size_t i = 0; i < budget.size(); ++i) {
    const bool begun = i == 0 || budget[i].wall <= wall + kBudgetGrace;
    const bool over = i + 1 < budget.size() && budget[i + 1].wall + kBudgetGrace < wall;
    if (!begun || over) continue;
    if (budget[i].value < 0.0) return -1;
    most = std::max(most, budget[i].value);
  }
  return std::llround(most * 1e3);
}

// How long something has held without a break, and the longest it ever did.
class Longest {
 public:
  void see(bool holds, TimeNs at) {
    if (since_ != 0) longest_ = std::max(longest_, at - since_);
    if (!holds) since_ = 0;
    if (holds && since_ == 0) since_ = at;
  }
  [[nodiscard]] DurationNs ns() const { return longest_; }

 private:
  TimeNs since_ = 0;
  DurationNs longest_ = 0;
};

}  // namespace

TaskCounts count_tasks(std::span<const BoardStory> boards) {
  TaskCounts out;
  for (const BoardStory& board : boards) {
    for (const TaskStory& task : board.tasks) {
      ++out.all;
      switch (task.outcome) {
        case core::Outcome::kNone: ++out.open; break;
        case core::Outcome::kSucceeded: ++out.met; break;
        case core::Outcome::kMissed: ++out.missed; break;
        case core::Outcome::kExhausted: ++out.exhausted; break;
        case core::Outcome::kFailed: ++out.failed; break;
        case core::Outcome::kCancelled: ++out.cancelled; break;
        case core::Outcome::kMoved: --out.all; break;  // counted where it ended
      }
    }
  }
  return out;
}

std::vector<SumPoint> budget_of(std::span<const BoardStory> boards) {
  std::vector<SumPoint> all;
  for (const BoardStory& board : boards) {
    for (const BudgetPoint& p : board.fleet.budgets) {
      all.push_back({board.wall(p.at), p.mw < 0 ? -1.0 : static_cast<double>(p.mw) * 1e-3});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const SumPoint& a, const SumPoint& b) { return a.wall < b.wall; });
  std::vector<SumPoint> out;
  for (const SumPoint& p : all) {
    if (out.empty() || out.back().value != p.value) out.push_back(p);
  }
  return out;
}

std::vector<SumPoint> caps_sum(std::span<const BoardStory> boards) {
  // Journals that end together end the picture, not the shares.
  TimeNs last = INT64_MIN;
  for (const BoardStory& board : boards) last = std::max(last, board.wall(board.to));
  std::vector<std::int64_t> held(boards.size(), 0);
  std::int64_t sum = 0;
  std::vector<SumPoint> out;
  for (const Change& change : changes_of(boards, last - 5 * kSecond)) {
    sum += change.mw - held[change.board];
    held[change.board] = change.mw;
    const double w = static_cast<double>(sum) * 1e-3;
    if (!out.empty() && out.back().wall == change.wall) {
      out.back().value = w;
    } else {
      out.push_back({change.wall, w});
    }
  }
  return out;
}

SharesKept judge_shares(std::span<const BoardStory> boards) {
  SharesKept out;
  const auto members = std::count_if(boards.begin(), boards.end(),
                                     [](const BoardStory& b) { return !b.fleet.shares.empty(); });
  if (members < 2) return out;
  out.judged = true;
  const std::vector<SumPoint> budget = budget_of(boards);
  std::vector<Change> held(boards.size());
  std::int64_t parts = 0;
  std::int64_t mw = 0;
  Longest over_whole;
  Longest over_budget;
  for (const Change& change : changes_of(boards)) {
    parts += change.parts - held[change.board].parts;
    mw += change.mw - held[change.board].mw;
    held[change.board] = change;
    ++out.instants;
    out.most_part = std::max(out.most_part,
                             static_cast<double>(parts) / static_cast<double>(consensus::kWhole));
    over_whole.see(parts > consensus::kWhole, change.wall);
    const std::int64_t allowed = budget_with_grace(budget, change.wall);
    const bool is_over = allowed >= 0 && mw > allowed;
    if (is_over) {
      out.most_over_budget_w =
          std::max(out.most_over_budget_w, static_cast<double>(mw - allowed) * 1e-3);
    }
    over_budget.see(is_over, change.wall);
  }
  out.longest_over_ns = over_whole.ns();
  out.longest_over_budget_ns = over_budget.ns();
  return out;
}

Verdict judge(std::span<const BoardStory> boards) {
  Verdict out;
  out.tasks = count_tasks(boards);
  for (const BoardStory& board : boards) {
    out.energy_j += board.power.energy_j;
    out.metered = out.metered || !board.power.drawn_w.empty();
    out.breaches += board.power.breaches;
    out.over_cap_ns += board.power.over_ns;
    out.capped_ns += board.power.capped_ns;
    out.over_cap_most_w = std::max(out.over_cap_most_w, board.power.over_most_w);
    out.crashes += board.crashes;
    for (const TaskStory& task : board.tasks) {
      if (task.energy_uj > 0) out.energy_tasks_j += static_cast<double>(task.energy_uj) * 1e-6;
    }
  }
  out.shares = judge_shares(boards);
  say_tasks(out.tasks, out.sentences);
  say_lost(boards, out.sentences);
  say_shares(out.shares, out.sentences);
  say_power(out, boards, out.sentences);
  if (out.crashes > 0)
    add(out.sentences, Mark::kBad, "trainers crashed " + counted(out.crashes, "time"));
  for (const BoardStory& board : boards) {
    for (const std::string& note : board.source.notes) {
      add(out.sentences, board.source.whole ? Mark::kNote : Mark::kBad, board.node + ": " + note);
    }
  }
  return out;
}

}  // namespace laird::story
