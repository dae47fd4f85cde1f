// A finding in words. The cause itself is found in finding.cpp.
#include <algorithm>
#include <array>
#include <utility>

#include "agent/why/savers.hpp"
#include "agent/why/why.hpp"
#include "base/duration.hpp"

namespace laird::why {
namespace {

using core::Throttler;
using core::TimeUse;

std::string times(std::uint32_t n) {
  return n == 1 ? "once" : n == 2 ? "twice" : std::to_string(n) + " times";
}

std::string with_times(const std::string& text, std::uint32_t n) {
  return n == 0 ? text : text + ", " + times(n);
}

std::string rival_of(const Use& use) {
  return use.rival.empty() ? "other tasks" : "'" + use.rival + "'";
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string pad(width - std::min(width, text.size()), ' ');
  return right ? pad + text : text + pad;
}

// One line of the time sheet: as people say it, exactly, as a part, and what it was.
std::string account_line(DurationNs ns, std::int64_t shown_ms, DurationNs whole,
                         const std::string& what) {
  const double part =
      whole > 0 ? 100.0 * static_cast<double>(ns) / static_cast<double>(whole) : 0.0;
  return "  " + padded(spoken(ns), 12, false) +
         padded(fixed(static_cast<double>(shown_ms) * 1e-3, 3) + " s", 14, true) +
         padded(fixed(part, 1) + "%", 8, true) + "  " + what + "\n";
}

// The milliseconds that are shown add up to those of the whole.
class Rounder {
 public:
  std::int64_t next(DurationNs ns) {
    sum_ += ns;
    const std::int64_t upto = (sum_ + kMillisecond / 2) / kMillisecond;
    return upto - std::exchange(shown_, upto);
  }

 private:
  DurationNs sum_ = 0;
  std::int64_t shown_ = 0;
};

std::string need_text(const Finding& f) {
  const placement::Need& need = f.need;
  std::string out;
  if (need.basis == placement::NeedBasis::kReached) {
    out = "nothing more: it has reached its target";
  } else if (need.basis == placement::NeedBasis::kTooEarly) {
    out = "not known: that takes two reports of its loss";
  } else {
    out = "about " + spoken_seconds(need.seconds.median) + " more of its whole lane (between " +
          spoken_seconds(need.seconds.low) + " and " + spoken_seconds(need.seconds.high) + ")";
  }
  if (f.full_mw > 0 && need.basis != placement::NeedBasis::kReached) {
    out += ", at " + fixed(static_cast<double>(f.full_mw) * 1e-3, 1) + " W of the board";
  }
  if (!f.over && need.basis == placement::NeedBasis::kForecast) {
    out += "; it has that by its deadline with " + percent(need.probability);
  }
  return out;
}

}  // namespace

std::string words_of(Throttler by, std::int64_t low, std::int64_t high) {
  const bool is_time = by == Throttler::kFleetTime;
  const auto amount = [is_time](std::int64_t limit) {
    return is_time ? fixed(static_cast<double>(limit) * 1e-4, 0)
                   : fixed(static_cast<double>(limit) * 1e-3, 1);
  };
  std::string limit = amount(low);
  if (amount(high) != limit) limit += " to " + amount(high);
  limit += is_time ? "% of its lane" : " W";
  switch (by) {
    case Throttler::kNone: return "a cap that was just taken back";
    case Throttler::kConfig: return "the board's own cap of " + limit + " in its config";
    case Throttler::kOperator: return "the operator's cap of " + limit;
    case Throttler::kFleet: return "the board's share of " + limit + " of the fleet's power";
    case Throttler::kTemperature: return "the board's temperature (" + limit + " left)";
    case Throttler::kFenced:
      return "the board's floor of " + limit + " while it was cut off from its fleet";
    case Throttler::kFleetTime: return "the board's share of the fleet's lanes (" + limit + ")";
  }
  return {};
}

std::string words_of(const Use& use) {
  const core::TimeSheetLine& line = use.line;
  switch (line.key.use) {
    case TimeUse::kRunning: return "running";
    case TimeUse::kStarting: return "starting its trainer";
    case TimeUse::kQueued: return "waiting to be started";
    case TimeUse::kThrottled:
      return "throttled by " + words_of(line.key.by, line.limit_low, line.limit_high);
    case TimeUse::kRival: return "waiting for " + rival_of(use);
    case TimeUse::kMemory: return "waiting for memory that " + rival_of(use) + " held";
    case TimeUse::kCrashed:
      return with_times("crashed: the wait, the new start and the work that was lost", line.times);
    case TimeUse::kOutOfMemory:
      return with_times("out of memory: the wait, the new start and the work that was lost",
                        line.times);
    case TimeUse::kPaused: {
      const std::string by = use.rival.empty() ? "an operator" : use.rival;
      return with_times("paused by " + by, line.times);
    }
    case TimeUse::kPassedOver: return "ready, while the policy left its lane idle";
    case TimeUse::kCheckpoint: return "writing a checkpoint to make way";
    case TimeUse::kPeers: return "waiting for other boards";
    case TimeUse::kAgentDown:
      return with_times("the agent was not running, and the work that was lost", line.times);
    case TimeUse::kFinishing: return "ending its trainer";
  }
  return {};
}

std::string text_of(const Finding& f) {
  std::string out = f.task + ": " + f.headline + "\n";
  if (!f.group.empty()) out += "its model: " + f.group + "\n";
  out += "account of " + spoken(f.whole) + " from its submission " +
         (f.over ? "to its end:\n" : "until now:\n");
  Rounder rounder;
  for (const Use& use : f.uses) {
    out += account_line(use.line.ns, rounder.next(use.line.ns), f.whole, words_of(use));
  }
  if (f.unrecorded > 0) {
    out += account_line(f.unrecorded, rounder.next(f.unrecorded), f.whole,
                        "not recorded: before the agent kept accounts");
  }
  Rounder all;
  out += account_line(f.whole, all.next(f.whole), f.whole, "in all");
  if (f.cause != Cause::kCancelled) {
    out += (f.over ? "it still needed: " : "it still needs: ") + need_text(f) + "\n";
  }
  if (f.earlier) {
    out += "its forecast began from an earlier run: " + placement::describe(*f.earlier) + "\n";
  }
  if (f.savers.empty()) return out;
  out += f.over ? "it would have been saved by:\n" : "it would be saved by:\n";
  for (const Saver& saver : f.savers) out += "  - " + saver.text + "\n";
  return out;
}

std::string_view name(Cause cause) {
  static constexpr std::array<std::string_view, 15> kNames = {
      "none",          "power",  "rival",        "memory",     "crashes",
      "out-of-memory", "paused", "agent-down",   "policy",     "slow-start",
      "peers",         "late",   "out-of-reach", "no-reports", "cancelled"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::string_view name(Remedy remedy) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "cap",    "without-rival", "earlier",  "target",  "samples",
      "memory", "no-crash",      "no-pause", "agent-up"};
  return kNames[static_cast<std::size_t>(remedy)];
}

json::Value json_of(const Finding& f) {
  using json::Value;
  Value account = Value::array();
  for (const Use& use : f.uses) {
    const core::TimeSheetLine& line = use.line;
    Value row = Value::object().set("use", core::name(line.key.use)).set("ns", line.ns);
    if (line.key.use == TimeUse::kThrottled) {
      row.set("by", core::name(line.key.by));
      const bool is_time = line.key.by == Throttler::kFleetTime;
      const double scale = is_time ? 1e-6 : 1e-3;
      row.set(is_time ? "limit_ratio" : "limit_w",
              Value::array()
                  .add(Value::number(static_cast<double>(line.limit_low) * scale))
                  .add(Value::number(static_cast<double>(line.limit_high) * scale)));
    }
    if (!use.rival.empty()) {
      row.set(line.key.use == TimeUse::kPaused ? "operator" : "task", use.rival);
    }
    if (line.times > 0) row.set("times", line.times);
    account.add(row.set("text", words_of(use)));
  }
  if (f.unrecorded > 0) {
    account.add(Value::object()
                    .set("use", "unrecorded")
                    .set("ns", f.unrecorded)
                    .set("text", "before the agent kept accounts"));
  }
  Value savers = Value::array();
  for (const Saver& s : f.savers) {
    Value row = Value::object().set("remedy", name(s.remedy)).set("text", s.text);
    if (s.amount > 0.0) row.set("amount", s.amount);
    if (!s.task.empty()) row.set("task", s.task);
    savers.add(std::move(row));
  }
  Value earlier;
  if (f.earlier) {
    earlier = Value::object()
                  .set("task", f.earlier->task)
                  .set("board", f.earlier->board)
                  .set("key", f.earlier->key)
                  .set("part", Value::number(f.earlier->part));
  }
  const bool known = f.need.basis == placement::NeedBasis::kForecast;
  const auto number = [known](double value) { return known ? Value::number(value) : Value(); };
  Value out = Value::object();
  if (!f.group.empty()) out.set("group", f.group);
  return out.set("s", "laird.why/1.0")
      .set("task", f.task)
      .set("state", f.state)
      .set("cause", name(f.cause))
      .set("headline", f.headline)
      .set("over", f.over)
      .set("whole_ns", f.whole)
      .set("until_deadline_ns", f.until_due)
      .set("account", std::move(account))
      .set("needed",
           Value::object()
               .set("lane_s", number(std::min(f.need.seconds.median, 1e9)))
               .set("lane_s_low", number(std::min(f.need.seconds.low, 1e9)))
               .set("lane_s_high", number(std::min(f.need.seconds.high, 1e9)))
               .set("board_w",
                    f.full_mw > 0 ? Value::number(static_cast<double>(f.full_mw) * 1e-3) : Value())
               .set("probability", number(f.need.probability)))
      .set("earlier_run", std::move(earlier))
      .set("saved_by", std::move(savers))
      .set("text", text_of(f));
}

}  // namespace laird::why
