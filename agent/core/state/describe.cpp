// Events and commands in words, one line each, for `lairctl replay` and the logs.
#include <charconv>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"

namespace laird::core {
namespace {

class Line {
 public:
  explicit Line(std::string_view kind) : text_(kind) {}
  Line& add(std::string_view key, std::string_view value) {
    text_ += ' ';
    text_ += key;
    text_ += '=';
    text_ += value;
    return *this;
  }
  template <class T>
  requires std::is_arithmetic_v<T> Line& add(std::string_view key, T value) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    return add(key, std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
  }
  template <class P>
  Line& process(const P& p) {
    return add("task", p.key).add("attempt", p.attempt);
  }
  [[nodiscard]] std::string text() { return std::move(text_); }

 private:
  std::string text_;
};

struct EventName {
  std::string_view operator()(const Booted&) const { return "booted"; }
  std::string_view operator()(const Ticked&) const { return "ticked"; }
  std::string_view operator()(const ClockStepped&) const { return "clock-stepped"; }
  std::string_view operator()(const Submitted&) const { return "submitted"; }
  std::string_view operator()(const CancelRequested&) const { return "cancel-requested"; }
  std::string_view operator()(const PauseRequested&) const { return "hold-requested"; }
  std::string_view operator()(const ResumeRequested&) const { return "release-requested"; }
  std::string_view operator()(const TrainerReady&) const { return "trainer-ready"; }
  std::string_view operator()(const TrainerProgressed&) const { return "trainer-progressed"; }
  std::string_view operator()(const TrainerCheckpointed&) const { return "trainer-checkpointed"; }
  std::string_view operator()(const TrainerDone&) const { return "trainer-done"; }
  std::string_view operator()(const TrainerFailed&) const { return "trainer-failed"; }
  std::string_view operator()(const TrainerExited&) const { return "trainer-exited"; }
  std::string_view operator()(const TrainerYielded&) const { return "trainer-yielded"; }
  std::string_view operator()(const EditRequested&) const { return "edit-requested"; }
  std::string_view operator()(const RemoveRequested&) const { return "remove-requested"; }
  std::string_view operator()(const TrainerPromoted&) const { return "trainer-promoted"; }
  std::string_view operator()(const GroupNoted&) const { return "group-noted"; }
  std::string_view operator()(const MoveRequested&) const { return "move-requested"; }
  std::string_view operator()(const TitlesHeard&) const { return "titles-heard"; }
  std::string_view operator()(const CheckpointRead&) const { return "checkpoint-read"; }
  std::string_view operator()(const RunsHeard&) const { return "runs-heard"; }
  std::string_view operator()(const PowerSampled&) const { return "power-sampled"; }
  std::string_view operator()(const ShutdownRequested&) const { return "shutdown-requested"; }
  std::string_view operator()(const DrainRequested&) const { return "drain-requested"; }
  std::string_view operator()(const FleetJoined&) const { return "fleet-joined"; }
  std::string_view operator()(const PeersHeard&) const { return "peers-heard"; }
  std::string_view operator()(const BudgetChanged&) const { return "plan-changed"; }
  std::string_view operator()(const OperatorCommand&) const { return "commanded"; }
  std::string_view operator()(const CommandRefused&) const { return "command-refused"; }
  std::string_view operator()(const Displaced&) const { return "displaced"; }
  std::string_view operator()(const CapRequested&) const { return "cap-requested"; }
  std::string_view operator()(const PowerKnobSet&) const { return "power-knob-set"; }
  std::string_view operator()(const ConfigNoted&) const { return "config-noted"; }
};

struct EventWords {
  Line line;
  void operator()(const Booted& e) {
    line.add("node", e.config.node).add("policy", e.config.policy).add("wall_ns", e.wall_ns);
  }
  void operator()(const Ticked&) {}
  void operator()(const ShutdownRequested&) {}
  void operator()(const ClockStepped& e) {
    line.add("wall_ns", e.wall_ns).add("offset_s", e.zone.offset / kSecond);
  }
  void operator()(const Submitted& e) {
    line.add("request", e.request).add("name", e.spec.name).add("trainer", e.spec.trainer);
  }
  void operator()(const CancelRequested& e) { line.add("request", e.request).add("task", e.task); }
  void operator()(const PauseRequested& e) { line.add("request", e.request).add("task", e.task); }
  void operator()(const ResumeRequested& e) { line.add("request", e.request).add("task", e.task); }
  void operator()(const TrainerReady& e) {
    line.process(e).add("samples", e.samples).add("planned", e.planned_samples);
  }
  void operator()(const TrainerProgressed& e) {
    line.process(e).add("samples", e.samples).add("loss", e.loss);
  }
  void operator()(const TrainerCheckpointed& e) { line.process(e).add("samples", e.samples); }
  void operator()(const TrainerDone& e) { line.process(e); }
  void operator()(const TrainerFailed& e) { line.process(e).add("why", e.why); }
  void operator()(const TrainerExited& e) { line.process(e).add("exit_code", e.exit_code); }
  void operator()(const TrainerYielded& e) { line.process(e).add("for_ns", e.for_ns); }
  void operator()(const EditRequested& e) {
    line.add("request", e.request).add("task", e.task).add("deadline_add", e.deadline_add);
    line.add("deadline_after", e.deadline_after).add("deadline_wall", e.deadline_wall);
    line.add("weight_milli", e.weight_milli);
    if (!e.window.wanted()) return;
    std::string every = text_of(e.window);
    every.replace(every.find(' '), 1, ",");  // one word
    line.add("every", every);
  }
  void operator()(const RemoveRequested& e) { line.add("request", e.request).add("task", e.task); }
  void operator()(const MoveRequested& e) {
    line.add("request", e.request).add("task", e.task).add("to", e.to);
  }
  void operator()(const TitlesHeard& e) {
    line.add("messages", e.messages.size());
    for (const PeerMessage& m : e.messages) line.add("from", m.from);
  }
  void operator()(const RunsHeard& e) {
    line.add("messages", e.messages.size());
    for (const PeerMessage& m : e.messages) line.add("from", m.from);
  }
  void operator()(const CheckpointRead& e) {
    line.process(e).add("files", e.files.size()).add("too_large", e.too_large ? "yes" : "no");
  }
  void operator()(const GroupNoted& e) { line.process(e).add("note", e.note); }
  void operator()(const TrainerPromoted& e) {
    line.process(e).add("choice", e.promotion.choice).add("agreement", e.promotion.agreement);
    line.add("latency_us_p50", e.promotion.latency_us_p50).add("bytes", e.promotion.bytes);
  }
  void operator()(const PowerSampled& e) {
    line.add("source", power::name(e.reading.source));
    if (e.reading.total_mw) line.add("power_mw", *e.reading.total_mw);
  }
  void operator()(const DrainRequested& e) {
    line.add("request", e.request).add("drain", e.drain ? "yes" : "no");
  }
  void operator()(const FleetJoined& e) { line.add("seen_before", e.seen_before ? "yes" : "no"); }
  void operator()(const PeersHeard& e) {
    line.add("messages", e.messages.size());
    for (const PeerMessage& m : e.messages) line.add("from", m.from);
  }
  void operator()(const BudgetChanged& e) {
    line.add("request", e.request).add("rev", e.budget.rev).add("epoch", e.budget.founding_epoch);
    line.add("members", e.budget.members.size());
    line.add("power_mw", e.budget.total[Resource::kPower]);
  }
  void operator()(const OperatorCommand& e) {
    line.add("request", e.request).add("by", e.by).add("id", e.id);
    std::visit([this](const auto& body) { (*this)(body); }, e.body);
  }
  void operator()(const Displaced&) {}
  void operator()(const CommandRefused& e) {
    line.add("by", e.by).add("id", e.id).add("verb", e.verb).add("why", e.why);
  }
  void operator()(const ConfigRequested& e) { line.add("request", e.request).add("what", e.what); }
  void operator()(const ConfigNoted& e) { line.add("text", e.text); }
  void operator()(const CapRequested& e) {
    line.add("request", e.request);
    if (e.cap_mw) line.add("cap_mw", *e.cap_mw).add("for_ns", e.for_ns);
  }
  void operator()(const PowerKnobSet& e) {
    line.add("rung", power::name(e.rung)).add("level_permille", e.actual_permille);
    line.add("outcome", power::name(e.outcome)).add("note", e.note);
  }
};

struct CommandName {
  std::string_view operator()(const StartTrainer&) const { return "start-trainer"; }
  std::string_view operator()(const RunTrainer&) const { return "run-trainer"; }
  std::string_view operator()(const PreemptTrainer&) const { return "pause-trainer"; }
  std::string_view operator()(const CheckpointTrainer&) const { return "checkpoint-trainer"; }
  std::string_view operator()(const StopTrainer&) const { return "stop-trainer"; }
  std::string_view operator()(const KillTrainer&) const { return "kill-trainer"; }
  std::string_view operator()(const ExportModel&) const { return "export-model"; }
  std::string_view operator()(const WakeAt&) const { return "wake-at"; }
  std::string_view operator()(const Answer&) const { return "answer"; }
  std::string_view operator()(const TaskChanged&) const { return "task-changed"; }
  std::string_view operator()(const ExitNow&) const { return "exit-now"; }
  std::string_view operator()(const SendToPeer&) const { return "send-to-peer"; }
  std::string_view operator()(const SendTitle&) const { return "send-title"; }
  std::string_view operator()(const CopyCheckpoint&) const { return "copy-checkpoint"; }
  std::string_view operator()(const SendRun&) const { return "send-run"; }
  std::string_view operator()(const Notice&) const { return "notice"; }
  std::string_view operator()(const LimitTrainer&) const { return "limit-trainer"; }
  std::string_view operator()(const SetFreezerDuty&) const { return "set-freezer-duty"; }
  std::string_view operator()(const SetPowerKnob&) const { return "set-power-knob"; }
};

struct CommandWords {
  Line line;
  void operator()(const StartTrainer& c) { line.process(c); }
  void operator()(const PreemptTrainer& c) { line.process(c); }
  void operator()(const CheckpointTrainer& c) { line.process(c); }
  void operator()(const StopTrainer& c) { line.process(c); }
  void operator()(const KillTrainer& c) { line.process(c); }
  void operator()(const ExportModel& c) { line.process(c); }
  void operator()(const RunTrainer& c) {
    line.process(c).add("until", c.until).add("cpu_milli", c.cpu_milli);
  }
  void operator()(const WakeAt& c) { line.add("at", c.at); }
  void operator()(const Answer& c) {
    line.add("request", c.request).add("ok", c.ok ? "yes" : "no").add("text", c.text);
  }
  void operator()(const TaskChanged& c) {
    line.add("task", c.key).add("state", name(c.state)).add("outcome", name(c.outcome));
  }
  void operator()(const ExitNow&) {}
  void operator()(const SendToPeer& c) { line.add("to", c.to).add("bytes", c.bytes.size()); }
  void operator()(const SendTitle& c) { line.add("to", c.to).add("bytes", c.bytes.size()); }
  void operator()(const CopyCheckpoint& c) { line.process(c); }
  void operator()(const SendRun& c) { line.add("to", c.to).add("bytes", c.bytes.size()); }
  void operator()(const Notice& c) { line.add("kind", name(c.kind)).add("text", c.text); }
  void operator()(const LimitTrainer& c) { line.process(c).add("cpu_milli", c.cpu_milli); }
  void operator()(const SetFreezerDuty& c) { line.add("run_permille", c.run_permille); }
  void operator()(const SetPowerKnob& c) {
    line.add("rung", power::name(c.rung)).add("level_permille", c.level_permille);
  }
};

}  // namespace

std::string_view name(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::kFenced: return "fenced";
    case NoticeKind::kUnfenced: return "unfenced";
    case NoticeKind::kPlan: return "plan";
    case NoticeKind::kRefusedCommand: return "refused-command";
    case NoticeKind::kDrain: return "drain";
    case NoticeKind::kConfig: return "config";
    case NoticeKind::kWire: return "wire";
    case NoticeKind::kSchedule: return "schedule";
    case NoticeKind::kMove: return "move";
  }
  return "?";
}

std::string_view name(const EventBody& body) { return std::visit(EventName{}, body); }
std::string_view name(const EffectBody& body) { return std::visit(CommandName{}, body); }

std::string describe(const EventBody& body) {
  EventWords words{Line(name(body))};
  std::visit(words, body);
  return words.line.text();
}

std::string describe(const EffectBody& body) {
  CommandWords words{Line(name(body))};
  std::visit(words, body);
  return words.line.text();
}

}  // namespace laird::core
