#include "agent/shell/run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "agent/shell/agent.hpp"
#include "agent/shell/config_door.hpp"
#include "agent/shell/control_socket.hpp"
#include "agent/shell/display.hpp"
#include "agent/shell/fleet_link.hpp"
#include "agent/shell/folder_lock.hpp"
#include "agent/shell/metrics.hpp"
#include "agent/shell/metrics_port.hpp"
#include "agent/shell/notify.hpp"
#include "agent/shell/settings.hpp"
#include "agent/shell/system_clock.hpp"

namespace laird::shell {
namespace {

constexpr DurationNs kTableEvery = 500 * kMillisecond;
constexpr DurationNs kLinesEvery = 5 * kSecond;
// A disk or a board that is full now may have room later.
constexpr DurationNs kSubmitAgainAfter = 10 * kSecond;
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

Agent::Log log_into(const std::shared_ptr<spdlog::logger>& log) {
  return [log](int level, const std::string& text) {
    static constexpr spdlog::level::level_enum kLevels[] = {
        spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
    log->log(kLevels[level], "{}", text);
  };
}

void submit_configured(Loop& loop, Agent& agent, const core::TaskSpec& spec,
                       const Agent::Log& log) {
  agent.submit(spec, [&loop, &agent, spec, log](const core::Answer& answer) {
    log(answer.ok ? 0 : 2, "task " + spec.name + ": " + answer.text);
    if (answer.ok || answer.code != Code::kFull) return;
    loop.after(kSubmitAgainAfter,
               [=, &loop, &agent] { submit_configured(loop, agent, spec, log); });
  });
}

std::string beside_this_program(const char* name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

MetricsInput metrics_of(const Agent& agent, const FleetLink* fleet) {
  MetricsInput in;
  in.state = &agent.state();
  in.reading = agent.last_reading();
  in.now = agent.now();
  in.over_cap_ns = agent.over_cap_ns();
  if (fleet != nullptr) {
    in.has_link = true;
    in.connected = fleet->connected();
    in.link = fleet->counters();
  }
  mqtt::NodeReport own;
  add_own_footprint(own);
  in.resident_bytes = own.agent_rss_kb * 1024;
  in.cpu_s = static_cast<double>(own.agent_cpu_ms) * 1e-3;
  return in;
}

int report(const std::vector<config::Problem>& problems) {
  for (const config::Problem& problem : problems) {
    complain(problem.text());
  }
  complain(std::to_string(problems.size()) + (problems.size() == 1 ? " problem" : " problems"));
  return 2;
}

}  // namespace

int check_file(const std::string& path) {
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
    static_cast<void>(load_task(path, problems));
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
  if (!options.state_dir.empty()) own.move_state_to(options.state_dir);
  const Result<Fd> lock = lock_folder(own.state_dir);
  if (!lock) {
    complain("laird: " + lock.error().text());
    return 1;
  }
  const SettingsStore store(own.state_dir);
  LayeredSettings layers =
      with_overlay(options.config_path, std::move(base), std::move(own), store);
  Settings& settings = layers.settings;
  if (!options.state_dir.empty()) settings.move_state_to(options.state_dir);

  const View view = view_of(options.view);
  const std::shared_ptr<spdlog::logger> spd = make_log(view, settings);
  const Agent::Log log = log_into(spd);
  const Notifier notifier;
  const auto give_up = [&](const Error& error) {
    complain("laird: " + error.text());
    if (!ConfigDoor::revert_failed_start(layers, store, error)) return 1;
    notifier.hand_on();
    return kRunAgain;
  };

  Result<Fd> signals = open_signals();
  if (!signals) return give_up(signals.error());
  Result<std::unique_ptr<Loop>> loop = Loop::create();
  if (!loop) return give_up(loop.error());
  SystemClock clock;
  Result<std::unique_ptr<Agent>> created = Agent::create(**loop, clock, settings, log);
  if (!created) return give_up(created.error());
  Agent& agent = **created;

  const char* no_colour = std::getenv("NO_COLOR");
  const bool colour = view == View::kTable && (no_colour == nullptr || *no_colour == '\0');
  Display display(view, stdout, colour);
  std::unique_ptr<ControlSocket> control;
  if (!settings.control_socket.empty()) {
    Result<std::unique_ptr<ControlSocket>> opened =
        ControlSocket::open(**loop, agent, settings.control_socket);
    if (!opened) return give_up(opened.error());
    control = std::move(*opened);
  }

  bool restart = false;
  ConfigDoor config(
      **loop, agent, layers, store,
      [&] {
        log(1, "starting anew, for other settings; tasks go on from their checkpoints");
        restart = true;
        agent.shut_down();
      },
      log);
  std::unique_ptr<FleetLink> fleet;
  if (!settings.fleet.name.empty()) {
    Result<std::unique_ptr<FleetLink>> opened =
        FleetLink::open(**loop, agent, clock, settings, config, options.version, log);
    if (!opened) return give_up(opened.error());
    fleet = std::move(*opened);
  }
  config.set_link([&fleet] { return fleet != nullptr && fleet->connected(); });
  std::array<std::uint64_t, 8> ended{};
  std::unique_ptr<MetricsPort> metrics;
  if (!settings.metrics_listen.empty()) {
    const double started_s = static_cast<double>(clock.wall_ns()) * 1e-9;
    Result<std::unique_ptr<MetricsPort>> opened =
        MetricsPort::open(**loop, settings.metrics_listen, [&, started_s] {
          MetricsInput in = metrics_of(agent, fleet.get());
          in.board = &settings.board;
          in.version = options.version;
          in.ended = ended;
          in.started_unix_s = started_s;
          return metrics_text(in);
        });
    if (!opened) return give_up(opened.error());
    metrics = std::move(*opened);
    const bool here = parse_listen_address(settings.metrics_listen)->loopback;
    log(here ? 1 : 2, "metrics: http://" + settings.metrics_listen + "/metrics" +
                          (here ? "" : ", which anybody who reaches this machine can read"));
  }
  agent.on_changed([&](const core::Task& task, const core::TaskChanged& change) {
    display.changed(task, change, agent.now());
    if (change.state == core::TaskState::kEnded) ++ended[static_cast<std::size_t>(change.outcome)];
    if (fleet) fleet->task_changed(task, change);
  });

  int stop_signals = 0;
  const Status watched = (*loop)->watch(signals->get(), EPOLLIN, [&](std::uint32_t) {
    signalfd_siginfo info{};
    while (::read(signals->get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) agent.on_child_signal();
      if (info.ssi_signo != SIGTERM && info.ssi_signo != SIGINT) continue;
      if (++stop_signals == 1) {
        log(1, "stopping: trainers write a last checkpoint; a second signal kills them");
        notifier.say("STOPPING=1\nSTATUS=stopping, trainers write a last checkpoint");
        agent.shut_down();
      }
    }
  });
  if (!watched) return give_up(watched.error());

  const DurationNs every = view == View::kTable ? kTableEvery : kLinesEvery;
  std::function<void()> draw = [&] {
    display.refresh(agent.state(), agent.now());
    (*loop)->after(every, draw);
  };
  if (view != View::kNone) (*loop)->after(every, draw);

  // The loop feeds the watchdog, so it is the one thread that decides anything that is watched.
  std::function<void()> feed = [&] {
    notifier.say("WATCHDOG=1");
    (*loop)->after(notifier.watchdog_every(), feed);
  };
  if (notifier.watchdog_every() > 0) feed();
  notifier.say("READY=1\nSTATUS=" + settings.core.node + " runs");

  for (const core::TaskSpec& spec : settings.tasks) submit_configured(**loop, agent, spec, log);
  bool leaving = false;
  while (!agent.finished() && stop_signals < 2) {
    agent.process();
    if (fleet) fleet->flush();
    if (options.until_done && !leaving && agent.idle()) {
      leaving = true;
      agent.shut_down();
      continue;
    }
    if (agent.finished()) break;
    if (const Status ok = (*loop)->run_once(kHour); !ok) return give_up(ok.error());
  }
  if (restart && stop_signals == 0) {
    notifier.hand_on();
    return kRunAgain;
  }
  display.refresh(agent.state(), agent.now());
  display.summary(agent.state(), agent.now(), agent.journal_path(), beside_this_program("lairctl"));
  return stop_signals >= 2 ? 1 : 0;
}

}  // namespace laird::shell
