// The only file that names sqlite3.
#include "agent/journal/sqlite/database.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

namespace laird::journal {
namespace {

Code code_of(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL: return Code::kFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Code::kCorrupt;
    case SQLITE_CANTOPEN: return Code::kNotFound;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH: return Code::kPermission;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Code::kUnavailable;
    default: return Code::kIo;
  }
}

// Inside a URI '?', '#' and '%' would end or change the path.
std::string uri_of(const std::string& path, std::string_view query) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      const auto u = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[u >> 4];
      out += kHex[u & 15];
    } else {
      out += c;
    }
  }
  return out + "?" + std::string(query);
}

bool has_log(const std::string& path) {
  struct stat info {};
  return ::stat((path + "-wal").c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* stmt) const { sqlite3_finalize(stmt); }
void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Statement& Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(stmt_.get(), at, value);
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text(stmt_.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int at, const Bytes& blob) {
  // A null pointer would bind NULL, not an empty blob.
  const void* data = blob.empty() ? static_cast<const void*>("") : blob.data();
  sqlite3_bind_blob(stmt_.get(), at, data, static_cast<int>(blob.size()), SQLITE_STATIC);
  return *this;
}

Result<bool> Statement::step() {
  switch (sqlite3_step(stmt_.get())) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: sqlite3_reset(stmt_.get()); return false;
    default: {
      const auto failed = db_->error("reading or writing");
      sqlite3_reset(stmt_.get());
      return failed;
    }
  }
}

Status Statement::run() {
  const Result<bool> row = step();
  LAIRD_TRY(row);
  if (*row) sqlite3_reset(stmt_.get());
  return {};
}

void Statement::reset() { sqlite3_reset(stmt_.get()); }

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(stmt_.get(), column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(stmt_.get(), column);
  const int size = sqlite3_column_bytes(stmt_.get(), column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, OpenMode mode) {
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                    (mode == OpenMode::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                              : SQLITE_OPEN_READONLY);
  // Without a log beside it nobody writes the file, and SQLite need not make one to read it.
  const bool quiet = mode == OpenMode::kSalvage || (mode == OpenMode::kRead && !has_log(path));
  const std::string uri = uri_of(path, quiet ? "immutable=1" : "cache=private");
  const int rc = sqlite3_open_v2(uri.c_str(), &raw, flags, nullptr);
  std::unique_ptr<Database> db(new Database(raw, path));
  if (rc != SQLITE_OK) return db->error("opening");
  sqlite3_busy_timeout(raw, 2000);
  // A hostile file must not make us run its triggers or views as trusted code.
  LAIRD_TRY(db->run("PRAGMA trusted_schema=OFF"));
  // Tells SQLite to go on with a file that is shorter than its header says.
  if (mode == OpenMode::kSalvage) {
    LAIRD_TRY(db->run("PRAGMA writable_schema=ON"));
  }
  return db;
}

Status Database::run(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error(sql);
  return {};
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr) !=
      SQLITE_OK) {
    return error("preparing a statement");
  }
  return Statement(this, raw);
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

bool Database::checks_out() {
  Result<Statement> check = prepare("PRAGMA quick_check(1)");
  if (!check) return false;
  const Result<bool> row = check->step();
  return row && *row && check->bytes(0) == "ok";
}

Status Database::sync() {
  if (doubted_) {
    doubted_ = !move_log_into_file();
  } else {
    doubted_ = !sync_log();
  }
  if (!doubted_) return {};
  return fail(Code::kIo, path_ + ": the disk did not confirm a write");
}

bool Database::sync_log() {
  sqlite3_file* log = nullptr;
  const int rc = sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (rc != SQLITE_OK || log == nullptr || log->pMethods == nullptr) return true;
  return log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

// Pages that are written anew are dirty anew, so the word of the disk on them is worth something.
bool Database::move_log_into_file() {
  return sqlite3_wal_checkpoint_v2(db_.get(), "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                                   nullptr) == SQLITE_OK;
}

std::int64_t Database::page_bytes() {
  Result<Statement> asked = prepare("PRAGMA page_size");
  if (!asked) return 0;
  const Result<bool> row = asked->step();
  return row && *row ? asked->integer(0) : 0;
}

tl::unexpected<Error> Database::error(std::string_view doing) const {
  const int rc = sqlite3_extended_errcode(db_.get());
  return fail(code_of(rc), path_ + ": " + std::string(doing) + ": " + sqlite3_errmsg(db_.get()));
}

}  // namespace laird::journal
