// Files that are there whole or not at all, also after a power cut.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "os/fd.hpp"

namespace laird {

// So that a name that was made or moved in the folder survives a power cut.
[[nodiscard]] Status sync_folder(const std::string& path);

enum class IfThere : bool { kRefuse, kReplace };

struct WholeFileOptions {
  mode_t mode = 0600;
  // Waits until the disk has it. Without, a reader still never sees half a file, but a power cut
  // may lose it.
  bool sync = true;
  IfThere if_there = IfThere::kReplace;
  std::string staged = {};    // where it is written first; empty: the path and ".new"
  std::string previous = {};  // what stands at the path is kept under this one
  // Written first under a name nobody can foresee, for a folder others may write to; the mode is
  // then exactly as given, whatever the umask.
  bool fresh_name = false;
};

// Writes the file beside its place, then moves it there in one step. After a failure nothing is
// left beside it.
[[nodiscard]] Status write_whole_file(const std::string& path, std::string_view content,
                                      const WholeFileOptions& options = {});

// The same for content that comes in pieces: written beside, and in its place after `finish` only.
// Not finished, it leaves nothing.
class StagedFile {
 public:
  [[nodiscard]] static Result<StagedFile> open(const std::string& path, mode_t mode);
  StagedFile(StagedFile&&) noexcept = default;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  [[nodiscard]] Status write(std::string_view content);
  [[nodiscard]] Status finish();

 private:
  StagedFile(std::string path, std::string staged, Fd file)
      : path_(std::move(path)), staged_(std::move(staged)), file_(std::move(file)) {}

  std::string path_;
  std::string staged_;
  Fd file_;
};

// The same with mode 0600; its folder is made, mode 0700.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view content);

}  // namespace laird
