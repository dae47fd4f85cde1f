// Files that are there whole or not at all, also after a power cut.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird {

// Writes all of it and waits until the disk has it; `path` names the file in errors.
[[nodiscard]] Status write_through(int fd, std::string_view content, const std::string& path);
// So that a name that was made or moved in the folder survives a power cut.
[[nodiscard]] Status sync_folder(const std::string& path);
// Mode 0600, beside its place first, then moved there in one step; its folder is made, mode 0700.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view content);

}  // namespace laird
