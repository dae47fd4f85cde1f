#include "agent/os/cgroup.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "config/schema.hpp"

namespace laird::agent {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::string_view kLeaf = "/laird-agent";

bool write_text(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
  if (fd < 0) return false;
  const ssize_t n = ::write(fd, text.data(), text.size());
  ::close(fd);
  return n == static_cast<ssize_t>(text.size());
}

std::vector<int> pids_in(const std::string& group) {
  std::vector<int> out;
  std::ifstream in(group + "/cgroup.procs");
  for (int pid = 0; in >> pid;) out.push_back(pid);
  return out;
}

void kill_pids(const std::string& group) {
  for (const int pid : pids_in(group)) {
    if (pid != ::getpid()) ::kill(pid, SIGKILL);
  }
}

// Finds "<id>:<controllers>:<path>" in the text of /proc/self/cgroup.
std::string path_of(const std::string& self, std::string_view controller) {
  std::istringstream in(self);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    if (controller.empty() && second == first + 1) return line.substr(second + 1);
    for (std::string name; std::getline(names, name, ',');) {
      if (name == controller) return line.substr(second + 1);
    }
  }
  return "";
}

// The number after the key at the beginning of a line of a small file, or the file's only number
// for an empty key; 0 when there is none.
std::uint64_t number_in(const std::string& path, std::string_view key) {
  std::ifstream in(path);
  std::string word;
  std::uint64_t value = 0;
  if (key.empty()) return in >> value ? value : 0;
  while (in >> word >> value) {
    if (word == key) return value;
  }
  return 0;
}

// ---- version 1: a folder per controller ----

constexpr std::array<const char*, 4> kControllers = {"cpu", "memory", "freezer", "pids"};
using Folders = std::array<std::string, kControllers.size()>;

class CgroupV1 final : public Cgroup {
 public:
  explicit CgroupV1(Folders folders) : folders_(std::move(folders)) {}
  ~CgroupV1() override {
    for (const std::string& folder : folders_) {
      if (!folder.empty()) ::rmdir(folder.c_str());
    }
  }

  [[nodiscard]] std::vector<std::string> folders() const override {
    std::vector<std::string> out;
    for (const std::string& folder : folders_) {
      if (!folder.empty()) out.push_back(folder);
    }
    return out;
  }
  bool limit_processes(std::uint64_t most) override {
    return !folders_[3].empty() && write_text(folders_[3] + "/pids.max", std::to_string(most));
  }
  bool limit_cpu(std::uint32_t cpu_milli) override {
    if (folders_[0].empty()) return false;
    const std::int64_t quota = cpu_milli == 0 ? -1 : kPeriodUs * cpu_milli / 1000;
    return write_text(folders_[0] + "/cpu.cfs_period_us", std::to_string(kPeriodUs)) &&
           write_text(folders_[0] + "/cpu.cfs_quota_us", std::to_string(quota));
  }
  bool limit_memory(std::int64_t bytes) override {
    return !folders_[1].empty() &&
           write_text(folders_[1] + "/memory.limit_in_bytes", std::to_string(bytes));
  }
  [[nodiscard]] MemoryUse memory_use() const override {
    if (folders_[1].empty()) return {};
    return {static_cast<std::int64_t>(number_in(folders_[1] + "/memory.max_usage_in_bytes", "")),
            number_in(folders_[1] + "/memory.oom_control", "oom_kill")};
  }
  bool freeze(bool frozen) override {
    return !folders_[2].empty() &&
           write_text(folders_[2] + "/freezer.state", frozen ? "FROZEN" : "THAWED");
  }
  void kill_all() override {
    for (const std::string& folder : folders_) {
      if (!folder.empty()) kill_pids(folder);
    }
    static_cast<void>(freeze(false));  // a frozen process does not die
  }

 private:
  Folders folders_;
};

class TreeV1 final : public CgroupTree {
 public:
  TreeV1(const std::string& root, const std::string& self, const std::string& node) {
    for (std::size_t i = 0; i < kControllers.size(); ++i) {
      const std::string at = root + "/" + kControllers[i];
      // A path that names another namespace's group is not below the mount we see. /laird is the
      // group that root makes for an agent that is not root (cell/agent_groups.hpp).
      for (const std::string& own :
           {path_of(self, kControllers[i]), std::string("/laird"), std::string("/")}) {
        const std::string parent = at + (own == "/" ? "" : own);
        const std::string folder = parent + "/laird-" + node;
        std::error_code error;
        if (!fs::is_directory(parent, error)) continue;
        fs::create_directory(folder, error);
        if (!error && ::access(folder.c_str(), W_OK) == 0) {
          folders_[i] = folder;
          break;
        }
      }
    }
  }
  ~TreeV1() override {
    for (const std::string& folder : folders_) {
      if (!folder.empty()) ::rmdir(folder.c_str());
    }
  }
  [[nodiscard]] bool usable() const {
    return std::any_of(folders_.begin(), folders_.end(),
                       [](const std::string& folder) { return !folder.empty(); });
  }
  std::unique_ptr<Cgroup> create(const std::string& task) override {
    Folders folders;
    for (std::size_t i = 0; i < folders.size(); ++i) {
      if (folders_[i].empty()) continue;
      const std::string folder = folders_[i] + "/" + task;
      if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) folders[i] = folder;
    }
    return std::make_unique<CgroupV1>(std::move(folders));
  }
  std::string describe() const override {
    std::string out = "cgroup v1:";
    for (std::size_t i = 0; i < folders_.size(); ++i) {
      if (!folders_[i].empty()) out += std::string(" ") + kControllers[i];
    }
    return out;
  }
  bool limits_cpu() const override { return !folders_[0].empty(); }
  bool limits_processes() const override { return !folders_[3].empty(); }
  void clear_leftovers() override {
    for (const std::string& folder : folders_) {
      if (folder.empty()) continue;
      std::error_code error;
      for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        if (!entry.is_directory(error)) continue;
        kill_pids(entry.path().string());
        if (folder == folders_[2]) write_text(entry.path().string() + "/freezer.state", "THAWED");
        ::rmdir(entry.path().c_str());
      }
    }
  }

 private:
  Folders folders_;
};

// ---- version 2: one folder, controllers switched on from above ----

constexpr std::array<const char*, 3> kV2Controllers = {"+cpu", "+memory", "+pids"};

// Also what runs as another user, where the kernel can (5.14).
void kill_group(const std::string& folder) {
  if (!write_text(folder + "/cgroup.kill", "1")) kill_pids(folder);
}

class CgroupV2 final : public Cgroup {
 public:
  explicit CgroupV2(std::string folder) : folder_(std::move(folder)) {}
  ~CgroupV2() override { ::rmdir(folder_.c_str()); }
  [[nodiscard]] std::vector<std::string> folders() const override { return {folder_}; }
  bool limit_processes(std::uint64_t most) override {
    return write_text(folder_ + "/pids.max", std::to_string(most));
  }
  bool limit_cpu(std::uint32_t cpu_milli) override {
    const std::string quota = cpu_milli == 0 ? "max" : std::to_string(kPeriodUs * cpu_milli / 1000);
    return write_text(folder_ + "/cpu.max", quota + " " + std::to_string(kPeriodUs));
  }
  bool limit_memory(std::int64_t bytes) override {
    return write_text(folder_ + "/memory.max", std::to_string(bytes));
  }
  [[nodiscard]] MemoryUse memory_use() const override {
    // memory.peak is there since Linux 5.19.
    return {static_cast<std::int64_t>(number_in(folder_ + "/memory.peak", "")),
            number_in(folder_ + "/memory.events", "oom_kill")};
  }
  bool freeze(bool frozen) override {
    return write_text(folder_ + "/cgroup.freeze", frozen ? "1" : "0");
  }
  void kill_all() override { kill_group(folder_); }

 private:
  std::string folder_;
};

class TreeV2 final : public CgroupTree {
 public:
  TreeV2(const std::string& root, const std::string& self, const std::string& node) {
    std::string path = path_of(self, "");
    // An agent that starts anew in place is in the leaf already; its tasks belong beside it.
    if (path.ends_with(kLeaf)) path.resize(path.size() - kLeaf.size());
    const std::string own = root + (path == "/" ? "" : path);
    // A group that hands controllers down may hold no process itself: the agent moves to a leaf.
    std::error_code error;
    const std::string leaf = own + std::string(kLeaf);
    fs::create_directory(leaf, error);
    if (error) return;
    if (own != root) write_text(leaf + "/cgroup.procs", std::to_string(::getpid()));
    for (const char* controller : kV2Controllers) {
      if (write_text(own + "/cgroup.subtree_control", controller))
        controls_ += controller + 1, controls_ += ' ';
    }
    const std::string folder = own + "/laird-" + node;
    fs::create_directory(folder, error);
    if (error || ::access(folder.c_str(), W_OK) != 0) return;
    for (const char* controller : kV2Controllers) {
      write_text(folder + "/cgroup.subtree_control", controller);
    }
    folder_ = folder;
  }
  [[nodiscard]] bool usable() const { return !folder_.empty(); }
  std::unique_ptr<Cgroup> create(const std::string& task) override {
    const std::string folder = folder_ + "/" + task;
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return nullptr;
    return std::make_unique<CgroupV2>(folder);
  }
  std::string describe() const override { return "cgroup v2: " + controls_ + "freezer"; }
  bool limits_cpu() const override { return controls_.find("cpu") != std::string::npos; }
  bool limits_processes() const override { return controls_.find("pids") != std::string::npos; }
  void clear_leftovers() override {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      if (!entry.is_directory(error)) continue;
      kill_group(entry.path().string());
      ::rmdir(entry.path().c_str());
    }
  }

 private:
  std::string folder_;
  std::string controls_;
};

}  // namespace

std::unique_ptr<CgroupTree> CgroupTree::find(const std::string& root, const std::string& self,
                                             const std::string& node) {
  std::error_code error;
  // Version 2 shows this file at the root of its own mount; a hybrid mount has it elsewhere.
  if (fs::exists(root + "/cgroup.controllers", error)) {
    auto tree = std::make_unique<TreeV2>(root, self, node);
    if (tree->usable()) return tree;
    return nullptr;
  }
  auto tree = std::make_unique<TreeV1>(root, self, node);
  if (tree->usable()) return tree;
  return nullptr;
}

}  // namespace laird::agent
