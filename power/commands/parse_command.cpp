#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "cli/command.hpp"
#include "os/line_splitter.hpp"
#include "power/commands/parts.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"

namespace laird::power {
namespace {

struct Options {
  BoardChoice board;
  std::string file;
  bool json = false;
};

constexpr std::size_t kFlushBytes = 256 * 1024;

void append_row(const Line& line, const Board& board, std::string& out) {
  const PowerReading reading = reading_of(line, board, 0, Source::kRecorded);
  char text[160];
  const auto time = line.has_time ? line.item_store[0].name : std::string_view("-");
  std::snprintf(text, sizeof text, "%-19.*s ", static_cast<int>(time.size()), time.data());
  out += text;
  if (reading.total_mw) {
    std::snprintf(text, sizeof text, "%8.3f W ", static_cast<double>(*reading.total_mw) * 1e-3);
  } else {
    std::snprintf(text, sizeof text, "%8s   ", "-");
  }
  out += text;
  const auto percent = [&](const std::optional<std::int32_t>& permille) {
    if (permille) {
      std::snprintf(text, sizeof text, " %3d%%", *permille / 10);
    } else {
      std::snprintf(text, sizeof text, " %4s", "-");
    }
    out += text;
  };
  percent(reading.cpu_load_permille);
  percent(reading.gpu_load_permille);
  if (const auto hot = reading.hottest_mc()) {
    std::snprintf(text, sizeof text, " %5.1f C", static_cast<double>(*hot) * 1e-3);
  } else {
    std::snprintf(text, sizeof text, " %7s", "-");
  }
  out += text;
  for (const RailReading& rail : reading.rails) {
    out += "  " + rail.name + " " + std::to_string(rail.mw);
  }
  if (!reading.total_mw) out += "  (" + reading.total_rule + ")";
}

bool write_out(std::string& out) {
  const bool ok = std::fwrite(out.data(), 1, out.size(), stdout) == out.size();
  out.clear();
  return ok;
}

int run(const Options& options) {
  const Result<Board> board = board_for_file(options.board);
  if (!board) return complain("power parse", board.error());
  const bool standard = options.file == "-";
  const int fd = standard ? STDIN_FILENO : ::open(options.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return complain("power parse", fail_errno(errno, "cannot open " + options.file).value());
  }
  const auto line = std::make_unique<Line>();
  const auto block = std::make_unique<std::array<char, kFlushBytes>>();
  LineSplitter stream(kLineBytesMax, Overlong::kSkip);
  std::string out;
  if (!options.json) out = "time                     total     cpu  gpu     hot  rails in mW\n";
  bool ok = true;
  const auto take = [&](std::string_view text) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    parse_line(text, *line);
    if (options.json) {
      append_json(*line, *board, out);
    } else if (line->has_memory) {
      append_row(*line, *board, out);
    } else {
      return;
    }
    out += '\n';
    if (out.size() >= kFlushBytes) ok = write_out(out) && ok;
  };
  int error = 0;
  for (;;) {
    const ssize_t n = ::read(fd, block->data(), block->size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0 || !ok) break;
    stream.feed(std::string_view(block->data(), static_cast<std::size_t>(n)), take);
    // A pipe is followed line by line.
    if (standard) ok = write_out(out) && std::fflush(stdout) == 0 && ok;
  }
  stream.finish(take);
  ok = write_out(out) && std::fflush(stdout) == 0 && ok;
  if (!standard) ::close(fd);
  if (error != 0) {
    return complain("power parse", fail_errno(error, "cannot read " + options.file).value());
  }
  if (stream.overlong() > 0) {
    std::fprintf(stderr, "laird power parse: %llu lines longer than %zu bytes were left out\n",
                 static_cast<unsigned long long>(stream.overlong()), kLineBytesMax);
  }
  return ok ? 0 : 1;
}

}  // namespace

void add_parse(cli::Command& power, int& exit_code) {
  auto options = std::make_shared<Options>();
  cli::Command* command =
      power.add_subcommand("parse",
                           "Take a tegrastats log apart, whatever release it is from.\n"
                           "Example: laird power parse tegrastats.log --json | jq .total_mw");
  command->add_option("file", options->file, "The log; - for standard input")->required();
  command->add_flag("--json", options->json, "One JSON object per line");
  options->board.add_options(*command);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace laird::power
