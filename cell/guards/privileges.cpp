#include "cell/guards/privileges.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace laird::cell {
namespace {

constexpr int kCapabilitiesMax = 64;
constexpr int kGroupsOfOneMax = 32;

struct Sets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
};

}  // namespace

bool has_capability(int capability) {
  Sets sets;
  if (::syscall(SYS_capget, &sets.header, sets.data.data()) != 0) return false;
  const auto index = static_cast<std::size_t>(capability / 32);
  return (sets.data.at(index).effective & (1U << (capability % 32))) != 0;
}

bool may_change_user() {
  return has_capability(CAP_SETUID) && has_capability(CAP_SETGID) && has_capability(CAP_CHOWN);
}

std::optional<Person> find_person(const std::string& name) {
  const passwd* found = name.empty() ? nullptr : ::getpwnam(name.c_str());
  if (found == nullptr || found->pw_uid == 0) return std::nullopt;
  Person out{found->pw_uid, found->pw_gid, {}};
  out.groups.resize(kGroupsOfOneMax);
  int count = kGroupsOfOneMax;
  if (::getgrouplist(name.c_str(), out.gid, out.groups.data(), &count) < 0) count = 0;
  out.groups.resize(static_cast<std::size_t>(count));
  return out;
}

Status become(const Person& person) {
  if (::setgroups(person.groups.size(), person.groups.data()) != 0 ||
      ::setresgid(person.gid, person.gid, person.gid) != 0 ||
      ::setresuid(person.uid, person.uid, person.uid) != 0) {
    return fail_errno(errno, "cannot become the trainers' user");
  }
  return {};
}

void limit_capabilities() {
  ::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
  for (int capability = 0; capability < kCapabilitiesMax; ++capability) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
}

void drop_capabilities() {
  Sets none;
  ::syscall(SYS_capset, &none.header, none.data.data());
}

}  // namespace laird::cell
