#include "power/boards/catalogue.hpp"

#include <algorithm>
#include <filesystem>

#include "base/require.hpp"
#include "config/nearest.hpp"
#include "power/model/board_schema.hpp"

namespace laird::power {
namespace {

constexpr std::size_t kFileBytesMax = 256 * 1024;

std::string file_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name + ".json";
}

bool has_module(const MachineIdentity& identity, std::string_view module) {
  for (const std::string& entry : identity.compatible) {
    if (entry.find(module) != std::string::npos) return true;
  }
  return false;
}

const Board* by_module(const MachineIdentity& identity, std::span<const Board> known,
                       std::string& module) {
  for (const Board& board : known) {
    for (const std::string& candidate : board.detect_modules) {
      if (!has_module(identity, candidate)) continue;
      module = candidate;
      return &board;
    }
  }
  return nullptr;
}

// Boards of one SoC differ in memory first, so the nearest size is the best guess.
const Board* by_soc(const MachineIdentity& identity, std::span<const Board> known) {
  const Board* best = nullptr;
  std::int64_t best_distance = INT64_MAX;
  for (const Board& board : known) {
    if (board.detect_soc.empty() || !has_module(identity, "nvidia," + board.detect_soc)) continue;
    const std::int64_t distance = std::abs(board.memory_bytes - identity.memory_bytes);
    if (distance >= best_distance) continue;
    best = &board;
    best_distance = distance;
  }
  return best;
}

void note_differences(const MachineIdentity& identity, Detection& out) {
  const Board& board = out.board;
  if (board.cpu_cores > 0 && identity.cpu_cores > 0 && board.cpu_cores != identity.cpu_cores) {
    out.uncertainty.push_back("the machine shows " + std::to_string(identity.cpu_cores) +
                              " CPU cores, the file says " + std::to_string(board.cpu_cores) +
                              "; a power mode may have switched some off");
  }
  const std::int64_t low = board.memory_bytes / 10 * 9;
  if (board.memory_bytes > 0 && identity.memory_bytes > 0 && identity.memory_bytes < low) {
    out.uncertainty.push_back("the machine has less memory than the file's " +
                              std::to_string(board.memory_bytes >> 20) + " MiB");
  }
  for (const EvidenceEntry& entry : board.evidence) {
    if (entry.how != Evidence::kUnconfirmed) continue;
    out.uncertainty.push_back(entry.of + " is unconfirmed" +
                              (entry.from.empty() ? "" : ": " + entry.from));
  }
}

}  // namespace

Result<Board> board_from_text(std::string_view text, std::string_view source) {
  json::ParseLimits limits;
  limits.bytes_max = kFileBytesMax;
  limits.comments = true;
  const Result<json::Value> document = json::parse(text, source, limits);
  LAIRD_TRY(document);
  std::vector<config::Problem> problems;
  Board board = parse_board(*document, source, problems);
  if (problems.empty()) return board;
  std::string all;
  for (const config::Problem& problem : problems) {
    if (!all.empty()) all += "\n";
    all += problem.text();
  }
  return fail(Code::kInvalid, all);
}

Result<Board> load_board(const std::string& path) {
  const Result<std::string> text = config::read_file(path, kFileBytesMax);
  LAIRD_TRY(text);
  return board_from_text(*text, path);
}

std::vector<std::string> board_names() {
  std::vector<std::string> out;
  for (const EmbeddedBoard& entry : embedded_boards()) {
    std::string stem(entry.file.substr(0, entry.file.size() - 5));
    std::replace(stem.begin(), stem.end(), '_', '-');
    out.push_back(std::move(stem));
  }
  return out;
}

Result<Board> find_board(const std::string& name, const std::string& folder) {
  if (!config::is_name(name)) {
    return fail(Code::kInvalid, json::quoted(name.substr(0, 40)) + " is no board name");
  }
  const std::string file = file_of(name);
  if (!folder.empty()) {
    const std::string path = folder + "/" + file;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return load_board(path);
  }
  for (const EmbeddedBoard& entry : embedded_boards()) {
    if (entry.file == file) return board_from_text(entry.text, entry.file);
  }
  const std::vector<std::string> names = board_names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view meant = config::nearest(name, views);
  std::string all;
  for (const std::string& known : names) all += " " + known;
  return fail(Code::kNotFound, "no board is named " + json::quoted(name) +
                                   (meant.empty() ? "; known:" + all
                                                  : "; did you mean " + json::quoted(meant) + "?"));
}

std::vector<Board> all_boards(const std::string& folder) {
  std::vector<Board> out;
  for (const std::string& name : board_names()) {
    Result<Board> board = find_board(name, folder);
    if (board) out.push_back(std::move(*board));
  }
  return out;
}

Detection detect_board(const MachineIdentity& identity, std::span<const Board> known) {
  Detection out;
  std::string module;
  if (const Board* exact = by_module(identity, known, module)) {
    out.board = *exact;
    out.evidence.push_back("device-tree compatible has module " + module);
  } else if (const Board* near = by_soc(identity, known)) {
    out.board = *near;
    out.evidence.push_back("device-tree compatible has SoC " + near->detect_soc);
    out.uncertainty.push_back("the module is not in the catalogue; " + near->name +
                              " is the one of this SoC with the nearest memory size");
  } else {
    for (const Board& board : known) {
      if (board.name == "generic") out.board = board;
    }
    LAIRD_REQUIRE(!out.board.name.empty(), "the catalogue has no generic board");
    out.evidence.push_back(identity.compatible.empty()
                               ? "no device tree: not a Jetson, or hidden by a container"
                               : "device-tree compatible names no known module or SoC");
  }
  if (!identity.boot_spec.empty()) out.evidence.push_back("boot spec " + identity.boot_spec);
  note_differences(identity, out);
  return out;
}

bool MachineIdentity::is_jetson() const {
  for (const std::string& entry : compatible) {
    if (entry.starts_with("nvidia,tegra") || entry.find("nvidia,p") != std::string::npos) {
      return true;
    }
  }
  return false;
}

std::string_view jetpack_of(std::string_view l4t) {
  struct Row {
    std::string_view l4t;
    std::string_view jetpack;
  };
  static constexpr Row kRows[] = {
      {"R32.7.6", "4.6.6"}, {"R35.6.4", "5.1.6"}, {"R36.3", "6.0"},     {"R36.3.0", "6.0"},
      {"R36.4.0", "6.1"},   {"R36.4.3", "6.2"},   {"R36.4.4", "6.2.1"}, {"R36.4.7", "6.2.1"},
      {"R36.5.0", "6.2.2"}, {"R38.2", "7.0"},     {"R38.2.0", "7.0"},   {"R38.4.0", "7.1"},
      {"R39.2.0", "7.2"},   {"R39.2", "7.2"},
  };
  for (const Row& row : kRows) {
    if (row.l4t == l4t) return row.jetpack;
  }
  return {};
}

}  // namespace laird::power
