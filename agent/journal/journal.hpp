// The journal: every event before it acts, every answer of the core after, and snapshots between.
//
// SQLite in write-ahead-log mode, one file per agent and day, bounded by size and age. A file
// starts with a snapshot of the state, so any file can be read alone and old ones can go. What
// carries a promise (an accepted task, a decided outcome) is forced to the disk before anyone
// relies on it; the rest survives a crash of the agent, and a power cut costs at most its last
// unsynced events.
//
// Ownership: one Journal per folder; the caller holds the folder's lock (agent/os/folder_lock.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "agent/journal/limits.hpp"
#include "base/error.hpp"

namespace laird::journal {

// What opening found and did, for the log.
struct Recovery {
  core::State state;
  std::uint64_t events_replayed = 0;
  std::vector<std::string> notes;  // damage, files set aside, what was lost
};

class Journal {
 public:
  // Brings back the state from the newest readable file, sets damaged files aside (renamed, never
  // deleted) and is ready to append. `wall_ns` names the day; it may jump.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(const std::string& folder,
                                                             const Limits& limits, TimeNs wall_ns,
                                                             const std::string& node,
                                                             Recovery& recovery);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Queues the event for the next commit and gives it its number.
  std::uint64_t append(core::Event& event);
  // What the core answered; goes with the next durable commit, or with a later one.
  void record(std::uint64_t seq, core::Effects& commands, std::uint64_t state_hash);
  // Makes every event queued survive a crash of the agent, and a power cut too, with every answer,
  // when `durable`. When it fails before the events are committed, none that was queued since the
  // last commit is in the journal; when only the disk's word is missing they are there, and the
  // next durable commit gets it.
  [[nodiscard]] Status commit(bool durable);

  // Starts a new file when the day or the size says so, writes a periodic snapshot, and drops files
  // beyond the limits. Call between events, after a commit.
  [[nodiscard]] Status keep_up(core::State& state, TimeNs wall_ns);
  // A snapshot now, forced to disk: the last act of a clean shutdown.
  [[nodiscard]] Status close(core::State& state);

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t next_seq() const;

 private:
  struct Impl;
  explicit Journal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace laird::journal
