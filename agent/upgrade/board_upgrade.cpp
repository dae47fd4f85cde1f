#include "agent/upgrade/board_upgrade.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "agent/settings/settings_loader.hpp"
#include "agent/upgrade/upgrade_request.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "os/clock.hpp"
#include "os/run_program.hpp"
#include "os/whole_file.hpp"

namespace laird::agent {
namespace {

namespace fs = std::filesystem;
using json::Kind;
using json::Value;
using Tasks = std::set<std::string>;

constexpr std::size_t kFileBytesMax = 64 * 1024;
constexpr std::size_t kDoneBytesMax = 16 * 1024;
constexpr DurationNs kFetchMax = 10 * kMinute;
constexpr DurationNs kInstallMax = 5 * kMinute;
constexpr DurationNs kAskMax = 10 * kSecond;
constexpr std::chrono::milliseconds kLookEvery{500};

void tell(const std::string& text) { std::fprintf(stderr, "laird upgrade: %s\n", text.c_str()); }

bool is_there(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

bool is_end(const std::string& state) {
  return state == "succeeded" || state == "missed" || state == "exhausted" || state == "failed" ||
         state == "cancelled" || state == "moved";
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

class Upgrade {
 public:
  Upgrade(const UpgradeOptions& options, Settings settings)
      : options_(options),
        settings_(std::move(settings)),
        request_(upgrade_request_path(settings_.state_dir)) {}

  [[nodiscard]] Status run() {
    if (::mkdir(options_.folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail_errno(errno, "make " + options_.folder);
    }
    if (is_there(trying())) return go_back("it did not end");
    if (options_.back) return {};
    const auto wanted = take_request();
    LAIRD_TRY(wanted);
    if (wanted->id.empty()) return {};
    const auto now = installed_version();
    LAIRD_TRY(now);
    if (*now == wanted->version) {
      tell(wanted->version + " is installed already");
      return {};
    }
    tell(wanted->by + " asked for " + wanted->version + "; " + *now + " is installed");
    LAIRD_TRY(fetch(*now, wanted->version));
    return try_version(*wanted);
  }

 private:
  [[nodiscard]] std::string in(const char* name) const { return options_.folder + "/" + name; }
  [[nodiscard]] std::string trying() const { return in("trying.json"); }

  // No shell: a program, found by the service's PATH, and its arguments.
  [[nodiscard]] Result<Ended> command(const std::vector<std::string>& argv, DurationNs most) const {
    auto ended = run_program(argv, in("last.log"), most);
    LAIRD_TRY(ended);
    if (ended->code == 0) return ended;
    std::string all;
    for (const std::string& word : argv) all += (all.empty() ? "" : " ") + word;
    return fail(Code::kIo, all + (ended->timed_out ? " did not end in time" : " failed: ") +
                               last_line(ended->output));
  }

  // The request is taken away whatever it is, so that one that is not good starts nothing again.
  [[nodiscard]] Result<UpgradeRequested> take_request() const {
    std::error_code ignored;
    // The folder is the agent's: only a plain file is opened.
    if (!fs::is_regular_file(fs::symlink_status(request_, ignored))) return UpgradeRequested{};
    const auto text = config::read_file(request_, kFileBytesMax);
    if (!text) return UpgradeRequested{};
    fs::remove(request_, ignored);
    auto wanted = judged_upgrade(*text, settings_, SystemClock().wall_ns());
    LAIRD_TRY(wanted);
    // The broker may send a command again; one that was tried is not tried again.
    const auto kept = config::read_file(in("done"), kFileBytesMax);
    std::string done = kept ? *kept : std::string();
    if (("\n" + done).find("\n" + wanted->id + "\n") != std::string::npos)
      return UpgradeRequested{};
    done += wanted->id + "\n";
    // A command is good for ten minutes; so many are not sent in that time.
    if (done.size() > kDoneBytesMax)
      done.erase(0, done.find('\n', done.size() - kDoneBytesMax) + 1);
    LAIRD_TRY(write_whole_file(in("done"), done));
    return wanted;
  }

  [[nodiscard]] Result<std::string> installed_version() const {
    const auto ended = command({"dpkg-query", "-W", "-f", "${Version}", "laird"}, kAskMax);
    LAIRD_TRY(ended);
    return last_line(ended->output);
  }

  // apt checks the repository's signature and the package's hash. Only our own list is read anew.
  [[nodiscard]] Status fetch(const std::string& now, const std::string& next) const {
    const auto update =
        command({"apt-get", "-q", "update", "-o", "Dir::Etc::sourcelist=sources.list.d/laird.list",
                 "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Get::List-Cleanup=0"},
                kFetchMax);
    LAIRD_TRY(update);
    LAIRD_TRY(package(next, in("next.deb")));
    return package(now, in("previous.deb"));
  }

  [[nodiscard]] Status package(const std::string& version, const std::string& to) const {
    std::error_code failed;
    const std::string place = in("fetching");
    fs::remove_all(place, failed);
    if (!fs::create_directory(place, failed)) return fail(Code::kIo, "cannot make " + place);
    // apt writes where it stands.
    const fs::path stood = fs::current_path(failed);
    fs::current_path(place, failed);
    const auto fetched = command({"apt-get", "-q", "download", "laird=" + version}, kFetchMax);
    fs::current_path(stood.empty() ? "/" : stood, failed);
    LAIRD_TRY(fetched);
    for (const auto& entry : fs::directory_iterator(place, failed)) {
      if (entry.path().extension() != ".deb") continue;
      fs::rename(entry.path(), to, failed);
      if (failed) return fail(Code::kIo, to + ": " + failed.message());
      fs::remove_all(place, failed);
      return sync_folder(options_.folder);
    }
    return fail(Code::kNotFound, "apt gave no package of laird " + version);
  }

  // The names of the board's tasks, or of those that are not over; an error when the agent does not
  // answer.
  [[nodiscard]] Result<Tasks> tasks(bool only_live) const {
    const auto ended = command({"lairctl", "get", "tasks", "-o", "json", "--timeout", "5s",
                                "--socket", settings_.state_dir + "/laird.sock"},
                               kAskMax);
    LAIRD_TRY(ended);
    const auto rows = json::parse(ended->output, "lairctl");
    LAIRD_TRY(rows);
    Tasks out;
    for (const Value& row : rows->items()) {
      const Value* name = row.find("name", Kind::kString);
      const Value* state = row.find("state", Kind::kString);
      if (name == nullptr || (only_live && state != nullptr && is_end(state->as_string())))
        continue;
      out.insert(name->as_string());
    }
    return out;
  }

  [[nodiscard]] Status install(const std::string& deb) const {
    const auto done = command({"dpkg", "--force-confold", "--install", deb}, kInstallMax);
    LAIRD_TRY(done);
    const auto started = command({"systemctl", "restart", "laird.service"}, kInstallMax);
    LAIRD_TRY(started);
    return {};
  }

  [[nodiscard]] Status try_version(const UpgradeRequested& wanted) const {
    const auto before = tasks(true);
    LAIRD_TRY(before);
    // What goes back must not be what may be broken.
    std::error_code failed;
    fs::copy_file("/proc/self/exe", in("laird"), fs::copy_options::overwrite_existing, failed);
    if (failed) return fail(Code::kIo, "cannot copy this program: " + failed.message());
    ::chmod(in("laird").c_str(), 0700);
    LAIRD_TRY(write_whole_file(
        trying(), json::to_text(Value::object().set("to", wanted.version).set("id", wanted.id))));
    LAIRD_TRY(sync_folder(options_.folder));
    if (const Status put = install(in("next.deb")); !put) return go_back(put.error().context);
    if (const Status well = prove(wanted, *before); !well) return go_back(well.error().context);
    tell(wanted.version + " is well and stays");
    return end_trial();
  }

  // Waits until the agent answers steadily, with all its tasks, and has brought the second word.
  [[nodiscard]] Status prove(const UpgradeRequested& wanted, const Tasks& before) const {
    SystemClock clock;
    const TimeNs until = clock.boot_ns() + options_.health;
    TimeNs since = 0;  // when it began to answer without a gap; 0: it does not
    bool confirmed = false;
    std::string why = "the agent does not answer";
    while (clock.boot_ns() < until) {
      const auto now = tasks(false);
      if (!now) {
        since = 0;
        why = "the agent does not answer: " + now.error().context;
      } else if (!std::includes(now->begin(), now->end(), before.begin(), before.end())) {
        return fail(Code::kRefused, "tasks are lost");
      } else if (since == 0) {
        since = clock.boot_ns();
      }
      confirmed = confirmed || is_confirmed(wanted);
      const bool steady = since != 0 && clock.boot_ns() - since >= options_.steady;
      if (steady && confirmed) return {};
      if (since != 0)
        why = steady ? "no operator has confirmed it over its link" : "not steady yet";
      std::this_thread::sleep_for(kLookEvery);
    }
    return fail(Code::kUnavailable, why);
  }

  // The same version, asked for by another command: only an agent whose link works can bring it.
  [[nodiscard]] bool is_confirmed(const UpgradeRequested& wanted) const {
    const auto again = take_request();
    return again && again->id != wanted.id && again->version == wanted.version;
  }

  [[nodiscard]] Status end_trial() const {
    std::error_code failed;
    fs::remove(trying(), failed);
    if (failed) return fail(Code::kIo, trying() + ": " + failed.message());
    return sync_folder(options_.folder);
  }

  [[nodiscard]] Status go_back(const std::string& why) const {
    tell("going back to the version before: " + why);
    LAIRD_TRY(install(in("previous.deb")));
    LAIRD_TRY(end_trial());
    return fail(Code::kRefused, "went back to the version before: " + why);
  }

  const UpgradeOptions& options_;
  const Settings settings_;
  const std::string request_;
};

}  // namespace

int upgrade_board(const UpgradeOptions& options) {
  std::vector<config::Problem> problems;
  Settings settings = load_settings(options.config, problems);
  // An upgrade that has begun is undone even if the config is not one any more.
  if (!problems.empty() && !options.back) {
    tell(problems.front().text());
    return 1;
  }
  const Status done = Upgrade(options, std::move(settings)).run();
  if (done) return 0;
  tell(done.error().text());
  return 1;
}

}  // namespace laird::agent
