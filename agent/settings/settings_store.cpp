#include "agent/settings/settings_store.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "agent/settings/remote_settings.hpp"
#include "os/whole_file.hpp"

namespace laird::shell {
namespace {

using json::Value;

// Two overlays, the one in force and the one before, in their envelope.
constexpr std::size_t kFileBytesMax = 4 * kOverlayBytesMax;

std::string first_of(const std::vector<config::Problem>& problems) {
  return problems.front().path + ": " + problems.front().what +
         (problems.size() > 1 ? " (and " + std::to_string(problems.size() - 1) + " more)" : "");
}

}  // namespace

Result<Overlay> SettingsStore::read() const {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0 && errno == ENOENT) return Overlay{};
  const Result<std::string> text = config::read_file(path_, kFileBytesMax);
  if (!text) return tl::make_unexpected(text.error());
  const Result<Value> value = json::parse(*text, path_);
  if (!value) return tl::make_unexpected(value.error());
  return overlay_from(*value);
}

Status SettingsStore::write(const Overlay& overlay) const {
  return replace_file(path_, json::to_pretty_text(to_json(overlay)) + "\n");
}

LayeredSettings with_overlay(const std::string& config_path, Value base, Settings own,
                             const SettingsStore& store) {
  LayeredSettings out{std::move(own), config_path, std::move(base), {}, {}};
  Result<Overlay> found = store.read();
  if (!found) {
    out.notes.push_back("the overlay is left aside: " + found.error().context);
    return out;
  }
  const std::uint64_t rev = found->rev;
  const bool begins = found->trial && !found->trial->begun;
  out.overlay = at_start(std::move(*found));
  if (begins) {
    // Not used unless the disk knows that it is: else a crash would use it again and again.
    if (const Status ok = store.write(out.overlay); !ok) {
      out.overlay = reverted(out.overlay, "its start could not be noted: " + ok.error().context);
    }
  }
  const auto try_it = [&out, &config_path](std::vector<config::Problem>& problems) {
    Settings made = settings_of(layered(out.base, out.overlay.settings), config_path, problems);
    if (problems.empty()) out.settings = std::move(made);
  };
  std::vector<config::Problem> problems;
  if (!out.overlay.settings.members().empty()) try_it(problems);
  if (!problems.empty() && out.overlay.trial) {
    out.overlay = reverted(out.overlay, first_of(problems));
    problems.clear();
    try_it(problems);
  }
  if (!problems.empty()) {
    out.notes.push_back("the overlay is left aside, it does not fit " + config_path + ": " +
                        first_of(problems));
    out.overlay.settings = Value::object();
  }
  if (out.overlay.rev != rev) {
    if (const Status ok = store.write(out.overlay); !ok) out.notes.push_back(ok.error().context);
  }
  return out;
}

}  // namespace laird::shell
