// What a decision costs, by policy and number of tasks, and how fast the simulator is.
//
//   bench_scheduling [google-benchmark options] [--page FILE]
//
// A decision is measured as it happens on a board: one task has reported since the last one, and
// the policy is asked who is next. Tasks have learned for 40 reports. `--page` draws the growth.
// Times are CPU time of one core; the median of the repetitions is the number to quote.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/policies/policy.hpp"
#include "lab/scheduling/paper_bundles.hpp"
#include "lab/simulator/random.hpp"
#include "plot/svg_plot.hpp"

namespace {

using namespace laird;

constexpr int kReports = 40;

core::Task learned_task(core::TaskKey key, lab::Random& random) {
  core::Task task;
  task.key = key;
  task.rate = random.between(500.0, 2000.0);
  task.spec.report_every = 1000;
  task.spec.target_loss = random.between(0.02, 0.2);
  task.accepted_at = 0;
  task.deadline_at = static_cast<TimeNs>(random.between(500.0, 1600.0) * 1e9);
  task.planned_samples = random.below(2) == 0 ? 0 : 500'000;
  task.loss_known = true;
  return task;
}

void report(core::Task& task, policies::Policy& policy, lab::Random& random) {
  task.samples += 1000;
  const double exponent = 0.2 + 0.4 * static_cast<double>(task.key % 7) / 7.0;
  task.loss = std::pow(static_cast<double>(task.samples) / 1000.0, -exponent) *
              (1.0 + 0.02 * random.unit());
  static_cast<void>(task.forecast.observe(static_cast<double>(task.samples), task.loss));
  policy.observe(task);
}

void decide(benchmark::State& state, const std::string& name) {
  const auto count = static_cast<std::size_t>(state.range(0));
  lab::Random random(1);
  const auto policy = std::move(*policies::make_policy(name));
  std::vector<core::Task> tasks;
  tasks.reserve(count);
  std::vector<policies::Candidate> candidates;
  for (std::size_t i = 0; i < count; ++i) {
    tasks.push_back(learned_task(static_cast<core::TaskKey>(i + 1), random));
    for (int r = 0; r < kReports; ++r) report(tasks.back(), *policy, random);
    candidates.push_back({&tasks.back(), true});
  }
  TimeNs now = 100 * kSecond;
  policies::Decision out;
  const auto ask = [&] {
    out.clear();
    policy->decide(policies::LaneView{0, core::LaneKind::kCpu, now, kSecond, candidates, 0}, out);
  };
  ask();  // what is kept between decisions is there
  for (auto _ : state) {
    state.PauseTiming();
    if (!out.choices.empty()) report(tasks[out.choices[0].key - 1], *policy, random);
    now += 10 * kMillisecond;
    state.ResumeTiming();
    ask();
    benchmark::DoNotOptimize(out.choices.data());
  }
  state.counters["tasks"] = static_cast<double>(count);
}

void simulate(benchmark::State& state, const std::string& policy) {
  std::uint64_t slices = 0;
  std::uint64_t seed = 0;
  for (auto _ : state) {
    const lab::Bundle bundle = lab::mixed_bundle(++seed);
    slices += lab::CurveBoard(policy, seed).run(bundle.tasks).grants;
  }
  state.counters["task_slices"] =
      benchmark::Counter(static_cast<double>(slices), benchmark::Counter::kIsRate);
}

// Keeps the medians of decisions for the page.
class Growth final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.aggregate_name != "median") continue;
      const std::string name = run.run_name.function_name;
      const auto tasks = run.counters.find("tasks");
      if (tasks == run.counters.end()) continue;
      medians_[name].push_back({tasks->second.value, run.GetAdjustedCPUTime()});
    }
    ConsoleReporter::ReportRuns(runs);
  }
  bool write(const std::string& path) const {
    plot::Plot plot;
    plot.x_unit = "log10 of tasks";
    plot.y_unit = "log10 of us per decision";
    plot.from_zero = false;
    int colour = 0;
    for (const auto& [name, points] : medians_) {
      plot::PlotSeries series;
      series.name = name;
      series.colour = colour++ % plot::kPlotColours;
      series.strong = name == "decide/foresight";
      for (const auto& [tasks, us] : points) {
        const double y = std::log10(us);
        series.points.push_back({std::log10(tasks), y, y, y});
      }
      plot.series.push_back(std::move(series));
    }
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << plot::page("What a decision costs",
                       "<h1>What a decision costs</h1><p>Median CPU time of one decision when one "
                       "task has reported since the last.</p>" +
                           plot::svg_lines(plot));
    file.close();
    return static_cast<bool>(file);
  }

 private:
  std::map<std::string, std::vector<std::pair<double, double>>> medians_;
};

void add_decisions(const std::string& policy, std::initializer_list<std::int64_t> sizes) {
  auto* one = benchmark::RegisterBenchmark(("decide/" + policy).c_str(),
                                           [policy](benchmark::State& s) { decide(s, policy); });
  for (const std::int64_t size : sizes) one->Arg(size);
  one->Unit(benchmark::kMicrosecond)->Repetitions(5)->ReportAggregatesOnly(true)->MinTime(0.1);
}

}  // namespace

int main(int argc, char** argv) {
  std::string page;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--page" && i + 1 < argc) {
      page = argv[++i];
    } else {
      rest.push_back(argv[i]);
    }
  }
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 2;
  add_decisions("foresight", {10, 100, 1000, 10'000, 100'000});
  add_decisions("laira", {10, 100, 1000});
  add_decisions("lara", {10, 100, 1000});
  add_decisions("uara-laira", {10, 100, 1000});
  add_decisions("shortest-task-first", {10, 100, 1000, 10'000, 100'000});
  for (const char* policy : {"round-robin", "shortest-task-first", "laira", "foresight"}) {
    benchmark::RegisterBenchmark(
        (std::string("simulate/") + policy).c_str(),
        [policy = std::string(policy)](benchmark::State& s) { simulate(s, policy); })
        ->Unit(benchmark::kMillisecond)
        ->MinTime(0.5);
  }
  Growth growth;
  benchmark::RunSpecifiedBenchmarks(&growth);
  if (page.empty()) return 0;
  if (growth.write(page)) return 0;
  std::fprintf(stderr, "bench_scheduling: %s: cannot be written\n", page.c_str());
  return 1;
}
