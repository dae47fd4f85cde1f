// What happened, in words: starts and stops, commands and who gave them, crashes, faults.
#include <algorithm>
#include <cstdint>

#include "base/duration.hpp"
#include "report/story/numbers.hpp"
#include "report/story/teller.hpp"

namespace laird::story {
namespace {

std::string watts_text(std::int64_t mw) { return fixed(static_cast<double>(mw) * 1e-3, 1) + " W"; }

std::string cap_text(const core::CapRequested& cap) {
  if (!cap.cap_mw) return "take the cap back";
  return "a cap of " + watts_text(*cap.cap_mw) +
         (cap.for_ns > 0 ? " for " + spoken(cap.for_ns) : "");
}

std::string budget_text(const core::FleetBudget& budget) {
  const std::int64_t mw = budget.total[core::Resource::kPower];
  return "a budget of " + (mw == core::kUnlimited ? "no limit" : watts_text(mw)) + ", revision " +
         std::to_string(budget.rev);
}

// What a request asks for; empty for an event that is none.
struct Wish {
  std::string text;
  std::string task;
};
struct WishOf {
  Wish operator()(const core::Submitted& e) const { return {"submit", e.spec.name}; }
  Wish operator()(const core::CancelRequested& e) const { return {"cancel", e.task}; }
  Wish operator()(const core::PauseRequested& e) const { return {"pause", e.task}; }
  Wish operator()(const core::ResumeRequested& e) const { return {"resume", e.task}; }
  Wish operator()(const core::EditRequested& e) const { return {"edit", e.task}; }
  Wish operator()(const core::RemoveRequested& e) const { return {"rm", e.task}; }
  Wish operator()(const core::MoveRequested& e) const { return {"move to " + e.to, e.task}; }
  Wish operator()(const core::DrainRequested& e) const {
    return {e.drain ? "drain" : "undrain", {}};
  }
  Wish operator()(const core::BudgetChanged& e) const { return {budget_text(e.budget), {}}; }
  Wish operator()(const core::CapRequested& e) const { return {cap_text(e), {}}; }
  Wish operator()(const core::ConfigRequested& e) const { return {"settings: " + e.what, {}}; }
  template <class Other>
  Wish operator()(const Other&) const {
    return {};
  }
};

Kind kind_of(core::NoticeKind kind) {
  switch (kind) {
    case core::NoticeKind::kFenced:
    case core::NoticeKind::kUnfenced:
    case core::NoticeKind::kSchedule:
    case core::NoticeKind::kWire: return Kind::kFault;
    case core::NoticeKind::kPlan: return Kind::kPower;
    case core::NoticeKind::kRefusedCommand:
    case core::NoticeKind::kDrain:
    case core::NoticeKind::kMove:
    case core::NoticeKind::kConfig: return Kind::kCommand;
  }
  return Kind::kFault;
}

// Every second one of that kind.
void thin_out(std::vector<Happening>& all, Kind kind) {
  std::uint64_t seen = 0;
  std::erase_if(all, [&](const Happening& h) { return h.kind == kind && seen++ % 2 == 1; });
}

}  // namespace

void Teller::tell(TimeNs at, Kind kind, std::string text, std::string task, std::string by) {
  std::vector<Happening>& all = story_.happenings;
  all.push_back({at, kind, std::move(by), std::move(task), std::move(text)});
  if (all.size() <= kHappeningsKept) return;
  // The most numerous are those of which most can be spared.
  const std::size_t before = all.size();
  for (const Kind spared :
       {Kind::kTask, Kind::kCommand, Kind::kCrash, Kind::kAgent, Kind::kPower, Kind::kFault}) {
    if (all.size() <= kHappeningsKept * 3 / 4) break;
    thin_out(all, spared);
  }
  story_.happenings_left_out += before - all.size();
}

void Teller::see_happenings(const core::Event& event, const core::State& state,
                            const core::Effects& commands) {
  const TimeNs at = state.now;
  if (std::holds_alternative<core::Booted>(event.body)) {
    const bool is_again = story_.starts > 1 || at > story_.from;
    const std::string away = is_again ? " after " + spoken(at - last_at_) : "";
    const bool is_fault = is_again && !shut_down_;
    tell(at, is_fault ? Kind::kFault : Kind::kAgent,
         "the agent started" + away + (is_fault ? "; it had not shut down" : ""));
    shut_down_ = false;
  } else if (std::holds_alternative<core::ShutdownRequested>(event.body)) {
    shut_down_ = true;
    tell(at, Kind::kAgent, "the agent was told to stop");
  } else if (std::holds_alternative<core::ClockStepped>(event.body)) {
    const DurationNs by = state.wall_minus_agent - last_wall_minus_agent_;
    const bool is_zone = by > -kSecond && by < kSecond;
    tell(at, Kind::kAgent,
         is_zone  ? "local time changed, or a change of it came into sight"
         : by < 0 ? "the wall clock was set back by " + spoken(-by)
                  : "the wall clock was set forward by " + spoken(by));
  } else if (const auto* knob = std::get_if<core::PowerKnobSet>(&event.body)) {
    if (knob->outcome != power::KnobResult::kDone) {
      tell(at, Kind::kFault,
           std::string(power::name(knob->rung)) + " was " +
               std::string(power::name(knob->outcome)) + ": " + knob->note);
    }
  } else if (const auto* refused = std::get_if<core::CommandRefused>(&event.body)) {
    tell(at, Kind::kCommand, refused->verb + " refused: " + refused->why, {}, refused->by);
  } else if (const auto* noted = std::get_if<core::ConfigNoted>(&event.body)) {
    tell(at, Kind::kCommand, noted->text);
  } else if (std::holds_alternative<core::Displaced>(event.body)) {
    tell(at, Kind::kFault, "another agent came under this board's name");
  } else if (const auto* command = std::get_if<core::OperatorCommand>(&event.body)) {
    const Wish wish = std::visit(WishOf{}, command->body);
    see_wish(at, command->by, wish.text, wish.task, commands);
  } else {
    const Wish wish = std::visit(WishOf{}, event.body);
    if (!wish.text.empty()) see_wish(at, "at the board", wish.text, wish.task, commands);
  }
  see_answers(state, commands);
  see_governor(state);
}

void Teller::see_wish(TimeNs at, const std::string& by, const std::string& what,
                      const std::string& task, const core::Effects& commands) {
  std::string text = what;
  for (const core::Effect& effect : commands) {
    const auto* answer = std::get_if<core::Answer>(&effect.body);
    if (answer == nullptr) continue;
    if (!answer->ok) text += ": refused, " + answer->text;
    break;
  }
  tell(at, Kind::kCommand, std::move(text), task, by);
}

// What the core asked for that people should hear of.
void Teller::see_answers(const core::State& state, const core::Effects& commands) {
  for (const core::Effect& effect : commands) {
    if (const auto* notice = std::get_if<core::Notice>(&effect.body)) {
      if (notice->kind == core::NoticeKind::kFenced) ++story_.fleet.fenced;
      tell(state.now, kind_of(notice->kind), notice->text);
    }
    const auto* changed = std::get_if<core::TaskChanged>(&effect.body);
    if (changed == nullptr || changed->state != core::TaskState::kBackoff) continue;
    const core::Task* task = state.find_any(changed->key);
    if (task == nullptr) continue;
    ++story_.crashes;
    ++story_.tasks[meet(*task, state).index].crashes;
    tell(state.now, Kind::kCrash, task->time_sheet.crash, task->spec.name);
  }
}

void Teller::see_governor(const core::State& state) {
  const power::Governor& governor = state.power.governor;
  if (governor.hot() != hot_) {
    hot_ = governor.hot();
    tell(state.now, Kind::kPower,
         hot_ ? "the board is hot: it throttles by its temperature" : "the board has cooled down");
  }
  if (governor.blind() != blind_) {
    blind_ = governor.blind();
    tell(state.now, Kind::kFault,
         blind_ ? "no power readings come any more: half of the lane time"
                : "power readings come again");
  }
  if (governor.exhausted() != exhausted_) {
    exhausted_ = governor.exhausted();
    tell(state.now, Kind::kPower,
         exhausted_ ? "the cap cannot be held: nothing is left to throttle"
                    : "the cap is held again");
  }
}

}  // namespace laird::story
