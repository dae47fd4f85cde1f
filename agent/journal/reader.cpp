#include "agent/journal/reader.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "agent/journal/seal.hpp"
#include "agent/journal/sqlite/database.hpp"

namespace laird::journal {
namespace {

constexpr std::size_t kCommandsMax = 100'000;

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

// The log is a header of 32 bytes, then frames of 24 bytes and a page each.
bool ends_inside_a_frame(const std::string& log_path, std::int64_t page_bytes) {
  const std::int64_t size = size_of(log_path);
  return size > 0 && (size < 32 || (size - 32) % (24 + page_bytes) != 0);
}

// How many bytes the file lacks by its own header: page size (offset 16) times page count (28).
std::int64_t missing_bytes(const std::string& path, std::int64_t& page_bytes) {
  std::array<unsigned char, 32> header{};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) return 0;
  if (std::fread(header.data(), 1, header.size(), file.get()) < header.size()) return 0;
  std::int64_t page = header[16] * 256 + header[17];
  if (page == 1) page = 65536;
  if (page >= 512) page_bytes = page;
  std::int64_t pages = 0;
  for (int i = 28; i < 32; ++i) pages = pages * 256 + header[static_cast<std::size_t>(i)];
  return std::max<std::int64_t>(0, page * pages - size_of(path));
}

}  // namespace

struct Reader::Impl {
  std::string path;
  std::unique_ptr<Database> db;
  Statement events;
  Statement outcomes;
  core::State first_state;
  std::int64_t format = kFormat;
  std::uint64_t first_seq = 0;
  std::uint64_t next_seq = 0;
  std::string damage;
  bool can_go_on = true;
  bool ended = false;

  void note(std::string what) {
    if (can_go_on) damage = std::move(what);
    can_go_on = false;
  }

  // A file shorter than its header says is whole if the log still holds the rest: a kill inside
  // SQLite's checkpoint leaves it so. Without a log, or when the two do not fit, it was cut.
  Status open_best() {
    std::int64_t page_bytes = 4096;
    const std::string log = path + "-wal";
    const std::int64_t missing = missing_bytes(path, page_bytes);
    const bool has_log = size_of(log) > 0;
    const std::string cut = "cut: " + std::to_string(missing) + " bytes at its end are missing";
    Error plain{Code::kCorrupt, ""};
    if (missing == 0 || has_log) {
      Status began = begin(OpenMode::kRead);
      if (began && missing > 0 && !db->checks_out()) note(cut);
      if (began && can_go_on && ends_inside_a_frame(log, page_bytes)) {
        damage = "its write-ahead log ends inside a write; what was being written is lost";
      }
      if (began || began.error().code == Code::kInvalid) return began;
      plain = began.error();
    }
    if (missing > 0) note(cut);
    if (has_log) {
      note("its write-ahead log, " + std::to_string(size_of(log)) +
           " bytes, cannot be read; what is in it is missing here (" + plain.context + ")");
    }
    const Status began = begin(OpenMode::kSalvage);
    if (began || began.error().code == Code::kInvalid) return began;
    return fail(Code::kCorrupt,
                path + " holds nothing that can be read: " +
                    (plain.context.empty() ? began.error().context : plain.context));
  }

  Status begin(OpenMode mode) {
    Result<std::unique_ptr<Database>> opened = Database::open(path, mode);
    LAIRD_TRY(opened);
    db = std::move(*opened);
    LAIRD_TRY(read_format());
    LAIRD_TRY(load_snapshot("SELECT seq, body FROM snapshot ORDER BY seq LIMIT 1"));
    return {};
  }

  // Before anything else: a snapshot of another format does not decode, which is not damage.
  Status read_format() {
    Result<Statement> meta = db->prepare("SELECT value FROM meta WHERE key = 'format'");
    if (!meta) return {};  // what is left of a damaged file may still hold its events
    const Result<bool> row = meta->step();
    if (!row || !*row) return {};
    format = meta->integer(0);
    if (format >= kFormatOldest && format <= kFormat) return {};
    return fail(Code::kInvalid, path + " has journal format " + std::to_string(format) +
                                    ", this program reads " + std::to_string(kFormatOldest) +
                                    " to " + std::to_string(kFormat) + "; use its own release");
  }

  // Prepares reading from the snapshot that the query yields.
  Status load_snapshot(const char* sql) {
    Result<Statement> snapshot = db->prepare(sql);
    LAIRD_TRY(snapshot);
    const Result<bool> row = snapshot->step();
    LAIRD_TRY(row);
    if (!*row) return fail(Code::kCorrupt, path + ": it holds no snapshot");
    const auto seq = static_cast<std::uint64_t>(snapshot->integer(0));
    const std::optional<std::string_view> body = unsealed(snapshot->bytes(1), seq);
    if (!body) return fail(Code::kCorrupt, path + ": its snapshot is damaged");
    Result<core::State> state = core::decode_state(*body, format);
    if (!state) return fail(Code::kCorrupt, path + ": " + state.error().context);
    Result<Statement> all = db->prepare("SELECT seq, body FROM event WHERE seq >= ? ORDER BY seq");
    LAIRD_TRY(all);
    Result<Statement> one = db->prepare("SELECT commands, state_hash FROM outcome WHERE seq = ?");
    LAIRD_TRY(one);
    first_state = std::move(*state);
    first_seq = seq;
    next_seq = seq;
    events = std::move(*all);
    events.bind(1, static_cast<std::int64_t>(seq));
    outcomes = std::move(*one);
    return {};
  }

  void read_outcome(Record& record) {
    outcomes.bind(1, static_cast<std::int64_t>(record.seq));
    const Result<bool> row = outcomes.step();
    if (!row || !*row) return;
    record.state_hash = static_cast<std::uint64_t>(outcomes.integer(1));
    const auto commands = unsealed(outcomes.bytes(0), record.seq ^ record.state_hash);
    if (commands) {
      record.commands = *commands;
      record.has_outcome = true;
    } else {
      note("damaged in its answers from event " + std::to_string(record.seq) + " on");
    }
    outcomes.reset();
  }

  std::optional<Record> next() {
    if (ended) return std::nullopt;
    const std::string last = next_seq == first_seq ? "before its first event"
                                                   : "after event " + std::to_string(next_seq - 1);
    const Result<bool> row = events.step();
    if (!row || !*row) {
      ended = true;
      if (!row) note("damaged " + last + "; what came later is lost (" + row.error().context + ")");
      return std::nullopt;
    }
    Record record;
    record.seq = static_cast<std::uint64_t>(events.integer(0));
    const auto body = unsealed(events.bytes(1), record.seq);
    Archive ar = Archive::reader(body.value_or(""), format);
    if (body) ar(record.event);
    if (record.seq != next_seq || !body || ar.failed() || !ar.at_end()) {
      ended = true;
      note("damaged " + last + "; what came later is lost (" +
           (record.seq != next_seq ? "an event is missing)" : "an event does not decode)"));
      return std::nullopt;
    }
    ++next_seq;
    read_outcome(record);
    return record;
  }
};

std::optional<core::Effects> commands_of(const Record& record) {
  core::Effects out;
  Archive ar = Archive::reader(record.commands);
  ar.sequence(out, kCommandsMax);
  if (ar.failed() || !ar.at_end()) return std::nullopt;
  return out;
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::~Reader() = default;

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return fail(Code::kNotFound, "no journal at " + path);
  }
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  LAIRD_TRY(impl->open_best());
  return std::unique_ptr<Reader>(new Reader(std::move(impl)));
}

bool is_only_begun(const std::string& path) {
  Result<std::unique_ptr<Database>> db = Database::open(path, OpenMode::kRead);
  if (!db || !(*db)->checks_out()) return false;
  const auto any = [&db](const char* sql) -> Result<bool> {
    Result<Statement> rows = (*db)->prepare(sql);
    LAIRD_TRY(rows);
    return rows->step();
  };
  const Result<bool> table = any("SELECT 1 FROM sqlite_master WHERE name = 'snapshot'");
  if (!table || !*table) return table.has_value();
  const Result<bool> row = any("SELECT 1 FROM snapshot LIMIT 1");
  return row && !*row;
}

core::State Reader::take_first_state() { return std::move(impl_->first_state); }

Status Reader::skip_to_newest_snapshot() {
  return impl_->load_snapshot("SELECT seq, body FROM snapshot ORDER BY seq DESC LIMIT 1");
}

std::optional<Record> Reader::next() { return impl_->next(); }
const std::string& Reader::damage() const { return impl_->damage; }
bool Reader::can_go_on() const { return impl_->can_go_on; }
std::int64_t Reader::format() const { return impl_->format; }
std::uint64_t Reader::first_seq() const { return impl_->first_seq; }
const std::string& Reader::path() const { return impl_->path; }

std::string Reader::meta(const char* key) {
  Result<Statement> value = impl_->db->prepare("SELECT value FROM meta WHERE key = ?");
  if (!value) return "";
  value->bind(1, std::string_view(key));
  const Result<bool> row = value->step();
  return row && *row ? std::string(value->bytes(0)) : "";
}

}  // namespace laird::journal
