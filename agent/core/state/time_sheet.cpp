#include "agent/core/state/time_sheet.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/core/state/limits.hpp"

namespace laird::core {
namespace {

constexpr std::array<std::string_view, kTimeUses> kUseNames = {
    "running",       "starting", "queued",      "throttled",  "rival", "memory",     "crashed",
    "out-of-memory", "paused",   "passed-over", "checkpoint", "peers", "agent-down", "finishing"};
constexpr std::array<std::string_view, 7> kThrottlerNames = {
    "none", "config", "operator", "fleet", "temperature", "fenced", "fleet-time"};

bool has_rival(TimeUse use) { return use == TimeUse::kRival || use == TimeUse::kMemory; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view name(TimeUse use) { return kUseNames[static_cast<std::size_t>(use)]; }
std::string_view name(Throttler by) { return kThrottlerNames[static_cast<std::size_t>(by)]; }

TimeSheetLine& TimeSheet::line(const UseKey& key) {
  std::size_t alike = 0;
  for (TimeSheetLine& known : lines_) {
    if (known.key == key) return known;
    alike += known.key.use == key.use ? 1 : 0;
  }
  // The line of rival 0 is there beside those that have a name.
  if (has_rival(key.use) && key.rival != 0 && alike >= kRivalsMax) return line({key.use, {}, 0});
  lines_.push_back({key});
  return lines_.back();
}

void TimeSheet::add(const UseKey& key, DurationNs ns) {
  if (ns <= 0) return;
  line(key).ns += ns;
  if (key.use == TimeUse::kRunning) unsaved_ns_ += ns;
}

void TimeSheet::add_throttled(Throttler by, std::int64_t limit, DurationNs ns) {
  if (ns <= 0) return;
  TimeSheetLine& to = line({TimeUse::kThrottled, by, 0});
  to.limit_low = to.ns == 0 ? limit : std::min(to.limit_low, limit);
  to.limit_high = to.ns == 0 ? limit : std::max(to.limit_high, limit);
  to.ns += ns;
}

void TimeSheet::count(TimeUse use) {
  TimeSheetLine& to = line({use, {}, 0});
  if (to.times < UINT32_MAX) ++to.times;
}

void TimeSheet::lost(TimeUse use) {
  const DurationNs gone = std::exchange(unsaved_ns_, 0);
  if (gone <= 0) return;
  line({TimeUse::kRunning, {}, 0}).ns -= gone;
  line({use, {}, 0}).ns += gone;
}

DurationNs TimeSheet::total() const {
  DurationNs sum = 0;
  for (const TimeSheetLine& l : lines_) sum += l.ns;
  return sum;
}

DurationNs TimeSheet::of(TimeUse use) const {
  DurationNs sum = 0;
  for (const TimeSheetLine& l : lines_) sum += l.key.use == use ? l.ns : 0;
  return sum;
}

std::uint32_t TimeSheet::times(TimeUse use) const {
  std::uint32_t sum = 0;
  for (const TimeSheetLine& l : lines_) sum += l.key.use == use ? l.times : 0;
  return sum;
}

void TimeSheetLine::archive(Archive& ar) {
  ar.bounded(key.use, TimeUse::kFinishing);
  ar.bounded(key.by, Throttler::kFleetTime);
  ar(key.rival, ns, times, limit_low, limit_high);
}

void TimeSheet::archive(Archive& ar) {
  ar.sequence(lines_, kTimeSheetLinesMax);
  ar(unsaved_ns_);
  ar.text(crash, kReasonBytesMax);
  ar.text(paused_by, kPausedByBytesMax);
}

bool TimeSheet::fits_limits() const {
  DurationNs left = kTimeMax;
  for (const TimeSheetLine& l : lines_) {
    if (l.ns < 0 || l.ns > left) return false;
    left -= l.ns;
  }
  return unsaved_ns_ >= 0 && unsaved_ns_ <= of(TimeUse::kRunning);
}

bool is_out_of_memory(std::string_view why) {
  static constexpr std::array<std::string_view, 6> kWords = {
      "out of memory",          "memoryerror",        "bad_alloc",
      "cannot allocate memory", "unable to allocate", "signal 9"};
  std::string text(why);
  std::transform(text.begin(), text.end(), text.begin(), lower);
  return std::any_of(kWords.begin(), kWords.end(), [&text](std::string_view word) {
    return text.find(word) != std::string::npos;
  });
}

}  // namespace laird::core
