// What a Debian package file says of itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laird::control {

// One package of a Depends: field.
struct Dependency {
  std::string name;
  std::string least;  // the least version; empty: any

  friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct BoardPackage {
  std::string file;
  std::string name;
  std::string version;
  std::string architecture;
  std::vector<std::vector<Dependency>> depends;  // one of each inner list must be installed
  std::vector<std::string> folders;              // that it puts files into: "usr/bin"
};

// "libc6 (>= 2.27), a | b": an outer entry for each comma, an inner one for each bar.
[[nodiscard]] std::vector<std::vector<Dependency>> parse_depends(std::string_view text);

// The folders in the listing of `dpkg-deb --contents`. A name that leads out of the root is an
// error.
[[nodiscard]] Result<std::vector<std::string>> parse_folders(std::string_view listing);

// Refuses a file that is not a package of laird.
[[nodiscard]] Result<BoardPackage> read_board_package(const std::string& file);

// What a system's dpkg may be told to leave out of packages, to save room (path-exclude): where it
// is missing, another installation would not bring it.
[[nodiscard]] bool is_documentation(std::string_view path);

// The files that differ from the package or are gone, in what `dpkg --verify` says of it. Which of
// the two it is, an older dpkg does not tell.
[[nodiscard]] Result<std::vector<std::string>> parse_verify(std::string_view said);

// A file of the package's control part, such as "md5sums"; empty when it has none of that name.
[[nodiscard]] Result<std::string> control_file(const std::string& file, const std::string& name);

}  // namespace laird::control
