// A board's root folder on another machine, before it is flashed: what is in it, and whether it may
// be changed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird::control {

// A file of a root folder is read up to here; dpkg's list of a thousand packages takes about 1 MB.
inline constexpr std::size_t kRootfsFileMax = std::size_t{64} * 1024 * 1024;

struct InstalledPackage {
  std::string status;  // "install ok installed"
  std::string version;
  std::string architecture;
};

// Name to package, of dpkg's file var/lib/dpkg/status. Of packages that are there for several
// architectures the one of `architecture` counts; with "" the first.
[[nodiscard]] std::map<std::string, InstalledPackage, std::less<>> parse_dpkg_status(
    std::string_view text, std::string_view architecture);

// True when dpkg calls the package installed: also while another package's trigger has yet to run.
[[nodiscard]] bool is_installed(const InstalledPackage& package);

// The first mount point below a folder in the text of /proc/self/mountinfo; "" for none.
[[nodiscard]] std::string mounted_below(std::string_view mountinfo, std::string_view folder);

struct Rootfs {
  std::string path;  // absolute, without links
  std::string architecture;
  std::map<std::string, InstalledPackage, std::less<>> packages;
  bool first_boot_dialogue = false;  // NVIDIA's dialogue stands before every other service
  bool holds_identity = false;       // a board's own key or config is in it
};

// Refuses this machine's own root, a folder that is no root of a Debian or Ubuntu, and one with
// something mounted below it.
[[nodiscard]] Result<Rootfs> open_rootfs(const std::string& path);

// Refuses a folder of the root that is a link out of it: what is written there would change this
// machine. `folder` need not exist.
[[nodiscard]] Status stays_inside(const Rootfs& rootfs, const std::string& folder);

}  // namespace laird::control
