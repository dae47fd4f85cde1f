// Puts laird's package into a board's root folder, from another machine: without changing the root
// to it, without emulation, and without changing this machine.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "control/provision/board_package.hpp"
#include "control/provision/rootfs.hpp"

namespace laird::control {

// What is still to be done; nothing when the root folder has it all.
struct RootfsPlan {
  bool install = false;
  std::vector<std::string> enable;  // units
  std::string join;  // the folder of `lairctl join image` that is to be copied in; empty: none

  [[nodiscard]] bool empty() const { return !install && enable.empty() && join.empty(); }
};

// What starts with every board.
inline constexpr std::string_view kAlwaysUnits[] = {"laird.service", "laird-cell.socket"};
// How the boards of an image ask for their place: the units, and the files with what they hold.
inline constexpr const char* kJoinUnits[] = {"laird-join.service", "laird-join-install.path"};
// How the boards get other versions of the package when an operator says so.
inline constexpr const char* kUpgradeUnits[] = {"laird-upgrade.path", "laird-upgrade-back.service"};
// What a folder of `lairctl join image` holds, by name. Refuses one that holds less than that
// makes, or more.
[[nodiscard]] Result<std::map<std::string, std::string>> join_files(const std::string& folder);
// Refuses such a folder too, and a root folder with a board's config in it, whose boards would
// never ask.
[[nodiscard]] Status check_join(const Rootfs& rootfs, const std::string& folder);

// Refuses a package of another architecture, one that needs what the root folder does not have, and
// a root folder whose links would lead the package's files out of it.
[[nodiscard]] Status check_fits(const Rootfs& rootfs, const BoardPackage& package);

// `units` are those that start when the board does.
[[nodiscard]] Result<RootfsPlan> plan_install(const Rootfs& rootfs, const BoardPackage& package,
                                              const std::vector<std::string>& units,
                                              const std::string& join = {});

[[nodiscard]] Status apply_plan(const Rootfs& rootfs, const BoardPackage& package,
                                const RootfsPlan& plan);

// What differs from an installed package: changed or missing files, units that do not start, wrong
// folders. Empty when nothing does.
[[nodiscard]] Result<std::vector<std::string>> verify_rootfs(const Rootfs& rootfs);

// Purges the package. The users stay: files of a later installation must find the same numbers.
[[nodiscard]] Status undo_install(const Rootfs& rootfs);

}  // namespace laird::control
