#include "control/serve/history.hpp"

#include <cmath>

#include "control/serve/page_rows.hpp"

namespace laird::control::serve {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kSketchPlaces = 16;
constexpr DurationNs kChanceEvery = 2 * kSecond;

// Four figures are more than a picture shows.
double rounded(double value) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 4 - std::ceil(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

Value packed(const story::Series& series, bool beside = false) {
  Value t = Value::array();
  Value v = Value::array();
  Value s = Value::array();
  std::int64_t last = 0;
  for (const story::Point& point : series.points()) {
    const std::int64_t ms = point.at / kMillisecond;
    t.add(ms - last);
    last = ms;
    v.add(rounded(point.value));
    if (beside) s.add(static_cast<std::int64_t>(point.beside));
  }
  Value out = Value::object().set("t", std::move(t)).set("v", std::move(v));
  if (beside) out.set("s", std::move(s));
  return out;
}

Value sketch(story::Series series) {
  series.shrink(kSketchPlaces);
  return packed(series);
}

void add(story::Series& series, TimeNs now, const std::optional<double>& value) {
  if (value) series.add({now, *value, 0.0});
}

}  // namespace

void History::take_board(const std::string& id, const BoardView& board, TimeNs now) {
  if (!board.is_live()) return;
  if (boards_.size() >= kBoardsWithHistory && boards_.count(id) == 0) return;
  BoardPast& past = boards_[id];
  const auto told = number_at(board.power, "mono_ms");
  // The same message again says nothing new.
  if (told && static_cast<std::int64_t>(*told) == past.told_ms) return;
  if (told) past.told_ms = static_cast<std::int64_t>(*told);
  add(past.drawn, now, drawn_w(board));
  if (const auto limit = limit_w(board)) past.limit.add_change(now, *limit);
  add(past.temperature, now, number_at(board.power, "temperature_c"));
  if (const auto load = number_at(board.power, "gpu_load")) add(past.gpu, now, *load * 100.0);
}

History::TaskPast* History::task_past(const TaskPlace& place) {
  const auto found = tasks_.find(place);
  if (found != tasks_.end()) return &found->second;
  if (tasks_.size() >= kTasksWithHistory) return nullptr;
  return &tasks_[place];
}

void History::add_loss(TaskPast& past, TimeNs now, double samples, double loss) {
  if (samples == past.samples) return;
  past.samples = samples;
  past.loss.add({now, loss, samples});
}

void History::take_task(const TaskPlace& place, const TaskView& task, TimeNs now) {
  TaskPast* past = task_past(place);
  if (past == nullptr) return;
  const auto loss = task.number("loss");
  if (loss) add_loss(*past, now, task.number("samples").value_or(0.0), *loss);
  const auto chance = task.number("forecast/probability");
  if (chance && !task.is_ended() && now - past->chance_at >= kChanceEvery) {
    past->chance_at = now;
    add(past->chance, now, *chance * 100.0);
  }
}

void History::take_running(const std::string& id, const BoardView& board, TimeNs now) {
  const Value* running = board.power.find("running", Kind::kArray);
  if (running == nullptr) return;
  for (const Value& one : running->items()) {
    const Value* name = one.find("task", Kind::kString);
    const auto loss = number_at(one, "loss");
    const auto samples = number_at(one, "samples");
    if (name == nullptr || !loss || !samples) continue;
    // Only of tasks that are known by their own message.
    const auto found = tasks_.find({id, name->as_string()});
    if (found != tasks_.end()) add_loss(found->second, now, *samples, *loss);
  }
}

void History::take_fleet(const FleetView& view, TimeNs now) {
  const FleetSums sums = sums_of(view);
  double drawn = 0.0;
  bool metered = false;
  for (const auto& [id, board] : view.boards()) {
    const auto watts = board.is_live() ? drawn_w(board) : std::nullopt;
    if (!watts) continue;
    drawn += *watts;
    metered = true;
  }
  if (metered) drawn_.add({now, drawn, 0.0});
  if (sums.live > 0 && sums.unlimited == 0) given_.add_change(now, sums.enforced_w);
  if (sums.live > 0) asks_.add_change(now, sums.demand_w);
  budget_.add_change(now, sums.budget_w.value_or(-1.0));
}

Value History::fleet_json() const {
  return Value::object()
      .set("drawn", packed(drawn_))
      .set("given", packed(given_))
      .set("asks", packed(asks_))
      .set("budget", packed(budget_));
}

Value History::board_json(const std::string& id) const {
  const auto found = boards_.find(id);
  if (found == boards_.end()) return Value::object();
  const BoardPast& past = found->second;
  return Value::object()
      .set("drawn", packed(past.drawn))
      .set("limit", packed(past.limit))
      .set("temperature", packed(past.temperature))
      .set("gpu", packed(past.gpu));
}

Value History::task_json(const TaskPlace& place) const {
  const auto found = tasks_.find(place);
  if (found == tasks_.end()) return Value::object();
  return Value::object()
      .set("loss", packed(found->second.loss, true))
      .set("chance", packed(found->second.chance));
}

Value History::board_sketch(const std::string& id) const {
  const auto found = boards_.find(id);
  return found == boards_.end() ? Value() : sketch(found->second.drawn);
}

Value History::task_sketch(const TaskPlace& place) const {
  const auto found = tasks_.find(place);
  return found == tasks_.end() ? Value() : sketch(found->second.loss);
}

}  // namespace laird::control::serve
