// Files that hold secrets: made with tight modes from the first moment, whole or not at all, never
// over something that is there unless told to.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "os/whole_file.hpp"

namespace laird::control {

inline constexpr mode_t kSecretMode = 0600;
inline constexpr mode_t kPublicMode = 0644;

// A folder of mode 0700 and what is above it. One that is there must be ours alone to write.
[[nodiscard]] Status make_private_folder(const std::string& path);

// Written beside its place, synced, then moved there in one step.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content, mode_t mode,
                                IfThere if_there);

// A folder that appears with all its files or not at all. Without commit() nothing is left of it.
class StagedFolder {
 public:
  // `path` is where it will stand.
  [[nodiscard]] static Result<StagedFolder> begin(const std::string& path);
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();

  // Where the files stand until then; subfolders are made with make_private_folder.
  [[nodiscard]] const std::string& path() const { return staged_; }
  [[nodiscard]] Status add(const std::string& name, std::string_view content, mode_t mode) const;
  // Moves it into place. With kReplace what stands there is moved aside first; returns where to, or
  // nothing when there was none.
  [[nodiscard]] Result<std::string> commit(IfThere if_there);

 private:
  StagedFolder(std::string target, std::string staged);

  std::string target_;
  std::string staged_;
};

// Held while the object lives: one lairctl at a time changes a folder.
class FolderGuard {
 public:
  [[nodiscard]] static Result<FolderGuard> lock(const std::string& folder);
  FolderGuard(FolderGuard&& other) noexcept;
  FolderGuard& operator=(FolderGuard&&) = delete;
  ~FolderGuard();

 private:
  explicit FolderGuard(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace laird::control
