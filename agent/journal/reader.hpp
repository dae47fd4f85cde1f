// Reads a journal file, whole or damaged, from its first snapshot on.
//
// A file cut at any byte opens: what is before the cut is read in order, what is after is reported
// as lost. Nothing is ever written to a file that is being read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "base/error.hpp"

namespace laird::journal {

// What a newer release adds to the state or to an event raises the format and is read by
// Archive::since, so that an upgraded agent goes on with the journal it finds. An older release
// refuses a newer format and leaves it alone.
//   2  what the meter knows of the time between two readings
//   3  the ledger's questions and answers; which build of the agent ran; boards that have parted
//   4  parts of the state are hashed by themselves (base/part.hpp)
//   6  recurring tasks and local time
//   7  tasks that move between boards
inline constexpr std::int64_t kFormat = 7;
inline constexpr std::int64_t kFormatOldest = 1;

// One event and, where it was recorded, what the core answered then.
struct Record {
  std::uint64_t seq = 0;
  core::Event event;
  bool has_outcome = false;
  std::string commands;  // as they were written
  std::uint64_t state_hash = 0;
};
// The commands of a record of the newest format; nothing if they do not decode.
[[nodiscard]] std::optional<core::Effects> commands_of(const Record& record);

// Whether an agent was killed while it made this file: sound, but without the state that a file
// begins with, which is written before the first event.
[[nodiscard]] bool is_only_begun(const std::string& path);

class Reader {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Reader>> open(const std::string& path);
  ~Reader();

  // The state before the first event of the file.
  [[nodiscard]] core::State take_first_state();
  // The newest snapshot and the events after it: the short way to the present.
  [[nodiscard]] Status skip_to_newest_snapshot();
  // The next record; nullopt at the end, whether natural or by damage (see damage()).
  [[nodiscard]] std::optional<Record> next();

  // Empty when the file was whole; else what is wrong and what was lost, in words.
  [[nodiscard]] const std::string& damage() const;
  // Nothing that was committed is lost, so the file can be written on. A log that ends inside a
  // write is damage by a cut or by a kill in that instant; either way SQLite goes on before it.
  [[nodiscard]] bool can_go_on() const;
  [[nodiscard]] std::int64_t format() const;
  [[nodiscard]] std::uint64_t first_seq() const;
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::string meta(const char* key);

 private:
  struct Impl;
  explicit Reader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace laird::journal
