// Files that hold secrets. They have tight modes from the first moment, appear whole or not at all,
// and replace an existing file only when told to.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "os/whole_file.hpp"

namespace laird::control {

inline constexpr mode_t kSecretMode = 0600;
inline constexpr mode_t kPublicMode = 0644;

// Makes a folder of mode 0700 and its parents. An existing one must be writable by this user alone.
[[nodiscard]] Status make_private_folder(const std::string& path);

// Writes the file beside its place, syncs it, and moves it into place in one step.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content, mode_t mode,
                                IfThere if_there);

// A folder that appears with all its files or not at all. Without commit() it is removed.
class StagedFolder {
 public:
  // `path` is its final place.
  [[nodiscard]] static Result<StagedFolder> begin(const std::string& path);
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();

  // The place of the files until commit(). Subfolders are made with make_private_folder.
  [[nodiscard]] const std::string& path() const { return staged_; }
  [[nodiscard]] Status add(const std::string& name, std::string_view content, mode_t mode) const;
  // Moves the folder into place. With kReplace an existing one is moved aside first; returns its
  // new path, or nothing when there was none.
  [[nodiscard]] Result<std::string> commit(IfThere if_there);

 private:
  StagedFolder(std::string target, std::string staged);

  std::string target_;
  std::string staged_;
};

// A lock, held while the object lives, so that only one lairctl at a time changes a folder.
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
