#include "agent/run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "agent/commands/settings_changes.hpp"
#include "agent/estimator_device.hpp"
#include "agent/machine.hpp"
#include "agent/os/folder_lock.hpp"
#include "agent/os/notify.hpp"
#include "agent/running_agent.hpp"
#include "agent/settings/settings_loader.hpp"
#include "agent/trainer_check.hpp"
#include "agent/trainer_host/cell_processes.hpp"
#include "agent/view/display.hpp"
#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::agent {
namespace {

constexpr DurationNs kTableEvery = 500 * kMillisecond;
constexpr DurationNs kLinesEvery = 5 * kSecond;
constexpr std::size_t kLogFileBytes = 1024 * 1024;

Result<Fd> open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno(errno, "signals");
  ::signal(SIGPIPE, SIG_IGN);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno(errno, "signals");
  return fd;
}

View view_of(const std::string& wish) {
  if (wish == "table") return View::kTable;
  if (wish == "lines") return View::kLines;
  if (wish == "none") return View::kNone;
  return ::isatty(STDOUT_FILENO) != 0 ? View::kTable : View::kLines;
}

// A level as journald knows it: "<4>" for a warning.
class Priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    static constexpr char kDigits[] = {'7', '7', '6', '4', '3', '2', '6'};
    const char text[] = {'<', kDigits[static_cast<std::size_t>(message.level)], '>'};
    out.append(text, text + sizeof text);
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }
};

std::unique_ptr<spdlog::formatter> make_format(bool journald) {
  auto out = std::make_unique<spdlog::pattern_formatter>();
  out->add_flag<Priority>('*');
  out->set_pattern(journald ? "%*%v" : "%Y-%m-%dT%H:%M:%S.%e %l %v");
  return out;
}

// What ends the program before there is a log, or for want of one.
void complain(const std::string& text) {
  std::fprintf(stderr, "%s%s\n", leads_to_journald(STDERR_FILENO) ? "<3>" : "", text.c_str());
}

std::shared_ptr<spdlog::logger> make_log(View view, const Settings& settings) {
  std::shared_ptr<spdlog::logger> log;
  try {
    // A table on the terminal leaves no room for log lines: they go to a file beside the journal.
    if (view == View::kTable) {
      log =
          spdlog::rotating_logger_st("laird", settings.state_dir + "/laird.log", kLogFileBytes, 1);
    } else {
      log = spdlog::stderr_logger_st("laird");
    }
  } catch (const spdlog::spdlog_ex&) {
    log = spdlog::stderr_logger_st("laird");
  }
  log->set_formatter(make_format(view != View::kTable && leads_to_journald(STDERR_FILENO)));
  log->set_level(
      spdlog::level::from_str(settings.log_level == "warn" ? "warning" : settings.log_level));
  log->flush_on(spdlog::level::info);
  return log;
}

Log log_into(const std::shared_ptr<spdlog::logger>& log) {
  return [log](LogLevel level, const std::string& text) {
    static constexpr spdlog::level::level_enum kLevels[] = {
        spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
    log->log(kLevels[static_cast<std::size_t>(level)], "{}", text);
  };
}

std::string beside_this_program(const char* name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

int report(const std::vector<config::Problem>& problems) {
  for (const config::Problem& problem : problems) {
    complain(problem.text());
  }
  complain(std::to_string(problems.size()) + (problems.size() == 1 ? " problem" : " problems"));
  return 2;
}

// What was opened goes to its place, or the reason why it was not is handed on.
template <class T>
[[nodiscard]] Status put_into(T& place, Result<T> opened) {
  LAIRD_TRY(opened);
  place = std::move(*opened);
  return {};
}

// The process around one life of the agent: signals, the log, the screen, the service manager.
class AgentProcess {
 public:
  AgentProcess(const RunOptions& options, const LayeredSettings& layers, const SettingsStore& store)
      : options_(options),
        layers_(layers),
        settings_(layers.settings),
        store_(store),
        view_(view_of(options.view)),
        log_(log_into(make_log(view_, settings_))),
        processes_(settings_, absolute_path(layers.config_path), log_),
        machine_(this_machine(clock_, processes_)) {}

  [[nodiscard]] int run() {
    Status ok = open();
    if (ok) ok = turn();
    if (!ok) return give_up(ok.error());
    Agent& agent = life_->agent();
    if (life_->wants_restart() && stop_signals_ == 0) {
      notifier_.hand_on();
      return kRunAgain;
    }
    display_->refresh(agent.state(), agent.now());
    display_->summary(agent.state(), agent.now(), agent.journal_path(),
                      beside_this_program("lairctl"));
    return stop_signals_ >= 2 ? 1 : 0;
  }

 private:
  [[nodiscard]] Status open() {
    LAIRD_TRY(put_into(signals_, open_signals()));
    LAIRD_TRY(put_into(loop_, Loop::create(clock_)));
    // Nobody of the same user traces this process or reads its memory. Each start needs it anew.
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    processes_.try_guards();
    const char* no_colour = std::getenv("NO_COLOR");
    const bool colour = view_ == View::kTable && (no_colour == nullptr || *no_colour == '\0');
    display_.emplace(view_, stdout, colour);
    life_.emplace(*loop_, machine_, layers_, store_, options_.version, log_);
    life_->on_changed([this](const core::Task& task, const core::TaskChanged& change) {
      display_->changed(task, change, life_->agent().now());
    });
    // Before the journal is stepped again: forecasts are computed then already.
    estimator_.emplace(settings_, clock_, [this] {
      return life_->is_open()
                 ? settings_.core.memory_bytes - life_->agent().state().memory_used_bytes()
                 : settings_.core.memory_bytes;
    });
    LAIRD_TRY(life_->open());
    tell_guards();
    look_after_estimator();
    return loop_->watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signals(); });
  }

  void tell_guards() {
    const std::optional<cell::Guards> guards = life_->agent().guards();
    if (!guards) return;
    std::string open;
    for (int i = 0; i < cell::kAttempts; ++i) {
      const auto attempt = static_cast<cell::Attempt>(i);
      if (!cell::is_refused(attempt, *guards)) {
        open += (open.empty() ? "" : "; ") + std::string(name(attempt));
      }
    }
    log_(open.empty() ? LogLevel::kInfo : LogLevel::kWarning,
         "cell: trainers are held by " + cell::describe(*guards) +
             (open.empty() ? "" : "; a trainer here could: " + open));
  }

  void look_after_estimator() {
    if (const auto remark = estimator_->look_after()) log_(LogLevel::kInfo, *remark);
    loop_->after(EstimatorDevice::kEvery, [this] { look_after_estimator(); });
  }

  void on_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) life_->agent().on_child_signal();
      if (info.ssi_signo != SIGTERM && info.ssi_signo != SIGINT) continue;
      if (++stop_signals_ == 1) {
        log_(LogLevel::kInfo,
             "stopping: trainers write a last checkpoint; a second signal kills them");
        notifier_.say("STOPPING=1\nSTATUS=stopping, trainers write a last checkpoint");
        life_->agent().shut_down();
      }
    }
  }

  void draw_every(DurationNs every) {
    loop_->after(every, [this, every] {
      display_->refresh(life_->agent().state(), life_->agent().now());
      draw_every(every);
    });
  }

  // The loop feeds the watchdog, so it is the one thread that decides anything that is watched.
  void feed_watchdog() {
    notifier_.say("WATCHDOG=1");
    loop_->after(notifier_.watchdog_every(), [this] { feed_watchdog(); });
  }

  // Until the agent has done what there is, or is told to go.
  [[nodiscard]] Status turn() {
    if (view_ != View::kNone) draw_every(view_ == View::kTable ? kTableEvery : kLinesEvery);
    if (notifier_.watchdog_every() > 0) feed_watchdog();
    notifier_.say("READY=1\nSTATUS=" + settings_.core.node + " runs");
    life_->submit_configured_tasks();
    Agent& agent = life_->agent();
    bool leaving = false;
    while (!agent.finished() && stop_signals_ < 2) {
      life_->settle();
      if (options_.until_done && !leaving && agent.idle()) {
        leaving = true;
        agent.shut_down();
        continue;
      }
      if (agent.finished()) break;
      LAIRD_TRY(loop_->run_once(kHour));
    }
    return {};
  }

  [[nodiscard]] int give_up(const Error& error) const {
    complain("laird: " + error.text());
    if (!SettingsChanges::revert_failed_start(layers_, store_, error)) return 1;
    notifier_.hand_on();
    return kRunAgain;
  }

  const RunOptions& options_;
  const LayeredSettings& layers_;
  const Settings& settings_;
  const SettingsStore& store_;
  const View view_;
  const Log log_;
  const Notifier notifier_;
  SystemClock clock_;
  CellProcesses processes_;
  Machine machine_;
  Fd signals_;
  std::unique_ptr<Loop> loop_;
  std::optional<Display> display_;
  std::optional<RunningAgent> life_;
  std::optional<EstimatorDevice> estimator_;
  int stop_signals_ = 0;
};

}  // namespace

namespace {

// A task's file names no allow-list: its trainer is the built-in one of that name, if there is one.
void check_task(const core::TaskSpec& spec, bool no_data, const std::string& path,
                std::vector<config::Problem>& problems) {
  TrainerProgram program;
  program.argv = {program_beside("laird-train"), spec.trainer};
  if (program.argv[0].empty()) return;
  std::vector<std::string> notes;
  check_with_trainer(spec, program, no_data, path, problems, notes);
  for (const std::string& note : notes) {
    std::fprintf(stderr, "%s: note: %s\n", path.c_str(), note.c_str());
  }
}

}  // namespace

int check_file(const std::string& path, bool no_data) {
  std::vector<config::Problem> problems;
  const Result<std::string> text = config::read_file(path, 4 * 1000 * 1000);
  std::string kind;
  if (text) {
    json::ParseLimits limits;
    limits.bytes_max = text->size() + 1;
    limits.comments = true;
    if (const Result<json::Value> value = json::parse(*text, path, limits)) {
      kind = kind_of_file(*value);
      if (kind.empty()) {
        problems.push_back(
            {path, 0, "/", "neither a config, a board nor a task: no key of any of them is in it"});
      }
    }
  }
  if (kind == "task") {
    const core::TaskSpec spec = load_task(path, problems);
    if (problems.empty()) check_task(spec, no_data, path, problems);
  } else if (kind == "board") {
    if (const auto board = power::load_board(path); !board) {
      std::fprintf(stderr, "%s\n", board.error().context.c_str());
      return 2;
    }
  } else if (problems.empty()) {
    static_cast<void>(load_settings(path, problems));
  }
  if (!problems.empty()) return report(problems);
  std::printf("%s: a valid %s\n", path.c_str(), kind.c_str());
  return 0;
}

int run_again(char** argv) {
  // Whatever a library left open is not for the next one.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    if (fd > STDERR_FILENO) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  // By its path, so that it keeps its name; by the link when that is gone.
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::execv(self.c_str(), argv);
  ::execv("/proc/self/exe", argv);
  std::fprintf(stderr, "laird: cannot start anew: %s\n", std::strerror(errno));
  return 1;
}

int run_agent(const RunOptions& options) {
  std::vector<config::Problem> problems;
  json::Value base = read_config(options.config_path, problems);
  if (!problems.empty()) return report(problems);
  Settings own = settings_of(base, options.config_path, problems);
  if (!problems.empty()) return report(problems);
  if (!options.state_dir.empty()) own.move_state_to(absolute_path(options.state_dir));
  const Result<Fd> lock = lock_folder(own.state_dir);
  if (!lock) {
    complain("laird: " + lock.error().text());
    return 1;
  }
  const SettingsStore store(own.state_dir);
  LayeredSettings layers =
      with_remote_settings(options.config_path, std::move(base), std::move(own), store);
  if (!options.state_dir.empty()) layers.settings.move_state_to(absolute_path(options.state_dir));
  return AgentProcess(options, layers, store).run();
}

}  // namespace laird::agent
