#include "agent/trainer_check.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "os/fd.hpp"
#include "os/run_program.hpp"
#include "os/whole_file.hpp"

namespace laird::agent {
namespace {

namespace fs = std::filesystem;

constexpr DurationNs kCheckMax = kMinute;
constexpr std::int64_t kMegabyte = 1'000'000;

// A folder that is gone with this.
struct ShortLivedFolder {
  ShortLivedFolder() {
    char name[] = "/tmp/laird-check-XXXXXX";
    if (::mkdtemp(name) != nullptr) path = name;
  }
  ~ShortLivedFolder() {
    std::error_code none;
    if (!path.empty()) fs::remove_all(path, none);
  }
  ShortLivedFolder(const ShortLivedFolder&) = delete;
  ShortLivedFolder& operator=(const ShortLivedFolder&) = delete;
  std::string path;
};

// "... memory_mb=12": what a training needs at most.
std::int64_t memory_mb_in(const std::string& output) {
  constexpr std::string_view kKey = "memory_mb=";
  const std::size_t at = output.find(kKey);
  std::int64_t out = 0;
  if (at == std::string::npos) return 0;
  const char* begin = output.data() + at + kKey.size();
  std::from_chars(begin, output.data() + output.size(), out);
  return out;
}

// Without the name of our own file in front of each line.
std::string words_of(std::string output, const std::string& file) {
  for (std::size_t at = output.find(file); at != std::string::npos; at = output.find(file)) {
    std::size_t end = at + file.size();
    while (end < output.size() && (output[end] == ':' || output[end] == ' ')) ++end;
    output.erase(at, end - at);
  }
  while (!output.empty() && output.back() == '\n') output.pop_back();
  std::replace(output.begin(), output.end(), '\n', ';');
  return output;
}

}  // namespace

void check_with_trainer(const core::TaskSpec& spec, const TrainerProgram& program, bool no_data,
                        const std::string& source, std::vector<config::Problem>& problems,
                        std::vector<std::string>& notes) {
  std::vector<std::string> command = check_command(program);
  if (command.empty()) {
    notes.push_back("its trainer '" + spec.trainer +
                    "' has no check of its own; params were not "
                    "looked at");
    return;
  }
  const ShortLivedFolder folder;
  const std::string file = folder.path + "/params.json";
  if (folder.path.empty() || !write_whole_file(file, spec.params, {.sync = false})) {
    notes.push_back("the trainer's own check was not run: no room in /tmp");
    return;
  }
  // A trainer of one's own may not know the word.
  if (no_data && !program.checks) command.insert(command.begin() + 2, "--no-data");
  command.push_back(file);
  const Result<Ended> ended = run_program(command, folder.path + "/log", kCheckMax);
  if (!ended) {
    notes.push_back("the trainer's own check was not run: " + ended.error().context);
  } else if (ended->timed_out) {
    notes.push_back("the trainer's own check took longer than a minute and was ended");
  } else if (ended->code != 0) {
    problems.push_back({source, 0, "/params", words_of(ended->output, file)});
  } else if (const std::int64_t needed = memory_mb_in(ended->output) * kMegabyte;
             needed > spec.memory_bytes && spec.memory_bytes > 0) {
    notes.push_back("it may need up to " + std::to_string(needed / kMegabyte) +
                    " MB, and its \"memory\" says " +
                    std::to_string(spec.memory_bytes / kMegabyte) + " MB");
  }
}

}  // namespace laird::agent
