#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "config/schema.hpp"
#include "control/doctor/doctor.hpp"
#include "control/fleet/fleet_view.hpp"
#include "control/fleet/local_client.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr const char* kStateFolder = "/var/lib/laird";
constexpr const char* kConfigFolder = "/etc/laird";
constexpr std::uint64_t kDiskFail = 50'000'000;
constexpr std::uint64_t kDiskWarn = 500'000'000;

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
// Whether the file is in a folder that this user may not look into.
bool is_hidden(const std::string& path) { return !is_there(path) && errno == EACCES; }

Finding check_own_clock() {
  timex state{};
  const int rc = ::adjtimex(&state);
  if (rc < 0) return {Health::kSkipped, "clock", "this system does not tell", ""};
  if (rc != TIME_ERROR && (state.status & STA_UNSYNC) == 0) {
    return {Health::kOk, "clock", "synchronised", ""};
  }
  return {Health::kWarning, "clock", "not synchronised by this machine's kernel",
          "timedatectl set-ntp true; boards refuse commands whose clock differs by more than 30 s"};
}

std::string listed(const Value& from, const char* name, const char* between) {
  std::string out;
  const Value* all = from.find(name, Kind::kArray);
  if (all == nullptr) return out;
  for (const Value& one : all->items()) {
    if (one.is(Kind::kString)) out += (out.empty() ? "" : between) + one.as_string();
  }
  return out;
}

void check_agent(const std::string& socket, DurationNs timeout, Findings& out) {
  if (!is_there(socket) && !is_hidden(socket)) {
    out.push_back({Health::kSkipped, "agent", "none on this machine (no " + socket + ")", ""});
    return;
  }
  const auto status = ask(socket, Value::object().set("op", "status"), timeout);
  if (!status) {
    // This user cannot tell whether an agent runs here. A machine that only operates a fleet has
    // none.
    if (status.error().code == Code::kPermission) {
      out.push_back({Health::kSkipped, "agent", status.error().context, ""});
      return;
    }
    out.push_back({Health::kFailed, "agent", status.error().context,
                   "systemctl status laird; journalctl -u laird"});
    return;
  }
  const Value* node = status->find("node", Kind::kString);
  out.push_back({Health::kOk, "agent",
                 "answers as " + (node == nullptr ? std::string("?") : node->as_string()), ""});
  const Value* blocked = status->find("journal_blocked", Kind::kBool);
  if (blocked != nullptr && blocked->as_bool()) {
    out.push_back({Health::kFailed, "journal", "cannot be written, so no task is taken",
                   "free space on the disk of the state folder"});
  } else {
    out.push_back({Health::kOk, "journal", "is written", ""});
  }
  if (const Value* cell = status->find("cell", Kind::kObject)) out.push_back(judge_cell(*cell));
  const auto power = ask(socket, Value::object().set("op", "power"), timeout);
  const Value* source = power ? at_path(*power, "power/source") : nullptr;
  const Value* blind = power ? at_path(*power, "power/blind") : nullptr;
  if (source == nullptr || !source->is(Kind::kString)) return;
  const std::string& from = source->as_string();
  if (from == "none") {
    out.push_back({Health::kWarning, "power", "the agent has no power readings",
                   "`laird board` shows what was looked for; \"power\": {\"source\": \"modelled\"} "
                   "stands in where there is no meter"});
  } else if (blind != nullptr && blind->is(Kind::kBool) && blind->as_bool()) {
    out.push_back({Health::kFailed, "power", "readings from " + from + " have stopped",
                   "`laird power` reads them once; is tegrastats running?"});
  } else {
    out.push_back({Health::kOk, "power", "readings from " + from, ""});
  }
}

Finding check_disk(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) {
    return {Health::kSkipped, "disk", "no " + path + " on this machine", ""};
  }
  return judge_disk(path, std::uint64_t{info.f_bavail} * info.f_frsize,
                    std::uint64_t{info.f_blocks} * info.f_frsize);
}

void check_files(Findings& out) {
  if (!is_there(kConfigFolder)) {
    out.push_back({Health::kSkipped, "files", std::string("no ") + kConfigFolder, ""});
    return;
  }
  if (::access(kConfigFolder, R_OK | X_OK) != 0) {
    out.push_back({Health::kSkipped, "files",
                   std::string(kConfigFolder) + " is not for this user to look into", ""});
    return;
  }
  std::size_t looked_at = 0;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator(kConfigFolder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    struct stat info {};
    const std::string path = entry->path().string();
    if (::stat(path.c_str(), &info) != 0) continue;
    ++looked_at;
    if ((info.st_mode & S_IWOTH) != 0) {
      out.push_back(
          {Health::kFailed, "files", path + " may be written by everybody", "chmod o-w " + path});
    }
    if (entry->path().extension() == ".key" && (info.st_mode & 07) != 0) {
      out.push_back({Health::kFailed, "files", path + " is a key that everybody may read",
                     "chmod 0640 " + path + "; a key others have read must be replaced"});
    }
  }
  out.push_back({Health::kOk, "files",
                 std::to_string(looked_at) + " below " + kConfigFolder + " looked at", ""});
}

Finding check_cgroups() {
  const auto controllers = config::read_file("/sys/fs/cgroup/cgroup.controllers", 4096);
  if (controllers) {
    for (const char* wanted : {"cpu", "memory"}) {
      if (controllers->find(wanted) == std::string::npos) {
        return {Health::kWarning, "cgroups",
                std::string("version 2 without the controller ") + wanted,
                "start the agent by its systemd unit (Delegate=yes), or enable the controller"};
      }
    }
    return {Health::kOk, "cgroups", "version 2 with cpu and memory", ""};
  }
  if (is_there("/sys/fs/cgroup/cpu")) {
    if (is_there("/sys/fs/cgroup/freezer")) return {Health::kOk, "cgroups", "version 1", ""};
    return {Health::kWarning, "cgroups", "version 1 without the freezer",
            "trainers that do not cooperate cannot be paused"};
  }
  return {Health::kWarning, "cgroups", "none", "CPU shares cannot be enforced on this machine"};
}

}  // namespace

std::string_view name(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kSkipped: return "skip";
    case Health::kWarning: return "warn";
    case Health::kFailed: return "fail";
  }
  return "?";
}

Finding judge_cell(const Value& cell) {
  const std::string guards = listed(cell, "guards", ", ");
  const std::string open = listed(cell, "open", "; ");
  const std::string held = guards.empty() ? "nothing" : guards;
  if (open.empty()) {
    return {Health::kOk, "trainers", "are kept apart from the agent by " + held, ""};
  }
  return {Health::kWarning, "trainers",
          "are kept apart by " + held + "; a trainer here could " + open,
          "install the package and start laird through systemd, which starts laird-cell.socket; "
          "docs/cell.md says what each surrounding gives"};
}

Finding judge_disk(const std::string& path, std::uint64_t free_bytes, std::uint64_t all_bytes) {
  const auto gb = [](std::uint64_t bytes) { return fixed(static_cast<double>(bytes) * 1e-9, 1); };
  const std::string text = gb(free_bytes) + " GB of " + gb(all_bytes) + " GB free for " + path;
  const char* remedy = "free space, or lower \"journal\": {\"bytes_max\"} in the config";
  if (free_bytes < kDiskFail) return {Health::kFailed, "disk", text, remedy};
  if (free_bytes < kDiskWarn) return {Health::kWarning, "disk", text, remedy};
  return {Health::kOk, "disk", text, ""};
}

Findings check_machine(const std::string& socket, DurationNs timeout) {
  Findings out;
  out.push_back(check_own_clock());
  check_agent(socket, timeout, out);
  out.push_back(check_disk(kStateFolder));
  check_files(out);
  out.push_back(check_cgroups());
  return out;
}

}  // namespace laird::control
