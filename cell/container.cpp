#include "cell/container.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "os/run_program.hpp"

namespace laird::cell {
namespace fs = std::filesystem;
namespace {

constexpr int kLockTries = 100;
constexpr long kLockWaitNs = 100'000'000;
constexpr DurationNs kAskFor = 2 * kMinute;
constexpr const char* kLock = "/lock";
constexpr const char* kRuntime = "/usr/bin/nvidia-container-runtime";

bool try_lock(int file) {
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

Result<Fd> open_lock(const std::string& place) {
  Fd out(::open((place + kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out) return fail_errno(errno, "cannot open " + place + kLock);
  return out;
}

void empty_place(const std::string& place) {
  const Fd folder(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) static_cast<void>(empty_folder(folder.get(), {kLock + 1}));
}

bool has_nvidia(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("nvidia")) return true;
  }
  return false;
}

void limit(std::vector<std::string>& out, const std::string& name, std::uint64_t most) {
  if (most == 0) return;
  const std::string text = std::to_string(most);
  out.insert(out.end(), {"--ulimit", name + "=" + text + ":" + text});
}

// Of podman itself: a store of its own, and nobody's control groups but the one that it is in.
void add_engine_words(const Spec& spec, const ContainerAround& around,
                      std::vector<std::string>& out) {
  out.insert(out.end(), {"--root", around.place + "/root", "--runroot", run_root_of(spec),
                         "--tmpdir", around.place + "/tmp", "--storage-driver", around.driver,
                         "--storage-opt", around.driver + ".imagestore=" + around.images,
                         "--cgroup-manager", "cgroupfs", "--events-backend", "none"});
  if (around.gpu == GpuWay::kRuntime) out.insert(out.end(), {"--runtime", kRuntime});
  out.insert(out.end(), {"run", "--cgroups", "disabled", "--pull", "never", "--log-driver", "none",
                         "--image-volume", "ignore", "--no-healthcheck", "--hostname", "laird",
                         "--network", spec.network ? "host" : "none"});
}

void add_guards(const Spec& spec, const ContainerAround& around, std::vector<std::string>& out) {
  out.insert(out.end(), {"--read-only", "--read-only-tmpfs=false", "--cap-drop", "all",
                         "--security-opt", "no-new-privileges", "--user",
                         std::to_string(around.user.uid) + ":" + std::to_string(around.user.gid)});
  for (const gid_t group : around.groups) {
    out.insert(out.end(), {"--group-add", std::to_string(group)});
  }
  limit(out, "nofile", spec.limits.open_files);
  limit(out, "fsize", spec.limits.folder_bytes);
  limit(out, "nproc", around.processes);
  if (!around.has_group) limit(out, "data", spec.limits.memory_bytes);
  out.insert(out.end(), {"--ulimit", "core=0:0"});
  const std::string shared = std::to_string(spec.limits.shared_bytes);
  out.insert(out.end(), {"--shm-size", shared + "b", "--tmpfs",
                         "/tmp:rw,nosuid,nodev,mode=1777,size=" + shared});
}

void add_files(const Spec& spec, const ContainerAround& around, std::vector<std::string>& out) {
  const std::string folder = spec.folder();
  out.insert(out.end(),
             {"--volume", folder + ":" + folder + ":rw,nosuid,nodev", "--volume",
              around.place + "/socket:" + kContainerSocketFolder + ":ro", "--workdir", folder});
  for (const std::string& root : around.data_roots) {
    out.insert(out.end(), {"--volume", root + ":" + root + ":ro,nosuid,nodev"});
  }
  if (around.gpu == GpuWay::kCdi) out.insert(out.end(), {"--device", "nvidia.com/gpu=all"});
  if (around.gpu == GpuWay::kRuntime) {
    out.insert(out.end(),
               {"--env", "NVIDIA_VISIBLE_DEVICES=all", "--env", "NVIDIA_DRIVER_CAPABILITIES=all"});
  }
  for (const std::string& variable : spec.environment) {
    out.insert(out.end(), {"--env", variable});
  }
}

Result<Ended> ask(const Spec& spec, const std::vector<std::string>& words) {
  std::vector<std::string> argv = spec.container.engine;
  argv.insert(argv.end(), words.begin(), words.end());
  return run_program(argv, place_of(spec) + "/asked", kAskFor);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "it said nothing";
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin + 1) + 1);
}

}  // namespace

std::vector<std::string> container_words(const Spec& spec, const ContainerAround& around) {
  std::vector<std::string> out = spec.container.engine;
  add_engine_words(spec, around, out);
  add_guards(spec, around, out);
  add_files(spec, around, out);
  const std::vector<std::string>& command = spec.container.command;
  if (!command.empty()) out.insert(out.end(), {"--entrypoint", command.front()});
  out.push_back(spec.container.image);
  if (!command.empty()) out.insert(out.end(), command.begin() + 1, command.end());
  return out;
}

std::string run_root_of(const Spec& spec) {
  return fs::path(spec.containers_folder).parent_path().string() + "/run";
}

std::string place_of(const Spec& spec) { return spec.containers_folder + "/" + spec.task; }

Result<Fd> take_place(const Spec& spec) {
  const std::string place = place_of(spec);
  std::error_code error;
  fs::create_directories(spec.containers_folder, error);
  if (error) {
    return fail(Code::kPermission,
                "cannot make " + spec.containers_folder + " for containers: " + error.message());
  }
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "cannot make " + place);
  }
  Result<Fd> lock = open_lock(place);
  LAIRD_TRY(lock);
  for (int tries = 0; !try_lock(lock->get()); ++tries) {
    if (tries == kLockTries) return fail(Code::kRefused, "another container still uses " + place);
    const timespec wait{0, kLockWaitNs};
    ::nanosleep(&wait, nullptr);
  }
  empty_place(place);
  for (const std::string& folder : {place + "/run", run_root_of(spec)}) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail_errno(errno, "cannot make " + folder);
    }
  }
  return lock;
}

void clear_place(const std::string& place) {
  empty_place(place);
  ::unlink((place + kLock).c_str());
  ::rmdir(place.c_str());
}

void clear_places(const std::string& containers_folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(containers_folder, error)) {
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    const std::string place = entry.path().string();
    const Result<Fd> lock = open_lock(place);
    if (lock && try_lock(lock->get())) clear_place(place);
  }
}

Status find_images(const Spec& spec, ContainerAround& out) {
  const std::string& engine = spec.container.engine.front();
  const Result<Ended> info =
      ask(spec, {"info", "--format", "{{.Store.GraphDriverName}} {{.Store.GraphRoot}}"});
  LAIRD_TRY(info);
  if (info->code != 0) {
    return fail(Code::kUnavailable, engine + " does not work here: " + last_line(info->output));
  }
  const std::string told = last_line(info->output);
  const std::size_t space = told.find(' ');
  if (space == std::string::npos || told.find('/') != space + 1) {
    return fail(Code::kUnavailable, engine + " does not say where its images are: " + told);
  }
  out.driver = told.substr(0, space);
  out.images = told.substr(space + 1);
  const Result<Ended> exists = ask(spec, {"image", "exists", spec.container.image});
  LAIRD_TRY(exists);
  if (exists->code != 0) {
    return fail(Code::kNotFound, "the image " + spec.container.image +
                                     " is not on this board; as root: " + engine + " pull " +
                                     spec.container.image);
  }
  return {};
}

GpuWay gpu_way(const std::string& root) {
  if (has_nvidia(root + "/etc/cdi") || has_nvidia(root + "/var/run/cdi")) return GpuWay::kCdi;
  return ::access((root + kRuntime).c_str(), X_OK) == 0 ? GpuWay::kRuntime : GpuWay::kNone;
}

Result<Fd> listen_in(const std::string& place) {
  const std::string folder = place + "/socket";
  if (::mkdir(folder.c_str(), 0755) != 0 || ::chmod(folder.c_str(), 0755) != 0) {
    return fail_errno(errno, "cannot make " + folder);
  }
  // A path may be longer than the address holds, so it is named by the folder's descriptor.
  const Fd at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(at.get()) + "/agent.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!at || !out ||
      ::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod((folder + "/agent.sock").c_str(), 0666) != 0 || ::listen(out.get(), 1) != 0) {
    return fail_errno(errno, "cannot listen in " + folder);
  }
  return out;
}

}  // namespace laird::cell
