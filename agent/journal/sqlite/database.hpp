// SQLite behind values: statements and errors without exceptions or raw handles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/archive.hpp"
#include "base/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace laird::journal {

class Database;

// A prepared statement. Bind from 1, step, read columns from 0, reset by stepping again.
class Statement {
 public:
  Statement() = default;
  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, std::string_view text);
  // The bytes are not copied: they stay until the statement has run.
  Statement& bind(int at, const Bytes& blob);
  // True: a row is there. False: no more rows; the statement is reset and can run again.
  [[nodiscard]] Result<bool> step();
  // Runs a statement that yields no rows.
  [[nodiscard]] Status run();
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  // Valid until the next step.
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* stmt) const;
  };
  Statement(Database* db, sqlite3_stmt* stmt) : db_(db), stmt_(stmt) {}
  Database* db_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
};

enum class OpenMode : std::uint8_t {
  kWrite,    // create if absent
  kRead,     // leave the file and its folder as they are
  kSalvage,  // read what is left of a damaged file
};

class Database {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::string& path,
                                                              OpenMode mode);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] Status run(const char* sql);
  [[nodiscard]] Result<Statement> prepare(const char* sql);
  // SQLite may end a transaction by itself, on a full disk for one, so it is asked each time.
  [[nodiscard]] bool in_transaction() const;
  // Whether every page the file should have is there and makes sense. Reads all of it.
  [[nodiscard]] bool checks_out();
  // Forces what was committed onto the disk. A disk that once failed to confirm is not believed
  // when it confirms the same bytes later: the kernel forgets what it could not write. From then on
  // the log is copied into the database file, which is confirmed anew, before this succeeds.
  [[nodiscard]] Status sync();
  // What the file was created with.
  [[nodiscard]] std::int64_t page_bytes();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] tl::unexpected<Error> error(std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  Database(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  [[nodiscard]] bool sync_log();
  [[nodiscard]] bool move_log_into_file();

  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
  bool doubted_ = false;  // the disk has failed to confirm the log as it is
};

}  // namespace laird::journal
