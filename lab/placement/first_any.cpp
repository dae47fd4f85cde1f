#include "lab/placement/first_any.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "agent/placement/fleet/new_task.hpp"
#include "base/random.hpp"
#include "lab/placement/instances.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::lab {
namespace {

using Chance = RandomOf<Range::kScaled>;

constexpr std::int64_t kBoardsMin = 3;
constexpr std::int64_t kBoardsMax = 12;
constexpr double kSame = 1.01;  // a board this near to the best one is as good

struct Trial {
  placement::FleetFacts facts;
  placement::TaskFact task;
  std::vector<double> seconds;  // what is true, by board; 0: it does not fit there
};

placement::BoardFact fact_of(const power::Board& module, std::size_t number) {
  placement::BoardFact out;
  out.name = "n-" + std::to_string(number);
  out.module = module.name;
  out.hardware = {module.cpu_cores,
                  module.cpu_clock_mhz_max,
                  module.gpu_cuda_cores,
                  module.gpu_clock_mhz_max,
                  module.memory_bandwidth_gb_s,
                  static_cast<double>(module.model.gpu_dynamic_mw) / 1e3,
                  static_cast<double>(module.model.cpu_dynamic_mw) / 1e3};
  out.lanes = {{"gpu0", true}, {"cpu0", false}};
  out.trainers = {"trainer"};
  out.memory_bytes = module.memory_for_tasks_bytes(0);
  return out;
}

Trial empty_trial(Chance& chance, const std::vector<power::Board>& modules) {
  Trial out;
  out.facts.fleet = "lab";
  const auto boards = static_cast<std::size_t>(chance.between(kBoardsMin, kBoardsMax));
  for (std::size_t b = 0; b < boards; ++b) {
    const auto m = chance.below(static_cast<std::uint32_t>(modules.size()));
    out.facts.boards.push_back(fact_of(modules[m], b + 1));
  }
  out.task.name = "first";
  out.task.trainer = "trainer";
  out.task.work = "work";
  out.task.gpu = true;
  out.task.deadline_in_s = 24.0 * 3600.0;
  return out;
}

// What nobody foresees of a task on a module: boards of one module are alike.
class Noise {
 public:
  double of(const std::string& module, Chance& chance, double from, double to) {
    auto known = std::find_if(drawn_.begin(), drawn_.end(),
                              [&](const auto& n) { return n.first == module; });
    if (known == drawn_.end()) {
      drawn_.emplace_back(module, from + (to - from) * chance.unit());
      known = drawn_.end() - 1;
    }
    return known->second;
  }

 private:
  std::vector<std::pair<std::string, double>> drawn_;
};

Trial table_trial(Chance& chance, const std::vector<power::Board>& modules) {
  // In the order of paper_fleet: an Orin NX, a Xavier NX, a Nano.
  static const placement::Instance kPaper = paper_instance(5, 7);
  Trial out = empty_trial(chance, modules);
  const auto profile = chance.below(static_cast<std::uint32_t>(kPaper.tasks.size()));
  out.task.memory_bytes = kPaper.tasks[profile].memory_mb * 700'000;
  Noise noise;
  for (const placement::BoardFact& board : out.facts.boards) {
    const char* kind = board.module == "nano-4gb"       ? "nano"
                       : board.module == "orin-nx-16gb" ? "orin"
                                                        : "xavier";
    std::size_t like = 0;
    while (kPaper.boards[like].kind != kind) ++like;
    const double time = static_cast<double>(kPaper.choice(profile, like).time_s);
    const double varied = time * noise.of(board.module, chance, 0.85, 1.15);
    out.seconds.push_back(board.memory_bytes < out.task.memory_bytes ? 0.0 : varied);
  }
  return out;
}

Trial roofline_trial(Chance& chance, const std::vector<power::Board>& modules) {
  Trial out = empty_trial(chance, modules);
  out.task.memory_bytes = chance.between(200, 6'000) * 1'000'000;
  // Each part of the time on a board like an Orin Nano: 0.1 to 10 of one another.
  const auto drawn = [&] { return std::pow(10.0, 2.0 * chance.unit() - 1.0); };
  const double arithmetic = 1e6 * drawn();
  const double bytes = 100.0 * drawn();
  const double steps = 1'500.0 * 0.3 * drawn();
  Noise noise;
  for (const placement::BoardFact& board : out.facts.boards) {
    const placement::Hardware& h = board.hardware;
    const double units = static_cast<double>(h.cuda_cores * h.gpu_mhz);
    const double time = std::max(arithmetic / units, bytes / h.memory_gb_s) +
                        steps / static_cast<double>(h.cpu_mhz);
    const double varied = 3600.0 * time * noise.of(board.module, chance, 1.0, 1.3);
    out.seconds.push_back(board.memory_bytes < out.task.memory_bytes ? 0.0 : varied);
  }
  return out;
}

// The board by its place in the facts; -1: none.
int by_planner(const Trial& trial) {
  const auto places = placement::places_for(trial.facts, trial.task, 50'000);
  if (!places || places->places.empty()) return -1;
  for (std::size_t b = 0; b < trial.facts.boards.size(); ++b) {
    if (trial.facts.boards[b].name == places->places.front().board) return static_cast<int>(b);
  }
  return -1;
}

// With no history every bid says the same, and the first name is taken (control/fleet/place.cpp).
int by_bids(const Trial& trial) {
  int out = -1;
  for (std::size_t b = 0; b < trial.seconds.size(); ++b) {
    if (trial.seconds[b] <= 0.0) continue;
    const auto& name = trial.facts.boards[b].name;
    if (out < 0 || name < trial.facts.boards[static_cast<std::size_t>(out)].name) {
      out = static_cast<int>(b);
    }
  }
  return out;
}

void note(const Trial& trial, int board, FirstAnyRow& row) {
  double best = 0.0;
  for (const double s : trial.seconds) {
    if (s > 0.0 && (best == 0.0 || s < best)) best = s;
  }
  if (best == 0.0) return;
  const double got = board < 0 ? 0.0 : trial.seconds[static_cast<std::size_t>(board)];
  ++row.trials;
  if (got <= 0.0) return;  // to a board that it does not fit on: never the best
  row.best += got <= best * kSame ? 1 : 0;
  row.slowdown_mean += got / best;
  row.slowdown_max = std::max(row.slowdown_max, got / best);
}

Result<std::vector<power::Board>> modules_of(Truth truth) {
  std::vector<std::string> names = power::board_names();
  if (truth == Truth::kTable) names = {"nano-4gb", "xavier-nx-8gb", "orin-nx-16gb"};
  std::vector<power::Board> out;
  for (const std::string& name : names) {
    auto board = power::find_board(name, "");
    LAIRD_TRY(board);
    if (board->gpu_cuda_cores > 0) out.push_back(std::move(*board));
  }
  return out;
}

}  // namespace

Result<std::vector<FirstAnyRow>> run_first_any(const FirstAnyOptions& options) {
  std::vector<FirstAnyRow> rows;
  for (const Truth truth : {Truth::kTable, Truth::kRoofline}) {
    const auto modules = modules_of(truth);
    LAIRD_TRY(modules);
    const char* name = truth == Truth::kTable ? "table" : "roofline";
    FirstAnyRow planner{name, "planner", 0, 0, 0.0, 0.0};
    FirstAnyRow bids{name, "bids", 0, 0, 0.0, 0.0};
    for (std::uint64_t i = 0; i < options.trials; ++i) {
      Chance chance(spread_seed(options.seed * 1'000'003 + i));
      const Trial trial =
          truth == Truth::kTable ? table_trial(chance, *modules) : roofline_trial(chance, *modules);
      note(trial, by_planner(trial), planner);
      note(trial, by_bids(trial), bids);
    }
    for (FirstAnyRow* row : {&planner, &bids}) {
      if (row->trials > 0) row->slowdown_mean /= static_cast<double>(row->trials);
      rows.push_back(*row);
    }
  }
  return rows;
}

std::string first_any_text(const std::vector<FirstAnyRow>& rows) {
  std::string out = "what is true  rule     trials  to the best board  mean slowdown  worst\n";
  for (const FirstAnyRow& r : rows) {
    char line[128];
    std::snprintf(line, sizeof line, "%-12s  %-7s  %6llu  %16.1f%%  %13.2f  %5.2f\n",
                  r.truth.c_str(), r.rule.c_str(), static_cast<unsigned long long>(r.trials),
                  100.0 * static_cast<double>(r.best) /
                      static_cast<double>(std::max<std::uint64_t>(r.trials, 1)),
                  r.slowdown_mean, r.slowdown_max);
    out += line;
  }
  return out;
}

json::Value first_any_json(const std::vector<FirstAnyRow>& rows) {
  json::Value out = json::Value::array();
  for (const FirstAnyRow& r : rows) {
    out.add(json::Value::object()
                .set("truth", r.truth)
                .set("rule", r.rule)
                .set("trials", r.trials)
                .set("best", r.best)
                .set("slowdown_mean", r.slowdown_mean)
                .set("slowdown_max", r.slowdown_max));
  }
  return out;
}

}  // namespace laird::lab
