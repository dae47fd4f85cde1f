#include "lab/watts/study.hpp"

#include <ctime>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <thread>

namespace laird::lab {
namespace {

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Run {
  WattsResult result;
  double cpu_seconds = 0.0;
};

WattsScore score_of(Strategy strategy, const std::vector<Run>& runs) {
  WattsScore out;
  out.strategy = strategy;
  const auto n = static_cast<double>(runs.size());
  double energy_j = 0.0;
  for (const Run& run : runs) {
    out.successes += run.result.successes / n;
    out.waste += run.result.waste / n;
    out.over = std::max(out.over, run.result.over);
    out.cpu_seconds += run.cpu_seconds;
    energy_j += run.result.energy_j;
  }
  double squares = 0.0;
  for (const Run& run : runs) {
    squares += (run.result.successes - out.successes) * (run.result.successes - out.successes);
  }
  if (n > 1.0) out.standard_error = std::sqrt(squares / (n - 1.0) / n);
  if (out.successes > 0.0) out.joules_per_success = energy_j / (n * out.successes);
  return out;
}

}  // namespace

WattsTable run_watts_study(const WattsStudy& study) {
  std::vector<std::vector<Run>> runs(study.strategies.size(), std::vector<Run>(study.runs));
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  std::mutex printing;
  const auto work = [&] {
    for (std::size_t i = next++; i < study.runs; i = next++) {
      const std::uint64_t seed = study.first_seed + i;
      const WattsWorkload workload = draw_watts(study.modules, *study.curves, study.boards, seed);
      const auto budget_mw =
          static_cast<std::int64_t>(study.budget * static_cast<double>(workload.most_mw()));
      for (std::size_t s = 0; s < study.strategies.size(); ++s) {
        const double began = thread_cpu_seconds();
        runs[s][i].result = run_watts(workload, budget_mw, study.strategies[s], seed);
        runs[s][i].cpu_seconds = thread_cpu_seconds() - began;
      }
      const std::size_t finished = ++done;
      if (finished % 10 != 0 && finished != study.runs) continue;
      const std::lock_guard lock(printing);
      std::fprintf(stderr, "%zu boards, budget %.0f%%: %zu of %zu runs\n", study.boards,
                   100.0 * study.budget, finished, study.runs);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t j = 1; j < study.jobs; ++j) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  WattsTable table;
  table.boards = study.boards;
  table.budget = study.budget;
  table.runs = study.runs;
  for (const Run& run : runs.front()) {
    table.tasks += run.result.tasks / static_cast<double>(study.runs);
  }
  for (std::size_t s = 0; s < study.strategies.size(); ++s) {
    table.scores.push_back(score_of(study.strategies[s], runs[s]));
  }
  return table;
}

}  // namespace laird::lab
