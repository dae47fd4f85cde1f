#include "control/serve/page_rows.hpp"

#include "base/harmless.hpp"
#include "control/screen/rows.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::control::serve {
namespace {

using json::Kind;
using json::Value;

std::string text_at(const Value& value, std::string_view path) {
  const Value* at = at_path(value, path);
  return at != nullptr && at->is(Kind::kString) ? harmless(at->as_string()) : std::string();
}

std::optional<std::int64_t> time_at(const Value& value) {
  const Value* ts = value.find("ts", Kind::kString);
  return ts == nullptr ? std::nullopt : mqtt::parse_time_ms(ts->as_string());
}

// What is not known is left out: the page says so in its own words.
void set_number(Value& out, const char* key, const std::optional<double>& value) {
  if (value) out.set(key, *value);
}

void set_text(Value& out, const char* key, std::string text) {
  if (!text.empty()) out.set(key, std::move(text));
}

}  // namespace

std::optional<double> drawn_w(const BoardView& board) {
  if (const auto mean = number_at(board.power, "power_mean_w")) return mean;
  return board.number("power_w");
}

std::optional<double> limit_w(const BoardView& board) {
  if (at_path(board.power, "limit_by") != nullptr) return number_at(board.power, "limit_w");
  return board.number("cap_w");
}

Value board_row(const std::string& id, const BoardView& board, std::int64_t heard_ms) {
  Value out = Value::object().set("id", id).set("state", board.state).set("live", board.is_live());
  if (const auto since = mqtt::parse_time_ms(board.since)) out.set("since_ms", *since);
  out.set("heard_ms", heard_ms);
  set_text(out, "model", text_at(board.info, "model"));
  set_text(out, "version", text_at(board.info, "version"));
  set_number(out, "floor_w", board.number("shares/power/floor_w"));
  set_number(out, "rev", board.number("config_rev"));
  if (!board.is_live()) return out;
  set_number(out, "drawn_w", drawn_w(board));
  set_number(out, "limit_w", limit_w(board));
  set_text(out, "limit_by", text_at(board.power, "limit_by"));
  set_number(out, "share_w", board.number("shares/power/enforced_w"));
  set_number(out, "asks_w", board.number("shares/power/demand_w"));
  set_number(out, "temperature_c", number_at(board.power, "temperature_c"));
  set_number(out, "gpu_load", number_at(board.power, "gpu_load"));
  set_number(out, "cpu_load", number_at(board.power, "cpu_load"));
  set_number(out, "memory_used", number_at(board.power, "memory_used_bytes"));
  set_number(out, "memory_total", number_at(board.power, "memory_total_bytes"));
  set_number(out, "task_memory", number_at(board.power, "task_memory_bytes"));
  set_number(out, "task_memory_total", number_at(board.info, "memory_bytes"));
  set_number(out, "running", board.number("tasks/running"));
  set_number(out, "throttled", board.number("tasks/throttled"));
  set_number(out, "queued", board.number("tasks/queued"));
  set_number(out, "energy_j", board.number("energy_j"));
  if (board.flag("fenced")) out.set("fenced", true);
  return out;
}

Value task_row(const TaskView& task) {
  const bool ended = task.is_ended();
  const std::string name = harmless(task.text("name"));
  Value out = Value::object()
                  .set("key", key_of({task.board, name}))
                  .set("board", task.board)
                  .set("name", name)
                  .set("state", harmless(task.text("state")))
                  .set("lane", harmless(task.text("lane")));
  if (ended) out.set("ended", true);
  if (is_at_risk(task)) out.set("at_risk", true);
  const auto at = time_at(task.task);
  if (at) out.set("at_ms", *at);
  const auto left_s = task.number("deadline_in_s");
  if (at && left_s && !recurs(task)) {
    out.set("deadline_ms", *at + static_cast<std::int64_t>(*left_s * 1e3));
  }
  for (const auto& [key, path] : {std::pair{"samples", "samples"},
                                  {"planned", "planned_samples"},
                                  {"loss", "loss"},
                                  {"target", "target_loss"},
                                  {"weight", "weight"},
                                  {"chance", "forecast/probability"},
                                  {"forecast", "forecast/loss"},
                                  {"forecast_low", "forecast/low"},
                                  {"forecast_high", "forecast/high"},
                                  {"needs_s", "need/seconds/median"},
                                  {"needs_low_s", "need/seconds/low"},
                                  {"needs_high_s", "need/seconds/high"},
                                  {"share", "share"},
                                  {"energy_j", "energy_j"},
                                  {"busy_s", "busy_s"},
                                  {"boards", "fleet/boards"}}) {
    set_number(out, key, task.number(path));
  }
  set_text(out, "group", group_words(task));
  const std::string throttled = throttled_words(task);
  set_text(out, "reason",
           throttled.empty() ? harmless(task.text("reason")) : "held back " + throttled);
  return out;
}

Value event_row(const EventView& event) {
  Value out = Value::object().set("board", event.board);
  if (const auto at = time_at(event.event)) out.set("at_ms", *at);
  for (const char* key : {"kind", "text", "task", "state"}) {
    set_text(out, key, text_at(event.event, key));
  }
  return out;
}

std::string key_of(const TaskPlace& place) { return place.first + "/" + place.second; }

}  // namespace laird::control::serve
