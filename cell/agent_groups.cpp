#include "cell/agent_groups.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd.hpp"

namespace laird::cell {
namespace {

constexpr long kCgroup1 = 0x27e0eb;

// False where this hierarchy is not version 1, or not ours to write.
Result<bool> make_in(const std::string& hierarchy, Owner agent) {
  // May be a link: to cpu,cpuacct.
  const Fd above(::open(hierarchy.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs system {};
  if (!above || ::fstatfs(above.get(), &system) != 0 || system.f_type != kCgroup1) return false;
  if (::mkdirat(above.get(), kAgentGroup, 0755) != 0 && errno != EEXIST) return false;
  const std::string path = hierarchy + "/" + kAgentGroup;
  const Fd group(
      ::openat(above.get(), kAgentGroup, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!group || ::fstat(group.get(), &info) != 0) return fail_errno(errno, "cannot open " + path);
  if (info.st_uid == agent.uid) return true;
  if (info.st_uid != ::geteuid()) {
    return fail(Code::kPermission, path + " belongs to another user; remove that control group");
  }
  if (::fchown(group.get(), agent.uid, agent.gid) != 0) {
    return fail_errno(errno, "cannot give " + path + " to the agent");
  }
  return true;
}

}  // namespace

Result<std::string> make_agent_groups(const std::string& root, Owner agent) {
  std::string out;
  for (const char* controller : {"cpu", "memory", "freezer", "pids"}) {
    const Result<bool> made = make_in(root + "/" + controller, agent);
    LAIRD_TRY(made);
    if (*made) out += (out.empty() ? "" : " ") + std::string(controller);
  }
  return out;
}

}  // namespace laird::cell
