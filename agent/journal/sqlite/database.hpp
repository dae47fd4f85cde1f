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
  // Forces what was committed to the write-ahead log onto the disk.
  [[nodiscard]] Status sync();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] tl::unexpected<Error> error(std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  Database(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
};

}  // namespace laird::journal
