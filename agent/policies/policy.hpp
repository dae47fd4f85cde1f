// The question every policy answers: which task gets the next slice of this lane, and how long is
// it?
//
// A policy is pure: it sees only what the core shows it, keeps its memory in its archive (so that a
// restart and a replay go on where it was) and can say in words why it chose as it did.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/task.hpp"
#include "base/archive.hpp"
#include "base/error.hpp"
#include "base/time.hpp"

namespace laird::policies {

// What a policy may know of a task that could run on the lane now. In ascending order of key.
struct Candidate {
  const core::Task* task = nullptr;
  bool resident = false;  // its trainer is ready; otherwise choosing it means starting it first
};

struct LaneView {
  std::uint32_t lane = 0;
  core::LaneKind kind = core::LaneKind::kCpu;
  TimeNs now = 0;
  DurationNs slice = kSecond;  // the configured slice, a starting point
  std::span<const Candidate> candidates;
  // Tasks of this kind whose trainer cannot compute yet: queued, fetching its data, backing off.
  std::uint32_t not_ready = 0;
  // Of its time that a power cap or the fleet leaves the lane.
  std::uint32_t ceiling_ppm = core::kShareWholePpm;

  // Time of the lane until an instant.
  [[nodiscard]] DurationNs lane_time_until(TimeNs at) const {
    const auto scaled = static_cast<__int128>(at - now) * ceiling_ppm / core::kShareWholePpm;
    return static_cast<DurationNs>(scaled);
  }
};

struct Choice {
  core::TaskKey key = 0;
  std::uint32_t share_ppm = core::kShareWholePpm;  // of the lane
};

struct Decision {
  std::vector<Choice> choices;  // none: leave the lane idle; shares sum to at most the whole
  DurationNs slice = kSecond;
  void clear() {
    choices.clear();
    slice = kSecond;
  }
};

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Called with at least one candidate.
  virtual void decide(const LaneView& view, Decision& out) = 0;
  // A loss report of a live task, before any decision that could use it.
  virtual void observe(const core::Task&) {}
  // The task has ended: drop what is remembered of it.
  virtual void forget(core::TaskKey) {}
  virtual void archive(Archive& ar) = 0;
  // The numbers behind the last choice concerning the task, in words.
  [[nodiscard]] virtual std::string explain(const core::Task& task) const = 0;
};

// The policies there are, for --help and for errors.
[[nodiscard]] std::span<const std::string_view> policy_names();
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(std::string_view name);

}  // namespace laird::policies
