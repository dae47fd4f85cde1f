#include "report/summary.hpp"

#include "base/duration.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::report {
namespace {

using json::Value;
using story::BoardStory;
using story::TaskStory;
using story::Verdict;

std::string wall_text(TimeNs wall) { return mqtt::time_text(wall / kMillisecond); }
Value maybe(const std::optional<double>& value) { return value ? Value::number(*value) : Value(); }

Value task_json(const BoardStory& board, const TaskStory& task) {
  Value spent = Value::array();
  for (const story::TimeSpent& use : task.spent) {
    spent.add(Value::object().set("what", use.what).set("s", seconds(use.ns)));
  }
  return Value::object()
      .set("name", task.name)
      .set("trainer", task.trainer)
      .set("lane", task.lane_kind)
      .set("weight", task.weight)
      .set("target_loss", task.target)
      .set("state", task.state)
      .set("over", task.over())
      .set("succeeded", task.outcome == core::Outcome::kSucceeded)
      .set("cause", task.cause)
      .set("headline", task.headline)
      .set("accepted", wall_text(board.wall(task.accepted_at)))
      .set("deadline", wall_text(board.wall(task.deadline_at)))
      .set("ended", task.over() ? Value(wall_text(board.wall(task.ended_at))) : Value())
      .set("margin_s", task.over() ? Value::number(seconds(task.margin())) : Value())
      .set("loss", maybe(task.loss))
      .set("best_loss", maybe(task.best_loss))
      .set("samples", task.samples)
      .set("planned_samples", task.planned_samples)
      .set("reports", task.reports)
      .set("energy_j",
           task.energy_uj < 0 ? Value() : Value::number(static_cast<double>(task.energy_uj) * 1e-6))
      .set("ran_s", seconds(task.busy_ns))
      .set("switches", task.switches)
      .set("crashes", task.crashes)
      .set("spent", std::move(spent));
}

Value board_json(const BoardStory& board) {
  Value lanes = Value::array();
  for (const story::LaneStory& lane : board.lanes) {
    lanes.add(Value::object().set("name", lane.name).set("kind", lane.kind));
  }
  Value notes = Value::array();
  for (const std::string& note : board.source.notes) notes.add(note);
  Value tasks = Value::array();
  for (const TaskStory& task : board.tasks) tasks.add(task_json(board, task));
  const story::PowerStory& power = board.power;
  return Value::object()
      .set("node", board.node)
      .set("journal", board.source.path)
      .set("events", board.source.events)
      .set("unverified_events", board.source.unverified)
      .set("whole", board.source.whole)
      .set("notes", std::move(notes))
      .set("from", wall_text(board.wall(board.from)))
      .set("to", wall_text(board.wall(board.to)))
      .set("policy", board.policy)
      .set("lanes", std::move(lanes))
      .set("decisions", board.decisions_all)
      .set("switches", board.switches)
      .set("agent_starts", board.starts)
      .set("crashes", board.crashes)
      .set("fenced", board.fleet.fenced)
      .set("power", Value::object()
                        .set("source", power.source)
                        .set("energy_j", power.energy_j)
                        .set("metered_s", seconds(power.metered_ns))
                        .set("peak_w", power.peak_w)
                        .set("capped_s", seconds(power.capped_ns))
                        .set("over_cap_s", seconds(power.over_ns))
                        .set("over_cap_most_w", power.over_most_w)
                        .set("breaches", power.breaches))
      .set("tasks", std::move(tasks));
}

}  // namespace

Value summary_of(std::span<const BoardStory> boards, const Verdict& v) {
  Value sentences = Value::array();
  for (const story::Sentence& s : v.sentences) {
    const char* mark = s.mark == story::Mark::kGood  ? "good"
                       : s.mark == story::Mark::kBad ? "bad"
                                                     : "note";
    sentences.add(Value::object().set("mark", mark).set("text", s.text));
  }
  Value all = Value::array();
  for (const BoardStory& board : boards) all.add(board_json(board));
  Value shares;
  if (v.shares.judged) {
    shares = Value::object()
                 .set("instants", v.shares.instants)
                 .set("most", v.shares.most_part)
                 .set("longest_over_s", seconds(v.shares.longest_over_ns))
                 .set("most_over_budget_w", v.shares.most_over_budget_w)
                 .set("longest_over_budget_s", seconds(v.shares.longest_over_budget_ns));
  }
  return Value::object()
      .set("s", "laird.journal-report/1.0")
      .set("verdict",
           Value::object()
               .set("tasks", v.tasks.all)
               .set("met", v.tasks.met)
               .set("missed", v.tasks.missed)
               .set("exhausted", v.tasks.exhausted)
               .set("failed", v.tasks.failed)
               .set("cancelled", v.tasks.cancelled)
               .set("open", v.tasks.open)
               .set("energy_j", v.metered ? Value::number(v.energy_j) : Value())
               .set("energy_tasks_j", v.metered ? Value::number(v.energy_tasks_j) : Value())
               .set("cap_breaches", v.breaches)
               .set("crashes", v.crashes)
               .set("shares", std::move(shares))
               .set("sentences", std::move(sentences)))
      .set("boards", std::move(all));
}

}  // namespace laird::report
