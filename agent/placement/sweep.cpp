#include "agent/placement/sweep.hpp"

#include <charconv>

#include "agent/placement/need.hpp"

namespace laird::placement {
namespace {

std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4);
  return std::string(text, end.ptr);
}

std::string percent(double part) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, 100.0 * part, std::chars_format::fixed, 1);
  return std::string(text, end.ptr) + "%";
}

// The member with the lowest loss that anybody but this one has shown, also one that is over.
const core::Task* best_rival(const core::State& state, const core::Task& member) {
  const core::Task* best = nullptr;
  const auto look = [&](const core::Task& task) {
    if (task.key == member.key || task.spec.sweep != member.spec.sweep || !task.loss_known) return;
    if (best == nullptr || task.best_loss < best->best_loss) best = &task;
  };
  for (const core::Task& task : state.live) look(task);
  for (const core::Task& task : state.ended) look(task);
  return best;
}

}  // namespace

std::string hopeless_in_sweep(const core::State& state, const core::Task& member, TimeNs now) {
  const double limit = static_cast<double>(member.spec.sweep_stop_permille) / 1000.0;
  if (member.spec.sweep.empty() || limit <= 0.0 || !member.loss_known) return "";
  if (member.forecast.reports() < kSweepReports || member.rate <= 0.0) return "";
  const core::Task* rival = best_rival(state, member);
  if (rival == nullptr || member.best_loss <= rival->best_loss) return "";
  const Need need = need_of(member, member.rate, now);
  if (need.basis != NeedBasis::kForecast || need.left <= 0 || need.probability >= limit) return "";
  const double left_s = static_cast<double>(need.left) / static_cast<double>(kSecond);
  const double at = static_cast<double>(member.samples) + member.rate * left_s;
  const double better = member.forecast.probability_below(
      rival->best_loss, at, static_cast<double>(member.planned_samples));
  if (better >= limit) return "";
  return "stopped early in the sweep '" + member.spec.sweep + "': " + rival->spec.name +
         " has shown a loss of " + number(rival->best_loss) + ", which this one comes below with " +
         percent(better) + "; its target it reaches with " + percent(need.probability) +
         "; the sweep's limit is " + percent(limit);
}

}  // namespace laird::placement
