#include "lab/scheduling/study.hpp"

#include <ctime>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "agent/policies/foresight.hpp"
#include "base/duration.hpp"
#include "lab/scheduling/bundles.hpp"

namespace laird::lab {
namespace {

struct Run {
  double successes = 0.0;
  double switches_per_task = 0.0;
  double energy_j = 0.0;
  std::uint64_t grants = 0;
  double cpu_seconds = 0.0;
};

[[nodiscard]] double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Puts the truth about a task into the needs that our policy plans with: into how many of them
// are finite, into those that are, or into both.
void tell_truth(const SimulatedTask& of, Told told, const core::Task& task,
                policies::Foresight::Scenarios& seconds) {
  const double whole = need_units(of);
  const double done = static_cast<double>(task.samples) * of.duration_units /
                      static_cast<double>(of.losses->size() * kSamplesPerPoint);
  const double left = std::max(0.0, whole - done);
  const bool knows_reach = told == Told::kReach || told == Told::kBoth;
  const bool knows_need = told == Told::kNeed || told == Told::kBoth;
  const auto end = std::find_if(seconds.begin(), seconds.end(),
                                [](double s) { return s >= policies::kNeverSeconds; });
  const auto finite = static_cast<std::size_t>(end - seconds.begin());
  if (knows_reach && whole < 0.0) {
    seconds.fill(policies::kNeverSeconds);
  } else if (knows_reach && knows_need) {
    seconds.fill(left);
  } else if (knows_reach) {
    // The same distribution over all scenarios; a task that was ruled out: anywhere in its curve.
    const policies::Foresight::Scenarios before = seconds;
    const auto n = static_cast<double>(seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const double u = (static_cast<double>(i) + 0.5) / n;
      const auto from = static_cast<std::size_t>(u * static_cast<double>(finite));
      seconds[i] = finite > 0 ? before[from] : u * (of.duration_units - done);
    }
  } else if (whole >= 0.0) {
    std::fill(seconds.begin(), end, left);
  }
}

[[nodiscard]] Run run_one(const Study& study, const std::string& policy,
                          const std::vector<SimulatedTask>& tasks, std::uint64_t seed) {
  const double began = thread_cpu_seconds();
  CurveBoard board(policy, seed);
  board.resident_max = study.resident_max;
  if (study.told != Told::kNothing) {
    board.prepare_policy = [&](policies::Policy& made) {
      auto* ours = dynamic_cast<policies::Foresight*>(&made);
      if (ours == nullptr) return;
      ours->correct_needs_by([&](const core::Task& task, auto& seconds) {
        tell_truth(tasks[board.index_of(task.key)], study.told, task, seconds);
      });
    };
  }
  const RunResult result = board.run(tasks);
  Run run;
  run.successes =
      static_cast<double>(std::count(result.succeeded.begin(), result.succeeded.end(), true));
  run.switches_per_task = static_cast<double>(result.switches) / static_cast<double>(tasks.size());
  run.energy_j = study.idle_w * seconds(result.span_ns) +
                 (study.busy_w - study.idle_w) * seconds(result.work_ns);
  run.grants = result.grants;
  run.cpu_seconds = thread_cpu_seconds() - began;
  return run;
}

struct Mean {
  double value = 0.0;
  double standard_error = 0.0;
};

template <class Get>
[[nodiscard]] Mean mean_of(std::size_t n, Get get) {
  const double count = static_cast<double>(n);
  Mean mean;
  for (std::size_t i = 0; i < n; ++i) mean.value += get(i) / count;
  double squares = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    squares += (get(i) - mean.value) * (get(i) - mean.value);
  }
  if (n > 1) mean.standard_error = std::sqrt(squares / (count - 1.0) / count);
  return mean;
}

}  // namespace

std::string published_name(const std::string& policy) {
  return policy == "foresight" ? "ours" : policy;
}

StudyResult run_study(const Study& study) {
  const std::size_t policies = study.policies.size();
  std::vector<double> oracle(study.runs);
  std::vector<std::vector<Run>> runs(policies, std::vector<Run>(study.runs));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < study.runs; i = next++) {
      const std::uint64_t seed = study.seed * 1'000'003 + i;
      Bundle bundle = study.draw(seed);
      for (SimulatedTask& task : bundle.tasks) {
        task.restore_units = study.restore_units;
        task.checkpoint_units = study.checkpoint_units;
      }
      const std::vector<SimulatedTask>& tasks = bundle.tasks;
      oracle[i] = static_cast<double>(most_on_time(tasks));
      for (std::size_t p = 0; p < policies; ++p) {
        runs[p][i] = run_one(study, study.policies[p], tasks, seed);
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t j = 1; j < study.jobs; ++j) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  StudyResult result;
  result.runs = study.runs;
  result.oracle = mean_of(study.runs, [&](std::size_t i) { return oracle[i]; }).value;
  const std::vector<Run>* ours = nullptr;
  for (std::size_t p = 0; p < policies; ++p) {
    if (published_name(study.policies[p]) == "ours") ours = &runs[p];
  }
  for (std::size_t p = 0; p < policies; ++p) {
    const std::vector<Run>& mine = runs[p];
    PolicyScore score;
    score.name = published_name(study.policies[p]);
    const Mean mean = mean_of(study.runs, [&](std::size_t i) { return mine[i].successes; });
    score.successes = mean.value;
    score.standard_error = mean.standard_error;
    score.switches_per_task =
        mean_of(study.runs, [&](std::size_t i) { return mine[i].switches_per_task; }).value;
    score.energy_j = mean_of(study.runs, [&](std::size_t i) { return mine[i].energy_j; }).value;
    score.of_oracle = result.oracle > 0.0 ? score.successes / result.oracle : 0.0;
    if (ours != nullptr && ours != &mine) {
      const Mean behind = mean_of(
          study.runs, [&](std::size_t i) { return (*ours)[i].successes - mine[i].successes; });
      score.behind_ours = behind.value;
      score.behind_ours_error = behind.standard_error;
    }
    for (const Run& run : mine) {
      score.grants += run.grants;
      score.cpu_seconds += run.cpu_seconds;
    }
    result.policies.push_back(std::move(score));
  }
  return result;
}

}  // namespace laird::lab
