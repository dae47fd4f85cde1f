// Control groups with a process of our own in them: quota, freezer, memory.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "agent/os/cgroup.hpp"
#include "agent/selftest/selftest.hpp"
#include "power/readers/reader.hpp"

namespace laird::agent::selftest {
namespace {

constexpr DurationNs kLooking = 3 * kSecond;
constexpr std::uint32_t kQuotaMilli = 500;
constexpr double kQuotaTolerance = 0.10;
constexpr std::int64_t kMemoryLimit = 32LL << 20;

void rest(DurationNs ns) { ::usleep(static_cast<useconds_t>(ns / 1000)); }

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// A process that works until it is killed; it does not outlive this one.
class Burner {
 public:
  // `bytes`: touches that much memory instead.
  explicit Burner(std::int64_t bytes = 0) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::raise(SIGSTOP);
    if (bytes > 0) {
      void* memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) ::_exit(1);
      for (std::int64_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
      ::_exit(0);
    }
    for (volatile std::uint64_t n = 0;;) n = n + 1;
  }
  ~Burner() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;

  // Into the group, and off it goes.
  [[nodiscard]] bool start_in(const Cgroup& group) {
    if (pid_ <= 0) return false;
    ::waitpid(pid_, nullptr, WUNTRACED);
    bool is_in = false;
    for (const std::string& folder : group.folders()) {
      std::ofstream procs(folder + "/cgroup.procs");
      procs << pid_ << std::flush;
      is_in = is_in || procs.good();
    }
    ::kill(pid_, SIGCONT);
    return is_in;
  }
  [[nodiscard]] double cpu_s() const {
    std::string stat = file_text("/proc/" + std::to_string(pid_) + "/stat");
    stat.erase(0, stat.rfind(')') + 1);
    std::istringstream fields(stat);
    std::string skip;
    for (int i = 0; i < 11; ++i) fields >> skip;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  // How it ended, at the latest after `patience`.
  [[nodiscard]] int wait(DurationNs patience) {
    int status = 0;
    for (const TimeNs until = power::monotonic_now() + patience; power::monotonic_now() < until;) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      rest(10 * kMillisecond);
    }
    return 0;
  }

 private:
  pid_t pid_;
};

double core_share(const Burner& burner, DurationNs looking) {
  const double before = burner.cpu_s();
  const TimeNs from = power::monotonic_now();
  rest(looking);
  return (burner.cpu_s() - before) / (static_cast<double>(power::monotonic_now() - from) / 1e9);
}

std::string percent(double part) {
  char out[16];
  std::snprintf(out, sizeof out, "%.1f%%", part * 100);
  return out;
}

Finding check_quota(CgroupTree& tree) {
  const std::unique_ptr<Cgroup> group = tree.create("quota");
  Burner burner;
  if (!group || !tree.limits_cpu() || !group->limit_cpu(kQuotaMilli) || !burner.start_in(*group)) {
    return skipped("cpu quota", "the kernel or its delegation gives none: " + tree.describe());
  }
  rest(kSecond / 2);
  const double share = core_share(burner, kLooking);
  const double wanted = kQuotaMilli / 1000.0;
  const std::string said =
      "of a core " + percent(wanted) + " was allowed and " + percent(share) + " used";
  Finding out = std::abs(share / wanted - 1) <= kQuotaTolerance
                    ? passed("cpu quota", said)
                    : failed("cpu quota", said, "send the report; caps fall back to the step gate");
  out.measured.set("allowed", wanted).set("used", share);
  return out;
}

Finding check_freezer(CgroupTree& tree) {
  const std::unique_ptr<Cgroup> group = tree.create("freezer");
  Burner burner;
  if (!group || !burner.start_in(*group)) {
    return skipped("freezer", "no group can be made: " + tree.describe());
  }
  rest(200 * kMillisecond);
  if (!group->freeze(true)) return skipped("freezer", "the kernel gives none: " + tree.describe());
  rest(100 * kMillisecond);
  const double frozen = core_share(burner, kSecond);
  const bool let_go = group->freeze(false);
  const double thawed = core_share(burner, kSecond);
  const std::string said =
      "frozen it used " + percent(frozen) + " of a core, let go " + percent(thawed);
  Finding out =
      let_go && frozen < 0.02 && thawed > 0.2
          ? passed("freezer", said)
          : failed("freezer", said, "send the report; trainers are paused by signals then");
  out.measured.set("frozen", frozen).set("thawed", thawed);
  return out;
}

Finding check_memory(CgroupTree& tree) {
  const std::unique_ptr<Cgroup> group = tree.create("memory");
  Burner greedy(4 * kMemoryLimit);
  if (!group || !group->limit_memory(kMemoryLimit) || !greedy.start_in(*group)) {
    return skipped("memory limit", "the kernel gives none: " + tree.describe());
  }
  const int status = greedy.wait(20 * kSecond);
  const MemoryUse use = group->memory_use();
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  Finding out =
      killed ? passed("memory limit", "a process that took 128 MB in a group of 32 MB was ended")
             : failed("memory limit", "a process took 128 MB in a group of 32 MB",
                      "is memory control off in this kernel (swapaccount, cgroup_disable=memory)?");
  out.measured.set("killed", killed).set("peak_bytes", use.peak_bytes).set("oom_kills", use.killed);
  return out;
}

}  // namespace

std::vector<Finding> check_groups() {
  const std::unique_ptr<CgroupTree> tree = CgroupTree::find(
      "/sys/fs/cgroup", file_text("/proc/self/cgroup"), "selftest-" + std::to_string(::getpid()));
  if (tree == nullptr) {
    return {skipped("control groups", "none is writable; run as root to try them")};
  }
  return {check_quota(*tree), check_freezer(*tree), check_memory(*tree)};
}

}  // namespace laird::agent::selftest
