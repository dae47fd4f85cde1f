#include "agent/placement/measured_works.hpp"

#include <algorithm>

#include "base/sha256.hpp"

namespace laird::placement {
namespace {

// A task that hardly ran says nothing about speed.
constexpr DurationNs kBusyMin = kSecond;
constexpr std::size_t kWorkDigits = 16;

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Gathered {
  MeasuredWork work;
  std::vector<double> rates;
};

}  // namespace

std::string work_of(const core::TaskSpec& spec) {
  std::string text = spec.trainer;
  text += '\n';
  text += core::name(spec.lane);
  text += '\n';
  text += spec.params;
  return sha256_of(text).substr(0, kWorkDigits);
}

std::vector<MeasuredWork> measured_works(const core::State& state) {
  std::vector<Gathered> found;
  for (auto at = state.ended.rbegin(); at != state.ended.rend(); ++at) {
    const core::Task& task = *at->operator->();
    if (task.rate <= 0.0 || task.busy_ns < kBusyMin || task.spec.cotrain) continue;
    if (!task.spec.promotes.empty()) continue;  // a promotion trains nothing
    const std::string work = work_of(task.spec);
    auto of = std::find_if(found.begin(), found.end(),
                           [&](const Gathered& g) { return g.work.work == work; });
    if (of == found.end()) {
      if (found.size() >= kMeasuredWorksMax) continue;
      found.push_back({{task.spec.trainer, work, task.spec.lane, 0.0, 0.0, 0.0, 0}, {}});
      of = found.end() - 1;
    }
    of->rates.push_back(task.rate);
    // What began with an earlier run's model took fewer samples than a new task will.
    const bool from_nothing = task.warm_from == 0;
    if (of->work.samples == 0.0 && task.outcome == core::Outcome::kSucceeded && from_nothing) {
      of->work.samples = static_cast<double>(task.samples);
      of->work.target_loss = task.spec.target_loss;
    }
  }
  std::vector<MeasuredWork> out;
  for (Gathered& g : found) {
    g.work.runs = static_cast<std::uint32_t>(g.rates.size());
    g.work.samples_per_s = median(g.rates);
    out.push_back(std::move(g.work));
  }
  return out;
}

}  // namespace laird::placement
