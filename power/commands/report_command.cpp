#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "config/units.hpp"
#include "power/commands/parts.hpp"
#include "power/readers/open_reader.hpp"
#include "power/report/openmetrics.hpp"
#include "power/report/summary.hpp"

namespace laird::power {
namespace {

struct ReportOptions {
  BoardChoice board;
  std::string file;
  std::string page = "power-report.html";
  std::string interval = "1s";
};

int run_report(const ReportOptions& options) {
  const Result<Board> board = board_for_file(options.board);
  if (!board) return complain("power report", board.error());
  const Result<DurationNs> interval = config::parse_duration(options.interval);
  if (!interval) return complain("power report", interval.error());
  ReportSummary summary(*board);
  const Result<RecordingCounts> counts = read_recording(
      options.file, *board, *interval, [&](const PowerReading& reading) { summary.add(reading); });
  if (!counts) return complain("power report", counts.error());
  if (counts->lines == counts->foreign) {
    return complain("power report",
                    Error{Code::kInvalid, options.file + " has no line of tegrastats"});
  }
  const std::string title = std::filesystem::path(options.file).filename().string();
  if (const Status ok = config::write_file(options.page, summary.html(title, *counts)); !ok) {
    return complain("power report", ok.error());
  }
  std::printf("%s  page     %s\n", summary.text(title, *counts).c_str(), options.page.c_str());
  return 0;
}

struct MetricsOptions {
  BoardChoice board;
  std::string file;
};

int run_metrics(const MetricsOptions& options) {
  if (!options.file.empty()) {
    const Result<Board> board = board_for_file(options.board);
    if (!board) return complain("power metrics", board.error());
    Meter meter(MeterConfig::for_board(*board));
    std::optional<PowerReading> last;
    const auto counts = read_recording(options.file, *board, kSecond, [&](PowerReading reading) {
      meter.on_reading(reading);
      last = std::move(reading);
    });
    if (!counts) return complain("power metrics", counts.error());
    std::printf("%s", openmetrics(*board, meter, last).c_str());
    return 0;
  }
  const Result<Board> board = choose_board(options.board);
  if (!board) return complain("power metrics", board.error());
  ReaderOptions reader_options;
  reader_options.root = options.board.root;
  const auto reader = open_reader(reader_options, *board);
  if (!reader) return complain("power metrics", reader.error());
  std::optional<PowerReading> last;
  for (const TimeNs end = monotonic_now() + 3 * kSecond; !last && monotonic_now() < end;) {
    last = (*reader)->poll(monotonic_now());
    if ((*reader)->status(monotonic_now()).source == Source::kNone) break;
    if (!last) ::usleep(20'000);
  }
  std::printf("%s", openmetrics(*board, Meter(MeterConfig::for_board(*board)), last).c_str());
  return 0;
}

}  // namespace

void add_report(cli::Command& power, int& exit_code) {
  auto options = std::make_shared<ReportOptions>();
  cli::Command* command = power.add_subcommand(
      "report",
      "Make a page from a tegrastats log: power and rails over time, histogram, energy, errors.\n"
      "Example: laird power report tegrastats.log --board orin-nano-8gb -o report.html");
  command->add_option("file", options->file, "The log; - for standard input")->required();
  command->add_option("-o,--page", options->page, "Where to write the page")->show_default();
  command->add_option("--interval", options->interval, "Time between lines that carry none")
      ->show_default();
  options->board.add_options(*command);
  command->callback([options, &exit_code] { exit_code = run_report(*options); });
}

void add_metrics(cli::Command& power, int& exit_code) {
  auto options = std::make_shared<MetricsOptions>();
  cli::Command* command = power.add_subcommand(
      "metrics",
      "Print power as OpenMetrics text: of this board now, or of a log as a whole.\n"
      "Example: laird power metrics > /var/lib/node_exporter/laird.prom");
  command->add_option("file", options->file, "A tegrastats log instead of this board");
  command->add_option("--root", options->board.root, "Read /sys and /proc below this folder");
  options->board.add_options(*command);
  command->callback([options, &exit_code] { exit_code = run_metrics(*options); });
}

}  // namespace laird::power
