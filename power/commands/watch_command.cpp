#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "config/units.hpp"
#include "json/value.hpp"
#include "os/whole_file.hpp"
#include "power/commands/parts.hpp"
#include "power/readers/open_reader.hpp"
#include "power/report/openmetrics.hpp"
#include "power/report/watch_view.hpp"

namespace laird::power {
namespace {

struct Options {
  BoardChoice board;
  ReaderOptions reader;
  std::string interval = "1s";
  std::string openmetrics_file;
  std::int64_t count = 0;  // 0: until interrupted
  bool json = false;
};

volatile sig_atomic_t g_interrupted = 0;

void on_interrupt(int) { g_interrupted = 1; }

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

std::string to_json(const PowerReading& reading) {
  using json::Value;
  Value out = Value::object();
  const auto put = [&](const char* key, const auto& value) {
    out.set(key, value ? Value::integer(*value) : Value());
  };
  out.set("monotonic_ns", reading.at);
  put("total_mw", reading.total_mw);
  out.set("total_rule", reading.total_rule);
  out.set("scope", name(reading.scope));
  out.set("source", name(reading.source));
  Value rails = Value::object();
  for (const RailReading& rail : reading.rails) rails.set(rail.name, rail.mw);
  out.set("rails_mw", std::move(rails));
  Value zones = Value::object();
  for (const ZoneReading& zone : reading.zones) zones.set(zone.name, zone.milli_c);
  out.set("zones_mc", std::move(zones));
  put("cpu_load_permille", reading.cpu_load_permille);
  put("gpu_load_permille", reading.gpu_load_permille);
  put("gpu_clock_mhz", reading.gpu_clock_mhz);
  return json::to_text(out);
}

void wait_for(const Reader& reader) {
  const TimeNs now = monotonic_now();
  const DurationNs wait = std::clamp<DurationNs>(reader.next_poll_at(now) - now, 0, kSecond);
  pollfd entry{reader.fd(), POLLIN, 0};
  // Without a descriptor the timer alone decides; 1 ms keeps a reader that is due from spinning.
  const int ms = static_cast<int>(std::max<DurationNs>(1, wait / kMillisecond));
  ::poll(&entry, reader.fd() >= 0 ? 1 : 0, ms);
}

class Show {
 public:
  Show(const Options& options, const Board& board)
      : options_(options),
        board_(board),
        view_(board),
        meter_(MeterConfig::for_board(board)),
        full_screen_(!options.json && ::isatty(STDOUT_FILENO) != 0) {
    if (full_screen_) std::printf("\033[?25l\033[2J");
  }
  ~Show() {
    if (full_screen_) std::printf("\033[?25h\n");
    std::fflush(stdout);
  }
  Show(const Show&) = delete;
  Show& operator=(const Show&) = delete;

  Status add(const PowerReading& reading, const Reader& reader) {
    meter_.on_reading(reading);
    view_.add(reading);
    if (options_.json) {
      std::printf("%s\n", to_json(reading).c_str());
    } else if (full_screen_) {
      draw(reader);
    } else if (reading.total_mw) {
      std::printf("%.3f W  %s\n", static_cast<double>(*reading.total_mw) * 1e-3,
                  reading.total_rule.c_str());
    } else {
      std::printf("unknown  %s\n", reading.total_rule.c_str());
    }
    std::fflush(stdout);
    if (options_.openmetrics_file.empty()) return {};
    // A scraper never sees half a file; after a power cut the next reading writes it anew.
    return write_whole_file(options_.openmetrics_file, openmetrics(board_, meter_, reading),
                            {.mode = 0666, .sync = false});
  }
  void draw(const Reader& reader) const {
    if (!full_screen_) return;
    const std::string screen =
        view_.screen(meter_, reader.status(monotonic_now()), terminal_columns());
    // Each line is cleared to its end, so nothing of a longer one before stays.
    std::string out = "\033[H";
    for (const char c : screen) out += c == '\n' ? std::string("\033[K\n") : std::string(1, c);
    std::printf("%s\033[J", out.c_str());
    std::fflush(stdout);
  }

 private:
  const Options& options_;
  const Board& board_;
  WatchView view_;
  Meter meter_;
  bool full_screen_;
};

int run(Options& options) {
  const Result<Board> board = options.reader.kind == "recorded" ? board_for_file(options.board)
                                                                : choose_board(options.board);
  if (!board) return complain("power watch", board.error());
  const Result<DurationNs> interval = config::parse_duration(options.interval);
  if (!interval) return complain("power watch", interval.error());
  options.reader.period_ns = std::max<DurationNs>(*interval, 10 * kMillisecond);
  options.reader.root = options.board.root;
  auto opened = open_reader(options.reader, *board);
  if (!opened) return complain("power watch", opened.error());
  Reader& reader = **opened;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  if (reader.status(0).source == Source::kNone) {
    return complain("power watch", Error{Code::kUnavailable,
                                         reader.status(0).detail +
                                             "; try --reader recorded --file LOG or modelled"});
  }
  Show show(options, *board);
  std::int64_t shown = 0;
  while (g_interrupted == 0) {
    while (auto reading = reader.poll(monotonic_now())) {
      if (const Status ok = show.add(*reading, reader); !ok) {
        return complain("power watch", ok.error());
      }
      if (++shown == options.count || g_interrupted != 0) return 0;
    }
    if (reader.status(monotonic_now()).ended) return 0;
    show.draw(reader);
    wait_for(reader);
  }
  return 0;
}

}  // namespace

void add_watch(cli::Command& power, int& exit_code) {
  auto options = std::make_shared<Options>();
  cli::Command* command = power.add_subcommand("watch",
                                               "Show power as it is now, rail by rail.\n"
                                               "Example: laird power watch --interval 500ms");
  command->add_option("--reader", options->reader.kind, "Where readings come from")
      ->check(cli::one_of({"auto", "sysfs", "tegrastats", "recorded", "modelled"}))
      ->show_default();
  command->add_option("--file", options->reader.file,
                      "The capture to play, with --reader recorded");
  command->add_option("--speed", options->reader.speed, "Pace of a capture; 0 for all at once")
      ->check(cli::range(0.0, 1e6))
      ->show_default();
  command->add_option("--tegrastats", options->reader.program, "The tegrastats program")
      ->show_default();
  command->add_option("--interval", options->interval, "Time between readings")->show_default();
  command->add_option("--count", options->count, "Stop after this many readings")
      ->check(cli::non_negative());
  command->add_flag("--json", options->json, "One JSON object per reading");
  command->add_option("--openmetrics", options->openmetrics_file,
                      "Also keep this file up to date with OpenMetrics text");
  command->add_option("--root", options->board.root, "Read /sys and /proc below this folder");
  options->board.add_options(*command);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace laird::power
