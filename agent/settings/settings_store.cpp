#include "agent/settings/settings_store.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "agent/settings/remote_settings.hpp"
#include "agent/settings/settings_loader.hpp"
#include "os/whole_file.hpp"

namespace laird::agent {
namespace {

using json::Value;

// Two sets of remote settings, the one in force and the one before it, and what is written around
// them.
constexpr std::size_t kFileBytesMax = 4 * kRemoteSettingsBytesMax;

std::string first_of(const std::vector<config::Problem>& problems) {
  return problems.front().path + ": " + problems.front().what +
         (problems.size() > 1 ? " (and " + std::to_string(problems.size() - 1) + " more)" : "");
}

// What no operator can have changed over the network: the agent refuses it before it keeps it. So
// another has written the file.
std::string locked_in(const Value& base, const RemoteSettings& found) {
  std::vector<config::Problem> problems;
  Value settings = found.settings;
  refuse_locked(changes(base, layered(base, found.settings)), settings, problems);
  if (found.trial) {
    Value before = found.trial->before;
    refuse_locked(changes(base, layered(base, before)), before, problems);
  }
  return problems.empty() ? "" : first_of(problems);
}

}  // namespace

Result<RemoteSettings> SettingsStore::read() const {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0 && errno == ENOENT) return RemoteSettings{};
  const Result<std::string> text = config::read_file(path_, kFileBytesMax);
  LAIRD_TRY(text);
  const Result<Value> value = json::parse(*text, path_);
  LAIRD_TRY(value);
  return remote_settings_from(*value);
}

Status SettingsStore::write(const RemoteSettings& remote) const {
  return replace_file(path_, json::to_pretty_text(to_json(remote)) + "\n");
}

Result<std::string> SettingsStore::set_aside() const {
  const std::string to = path_ + ".refused";
  if (::rename(path_.c_str(), to.c_str()) != 0) {
    return fail_errno(errno, "cannot set " + path_ + " aside");
  }
  return to;
}

LayeredSettings with_remote_settings(const std::string& config_path, Value base, Settings own,
                                     const SettingsStore& store) {
  LayeredSettings out{std::move(own), config_path, std::move(base), {}, {}};
  Result<RemoteSettings> found = store.read();
  if (!found) {
    out.notes.push_back("the remote settings are left aside: " + found.error().context);
    return out;
  }
  if (const std::string locked = locked_in(out.base, *found); !locked.empty()) {
    const Result<std::string> aside = store.set_aside();
    out.remote.news =
        "the remote settings are refused, another than the agent wrote them: " + locked + "; " +
        (aside ? "they are in " + *aside : aside.error().context);
    return out;
  }
  const std::uint64_t rev = found->rev;
  const bool begins = found->trial && !found->trial->begun;
  out.remote = at_start(std::move(*found));
  if (begins) {
    // A trial is used only after the disk has noted that it is: otherwise every start after a crash
    // would use it again.
    if (const Status ok = store.write(out.remote); !ok) {
      out.remote = reverted(out.remote, "its start could not be noted: " + ok.error().context);
    }
  }
  const auto try_it = [&out, &config_path](std::vector<config::Problem>& problems) {
    Settings made = settings_of(layered(out.base, out.remote.settings), config_path, problems);
    if (problems.empty()) out.settings = std::move(made);
  };
  std::vector<config::Problem> problems;
  if (!out.remote.settings.members().empty()) try_it(problems);
  if (!problems.empty() && out.remote.trial) {
    out.remote = reverted(out.remote, first_of(problems));
    problems.clear();
    try_it(problems);
  }
  if (!problems.empty()) {
    out.notes.push_back("the remote settings are left aside, they do not fit " + config_path +
                        ": " + first_of(problems));
    out.remote.settings = Value::object();
  }
  if (out.remote.rev != rev) {
    if (const Status ok = store.write(out.remote); !ok) out.notes.push_back(ok.error().context);
  }
  return out;
}

}  // namespace laird::agent
