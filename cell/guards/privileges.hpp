// What a process may do beyond its user: capabilities, and which user it is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::cell {

// Who a trainer is.
struct Person {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// Whether this process may act as root in this respect (a number of linux/capability.h).
[[nodiscard]] bool has_capability(int capability);
// Whether it may become another user.
[[nodiscard]] bool may_change_user();
// By name, with the groups that the system's files give it.
[[nodiscard]] std::optional<Person> find_person(const std::string& name);

// No program that is started from here gets a capability, not even root's. Before become().
void limit_capabilities();
// Becomes that person, for good.
[[nodiscard]] Status become(const Person& person);
// Gives up every capability that is left.
void drop_capabilities();

}  // namespace laird::cell
