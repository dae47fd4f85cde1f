#include "power/model/governor.hpp"

#include <algorithm>

#include "base/require.hpp"

namespace laird::power {
namespace {

// Readings that are added up, and the fewest that fine tuning goes by.
constexpr std::int64_t kSumReadingsMax = 4096;
constexpr std::int64_t kFadeReadings = 256;
constexpr std::int64_t kTunedReadingsMin = 8;
constexpr std::int64_t kFineMovePermille = 10;
constexpr DurationNs kFineWaitMax = 10 * kMinute;

std::int64_t permille_of(std::int64_t value, std::int64_t permille) {
  return value * permille / 1000;
}

std::int64_t mean(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t v : values) sum += v;
  return sum / static_cast<std::int64_t>(values.size());
}

}  // namespace

std::string_view name(Rung rung) {
  switch (rung) {
    case Rung::kStepGate: return "step-gate";
    case Rung::kCpuQuota: return "cpu-quota";
    case Rung::kFreezer: return "freezer";
    case Rung::kDevfreq: return "devfreq";
    case Rung::kNvpmodel: return "nvpmodel";
  }
  return "unknown";
}

std::string_view name(MoveReason reason) {
  switch (reason) {
    case MoveReason::kUrgent: return "urgent";
    case MoveReason::kAbove: return "above";
    case MoveReason::kBelow: return "below";
    case MoveReason::kCapMoved: return "cap-moved";
    case MoveReason::kBlind: return "blind";
    case MoveReason::kRelease: return "release";
  }
  return "unknown";
}

void RungConfig::archive(Archive& ar) {
  ar(available);
  ar(floor_permille);
  ar.sequence(levels, kRungLevelsMax);
}

GovernorConfig GovernorConfig::for_board(const Board& board) {
  GovernorConfig out;
  out.idle_mw = board.model.idle_mw;
  out.dynamic_mw = board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw;
  out.limit_mc = board.temperature_limit_mc;
  RungConfig& gate = out.rungs[Rung::kStepGate];
  gate.available = true;
  gate.floor_permille = 50;
  return out;
}

void GovernorConfig::archive(Archive& ar) {
  for (RungConfig& rung : rungs) ar(rung);
  ar(idle_mw, dynamic_mw, target_permille, band_permille, urgent_permille);
  ar(settle_ns, window_ns, steady_interval_ns, raise_wait_max_ns);
  ar(fine_interval_ns, fine_permille, trim_permille, blind_after_ns, blind_level_permille);
  ar(limit_mc, thermal_hysteresis_mc, thermal_cut_permille, thermal_raise_permille);
  ar(thermal_interval_ns, retry_ns);
}

void Governor::RungState::archive(Archive& ar) { ar(level, asked, pinned, refused_until); }

std::string_view name(KnobResult outcome) {
  switch (outcome) {
    case KnobResult::kDone: return "done";
    case KnobResult::kRefused: return "refused";
    case KnobResult::kPinned: return "pinned";
  }
  return "unknown";
}

namespace {

bool is_level(std::int32_t level) { return level >= 0 && level <= kLevelFull; }
bool is_power(std::int64_t mw) { return mw >= 0 && mw <= kGovernorPowerMaxMw; }
bool is_power(const std::optional<std::int64_t>& mw) { return !mw || is_power(*mw); }
// Instants are those of a clock that starts at 0, or one for "never yet".
bool is_past(TimeNs at) { return at >= INT64_MIN / 2 && at <= INT64_MAX / 2; }

bool fits(const RungConfig& rung) {
  const bool ends_full = rung.levels.empty() || rung.levels.back() == kLevelFull;
  return is_level(rung.floor_permille) && rung.levels.size() <= kRungLevelsMax && ends_full &&
         std::is_sorted(rung.levels.begin(), rung.levels.end()) &&
         (rung.levels.empty() || rung.levels.front() >= 0);
}

}  // namespace

bool GovernorConfig::fits_limits() const {
  bool out = std::all_of(rungs.begin(), rungs.end(), fits) && is_power(idle_mw) &&
             is_power(dynamic_mw) && std::abs(limit_mc) <= 1'000'000 &&
             std::abs(thermal_hysteresis_mc) <= 1'000'000;
  for (const std::int32_t permille :
       {target_permille, band_permille, urgent_permille, blind_level_permille, thermal_cut_permille,
        thermal_raise_permille, fine_permille, trim_permille}) {
    out = out && is_level(permille);
  }
  for (const DurationNs wait : {settle_ns, window_ns, steady_interval_ns, raise_wait_max_ns,
                                blind_after_ns, thermal_interval_ns, retry_ns, fine_interval_ns}) {
    out = out && wait >= 0 && wait <= kDay;
  }
  return out;
}

bool Governor::fits_limits() const {
  bool out = config_.fits_limits() && is_power(cap_mw_) && is_power(thermal_cap_mw_) &&
             is_power(followed_cap_mw_) && raise_wait_ns_ >= 0 && raise_wait_ns_ <= kDay &&
             previous_mw_ >= -1 && previous_mw_ <= kGovernorPowerMaxMw &&
             window_mw_.size() == window_at_.size() && (!followed_cap_mw_ || *followed_cap_mw_ > 0);
  for (const RungState& rung : rungs_) out = out && is_level(rung.level) && is_level(rung.asked);
  out = out && fine_wait_ns_ >= 0 && fine_wait_ns_ <= kDay && is_power(trim_mw_) &&
        tuned_.fits_limits() && held_.fits_limits() && settled_.fits_limits();
  for (const TimeNs at : {thermal_at_, moved_at_, seen_at_, binding_changed_at_, high_at_,
                          raised_at_, waited_at_, tuned_at_}) {
    out = out && is_past(at);
  }
  for (const std::int64_t mw : window_mw_) out = out && is_power(mw);
  for (const TimeNs at : window_at_) out = out && is_past(at);
  return out;
}

Governor::Governor(const GovernorConfig& config)
    : config_(config), raise_wait_ns_(config.steady_interval_ns) {
  for (const RungConfig& rung : config_.rungs) {
    LAIRD_REQUIRE(rung.levels.size() <= kRungLevelsMax, "a rung has too many levels");
    LAIRD_REQUIRE(rung.levels.empty() || rung.levels.back() == kLevelFull,
                  "the last level of a rung is full");
    LAIRD_REQUIRE(std::is_sorted(rung.levels.begin(), rung.levels.end()),
                  "levels of a rung ascend");
  }
}

void Governor::set_config(const GovernorConfig& config) {
  config_ = config;
  raise_wait_ns_ = std::max(raise_wait_ns_, config.steady_interval_ns);
  for (std::size_t i = 0; i < kRungCount; ++i) {
    if (config.rungs[i].available) continue;
    rungs_[i] = RungState{};
  }
}

void Governor::on_restart(TimeNs at) {
  for (std::size_t i = 0; i < kRungCount; ++i) {
    if (i != index(Rung::kStepGate)) rungs_[i] = RungState{};
  }
  moved_at_ = at;
  if (cap_mw_) seen_at_ = std::max(seen_at_, at);
  forget_readings();
  blind_ = false;
  exhausted_ = false;
}

TimeNs Governor::blind_at() const {
  return cap_mw_ && !blind_ ? seen_at_ + config_.blind_after_ns : kNever;
}

void Governor::set_cap(TimeNs at, std::optional<std::int64_t> cap_mw) {
  if (cap_mw && *cap_mw <= 0) cap_mw.reset();
  if (cap_mw != cap_mw_) {
    trim_mw_ = fine_wait_ns_ = 0;
    held_ = settled_ = {};
  }
  cap_mw_ = cap_mw;
  // Blindness is counted from the moment there is something to watch for.
  if (cap_mw_) seen_at_ = std::max(seen_at_, at);
}

std::optional<std::int64_t> Governor::effective_cap_mw() const {
  if (!cap_mw_) return thermal_cap_mw_;
  if (!thermal_cap_mw_) return cap_mw_;
  return std::min(*cap_mw_, *thermal_cap_mw_);
}

bool Governor::throttling() const {
  for (const RungState& rung : rungs_) {
    if (rung.level < kLevelFull) return true;
  }
  return false;
}

bool Governor::usable(std::size_t rung, TimeNs at) const {
  return config_.rungs[rung].available && !rungs_[rung].pinned && at >= rungs_[rung].refused_until;
}

// level * num / den, kept within the rung and moved by at least one step of it.
std::int32_t Governor::next_level(std::size_t rung, std::int64_t num, std::int64_t den,
                                  bool trusted) const {
  const RungConfig& config = config_.rungs[rung];
  const std::int32_t level = rungs_[rung].level;
  const bool lower = num < den;
  // What readings show may be the load's doing and not the level's, so it moves the level by a
  // bounded factor; a new cap is known exactly.
  if (!trusted) num = std::clamp<std::int64_t>(num, den * 2 / 5, den * 8 / 5);
  std::int64_t wanted = level * num / den;
  wanted =
      lower ? std::min<std::int64_t>(wanted, level - 1) : std::max<std::int64_t>(wanted, level + 1);
  wanted = std::clamp<std::int64_t>(wanted, config.floor_permille, kLevelFull);
  if (config.levels.empty()) return static_cast<std::int32_t>(wanted);
  // The highest allowed level not above the wish; raising takes one step at most.
  std::int32_t best = config.levels.front();
  for (const std::int32_t allowed : config.levels) {
    if (lower ? allowed <= wanted : allowed <= level) best = allowed;
  }
  if (lower) return std::min(best, level);
  for (const std::int32_t allowed : config.levels) {
    if (allowed > level) return allowed;
  }
  return kLevelFull;
}

std::optional<Move> Governor::note_move(TimeNs at, std::size_t rung, std::int32_t level,
                                        MoveReason reason) {
  rungs_[rung].asked = level;
  rungs_[rung].level = level;
  moved_at_ = at;
  forget_readings();
  ++moves_;
  return Move{static_cast<Rung>(rung), level, reason};
}

void Governor::forget_readings() {
  window_mw_.clear();
  window_at_.clear();
  previous_mw_ = -1;
  tuned_ = {};
}

void Governor::Sum::add(std::int64_t value) {
  if (count >= kSumReadingsMax) return;
  mw += value;
  ++count;
}

bool Governor::Sum::fits_limits() const {
  return count >= 0 && count <= kSumReadingsMax && mw >= 0 && mw <= count * kGovernorPowerMaxMw;
}

void Governor::Sum::archive(Archive& ar) {
  ar(mw);
  ar(count);
}

std::optional<Move> Governor::change(TimeNs at, bool lower, std::int64_t mw, std::int64_t target_mw,
                                     MoveReason reason) {
  const std::int64_t den = std::max<std::int64_t>(1, mw - config_.idle_mw);
  const std::int64_t num = std::max<std::int64_t>(1, target_mw - config_.idle_mw);
  const bool trusted = reason == MoveReason::kCapMoved;
  if (lower) {
    for (std::size_t i = 0; i < kRungCount; ++i) {
      if (!usable(i, at) || rungs_[i].level <= config_.rungs[i].floor_permille) continue;
      const std::int32_t level = next_level(i, std::min(num, den - 1), den, trusted);
      if (level < rungs_[i].level) return note_move(at, i, level, reason);
    }
    exhausted_ = true;
    return std::nullopt;
  }
  for (std::size_t i = kRungCount; i-- > 0;) {
    if (rungs_[i].level >= kLevelFull || !usable(i, at)) continue;
    const std::int32_t level = next_level(i, std::max(num, den + 1), den, trusted);
    if (level > rungs_[i].level) return note_move(at, i, level, reason);
  }
  return std::nullopt;
}

void Governor::watch_temperature(const GovernorInput& input) {
  if (!input.hottest_mc || !input.total_mw) return;
  if (input.at - thermal_at_ < config_.thermal_interval_ns) return;
  if (*input.hottest_mc >= config_.limit_mc) {
    const std::int64_t now =
        thermal_cap_mw_ ? std::min(*thermal_cap_mw_, *input.total_mw) : *input.total_mw;
    thermal_cap_mw_ =
        std::max(config_.idle_mw + 1, permille_of(now, 1000 - config_.thermal_cut_permille));
    thermal_at_ = input.at;
  } else if (thermal_cap_mw_ &&
             *input.hottest_mc < config_.limit_mc - config_.thermal_hysteresis_mc) {
    thermal_cap_mw_ = permille_of(*thermal_cap_mw_, 1000 + config_.thermal_raise_permille);
    thermal_at_ = input.at;
    const bool above_cap = cap_mw_ && *thermal_cap_mw_ >= *cap_mw_;
    // Without a cap of its own the inner one goes once nothing is held back any more.
    if (above_cap || (!cap_mw_ && !throttling())) thermal_cap_mw_.reset();
  }
}

void Governor::remember(const GovernorInput& input) {
  if (!input.total_mw) return;
  seen_at_ = std::max(seen_at_, input.at);
  blind_ = false;
  const bool binding = input.held_ns >= config_.settle_ns;
  if (binding != binding_) {
    binding_ = binding;
    binding_changed_at_ = input.at;
    window_mw_.clear();
    window_at_.clear();
  }
  if (input.at - moved_at_ < config_.settle_ns) return;
  if (input.held_ns > 0) {
    held_.add(*input.total_mw);
    if (binding) {
      settled_.add(*input.total_mw);
      tuned_.add(*input.total_mw);
    }
    if (held_.count >= kFadeReadings) {
      for (Sum* sum : {&held_, &settled_}) *sum = {sum->mw / 2, sum->count / 2};
    }
  }
  if (!binding && input.at - binding_changed_at_ < config_.settle_ns) return;
  std::size_t old = 0;
  while (old < window_at_.size() && window_at_[old] <= input.at - config_.window_ns) ++old;
  if (window_at_.size() - old >= kGovernorWindowMax) ++old;
  const auto drop = static_cast<std::ptrdiff_t>(old);
  window_at_.erase(window_at_.begin(), window_at_.begin() + drop);
  window_mw_.erase(window_mw_.begin(), window_mw_.begin() + drop);
  window_at_.push_back(input.at);
  window_mw_.push_back(*input.total_mw);
}

std::optional<Move> Governor::go_blind(TimeNs at) {
  if (!cap_mw_ || blind_ || at - seen_at_ < config_.blind_after_ns) return std::nullopt;
  blind_ = true;
  const std::size_t gate = index(Rung::kStepGate);
  const std::int32_t level =
      std::max(config_.blind_level_permille, config_.rungs[gate].floor_permille);
  if (!usable(gate, at) || rungs_[gate].level <= level) return std::nullopt;
  return note_move(at, gate, level, MoveReason::kBlind);
}

std::optional<Move> Governor::first_guess(TimeNs at, std::int64_t cap_mw) {
  const std::size_t gate = index(Rung::kStepGate);
  if (config_.dynamic_mw <= 0 || !usable(gate, at) || throttling()) return std::nullopt;
  const std::int64_t room = permille_of(cap_mw, config_.target_permille) - config_.idle_mw;
  const std::int64_t level = std::clamp<std::int64_t>(
      room * kLevelFull / config_.dynamic_mw, config_.rungs[gate].floor_permille, kLevelFull);
  if (level >= kLevelFull) return std::nullopt;
  return note_move(at, gate, static_cast<std::int32_t>(level), MoveReason::kCapMoved);
}

void Governor::adapt_wait(TimeNs at, bool taken_back) {
  if (taken_back) {
    raise_wait_ns_ = std::min(2 * raise_wait_ns_, config_.raise_wait_max_ns);
    waited_at_ = at;
  } else if (at - waited_at_ >= kMinute && raise_wait_ns_ > config_.steady_interval_ns) {
    raise_wait_ns_ = std::max(raise_wait_ns_ / 2, config_.steady_interval_ns);
    waited_at_ = at;
  }
}

// Under a cap of about what the board draws idle the gate is at its lowest level, which says
// nothing about what a higher cap allows. Then the board file's dynamic power says it, as for a
// first cap.
std::optional<Move> Governor::rise_from_floor(TimeNs at, std::int64_t from_mw, std::int64_t to_mw) {
  const std::size_t gate = index(Rung::kStepGate);
  const std::int32_t floor = config_.rungs[gate].floor_permille;
  const std::int64_t room = (from_mw - config_.idle_mw) * kLevelFull;
  if (to_mw <= from_mw || config_.dynamic_mw <= 0 || room > 2 * floor * config_.dynamic_mw ||
      !usable(gate, at)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kRungCount; ++i) {
    if (i != gate && rungs_[i].level < kLevelFull) return std::nullopt;
  }
  const std::int64_t level = std::clamp<std::int64_t>(
      (to_mw - config_.idle_mw) * kLevelFull / config_.dynamic_mw, floor, kLevelFull);
  return note_move(at, gate, static_cast<std::int32_t>(level), MoveReason::kCapMoved);
}

// A cap that moved while levels are set carries them along before any reading shows it.
std::optional<Move> Governor::follow_cap(TimeNs at) {
  const std::optional<std::int64_t> cap = effective_cap_mw();
  const std::optional<std::int64_t> before = followed_cap_mw_;
  followed_cap_mw_ = cap;
  if (cap && !before) return first_guess(at, *cap);
  if (!cap || !before || *cap == *before) return std::nullopt;
  if (!throttling()) return *cap < *before ? first_guess(at, *cap) : std::nullopt;
  const std::int64_t change_permille = std::abs(*cap - *before) * 1000 / *before;
  if (change_permille < config_.band_permille) {
    followed_cap_mw_ = before;  // many small steps add up to one that counts
    return std::nullopt;
  }
  const std::int64_t from = permille_of(*before, config_.target_permille);
  const std::int64_t to = permille_of(*cap, config_.target_permille);
  if (auto move = rise_from_floor(at, from, to)) return move;
  return change(at, *cap < *before, from, to, MoveReason::kCapMoved);
}

std::optional<Move> Governor::step(const GovernorInput& input) {
  watch_temperature(input);
  remember(input);
  if (auto move = go_blind(input.at)) return move;
  if (auto move = follow_cap(input.at)) return move;
  const std::optional<std::int64_t> cap = effective_cap_mw();
  if (!cap) {
    // No cap: whatever is still held back is given back, one rung at a time.
    if (!throttling() || input.at - moved_at_ < config_.settle_ns) return std::nullopt;
    for (std::size_t i = kRungCount; i-- > 0;) {
      if (rungs_[i].level < kLevelFull)
        return note_move(input.at, i, kLevelFull, MoveReason::kRelease);
    }
  }
  if (!input.total_mw) return std::nullopt;
  return hold(input, *cap);
}

// Small moves of the gate that take out what the band leaves.
std::optional<Move> Governor::fine_tune(TimeNs at, std::int64_t cap_mw, std::int64_t target_mw) {
  const DurationNs wait = config_.fine_interval_ns + fine_wait_ns_;
  if (at - std::max(moved_at_, tuned_at_) < wait) return std::nullopt;
  if (tuned_.count < kTunedReadingsMin) return std::nullopt;
  const std::int64_t settled_mw = tuned_.mean();
  if (settled_.count >= 2 * kTunedReadingsMin) {
    const std::int64_t most = permille_of(cap_mw, config_.trim_permille);
    trim_mw_ = std::clamp<std::int64_t>(settled_.mean() - held_.mean(), 0, most);
  }
  tuned_at_ = at;
  tuned_ = {};
  const RungState& gate = rungs_[Rung::kStepGate];
  for (std::size_t i = 0; i < kRungCount; ++i) {
    const bool engaged = rungs_[i].level < kLevelFull;
    if (engaged != (i == index(Rung::kStepGate))) return std::nullopt;
  }
  const std::int64_t bound = permille_of(cap_mw, kFineMovePermille);
  const std::int64_t error =
      std::clamp<std::int64_t>(target_mw + trim_mw_ - settled_mw, -bound, bound);
  // What the least step of the gate is worth: less than that cannot be taken out.
  const std::int64_t step_mw =
      std::max<std::int64_t>(0, settled_mw - config_.idle_mw) / std::max(1, gate.level);
  if (std::abs(error) <= std::max(permille_of(cap_mw, config_.fine_permille), step_mw)) {
    return std::nullopt;
  }
  if ((error < 0) != tuned_down_) {
    fine_wait_ns_ = std::min(2 * fine_wait_ns_ + config_.fine_interval_ns, kFineWaitMax);
  }
  tuned_down_ = error < 0;
  return change(at, error < 0, settled_mw, settled_mw + error,
                error < 0 ? MoveReason::kAbove : MoveReason::kBelow);
}

std::optional<Move> Governor::hold(const GovernorInput& input, std::int64_t cap_mw) {
  const std::int64_t target = permille_of(cap_mw, config_.target_permille) + trim_mw_;
  const std::int64_t band = permille_of(cap_mw, config_.band_permille);
  const DurationNs since = input.at - moved_at_;
  if (*input.total_mw >= target - band) high_at_ = input.at;
  adapt_wait(input.at, false);
  if (since >= config_.settle_ns) {
    // The mean lags a jump of the load; the last two readings do not.
    const std::int64_t before = previous_mw_ < 0 ? *input.total_mw : previous_mw_;
    const std::int64_t newest = std::min(*input.total_mw, (*input.total_mw + before) / 2);
    previous_mw_ = *input.total_mw;
    const std::int32_t excess =
        since < config_.steady_interval_ns ? 2 * config_.urgent_permille : config_.urgent_permille;
    if (newest > permille_of(cap_mw, 1000 + excess)) {
      adapt_wait(input.at, input.at - raised_at_ < 2 * raise_wait_ns_);
      return change(input.at, true, newest, target, MoveReason::kUrgent);
    }
  }
  if (window_mw_.empty()) return std::nullopt;
  const std::int64_t mw = mean(window_mw_);
  exhausted_ = exhausted_ && mw > cap_mw;
  if (since < config_.steady_interval_ns) return std::nullopt;
  if (mw > target + band) return change(input.at, true, mw, target, MoveReason::kAbove);
  const bool low_for_long = input.at - high_at_ >= raise_wait_ns_ || high_at_ < moved_at_;
  if (mw < target - band && binding_ && throttling() && low_for_long) {
    raised_at_ = input.at;
    return change(input.at, false, mw, target, MoveReason::kBelow);
  }
  return fine_tune(input.at, cap_mw, target - trim_mw_);
}

void Governor::on_applied(TimeNs at, Rung rung, KnobResult outcome, std::int32_t actual_permille) {
  RungState& state = rungs_[rung];
  actual_permille = std::clamp(actual_permille, 0, kLevelFull);
  state.level = actual_permille;
  state.pinned = outcome == KnobResult::kPinned;
  if (outcome == KnobResult::kRefused) state.refused_until = at + config_.retry_ns;
  if (outcome == KnobResult::kDone && actual_permille != state.asked) ++roundings_;
}

std::vector<Move> Governor::release_all(TimeNs at) {
  std::vector<Move> out;
  for (std::size_t i = kRungCount; i-- > 0;) {
    if (rungs_[i].level >= kLevelFull) continue;
    out.push_back(*note_move(at, i, kLevelFull, MoveReason::kRelease));
  }
  return out;
}

void Governor::archive(Archive& ar) {
  ar(config_);
  for (RungState& rung : rungs_) ar(rung);
  ar(cap_mw_);
  ar(thermal_cap_mw_);
  ar(followed_cap_mw_);
  ar(thermal_at_);
  ar(moved_at_);
  ar(seen_at_);
  ar(binding_);
  ar(binding_changed_at_);
  ar(high_at_);
  ar(raised_at_);
  ar(waited_at_);
  ar(raise_wait_ns_);
  ar(previous_mw_);
  ar(tuned_);
  ar(held_);
  ar(settled_);
  ar(trim_mw_);
  ar(tuned_at_);
  ar(tuned_down_);
  ar(fine_wait_ns_);
  ar.sequence(window_mw_, kGovernorWindowMax);
  ar.sequence(window_at_, kGovernorWindowMax);
  ar(blind_);
  ar(exhausted_);
  ar(moves_);
  ar(roundings_);
  if (ar.reading() && !fits_limits()) ar.fail();
}

}  // namespace laird::power
