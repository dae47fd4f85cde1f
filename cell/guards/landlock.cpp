#include "cell/guards/landlock.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "cell/guards/mounts.hpp"
#include "os/fd.hpp"

namespace laird::cell {
namespace {

// linux/landlock.h and the system calls' numbers, the same on every architecture.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr std::uint32_t kAskVersion = 1;
constexpr int kRulePathBeneath = 1;

struct RulesetAttr {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};
struct __attribute__((packed)) PathBeneathAttr {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};

constexpr std::uint64_t kExecute = 1U << 0;
constexpr std::uint64_t kWriteFile = 1U << 1;
constexpr std::uint64_t kReadFile = 1U << 2;
constexpr std::uint64_t kReadFolder = 1U << 3;
constexpr std::uint64_t kFirstVersion = (1U << 13) - 1;
constexpr std::uint64_t kRefer = 1U << 13;       // version 2
constexpr std::uint64_t kTruncate = 1U << 14;    // version 3
constexpr std::uint64_t kDeviceCall = 1U << 15;  // version 5
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceCall;
constexpr std::uint64_t kScopeAbstractSockets = 1U << 0;  // version 6
constexpr std::uint64_t kScopeSignals = 1U << 1;

std::uint64_t handled_by(int version) {
  std::uint64_t out = kFirstVersion;
  if (version >= 2) out |= kRefer;
  if (version >= 3) out |= kTruncate;
  if (version >= 5) out |= kDeviceCall;
  return out;
}

bool allow(int ruleset, const std::string& path, std::uint64_t access) {
  const Fd at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!at || ::fstat(at.get(), &info) != 0) return true;  // not there: nothing to allow
  if (!S_ISDIR(info.st_mode)) access &= kOfFiles;
  PathBeneathAttr rule;
  rule.allowed_access = access;
  rule.parent_fd = at.get();
  return ::syscall(kAddRule, ruleset, kRulePathBeneath, &rule, 0U) == 0;
}

void collect(const std::string& at, const std::vector<std::string>& hidden, const Entries& entries,
             std::vector<std::string>& out) {
  const auto covers = [&](const std::string& h) { return is_below(at, h); };
  if (std::any_of(hidden.begin(), hidden.end(), covers)) return;
  const auto holds = [&](const std::string& h) { return is_below(h, at); };
  if (std::none_of(hidden.begin(), hidden.end(), holds)) {
    out.push_back(at);
    return;
  }
  for (const std::string& name : entries(at)) {
    collect((at == "/" ? "" : at) + "/" + name, hidden, entries, out);
  }
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(kCreateRuleset, nullptr, std::size_t{0}, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

void confine_paths(const OpenPaths& open, Guards& guards) {
  const int version = landlock_version();
  if (version == 0) return;
  RulesetAttr attr;
  attr.handled_access_fs = handled_by(version);
  if (version >= 6) attr.scoped = kScopeAbstractSockets | kScopeSignals;
  const std::size_t size = version >= 6 ? sizeof attr : version >= 4 ? 16 : 8;
  const Fd ruleset(static_cast<int>(::syscall(kCreateRuleset, &attr, size, 0U)));
  if (!ruleset) return;
  const std::uint64_t read = kExecute | kReadFile | kReadFolder;
  const std::uint64_t device = read | kWriteFile | (attr.handled_access_fs & kDeviceCall);
  bool ok = true;
  for (const std::string& path : open.readable) ok = ok && allow(ruleset.get(), path, read);
  for (const std::string& path : open.devices) ok = ok && allow(ruleset.get(), path, device);
  for (const std::string& path : open.writable) {
    ok = ok && allow(ruleset.get(), path, attr.handled_access_fs);
  }
  if (!ok || ::syscall(kRestrictSelf, ruleset.get(), 0U) != 0) return;
  guards.add(Guard::kPaths);
  if (version >= 6) guards.add(Guard::kSignals);
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> out;
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return out;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  ::closedir(dir);
  return out;
}

std::vector<std::string> all_but(const std::vector<std::string>& hidden, const Entries& entries) {
  std::vector<std::string> out;
  collect("/", hidden, entries, out);
  return out;
}

}  // namespace laird::cell
