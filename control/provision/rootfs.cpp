#include "control/provision/rootfs.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "config/schema.hpp"

namespace laird::control {
namespace {

namespace fs = std::filesystem;

// Calls `take` with each line, without its end.
template <class Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// mountinfo writes a blank as \040: a backslash and three octal digits.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      const int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out += static_cast<char>(value);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_this_machines_root(const std::string& path) {
  struct stat here {};
  struct stat there {};
  if (::stat("/", &here) != 0 || ::stat(path.c_str(), &there) != 0) return true;
  return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool waits_in_dialogue(const std::string& root) {
  std::error_code failed;
  const fs::path to = fs::read_symlink(root + "/etc/systemd/system/default.target", failed);
  return !failed && to.filename() == "nv-oem-config.target";
}

Status check_nothing_mounted(const std::string& root) {
  const auto mounts = config::read_file("/proc/self/mountinfo", kRootfsFileMax);
  LAIRD_TRY(mounts);
  const std::string mount = mounted_below(*mounts, root);
  if (mount.empty()) return {};
  return fail(Code::kRefused, mount + " is mounted, so " + root +
                                  " is in use; end what uses it, then: umount " + mount);
}

}  // namespace

std::map<std::string, InstalledPackage, std::less<>> parse_dpkg_status(
    std::string_view text, std::string_view architecture) {
  std::map<std::string, InstalledPackage, std::less<>> out;
  std::string name;
  InstalledPackage package;
  const auto take_package = [&] {
    const bool fits = architecture.empty() || package.architecture == architecture ||
                      package.architecture == "all";
    if (!name.empty() && fits) out.try_emplace(name, package);
    name.clear();
    package = {};
  };
  each_line(text, [&](std::string_view line) {
    const auto value_of = [line](std::string_view key) {
      return line.starts_with(key) ? std::string(line.substr(key.size())) : std::string();
    };
    if (line.empty()) take_package();
    if (auto value = value_of("Package: "); !value.empty()) name = value;
    if (auto value = value_of("Status: "); !value.empty()) package.status = value;
    if (auto value = value_of("Version: "); !value.empty()) package.version = value;
    if (auto value = value_of("Architecture: "); !value.empty()) package.architecture = value;
  });
  take_package();
  return out;
}

bool is_installed(const InstalledPackage& package) {
  return package.status.ends_with(" ok installed") ||
         package.status.ends_with(" ok triggers-awaited") ||
         package.status.ends_with(" ok triggers-pending");
}

std::string mounted_below(std::string_view mountinfo, std::string_view folder) {
  std::string found;
  const std::string below = std::string(folder) + "/";
  each_line(mountinfo, [&](std::string_view line) {
    for (int column = 0; column < 4; ++column) {
      const std::size_t blank = line.find(' ');
      if (blank == std::string_view::npos) return;
      line.remove_prefix(blank + 1);
    }
    const std::string point = unescaped(line.substr(0, line.find(' ')));
    if (found.empty() && point.starts_with(below)) found = point;
  });
  return found;
}

Result<Rootfs> open_rootfs(const std::string& path) {
  std::error_code failed;
  Rootfs rootfs;
  rootfs.path = fs::canonical(path, failed).string();
  if (failed) return fail(Code::kNotFound, path + ": " + failed.message());
  if (is_this_machines_root(rootfs.path)) {
    return fail(Code::kRefused, path +
                                    " is this machine's own root; on a board itself install the "
                                    "package with: sudo apt install ./laird_VERSION_arm64.deb");
  }
  for (const char* part : {"/etc/passwd", "/etc/group", "/var/lib/dpkg/status"}) {
    if (is_there(rootfs.path + part)) continue;
    return fail(Code::kInvalid, path + " is no root folder of a board: it has no " + (part + 1) +
                                    "; give Linux_for_Tegra/rootfs");
  }
  for (const char* part : {"etc", "var/lib/dpkg", "var/log"}) {
    LAIRD_TRY(stays_inside(rootfs, part));
  }
  LAIRD_TRY(check_nothing_mounted(rootfs.path));
  const auto status = config::read_file(rootfs.path + "/var/lib/dpkg/status", kRootfsFileMax);
  LAIRD_TRY(status);
  const auto all = parse_dpkg_status(*status, "");
  const auto dpkg = all.find("dpkg");
  if (dpkg == all.end()) {
    return fail(Code::kInvalid, path + " has no package dpkg, so its architecture is unknown");
  }
  rootfs.architecture = dpkg->second.architecture;
  rootfs.packages = parse_dpkg_status(*status, rootfs.architecture);
  rootfs.first_boot_dialogue = waits_in_dialogue(rootfs.path);
  rootfs.holds_identity = is_there(rootfs.path + "/etc/laird/laird.json") ||
                          is_there(rootfs.path + "/etc/laird/tls/node.key");
  return rootfs;
}

Status stays_inside(const Rootfs& rootfs, const std::string& folder) {
  std::error_code failed;
  const std::string place = fs::weakly_canonical(rootfs.path + "/" + folder, failed).string();
  if (failed) return fail(Code::kRefused, rootfs.path + "/" + folder + ": " + failed.message());
  if (place == rootfs.path || place.starts_with(rootfs.path + "/")) return {};
  return fail(Code::kRefused, rootfs.path + "/" + folder + " is a link to " + place +
                                  " of this machine; in a board's root links must be relative");
}

}  // namespace laird::control
