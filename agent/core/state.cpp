#include "agent/core/state.hpp"

#include <algorithm>

namespace laird::core {

void Lane::archive(Archive& ar) {
  ar(config);
  ar.sequence(running, kTasksLiveMax);
  ar(last_task);
  ar(slice_ends_at);
  ar(slice);
}

void Counters::archive(Archive& ar) {
  ar(decisions);
  ar(switches);
  ar(crashes);
  ar(evictions);
  ar(breaches);
}

Task* State::find_live(TaskKey key) {
  const auto at = std::lower_bound(live.begin(), live.end(), key,
                                   [](const Task& t, TaskKey k) { return t.key < k; });
  return at != live.end() && at->key == key ? &*at : nullptr;
}

const Task* State::find_live(TaskKey key) const { return const_cast<State*>(this)->find_live(key); }

const Task* State::find_named(std::string_view task) const {
  for (const Task& t : live) {
    if (t.spec.name == task) return &t;
  }
  for (auto t = ended.rbegin(); t != ended.rend(); ++t) {
    if (t->spec.name == task) return &*t;
  }
  return nullptr;
}

const Task* State::find_any(TaskKey key) const {
  if (const Task* t = find_live(key)) return t;
  for (const Task& t : ended) {
    if (t.key == key) return &t;
  }
  return nullptr;
}

std::int64_t State::memory_used_bytes() const {
  std::int64_t used = 0;
  for (const Task& t : live) {
    if (has_process(t.state)) used += t.spec.memory_bytes;
  }
  return used;
}

void State::archive(Archive& ar) {
  ar(now);
  ar(booted_at);
  ar(wall_minus_agent);
  ar(shutting_down);
  ar(exit_sent);
  ar(wake_at);
  ar(next_key);
  ar(config);
  ar.sequence(lanes, kLanesMax);
  ar.sequence(live, kTasksLiveMax);
  ar.sequence(ended, kTasksEndedKept);
  ar.sequence(wanted, kTasksLiveMax);
  ar(counters);
  ar(meter);
  ar.bounded(meter_source, power::Source::kModelled);
  bool has_policy = policy != nullptr;
  ar(has_policy);
  if (ar.failed()) return;
  if (ar.reading()) {
    policy.reset();
    if (has_policy) {
      Result<std::unique_ptr<policies::Policy>> made = policies::make_policy(config.policy);
      if (!made) {
        ar.fail();
        return;
      }
      policy = std::move(*made);
    }
  }
  if (policy != nullptr) policy->archive(ar);
}

std::uint64_t State::digest() {
  Archive ar = Archive::hasher();
  archive(ar);
  return ar.digest();
}

Bytes encode(State& state) {
  Bytes out;
  Archive ar = Archive::writer(out);
  ar(state);
  return out;
}

Result<State> decode_state(std::string_view bytes) {
  State state;
  Archive ar = Archive::reader(bytes);
  ar(state);
  if (ar.failed() || !ar.at_end()) {
    return fail(Code::kCorrupt,
                "the snapshot does not decode; it is damaged or of another version");
  }
  TaskKey last = 0;
  for (const Task& t : state.live) {
    if (t.key <= last || t.key >= state.next_key) {
      return fail(Code::kCorrupt, "the snapshot's tasks are out of order");
    }
    last = t.key;
  }
  return state;
}

}  // namespace laird::core
