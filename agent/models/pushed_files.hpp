// Files that operators push to this board: data and models, into one folder that counts as a data
// root.
//
// A file comes in pieces, beside its place, and is moved there in one step when the whole of it has
// come, has its hash and is on the disk. An interrupted push goes on where it ended, also after the
// agent began anew. Bytes a second are bounded, and so is all that the folder holds; what takes
// long (reading again what had come, waiting for the disk) is done a little at a time or by a
// process of its own, so that no push keeps the agent from its work.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "agent/models/allowance.hpp"
#include "agent/os/loop.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "json/value.hpp"
#include "os/fd.hpp"

namespace laird::agent {

struct PushedFile {
  std::string model;  // a file of this model; empty: data
  std::string file;   // one plain name
  std::int64_t bytes = 0;
  std::string sha256;  // of the whole file
};

class PushedFiles {
 public:
  // An empty folder: nothing may be pushed to this board.
  PushedFiles(Loop& loop, std::string folder, std::int64_t bytes_max);
  ~PushedFiles();
  PushedFiles(const PushedFiles&) = delete;
  PushedFiles& operator=(const PushedFiles&) = delete;

  // How much of it has come: {"have": n}, or {"done": true}.
  [[nodiscard]] Result<json::Value> ask(const PushedFile& file);
  // The next piece; the answer as for ask(), or {"wait_ms": n} when it is to be sent again later.
  [[nodiscard]] Result<json::Value> take(const PushedFile& file, std::int64_t from,
                                         const std::string& piece);

 private:
  // A file that comes.
  struct Coming {
    Sha256 hash;
    std::int64_t hashed = 0;
    TimeNs used_at = 0;
    pid_t sync = 0;  // the process that waits for the disk
    bool synced = false;
  };

  [[nodiscard]] Status check(const PushedFile& file) const;
  [[nodiscard]] std::string place_of(const PushedFile& file) const;
  [[nodiscard]] std::string staged(const PushedFile& file) const;
  [[nodiscard]] std::string mark_of(const PushedFile& file) const;
  [[nodiscard]] bool is_there(const PushedFile& file) const;
  [[nodiscard]] Status make_folders(const PushedFile& file) const;
  [[nodiscard]] Status check_room(const PushedFile& file) const;
  [[nodiscard]] Coming& coming(const PushedFile& file);
  // Reads on in what had come; true when all of it is in the hash.
  [[nodiscard]] Result<bool> catch_up(Coming& coming, int fd, std::int64_t have) const;
  [[nodiscard]] Result<json::Value> finish(const PushedFile& file, Coming& coming);
  void drop(const PushedFile& file);

  Loop& loop_;
  const std::string folder_;
  const std::int64_t bytes_max_;
  ByteAllowance allowance_;
  std::map<std::string, Coming> coming_;  // by the path where it is staged
};

}  // namespace laird::agent
