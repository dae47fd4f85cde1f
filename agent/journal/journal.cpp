#include "agent/journal/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>

#include "agent/core/step/step.hpp"
#include "agent/journal/file_names.hpp"
#include "agent/journal/reader.hpp"
#include "agent/journal/seal.hpp"
#include "agent/journal/sqlite/database.hpp"
#include "base/require.hpp"
#include "os/whole_file.hpp"

namespace laird::journal {
namespace fs = std::filesystem;
namespace {

// A commit writes each page it touched, whole, to the log: an event of some hundred bytes costs a
// page of its table. Small pages keep that small (docs/performance.md); a file keeps those it was
// created with.
constexpr const char* kPageSize = "PRAGMA page_size=1024";
constexpr std::int64_t kLogBytesMax = 4'000'000;
constexpr std::int64_t kLogHeaderBytes = 32;
constexpr std::int64_t kFrameHeaderBytes = 24;
// Answers of the core wait in memory for this many, or for a commit that has to last: their table
// is another page, and one that a crash takes can be worked out again from the events.
constexpr std::size_t kAnswersHeldMax = 16;
// More than a commit grows the file by, beside what it holds: pages begun, split and pointed at.
constexpr std::int64_t kCommitBytesMax = 16 * 1024;
// Bytes of a body are written to the log, then to the file, each time in pages of their own.
constexpr std::int64_t kBytesPerBodyByteMax = 4;

std::string day_of(TimeNs wall_ns) {
  const std::time_t seconds = static_cast<std::time_t>(wall_ns / kSecond);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y%m%d", &utc);
  return text;
}

// Sets a damaged file aside under a name that no reader takes for a journal.
void set_aside(const std::string& path) {
  std::error_code ignored;
  for (const char* tail : {"", "-wal", "-shm"}) {
    if (fs::exists(path + tail, ignored))
      fs::rename(path + tail, path + ".damaged" + tail, ignored);
  }
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  for (const char* tail : {"", "-wal", "-shm"}) fs::remove(path + tail, ignored);
}

std::int64_t size_on_disk(const std::string& path) {
  std::int64_t total = 0;
  for (const char* tail : {"", "-wal"}) {
    std::error_code error;
    const auto size = fs::file_size(path + tail, error);
    if (!error) total += static_cast<std::int64_t>(size);
  }
  return total;
}

// Steps every event of a file; the reader notes where it stops.
Status fold(Reader& reader, core::State& state, std::uint64_t& count, std::uint64_t& next_seq) {
  core::Effects ignored;
  next_seq = reader.first_seq();
  while (std::optional<Record> record = reader.next()) {
    LAIRD_TRY(core::admissible(state, record->event));
    ignored.clear();
    core::step(state, record->event, ignored);
    next_seq = record->seq + 1;
    ++count;
  }
  return {};
}

}  // namespace

struct Journal::Impl {
  std::string folder;
  Limits limits;
  std::string node;
  FileName name;
  std::string path;
  std::unique_ptr<Database> db;
  Statement begin_statement;
  Statement commit_statement;
  Statement insert_event;
  Statement insert_outcome;
  Statement insert_snapshot;
  std::uint64_t next_seq = 1;
  std::uint64_t committed_seq = 1;
  std::uint64_t snapshot_seq = 0;
  std::int64_t bytes_at_first = 0;  // of the file, when its first event was still to come
  std::int64_t room_bytes = 0;      // the file is not full before it has grown by this much
  std::int64_t day_looked_at = -1;  // days since 1970; the file is of that day

  // Events wait here for their commit: one alone is a transaction by itself, without two more
  // statements around it.
  struct QueuedEvent {
    TimeNs at = 0;
    std::string_view kind;
    Bytes body;
  };
  std::vector<QueuedEvent> queued;  // the first is number committed_seq; places are used again

  struct StepResult {
    std::uint64_t seq = 0;
    std::uint64_t state_hash = 0;
    Bytes commands;
  };
  std::vector<StepResult> held;

  Status open_file(const FileName& which) {
    name = which;
    path = folder + "/" + to_text(which);
    Result<std::unique_ptr<Database>> opened = Database::open(path, OpenMode::kWrite);
    LAIRD_TRY(opened);
    db = std::move(*opened);
    ::chmod(path.c_str(), S_IRUSR | S_IWUSR | S_IRGRP);
    for (const char* sql :
         {kPageSize, "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL",
          "PRAGMA wal_autocheckpoint=1024", "PRAGMA cache_size=-512",
          "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value)",
          "CREATE TABLE IF NOT EXISTS snapshot(seq INTEGER PRIMARY KEY, body BLOB NOT NULL)",
          "CREATE TABLE IF NOT EXISTS event(seq INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL,"
          " kind TEXT NOT NULL, body BLOB NOT NULL)",
          "CREATE TABLE IF NOT EXISTS outcome(seq INTEGER PRIMARY KEY, commands BLOB NOT NULL,"
          " state_hash INTEGER NOT NULL)"}) {
      LAIRD_TRY(db->run(sql));
    }
    // Whole frames and the log's header: the reader takes a part of one for a cut.
    const std::int64_t frame = kFrameHeaderBytes + db->page_bytes();
    const std::int64_t limit = kLogHeaderBytes + kLogBytesMax / frame * frame;
    LAIRD_TRY(db->run(("PRAGMA journal_size_limit=" + std::to_string(limit)).c_str()));
    return prepare_all();
  }

  Status prepare_all() {
    const auto prepare = [this](Statement& into, const char* sql) -> Status {
      Result<Statement> made = db->prepare(sql);
      LAIRD_TRY(made);
      into = std::move(*made);
      return {};
    };
    LAIRD_TRY(prepare(begin_statement, "BEGIN IMMEDIATE"));
    LAIRD_TRY(prepare(commit_statement, "COMMIT"));
    LAIRD_TRY(prepare(insert_event, "INSERT INTO event VALUES(?,?,?,?)"));
    LAIRD_TRY(prepare(insert_outcome, "INSERT OR REPLACE INTO outcome VALUES(?,?,?)"));
    return prepare(insert_snapshot, "INSERT OR REPLACE INTO snapshot VALUES(?,?)");
  }

  // A new file is complete (meta and snapshot, on disk) before its first event.
  Status create_file(const FileName& which, core::State& state, TimeNs wall_ns) {
    LAIRD_TRY(open_file(which));
    LAIRD_TRY(begin());
    Result<Statement> meta = db->prepare("INSERT OR REPLACE INTO meta VALUES(?,?)");
    LAIRD_TRY(meta);
    LAIRD_TRY(meta->bind(1, "format").bind(2, kFormat).run());
    LAIRD_TRY(meta->bind(1, "node").bind(2, std::string_view(node)).run());
    LAIRD_TRY(meta->bind(1, "created_wall_ns").bind(2, wall_ns).run());
    LAIRD_TRY(put_snapshot(state));
    LAIRD_TRY(commit(true));
    static_cast<void>(sync_folder(folder));
    bytes_at_first = size_on_disk(path);
    return {};
  }

  // A file is full by what it takes on the disk. One that has to begin with a large state gets room
  // for as much again, or every batch would begin a new one.
  // Its size is asked for only when it may be, by a generous count of what was written since.
  [[nodiscard]] bool full() {
    if (room_bytes > 0) return false;
    const std::int64_t limit = std::max(limits.file_bytes_max, 2 * bytes_at_first);
    room_bytes = limit - size_on_disk(path);
    return room_bytes <= 0;
  }
  void count(const Bytes& body) {
    room_bytes -= kBytesPerBodyByteMax * static_cast<std::int64_t>(body.size());
  }

  [[nodiscard]] bool is_of_today(TimeNs wall_ns) {
    const std::int64_t today = wall_ns / kDay;
    if (today == day_looked_at) return true;
    if (day_of(wall_ns) != name.day) return false;
    day_looked_at = today;
    return true;
  }

  // What is put stays held until it is committed.
  Status put_held() {
    if (held.empty()) return {};
    LAIRD_TRY(begin());
    for (const StepResult& answer : held) {
      insert_outcome.bind(1, static_cast<std::int64_t>(answer.seq))
          .bind(2, answer.commands)
          .bind(3, static_cast<std::int64_t>(answer.state_hash));
      LAIRD_TRY(insert_outcome.run());
      count(answer.commands);
    }
    return {};
  }

  Status begin() {
    if (db->in_transaction()) return {};
    return begin_statement.run();
  }

  Status put_snapshot(core::State& state) {
    LAIRD_TRY(begin());
    Bytes body = core::encode(state);
    seal(body, next_seq);
    insert_snapshot.bind(1, static_cast<std::int64_t>(next_seq)).bind(2, body);
    LAIRD_TRY(insert_snapshot.run());
    count(body);
    snapshot_seq = next_seq;
    return {};
  }

  Status put_queued() {
    const auto count_queued = static_cast<std::size_t>(next_seq - committed_seq);
    if (count_queued > 1) {
      LAIRD_TRY(begin());
    }
    for (std::size_t i = 0; i < count_queued; ++i) {
      const QueuedEvent& event = queued[i];
      insert_event.bind(1, static_cast<std::int64_t>(committed_seq + i))
          .bind(2, event.at)
          .bind(3, event.kind)
          .bind(4, event.body);
      LAIRD_TRY(insert_event.run());
      count(event.body);
    }
    return {};
  }

  Status commit(bool durable) {
    const bool with_held = durable || held.size() >= kAnswersHeldMax;
    Status ok = with_held ? put_held() : Status{};
    if (ok) ok = put_queued();
    if (ok && db->in_transaction()) ok = commit_statement.run();
    room_bytes -= kCommitBytesMax;
    if (!ok) {
      roll_back();
      return ok;
    }
    committed_seq = next_seq;
    if (with_held) held.clear();
    return durable ? db->sync() : Status{};
  }

  void roll_back() {
    commit_statement.reset();
    insert_event.reset();
    insert_outcome.reset();
    insert_snapshot.reset();
    if (db->in_transaction()) static_cast<void>(db->run("ROLLBACK"));
    next_seq = committed_seq;
  }

  void let_go() {
    begin_statement = {};
    commit_statement = {};
    insert_event = {};
    insert_outcome = {};
    insert_snapshot = {};
    db.reset();
  }

  void drop_old_files(TimeNs wall_ns) {
    std::vector<std::string> files = files_in(folder);
    std::int64_t total = 0;
    for (const std::string& file : files) total += size_on_disk(file);
    const std::string oldest_day = day_of(wall_ns - limits.age_max);
    for (const std::string& file : files) {
      if (file == path) continue;
      const auto which = parse_file_name(fs::path(file).filename().string());
      const bool too_old = which && which->day < oldest_day;
      if (!too_old && total <= limits.total_bytes_max) continue;
      total -= size_on_disk(file);
      remove_file(file);
    }
  }
};

Journal::Journal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(const std::string& folder, const Limits& limits,
                                               TimeNs wall_ns, const std::string& node,
                                               Recovery& recovery) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(Code::kIo, "cannot create " + folder + ": " + error.message());
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  impl->limits = limits;
  impl->node = node;

  std::vector<std::string> files = files_in(folder);
  FileName newest;
  if (!files.empty()) {
    newest = parse_file_name(fs::path(files.back()).filename().string()).value_or(newest);
  }
  bool goes_on = false;  // the newest file can be written on
  // From the newest file back, until one can be read at least to its first snapshot.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    Result<std::unique_ptr<Reader>> reader = Reader::open(*file);
    Status read =
        reader ? (*reader)->skip_to_newest_snapshot() : tl::make_unexpected(reader.error());
    if (reader && !read) read = {};  // the newest snapshot is gone, the first is still there
    if (!read) {
      if (read.error().code == Code::kInvalid) return tl::make_unexpected(read.error());
      recovery.notes.push_back(read.error().context + "; set aside");
      set_aside(*file);
      continue;
    }
    recovery.state = (*reader)->take_first_state();
    const Status folded = fold(**reader, recovery.state, recovery.events_replayed, impl->next_seq);
    if (!folded) recovery.notes.push_back(*file + ": " + folded.error().context);
    const std::string damage = (*reader)->damage();
    const bool sound = folded.has_value() && (*reader)->can_go_on();
    const std::int64_t format = (*reader)->format();
    reader->reset();
    if (format != kFormat) {
      recovery.notes.push_back(*file + " was written by an older release (format " +
                               std::to_string(format) + "); its state goes on in a new file");
    }
    goes_on = sound && format == kFormat && file == files.rbegin();
    if (!damage.empty()) recovery.notes.push_back(*file + ": " + damage);
    if (!sound) {
      recovery.notes.push_back("kept what could be read; the damaged file stays beside it");
      set_aside(*file);
    }
    break;
  }
  impl->committed_seq = impl->next_seq;
  const std::string today = day_of(wall_ns);
  const std::string current = folder + "/" + to_text(newest);
  Status ready;
  if (goes_on && newest.day == today && size_on_disk(current) < limits.file_bytes_max) {
    ready = impl->open_file(newest);
    impl->snapshot_seq = impl->next_seq - std::min(impl->next_seq, recovery.events_replayed);
  } else {
    ready = impl->create_file(FileName{newest.number + 1, today}, recovery.state, wall_ns);
    if (!ready && goes_on) {  // no room for a new file: go on with the one there is
      recovery.notes.push_back(ready.error().context + "; going on with " + current);
      impl->let_go();
      remove_file(impl->path);
      ready = impl->open_file(newest);
    }
  }
  LAIRD_TRY(ready);
  impl->drop_old_files(wall_ns);
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

std::uint64_t Journal::append(core::Event& event) {
  const std::uint64_t seq = impl_->next_seq++;
  const auto place = static_cast<std::size_t>(seq - impl_->committed_seq);
  if (place == impl_->queued.size()) impl_->queued.emplace_back();
  Impl::QueuedEvent& queued = impl_->queued[place];
  queued.at = event.at;
  queued.kind = core::name(event.body);
  queued.body.clear();
  Archive ar = Archive::writer(queued.body);
  ar(event);
  seal(queued.body, seq);
  return seq;
}

void Journal::record(std::uint64_t seq, core::Effects& commands, std::uint64_t state_hash) {
  Impl::StepResult answer{seq, state_hash, {}};
  Archive ar = Archive::writer(answer.commands);
  ar.sequence(commands, commands.size());
  seal(answer.commands, seq ^ state_hash);
  impl_->held.push_back(std::move(answer));
}

Status Journal::commit(bool durable) { return impl_->commit(durable); }

Status Journal::keep_up(core::State& state, TimeNs wall_ns) {
  Impl& j = *impl_;
  const bool turns_over = !j.is_of_today(wall_ns) || j.full();
  if (!turns_over && j.next_seq - j.snapshot_seq < j.limits.events_per_snapshot) return {};
  if (!turns_over) {
    LAIRD_TRY(j.put_snapshot(state));
    return j.commit(false);
  }
  // The old file ends with every answer to its events.
  if (Status ok = j.put_held(); !ok) {
    j.roll_back();
    return ok;
  }
  LAIRD_TRY(j.commit(false));
  j.held.clear();
  // The new file is complete before the old one is let go: a full disk leaves us where we were.
  auto fresh = std::make_unique<Impl>();
  fresh->folder = j.folder;
  fresh->limits = j.limits;
  fresh->node = j.node;
  fresh->next_seq = j.next_seq;
  fresh->committed_seq = j.next_seq;
  if (Status ok = fresh->create_file(FileName{j.name.number + 1, day_of(wall_ns)}, state, wall_ns);
      !ok) {
    fresh->let_go();
    remove_file(fresh->path);
    return ok;
  }
  impl_ = std::move(fresh);
  impl_->drop_old_files(wall_ns);
  return {};
}

Status Journal::close(core::State& state) {
  LAIRD_TRY(impl_->put_snapshot(state));
  return impl_->commit(true);
}

const std::string& Journal::path() const { return impl_->path; }
std::uint64_t Journal::next_seq() const { return impl_->next_seq; }

}  // namespace laird::journal
