#include "agent/settings/settings_loader.hpp"

#include <unistd.h>

#include <filesystem>

#include "power/boards/catalogue.hpp"

namespace laird::agent {
namespace fs = std::filesystem;
namespace {

using config::Problem;
using json::Value;

constexpr std::size_t kFileBytesMax = 4 * 1000 * 1000;
constexpr const char* kBoardsFolder = "/etc/laird/boards";

// The parser's text without the file and line that it starts with: a Problem has both by itself.
std::string what_is_wrong(const Error& error, const std::string& path) {
  const std::string place = path + (error.line > 0 ? ":" + std::to_string(error.line) : "") + ": ";
  return error.context.starts_with(place) ? error.context.substr(place.size()) : error.context;
}

Value read_json(const std::string& path, std::vector<Problem>& problems) {
  const Result<std::string> text = config::read_file(path, kFileBytesMax);
  if (!text) {
    problems.push_back(Problem{path, 0, "/", text.error().context});
    return Value::object();
  }
  json::ParseLimits limits;
  limits.bytes_max = kFileBytesMax;
  limits.comments = true;
  Result<Value> value = json::parse(*text, path, limits);
  if (value) return std::move(*value);
  problems.push_back(Problem{path, value.error().line, "/", what_is_wrong(value.error(), path)});
  return Value::object();
}

// The board by name, file or detection; detection always finds some board.
Result<ChosenBoard> choose_board(const std::string& wish, const power::MachineIdentity& identity) {
  ChosenBoard out;
  if (wish == "auto") {
    power::Detection found = power::detect_board(identity, power::all_boards(kBoardsFolder));
    out.board = std::move(found.board);
    out.notes = std::move(found.evidence);
    for (std::string& note : found.uncertainty) out.notes.push_back(std::move(note));
    return out;
  }
  Result<power::Board> board = wish.find('/') != std::string::npos
                                   ? power::load_board(wish)
                                   : power::find_board(wish, kBoardsFolder);
  LAIRD_TRY(board);
  out.board = std::move(*board);
  out.notes.push_back("named in the config");
  return out;
}

}  // namespace

Result<std::string> find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (!fs::path(program).is_absolute()) {
      return fail(Code::kInvalid, "'" + program + "' is a relative path; write an absolute one");
    }
    if (::access(program.c_str(), X_OK) == 0) return program;
    return fail(Code::kNotFound, "no program to execute at " + program);
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  // A helper of laird's, which stands in <prefix>/libexec/laird, finds what laird itself finds.
  const fs::path beside = self.parent_path().parent_path().filename() == "libexec"
                              ? self.parent_path().parent_path().parent_path() / "bin"
                              : self.parent_path();
  for (const fs::path& folder : {beside, fs::path("/usr/lib/laird")}) {
    const std::string candidate = (folder / program).string();
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return fail(Code::kNotFound, "no program '" + program +
                                   "' beside laird or in /usr/lib/laird; "
                                   "write its absolute path");
}

core::TaskSpec load_task(const std::string& path, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const Value value = read_json(path, problems);
  if (problems.size() > before) return {};
  return parse_task(value, path, problems);
}

Value read_config(const std::string& path, std::vector<Problem>& problems) {
  return read_json(path, problems);
}

Settings load_settings(const std::string& path, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const Value raw = read_config(path, problems);
  return problems.size() > before ? Settings{} : settings_of(raw, path, problems);
}

Surroundings surroundings_of(const std::string& config_path) {
  const power::MachineIdentity identity = power::read_identity("");
  const fs::path folder = fs::absolute(config_path).parent_path();
  Surroundings out;
  out.resolve = [folder](const std::string& p) {
    return (fs::path(p).is_absolute() ? fs::path(p) : folder / p).lexically_normal().string();
  };
  out.find_program = find_program;
  out.choose_board = [identity](const std::string& wish) { return choose_board(wish, identity); };
  out.memory_bytes = identity.memory_bytes;
  out.cpu_cores = identity.cpu_cores;
  return out;
}

std::string absolute_path(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

Settings settings_of(const Value& raw, const std::string& path, std::vector<Problem>& problems) {
  return parse_settings(raw, path, surroundings_of(path), problems);
}

}  // namespace laird::agent
