// The files of a report: which journals an argument means, and files that are written in pieces.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "os/whole_file.hpp"

namespace laird::control {

// An argument is a journal file, a folder of them, a board's state folder, or a folder of such
// folders. In the natural order of their names.
[[nodiscard]] Result<std::vector<std::string>> journals_of(const std::string& path);

// A file that small pieces are added to; it is in its place after `finish` only.
class PieceFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PieceFile>> open(const std::string& path);
  void add(std::string_view piece);
  // The first error of all that was written, if there was one.
  [[nodiscard]] Status finish();

 private:
  explicit PieceFile(StagedFile file) : file_(std::move(file)) {}

  StagedFile file_;
  std::string held_;
  Status written_;
};

}  // namespace laird::control
