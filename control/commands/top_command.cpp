// top: the fleet, live, in a terminal.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"
#include "control/screen/screen.hpp"
#include "control/screen/top_frame.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kEventsKept = 64;

struct TopOptions {
  bool once = false;
  std::string every = "500ms";
  std::size_t width = 0;
};

bool is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != std::string_view::npos ||
           text.find("utf8") != std::string_view::npos ||
           text.find("utf-8") != std::string_view::npos;
  }
  return false;
}

std::vector<std::string> texts(const std::vector<Line>& frame, std::size_t width, bool colour) {
  std::vector<std::string> out;
  out.reserve(frame.size());
  for (const Line& line : frame) out.push_back(line_text(line, width, colour));
  return out;
}

int once(FleetClient& client, FrameOptions frame, const TopOptions& options) {
  const char* columns = std::getenv("COLUMNS");
  frame.width = options.width;
  if (frame.width == 0 && columns != nullptr) {
    frame.width = static_cast<std::size_t>(std::strtoul(columns, nullptr, 10));
  }
  if (frame.width == 0) {
    frame.width = ::isatty(STDOUT_FILENO) != 0 ? Screen::size().columns : 100;
  }
  frame.now_ms = unix_ms_now();
  for (const std::string& line :
       texts(top_frame(client.view(), frame), frame.width, colours_on(stdout))) {
    print("%s\n", line.c_str());
  }
  return 0;
}

// Signals are read from a file, so that the loop decides what happens and the terminal is always
// restored by unwinding. They must be blocked before the link starts its threads.
int open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP}) {
    sigaddset(&set, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

class TopLoop {
 public:
  TopLoop(FleetClient& client, Screen& screen, FrameOptions frame, DurationNs every, int signals)
      : client_(client),
        screen_(screen),
        frame_(std::move(frame)),
        every_(every),
        signals_(signals) {
    frame_.cockpit = &cockpit_;
    frame_.curves = &curves_;
  }
  TopLoop(const TopLoop&) = delete;
  TopLoop& operator=(const TopLoop&) = delete;

  int run() {
    const bool colour = colours_on(stdout);
    while (!quit_) {
      const ScreenSize size = Screen::size();
      frame_.width = size.columns;
      frame_.height = size.rows;
      frame_.now_ms = unix_ms_now();
      frame_.connected = client_.connected();
      curves_.note(client_.view(), frame_.now_ms);
      std::vector<std::string> lines =
          texts(top_frame(client_.view(), frame_), size.columns, colour);
      if (lines.size() > size.rows) lines.resize(size.rows);
      screen_.show(lines);
      wait_for_next();
    }
    return ended_by_ == 0 ? 0 : 128 + ended_by_;
  }

 private:
  void wait_for_next() {
    const SteadyTime until = after(every_);
    redraw_ = false;
    while (!quit_ && !redraw_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      pollfd files[3] = {
          {STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}, {client_.ready_fd(), POLLIN, 0}};
      if (::poll(files, 3, static_cast<int>(left.count())) < 0) continue;
      if (files[0].revents != 0) on_keys();
      if (files[1].revents != 0) on_signals();
      if (files[2].revents != 0) client_.wait(after(0), [] { return true; });
    }
  }

  void on_keys() {
    char keys[64];
    const ssize_t n = ::read(STDIN_FILENO, keys, sizeof keys);
    if (n <= 0) {
      quit_ = true;  // the terminal is gone
      return;
    }
    const std::size_t page = frame_.height / 3 + 1;
    switch (cockpit_.press({keys, static_cast<std::size_t>(n)}, client_.view(), page)) {
      case Cockpit::Then::kQuit: quit_ = true; break;
      case Cockpit::Then::kRedraw: screen_.forget(); [[fallthrough]];
      case Cockpit::Then::kDraw: redraw_ = true; break;
      case Cockpit::Then::kNothing: break;
    }
  }

  void on_signals() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const auto number = static_cast<int>(info.ssi_signo);
      redraw_ = true;
      if (number == SIGWINCH) {
        screen_.forget();
      } else if (number == SIGTSTP) {
        screen_.suspend();
      } else {
        quit_ = true;
        if (number != SIGINT) ended_by_ = number;
      }
    }
  }

  FleetClient& client_;
  Screen& screen_;
  Cockpit cockpit_;
  Curves curves_;
  FrameOptions frame_;
  DurationNs every_;
  int signals_;
  bool quit_ = false;
  bool redraw_ = false;
  int ended_by_ = 0;
};

int top(const Reach& reach, const TopOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto every = config::parse_duration(options.every);
  if (!every || *every < 100 * kMillisecond || *every > kMinute) {
    return complain({Code::kInvalid, "--every: from 100ms to 1m, not '" + options.every + "'"});
  }
  const bool live = !options.once;
  if (live && (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)) {
    return complain(
        {Code::kInvalid, "this needs a terminal; `lairctl top --once` prints one picture"});
  }
  const int signals = live ? open_signals() : -1;
  const auto client = FleetClient::open(where->fleet, Listen::kLive, where->timeout);
  if (!client) return complain(client.error());
  FrameOptions frame;
  frame.fleet = where->fleet.fleet;
  frame.blocks = is_utf8();
  if (!live) return once(**client, frame, options);
  bring_past_events(**client, kEventsKept);
  auto screen = Screen::open();
  if (!screen) return complain(screen.error());
  return TopLoop(**client, *screen, frame, *every, signals).run();
}

}  // namespace

void add_top(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<TopOptions>();
  cli::Command* command =
      app.add_subcommand("top",
                         "The fleet, live: boards, power, shares, tasks, "
                         "forecasts. Keys move, sort, filter and open; q ends it.\n"
                         "Example: lairctl top --once");
  command->add_flag("--once", options->once, "Print one picture and end");
  command->add_option("--every", options->every, "Time between two pictures")->show_default();
  command->add_option("--width", options->width, "Columns, with --once (default: the terminal's)")
      ->check(cli::range(40, 500));
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = top(*reach, *options); });
}

}  // namespace laird::control
