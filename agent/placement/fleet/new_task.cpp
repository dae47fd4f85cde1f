#include "agent/placement/fleet/new_task.hpp"

#include <algorithm>
#include <tuple>

#include "agent/placement/search/explain.hpp"
#include "agent/placement/search/solve.hpp"
#include "base/natural_order.hpp"

namespace laird::placement {
namespace {

bool is_better(const NewPlace& a, const NewPlace& b) {
  const auto rank = [](const NewPlace& p) {
    return std::tuple(p.missed_weight, p.done_in_s, p.energy_j);
  };
  return rank(a) != rank(b) ? rank(a) < rank(b) : NaturalLess{}(a.board, b.board);
}

// A board with several lanes is offered by its best.
void keep_best_of_each_board(std::vector<NewPlace>& places) {
  std::sort(places.begin(), places.end(), is_better);
  std::vector<NewPlace> out;
  for (NewPlace& place : places) {
    const bool told = std::any_of(
        out.begin(), out.end(), [&](const NewPlace& other) { return other.board == place.board; });
    if (!told) out.push_back(std::move(place));
  }
  places = std::move(out);
}

}  // namespace

Result<NewPlaces> places_for(FleetFacts facts, TaskFact task, std::uint64_t steps_max) {
  task.board.clear();
  task.stage = Stage::kWaiting;
  facts.tasks.push_back(std::move(task));
  const std::size_t index = facts.tasks.size() - 1;
  const auto of = fleet_instance(facts);
  LAIRD_TRY(of);
  NewPlaces out;
  if (of->tasks.empty() || of->tasks.back() != index) {
    // No board can take it.
    for (const BarredBoard& barred : barred_boards(facts, index)) {
      out.cannot.push_back({barred.board, barred.why});
    }
    return out;
  }
  SolveLimits limits;
  limits.steps_max = steps_max;
  const auto plan = solve(of->instance, limits);
  LAIRD_TRY(plan);
  const std::size_t t = of->tasks.size() - 1;
  const auto place_on = [&](std::size_t lane, Seconds done, bool in_time, std::int64_t missed) {
    return NewPlace{facts.boards[of->lanes[lane].board].name,
                    done,
                    in_time,
                    missed,
                    of->instance.choice(t, lane).energy_j,
                    of->known_by[t],
                    of->speed_basis(t, lane)};
  };
  out.places.push_back(place_on(static_cast<std::size_t>(plan->tasks[t].board),
                                finish_of(of->instance, *plan, t), in_time(of->instance, *plan, t),
                                plan->objective.missed_weight));
  const Explanation told = explain(of->instance, *plan, t);
  for (const Alternative& other : told.others) {
    if (!other.why_not.empty()) continue;
    out.places.push_back(
        place_on(other.board, other.finish_s, other.in_time, other.objective.missed_weight));
  }
  keep_best_of_each_board(out.places);
  for (const BarredBoard& barred : barred_boards(facts, index)) {
    out.cannot.push_back({barred.board, barred.why});
  }
  return out;
}

}  // namespace laird::placement
