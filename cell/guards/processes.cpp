#include "cell/guards/processes.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace laird::cell {
namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> out;
  DIR* dir = ::opendir("/proc");
  if (dir == nullptr) return out;
  while (const dirent* entry = ::readdir(dir)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0) out.push_back(pid);
  }
  ::closedir(dir);
  return out;
}

// "pid (name) state parent ...": the name may hold anything, so from its last bracket.
pid_t parent_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return 0;
  char state = 0;
  int parent = 0;
  return std::sscanf(line.c_str() + end + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

std::uint64_t threads_in(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Threads:")) return std::strtoull(line.c_str() + 8, nullptr, 10);
  }
  return 0;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes()) children.emplace(parent_of(pid), pid);
  std::vector<pid_t> out;
  std::vector<pid_t> open = {ancestor};
  while (!open.empty()) {
    const auto [from, to] = children.equal_range(open.back());
    open.pop_back();
    for (auto at = from; at != to; ++at) {
      out.push_back(at->second);
      open.push_back(at->second);
    }
  }
  return out;
}

std::uint64_t threads_of(uid_t user) {
  std::uint64_t out = 0;
  for (const pid_t pid : all_processes()) {
    struct stat info {};
    const std::string folder = "/proc/" + std::to_string(pid);
    if (::stat(folder.c_str(), &info) == 0 && info.st_uid == user) out += threads_in(pid);
  }
  return out;
}

bool counts_apart(bool own_user_namespace) {
  if (!own_user_namespace) return false;
  utsname system{};
  int major = 0;
  int minor = 0;
  if (::uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &major, &minor) != 2)
    return false;
  return major > 5 || (major == 5 && minor >= 14);
}

}  // namespace laird::cell
