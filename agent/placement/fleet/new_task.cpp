#include "agent/placement/fleet/new_task.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "agent/placement/planner/timetable.hpp"
#include "agent/placement/search/solve.hpp"
#include "base/natural_order.hpp"

namespace laird::placement {
namespace {

// Each board's tasks are ordered by at least so many steps of the search.
constexpr std::uint64_t kBoardSteps = 4'000;
// Places of an order that are tried; on longer ones every so manieth.
constexpr std::size_t kPlacesMax = 60;

bool is_better(const NewPlace& a, const NewPlace& b) {
  const auto rank = [](const NewPlace& p) {
    const std::int64_t energy = p.energy_j > 0 ? p.energy_j : INT64_MAX;
    return std::tuple(p.missed_weight, p.done_in_s, energy);
  };
  return rank(a) != rank(b) ? rank(a) < rank(b) : NaturalLess{}(a.board, b.board);
}

// The new task, the last of the instance, among the others of a lane.
std::optional<NewPlace> place_on(const FleetInstance& of, std::size_t lane, const Order& others) {
  const Instance& instance = of.instance;
  const std::size_t task = instance.tasks.size() - 1;
  if (!instance.may_run(task, lane)) return std::nullopt;
  Timetable timetable(instance);
  const std::int64_t missed = run_order(instance, timetable, lane, others).missed_weight;
  std::vector<Seconds> starts(instance.tasks.size(), kForever);
  std::optional<NewPlace> best;
  const std::size_t stride = others.size() / kPlacesMax + 1;
  for (std::size_t after = 0; after <= others.size(); after += stride) {
    Order order = others;
    order.insert(order.end() - static_cast<std::ptrdiff_t>(after), static_cast<int>(task));
    const BoardResult result = run_order(instance, timetable, lane, order, &starts);
    const std::int64_t more = result.missed_weight - missed;
    if (result.finish_s >= kForever || (best && more >= best->missed_weight)) continue;
    const Choice& choice = instance.choice(task, lane);
    best = NewPlace{{},
                    starts[task] + choice.time_s,
                    starts[task] <= latest_start(instance, task, lane),
                    more,
                    choice.energy_j,
                    of.known_by.back(),
                    of.speed_basis(task, lane)};
    if (more <= 0) break;
  }
  return best;
}

// The best lane of a board.
Result<NewPlace> place_on_board(const FleetInstance& of, std::uint64_t steps_max) {
  Instance others = of.instance;
  others.tasks.pop_back();
  others.choices.resize(others.tasks.size() * others.boards.size());
  SolveLimits limits;
  limits.steps_max = steps_max;
  const auto plan = solve(others, limits);
  LAIRD_TRY(plan);
  const std::vector<Order> orders = orders_of(others, plan->tasks);
  std::optional<NewPlace> best;
  for (std::size_t lane = 0; lane < orders.size(); ++lane) {
    const auto place = place_on(of, lane, orders[lane]);
    if (place && (!best || is_better(*place, *best))) best = place;
  }
  if (!best) return fail(Code::kRefused, "none of its lanes is ever free for it");
  return *best;
}

}  // namespace

Result<NewPlaces> places_for(FleetFacts facts, TaskFact task, std::uint64_t steps_max) {
  LAIRD_TRY(some_lane(facts));
  task.board.clear();
  task.stage = Stage::kWaiting;
  facts.tasks.push_back(std::move(task));
  const std::size_t index = facts.tasks.size() - 1;
  const BoardInstances boards(facts, index);
  const std::uint64_t steps =
      std::max(steps_max / std::max<std::size_t>(facts.boards.size(), 1), kBoardSteps);
  NewPlaces out;
  for (std::size_t b = 0; b < facts.boards.size(); ++b) {
    const BoardFact& board = facts.boards[b];
    if (board.removed || board.standing == Standing::kAway) continue;
    std::string why = why_barred(facts, index, b);
    if (why.empty()) {
      const auto of = boards.of(b);
      auto place = of ? place_on_board(*of, steps) : tl::make_unexpected(of.error());
      if (place) {
        place->board = board.name;
        out.places.push_back(std::move(*place));
        continue;
      }
      why = "it cannot be planned: " + place.error().context;
    }
    out.cannot.push_back({board.name, std::move(why)});
  }
  std::sort(out.places.begin(), out.places.end(), is_better);
  return out;
}

}  // namespace laird::placement
