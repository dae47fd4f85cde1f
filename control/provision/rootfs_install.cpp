#include "control/provision/rootfs_install.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "config/schema.hpp"
#include "control/provision/host_program.hpp"
#include "os/whole_file.hpp"

namespace laird::control {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDpkg = "/usr/bin/dpkg";

// The target whose start starts a unit, as the unit's own [Install] section says.
struct WantedUnit {
  const char* unit;
  const char* target;
};
constexpr std::array<WantedUnit, 7> kWanted = {
    {{"laird.service", "multi-user.target"},
     {"laird-cell.socket", "sockets.target"},
     {"laird-priv.socket", "sockets.target"},
     {"laird-join.service", "multi-user.target"},
     {"laird-join-install.path", "multi-user.target"},
     {"laird-upgrade.path", "multi-user.target"},
     {"laird-upgrade-back.service", "multi-user.target"}}};

struct JoinFile {
  const char* name;
  mode_t mode;
};
constexpr std::array<JoinFile, 4> kJoinFiles = {
    {{"ca.crt", 0644}, {"join.crt", 0644}, {"join.key", 0640}, {"join.json", 0644}}};
constexpr const char* kJoinFolder = "/etc/laird/join";

std::string wants_folder(const Rootfs& rootfs, const WantedUnit& wanted) {
  return rootfs.path + "/etc/systemd/system/" + wanted.target + ".wants";
}

std::string unit_file(const WantedUnit& wanted) {
  return std::string("/usr/lib/systemd/system/") + wanted.unit;
}

// dpkg with its log and its scripts in the root folder. Without --no-triggers it would run the
// trigger scripts of the board's other packages on this machine. The last option undoes what this
// machine's own configuration of dpkg may leave out of packages.
std::vector<std::string> dpkg_command(const Rootfs& rootfs) {
  return {kDpkg,
          "--root=" + rootfs.path,
          "--force-architecture",
          "--force-script-chrootless",
          "--no-triggers",
          "--log=" + rootfs.path + "/var/log/dpkg.log",
          "--path-include=*"};
}

Status run_dpkg(const Rootfs& rootfs, std::initializer_list<std::string> more) {
  std::vector<std::string> argv = dpkg_command(rootfs);
  argv.insert(argv.end(), more);
  const auto ran = run_host_program(argv);
  LAIRD_TRY(ran);
  if (ran->code == 0) return {};
  return fail(Code::kIo, "dpkg failed; what it said:\n" + ran->output + ran->messages);
}

Result<bool> at_least(const std::string& version, const std::string& least) {
  const auto ran = run_host_program({kDpkg, "--compare-versions", version, "ge", least});
  LAIRD_TRY(ran);
  return ran->code == 0;
}

// "" when the dependency is there, else what is wrong with it.
Result<std::string> lacks(const Rootfs& rootfs, const Dependency& wanted) {
  const auto found = rootfs.packages.find(wanted.name);
  if (found == rootfs.packages.end() || !is_installed(found->second)) {
    return wanted.name + " is not installed there";
  }
  if (wanted.least.empty()) return std::string();
  const auto enough = at_least(found->second.version, wanted.least);
  LAIRD_TRY(enough);
  if (*enough) return std::string();
  return wanted.name + " " + found->second.version + " is too old, at least " + wanted.least +
         " is needed";
}

Status check_depends(const Rootfs& rootfs, const BoardPackage& package) {
  for (const std::vector<Dependency>& choices : package.depends) {
    std::string why;
    bool there = false;
    for (const Dependency& choice : choices) {
      const auto missing = lacks(rootfs, choice);
      LAIRD_TRY(missing);
      there = there || missing->empty();
      if (why.empty()) why = *missing;
    }
    if (!there) return fail(Code::kRefused, rootfs.path + ": " + why);
  }
  return {};
}

bool is_enabled(const Rootfs& rootfs, const WantedUnit& wanted) {
  std::error_code failed;
  const fs::path to = fs::read_symlink(wants_folder(rootfs, wanted) + "/" + wanted.unit, failed);
  return !failed && (to == unit_file(wanted) || to == unit_file(wanted).substr(4));
}

Status enable(const Rootfs& rootfs, const WantedUnit& wanted) {
  const std::string folder = wants_folder(rootfs, wanted);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fail(Code::kIo, folder + ": " + failed.message());
  const std::string link = folder + "/" + wanted.unit;
  fs::remove(link, failed);
  fs::create_symlink(unit_file(wanted), link, failed);
  if (failed) return fail(Code::kIo, link + ": " + failed.message());
  return {};
}

std::string installed_control_file(const Rootfs& rootfs, const std::string& name) {
  const auto text =
      config::read_file(rootfs.path + "/var/lib/dpkg/info/laird." + name, kRootfsFileMax);
  return text ? *text : std::string();
}

// Whether the root folder has this very package, not only one of its version.
Result<bool> has_same(const Rootfs& rootfs, const BoardPackage& package) {
  const auto found = rootfs.packages.find("laird");
  if (found == rootfs.packages.end() || !is_installed(found->second) ||
      found->second.version != package.version) {
    return false;
  }
  for (const char* name : {"md5sums", "postinst", "prerm", "postrm"}) {
    const auto ours = control_file(package.file, name);
    LAIRD_TRY(ours);
    if (*ours != installed_control_file(rootfs, name)) return false;
  }
  return true;
}

Result<std::vector<std::string>> changed_files(const Rootfs& rootfs) {
  const auto ran = run_host_program({kDpkg, "--root=" + rootfs.path, "--verify", "laird"});
  LAIRD_TRY(ran);
  auto out = parse_verify(ran->output);
  LAIRD_TRY(out);
  std::erase_if(*out, [&](const std::string& path) {
    struct stat info {};
    return is_documentation(path) && ::lstat((rootfs.path + path).c_str(), &info) != 0;
  });
  return out;
}

void check_folder(const Rootfs& rootfs, const std::string& folder, std::vector<std::string>& out) {
  struct stat found {};
  if (::lstat((rootfs.path + folder).c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    out.push_back(folder + " is no folder");
  } else if ((found.st_mode & 07777) != 0750) {
    out.push_back(folder + " does not have the mode 0750");
  }
}

void check_users(const Rootfs& rootfs, std::vector<std::string>& out) {
  const auto users = config::read_file(rootfs.path + "/etc/passwd", kRootfsFileMax);
  for (const char* user : {"laird", "laird-trainer"}) {
    const std::string entry = std::string("\n") + user + ":";
    if (!users || ("\n" + *users).find(entry) == std::string::npos) {
      out.push_back(std::string("/etc/passwd has no user ") + user);
    }
  }
}

// The number of the group laird in the root folder's own file.
Result<gid_t> group_there(const Rootfs& rootfs) {
  const auto groups = config::read_file(rootfs.path + "/etc/group", kRootfsFileMax);
  LAIRD_TRY(groups);
  const std::string text = "\n" + *groups;
  const std::size_t at = text.find("\nlaird:");
  const std::size_t number = at == std::string::npos ? at : text.find(':', at + 7);
  if (number == std::string::npos) {
    return fail(Code::kCorrupt, rootfs.path + "/etc/group has no group laird");
  }
  return static_cast<gid_t>(std::strtoul(text.c_str() + number + 1, nullptr, 10));
}

bool has_join(const Rootfs& rootfs, const std::string& join) {
  const auto group = group_there(rootfs);
  if (!group) return false;
  for (const JoinFile& file : kJoinFiles) {
    const std::string path = rootfs.path + kJoinFolder + "/" + file.name;
    const auto wanted = config::read_file(join + "/" + file.name, kRootfsFileMax);
    const auto found = config::read_file(path, kRootfsFileMax);
    struct stat info {};
    if (!wanted || !found || *wanted != *found || ::stat(path.c_str(), &info) != 0 ||
        (info.st_mode & 07777) != file.mode || info.st_gid != *group) {
      return false;
    }
  }
  return true;
}

Status put_join(const Rootfs& rootfs, const std::string& join) {
  const auto group = group_there(rootfs);
  LAIRD_TRY(group);
  const std::string folder = rootfs.path + kJoinFolder;
  if (::mkdir(folder.c_str(), 0750) != 0 && errno != EEXIST) {
    return fail_errno(errno, "make " + folder);
  }
  if (::chown(folder.c_str(), 0, *group) != 0 || ::chmod(folder.c_str(), 0750) != 0) {
    return fail_errno(errno, folder);
  }
  for (const JoinFile& file : kJoinFiles) {
    const auto content = config::read_file(join + "/" + file.name, kRootfsFileMax);
    LAIRD_TRY(content);
    const std::string path = folder + "/" + file.name;
    const std::string staged = path + ".new";
    LAIRD_TRY(write_whole_file(staged, *content, {.mode = 0600}));
    if (::chown(staged.c_str(), 0, *group) != 0 || ::chmod(staged.c_str(), file.mode) != 0 ||
        ::rename(staged.c_str(), path.c_str()) != 0) {
      return fail_errno(errno, "put " + path);
    }
  }
  return {};
}

}  // namespace

Result<std::map<std::string, std::string>> join_files(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const JoinFile& file : kJoinFiles) {
    auto content = config::read_file(folder + "/" + file.name, kRootfsFileMax);
    LAIRD_TRY(content);
    out[file.name] = std::move(*content);
  }
  // A folder of certificates given by mistake would bring the fleet's keys into every image.
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool known = std::any_of(kJoinFiles.begin(), kJoinFiles.end(),
                                   [&](const JoinFile& file) { return name == file.name; });
    if (!known) {
      return fail(Code::kRefused, folder + " holds " + name +
                                      ", which is nothing of an image's; lairctl join image makes "
                                      "the folder");
    }
  }
  return out;
}

Status check_join(const Rootfs& rootfs, const std::string& folder) {
  LAIRD_TRY(join_files(folder));
  LAIRD_TRY(stays_inside(rootfs, "etc/laird/join"));
  if (!rootfs.holds_identity) return {};
  return fail(Code::kRefused, rootfs.path +
                                  "/etc/laird holds a board's config or key: its boards "
                                  "would not ask; remove laird.json and tls/ there");
}

Status check_fits(const Rootfs& rootfs, const BoardPackage& package) {
  if (package.architecture != rootfs.architecture) {
    return fail(Code::kRefused, package.file + " is for " + package.architecture + ", " +
                                    rootfs.path + " is a system for " + rootfs.architecture);
  }
  LAIRD_TRY(check_depends(rootfs, package));
  for (const std::string& folder : package.folders) LAIRD_TRY(stays_inside(rootfs, folder));
  for (const char* folder : {"etc/laird/tls", "var/lib/laird", "etc/systemd/system"}) {
    LAIRD_TRY(stays_inside(rootfs, folder));
  }
  return {};
}

Result<RootfsPlan> plan_install(const Rootfs& rootfs, const BoardPackage& package,
                                const std::vector<std::string>& units, const std::string& join) {
  RootfsPlan plan;
  if (!join.empty() && !has_join(rootfs, join)) plan.join = join;
  const auto same = has_same(rootfs, package);
  LAIRD_TRY(same);
  plan.install = !*same;
  if (*same) {
    const auto changed = changed_files(rootfs);
    LAIRD_TRY(changed);
    plan.install = !changed->empty();
  }
  for (const WantedUnit& wanted : kWanted) {
    const bool asked = std::find(units.begin(), units.end(), wanted.unit) != units.end();
    if (asked && !is_enabled(rootfs, wanted)) plan.enable.emplace_back(wanted.unit);
  }
  return plan;
}

Status apply_plan(const Rootfs& rootfs, const BoardPackage& package, const RootfsPlan& plan) {
  if (plan.install) LAIRD_TRY(run_dpkg(rootfs, {"--install", package.file}));
  for (const WantedUnit& wanted : kWanted) {
    for (const std::string& unit : plan.enable) {
      if (unit == wanted.unit) LAIRD_TRY(enable(rootfs, wanted));
    }
  }
  if (!plan.join.empty()) LAIRD_TRY(put_join(rootfs, plan.join));
  // The folder is copied into an image next, perhaps by a tool that reads the disk.
  ::sync();
  return {};
}

Result<std::vector<std::string>> verify_rootfs(const Rootfs& rootfs) {
  const auto found = rootfs.packages.find("laird");
  if (found == rootfs.packages.end() || !is_installed(found->second)) {
    return std::vector<std::string>{"laird is not installed"};
  }
  const auto changed = changed_files(rootfs);
  LAIRD_TRY(changed);
  std::vector<std::string> out;
  for (const std::string& path : *changed) {
    out.push_back(path + " differs from the package, or is gone");
  }
  for (const char* folder : {"/etc/laird", "/etc/laird/tls", "/var/lib/laird"}) {
    check_folder(rootfs, folder, out);
  }
  check_users(rootfs, out);
  for (const WantedUnit& wanted : kWanted) {
    const bool always = std::find(std::begin(kAlwaysUnits), std::end(kAlwaysUnits),
                                  std::string_view(wanted.unit)) != std::end(kAlwaysUnits);
    if (always && !is_enabled(rootfs, wanted)) {
      out.push_back(std::string(wanted.unit) + " does not start with the board");
    }
  }
  return out;
}

Status undo_install(const Rootfs& rootfs) {
  if (rootfs.packages.contains("laird")) LAIRD_TRY(run_dpkg(rootfs, {"--purge", "laird"}));
  for (const WantedUnit& wanted : kWanted) {
    std::error_code ignored;
    fs::remove(wants_folder(rootfs, wanted) + "/" + wanted.unit, ignored);
    ::rmdir(wants_folder(rootfs, wanted).c_str());  // one that holds another's unit stays
  }
  // What an image brought for asking is nobody's identity.
  for (const JoinFile& file : kJoinFiles) {
    std::error_code ignored;
    fs::remove(rootfs.path + kJoinFolder + "/" + file.name, ignored);
  }
  ::rmdir((rootfs.path + kJoinFolder).c_str());
  ::rmdir((rootfs.path + "/etc/laird").c_str());
  return {};
}

}  // namespace laird::control
