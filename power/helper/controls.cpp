#include "power/helper/controls.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>

#include "config/schema.hpp"
#include "os/child_process.hpp"
#include "os/fd.hpp"
#include "power/boards/power_modes.hpp"

namespace laird::power::priv {
namespace {

constexpr long kSysfsMagic = 0x62656572;
constexpr std::size_t kLiveModesMax = 64;

Result<std::int64_t> to_integer(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(Code::kInvalid, "not a whole number");
  }
  return value;
}

// The canonical path, provided it is a plain file below ROOT/sys/devices with the name expected.
Result<std::string> canonical(const Place& place, const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  if (real == nullptr) return fail_errno(errno, path);
  const std::unique_ptr<char, decltype(&::free)> base(
      ::realpath((place.root + "/sys/devices").c_str(), nullptr), &::free);
  if (base == nullptr) return fail_errno(errno, place.root + "/sys/devices");
  const std::string found = real.get();
  const std::string below = std::string(base.get()) + "/";
  const std::string file = std::filesystem::path(path).filename().string();
  if (!found.starts_with(below) || std::filesystem::path(found).filename() != file) {
    return fail(Code::kRefused, path + " leads out of /sys/devices");
  }
  return found;
}

// Opens a canonical path: no link at its end, a regular file, and on the real root truly sysfs.
Result<int> open_control(const std::string& path, int flags, bool real_root) {
  const int fd = ::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, path);
  struct stat status {};
  struct statfs kind {};
  const bool plain = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const bool sysfs = !real_root || (::fstatfs(fd, &kind) == 0 && kind.f_type == kSysfsMagic);
  if (plain && sysfs) return fd;
  ::close(fd);
  return fail(Code::kRefused, path + " is not a file of sysfs");
}

bool is_real(const std::string& path) { return path.starts_with("/sys/"); }

Result<std::string> gpu_folder(const Place& place) {
  static constexpr std::array<std::string_view, 5> kNames = {"gv11b", "gp10b", "ga10b", "gb10b",
                                                             "gpu"};
  const std::string base = place.root + "/sys/class/devfreq";
  std::error_code error;
  std::vector<std::string> entries;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    entries.push_back(entry.path().filename().string());
  }
  std::sort(entries.begin(), entries.end());
  for (const std::string& entry : entries) {
    for (const std::string_view name : kNames) {
      if (entry.ends_with("." + std::string(name)) || entry.starts_with("gpu-gpc")) {
        return base + "/" + entry;
      }
    }
  }
  return fail(Code::kNotFound, "no GPU below " + base);
}

Result<Control> gpu_control(const Place& place) {
  const Result<std::string> folder = gpu_folder(place);
  LAIRD_TRY(folder);
  Control out;
  out.key = "gpu-max-freq";
  const Result<std::string> path = canonical(place, *folder + "/max_freq");
  LAIRD_TRY(path);
  out.path = *path;
  const Result<std::string> list = config::read_file(*folder + "/available_frequencies", 4096);
  LAIRD_TRY(list);
  const char* p = list->data();
  const char* end = p + list->size();
  while (p < end) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(p, end, value);
    if (parsed.ec == std::errc{} && value > 0) out.allowed.push_back(value);
    p = parsed.ec == std::errc{} ? parsed.ptr : p + 1;
  }
  std::sort(out.allowed.begin(), out.allowed.end());
  if (out.allowed.empty()) return fail(Code::kUnavailable, "the GPU lists no frequencies");
  const Result<std::int64_t> min = read_value(*folder + "/min_freq");
  out.low = min ? std::max(*min, out.allowed.front()) : out.allowed.front();
  out.high = out.allowed.back();
  return out;
}

Result<Control> cpu_control(const Place& place, const std::string& number) {
  const Result<std::int64_t> core = to_integer(number);
  if (!core || *core < 0 || *core > kCoreMax || std::to_string(*core) != number) {
    return fail(Code::kInvalid, "a core is a number from 0 to " + std::to_string(kCoreMax));
  }
  const std::string folder = place.root + "/sys/devices/system/cpu/cpu" + number + "/cpufreq/";
  Control out;
  out.key = "cpu-max-freq " + number;
  const Result<std::string> path = canonical(place, folder + "scaling_max_freq");
  LAIRD_TRY(path);
  out.path = *path;
  const Result<std::int64_t> low = read_value(folder + "cpuinfo_min_freq");
  const Result<std::int64_t> high = read_value(folder + "cpuinfo_max_freq");
  LAIRD_TRY(low);
  LAIRD_TRY(high);
  out.low = *low;
  out.high = *high;
  return out;
}

// Runs a program with one pipe for its output; the text it wrote, at most 4 kB.
Result<std::string> run(const std::string& program, const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  ChildSpec spec;
  spec.argv = {program};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  spec.output = theirs.get();
  const Result<pid_t> started = start_child(spec);
  LAIRD_TRY(started);
  const pid_t pid = *started;
  theirs.reset();
  std::string out;
  std::array<char, 1024> block;
  pollfd entry{ours.get(), POLLIN, 0};
  bool late = false;
  for (;;) {
    if (::poll(&entry, 1, 10'000) <= 0) {
      late = true;
      break;
    }
    const ssize_t n = ::read(ours.get(), block.data(), block.size());
    if (n <= 0 || out.size() > 4096) break;
    out.append(block.data(), static_cast<std::size_t>(n));
  }
  if (late) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) return fail(Code::kUnavailable, program + " did not answer in ten seconds");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(Code::kRefused, program + " failed");
  }
  return out;
}

}  // namespace

Result<Control> find_control(const Place& place, const std::string& key) {
  if (key == "gpu-max-freq") return gpu_control(place);
  static constexpr std::string_view kCpu = "cpu-max-freq ";
  if (key.starts_with(kCpu)) return cpu_control(place, key.substr(kCpu.size()));
  return fail(Code::kInvalid, "unknown control; use gpu-max-freq, cpu-max-freq N or nvpmodel");
}

Result<std::int64_t> read_value(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return fail_errno(errno, path);
  std::array<char, 64> block{};
  const ssize_t n = ::pread(fd.get(), block.data(), block.size(), 0);
  if (n < 0) return fail_errno(errno, path);
  Result<std::int64_t> value =
      to_integer(std::string_view(block.data(), static_cast<std::size_t>(n)));
  if (!value) value.error().context = path + ": " + value.error().context;
  return value;
}

Status check_value(const Control& control, std::int64_t value) {
  if (value < control.low || value > control.high) {
    return fail(Code::kRefused, control.key + ": " + std::to_string(value) + " is not within " +
                                    std::to_string(control.low) + " and " +
                                    std::to_string(control.high));
  }
  if (control.allowed.empty()) return {};
  const auto above = std::lower_bound(control.allowed.begin(), control.allowed.end(), value);
  if (above != control.allowed.end() && *above == value) return {};
  const std::int64_t nearest = above == control.allowed.begin() ? *above : *std::prev(above);
  return fail(Code::kRefused, control.key + ": " + std::to_string(value) +
                                  " is not available; the next below is " +
                                  std::to_string(nearest));
}

Result<std::int64_t> write_value(const Control& control, std::int64_t value) {
  const Result<int> opened = open_control(control.path, O_WRONLY, is_real(control.path));
  LAIRD_TRY(opened);
  const Fd fd(*opened);
  // Off the real sysfs a shorter number must not leave the tail of a longer one behind.
  if (!is_real(control.path) && ::ftruncate(fd.get(), 0) != 0) {
    return fail_errno(errno, control.path);
  }
  const std::string text = std::to_string(value) + "\n";
  const ssize_t n = ::write(fd.get(), text.data(), text.size());
  if (n != static_cast<ssize_t>(text.size())) return fail_errno(errno, control.path);
  return read_value(control.path);
}

Result<std::int64_t> query_power_mode(const Place& place) {
  const Result<std::string> said = run(place.root + place.nvpmodel, {"-q"});
  LAIRD_TRY(said);
  // The id stands alone on the last line that is a number.
  std::size_t at = 0;
  Result<std::int64_t> mode = fail(Code::kUnavailable, "nvpmodel named no mode");
  while (at < said->size()) {
    const std::size_t end = std::min(said->find('\n', at), said->size());
    const Result<std::int64_t> number = to_integer(said->substr(at, end - at));
    if (number) mode = number;
    at = end + 1;
  }
  return mode;
}

Result<std::vector<std::int64_t>> live_power_modes(const Place& place) {
  const std::string path = place.root + place.live_modes;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return fail(Code::kRefused, "no power mode is known to be live: list them in " + path);
  }
  if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
      status.st_uid != ::geteuid()) {
    return fail(Code::kRefused, path + " must be a file that only root can write");
  }
  const Result<std::string> list = config::read_file(path, 4096);
  LAIRD_TRY(list);
  std::vector<std::int64_t> out;
  std::size_t at = 0;
  while (at < list->size() && out.size() < kLiveModesMax) {
    const std::size_t end = std::min(list->find('\n', at), list->size());
    const std::string line = list->substr(at, end - at);
    const Result<std::int64_t> id = to_integer(line);
    if (id && *id >= 0 && std::to_string(*id) == line) out.push_back(*id);
    at = end + 1;
  }
  return out;
}

Status check_power_mode(const Place& place, std::int64_t from, std::int64_t id) {
  const Result<std::vector<std::int64_t>> live = live_power_modes(place);
  LAIRD_TRY(live);
  if (std::find(live->begin(), live->end(), id) == live->end()) {
    return fail(Code::kRefused,
                "mode " + std::to_string(id) + " is not in " + place.root + place.live_modes);
  }
  if (read_mode_table(place.root).needs_reboot(from, id)) {
    return fail(Code::kRefused, "mode " + std::to_string(id) +
                                    " has other cores or GPU partitions than mode " +
                                    std::to_string(from) + ": it needs a reboot");
  }
  return {};
}

Result<std::int64_t> set_power_mode(const Place& place, std::int64_t id) {
  const std::string number = std::to_string(id);
  const Result<std::string> done = run(place.root + place.nvpmodel, {"-m", number});
  LAIRD_TRY(done);
  return query_power_mode(place);
}

}  // namespace laird::power::priv
