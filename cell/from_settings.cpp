#include "cell/from_settings.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/settings/settings_loader.hpp"
#include "base/sha256.hpp"
#include "cell/container.hpp"

namespace laird::cell {
namespace {

// Room for the runtimes' own data on top of what the task asked for.
constexpr std::uint64_t kMemoryHeadroomBytes = 64 * 1000 * 1000;
constexpr std::size_t kFolderDigits = 12;

// What a user's own trainers have no business with: keys, and ways to start processes elsewhere.
void hide_own_things(std::vector<std::string>& hidden) {
  hidden.push_back("/run/user/" + std::to_string(::geteuid()));
  const passwd* self = ::getpwuid(::geteuid());
  const std::string home = self == nullptr ? "" : self->pw_dir;
  if (!home.starts_with('/') || home == "/") return;
  for (const char* name : {"/.ssh", "/.gnupg", "/.config/laird"}) hidden.push_back(home + name);
}

std::vector<std::string> hidden_by(const agent::Settings& settings,
                                   const std::string& config_path) {
  std::vector<std::string> out = {settings.state_dir, "/sys/fs/cgroup", "/run/laird-cell",
                                  "/run/laird-priv"};
  for (const std::string& path :
       {config_path, settings.control_socket, settings.fleet.key, settings.cell.helper,
        settings.power_helper.empty() ? std::string() : settings.power_helper.front()}) {
    // A helper may also be a program, which anybody may see.
    const bool is_program = path == settings.cell.helper || (!settings.power_helper.empty() &&
                                                             path == settings.power_helper.front());
    if (path.starts_with('/') && (!is_program || path.ends_with(".sock"))) out.push_back(path);
  }
  hide_own_things(out);
  return out;
}

std::string joined(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) out += (out.empty() ? "" : ":") + path;
  return out;
}

void set_environment(const agent::Settings& settings, const agent::TrainerProgram& trainer,
                     Spec& spec) {
  bool has_tmp = false;
  for (const auto& [key, value] : trainer.env) {
    spec.environment.push_back(key + "=" + value);
    has_tmp = has_tmp || key == "TMPDIR";
  }
  if (trainer.image.empty()) {
    spec.environment.push_back("LAIRD_FD=" + std::to_string(kTrainerSocket));
  } else {
    spec.environment.push_back(std::string("LAIRD_TRAINER_SOCKET=") + kContainerSocket);
  }
  spec.environment.push_back("LAIRD_DATA_ROOTS=" + joined(settings.data_roots));
  if (!has_tmp && !spec.private_tmp && trainer.image.empty())
    spec.environment.push_back("TMPDIR=" + spec.folder());
}

}  // namespace

Spec spec_of(const agent::Settings& settings, const std::string& config_path,
             const agent::TrainerProgram* trainer, const std::string& task,
             std::int64_t memory_bytes, bool check) {
  Spec out;
  out.tasks_folder = settings.state_dir + "/tasks";
  out.task = task;
  out.user = settings.cell.user;
  // Agents of one machine may share the folder.
  out.containers_folder =
      settings.cell.containers + "/" + sha256_of(settings.state_dir).substr(0, kFolderDigits);
  out.hidden = hidden_by(settings, config_path);
  out.namespaces = settings.cell.namespaces;
  out.limits.processes = settings.cell.processes;
  out.limits.open_files = settings.cell.open_files;
  out.limits.folder_bytes = settings.cell.disk_bytes;
  out.limits.shared_bytes = settings.cell.tmp_bytes;
  if (memory_bytes > 0) {
    out.limits.memory_bytes = static_cast<std::uint64_t>(memory_bytes) + kMemoryHeadroomBytes;
  }
  if (trainer == nullptr) return out;
  out.argv = trainer->image.empty() ? trainer->argv : trainer->engine;
  if (!trainer->image.empty()) {
    out.container = {trainer->image, trainer->engine, trainer->argv, settings.data_roots};
  }
  if (check) {
    out.argv = agent::check_command(*trainer);
    out.argv.emplace_back("-");
    out.socket_is_input = true;
  }
  out.network = trainer->network;
  set_environment(settings, *trainer, out);
  return out;
}

Result<Spec> listed(const std::string& config_path, const Request& request) {
  struct stat info {};
  if (::stat(config_path.c_str(), &info) != 0) return fail_errno(errno, config_path);
  if (info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(Code::kRefused, config_path +
                                    " can be changed by others than root; chown root, "
                                    "chmod go-w");
  }
  std::vector<config::Problem> problems;
  const agent::Settings settings = agent::load_settings(config_path, problems);
  if (!problems.empty()) return fail(Code::kInvalid, problems.front().text());
  const auto trainer = settings.trainers.find(request.trainer);
  if (trainer == settings.trainers.end() && !request.trainer.empty()) {
    return fail(Code::kRefused, "trainer '" + request.trainer + "' is not in " + config_path);
  }
  if (request.check &&
      (trainer == settings.trainers.end() || agent::check_command(trainer->second).empty())) {
    return fail(Code::kRefused, "trainer '" + request.trainer + "' has no check of its own");
  }
  Spec out = spec_of(settings, config_path, request.trainer.empty() ? nullptr : &trainer->second,
                     request.task, request.memory_bytes, request.check);
  // The service's own /tmp was nobody else's either.
  out.private_tmp = true;
  return out;
}

}  // namespace laird::cell
