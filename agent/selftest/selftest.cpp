#include "agent/selftest/selftest.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/harmless.hpp"
#include "os/clock.hpp"
#include "os/whole_file.hpp"

namespace laird::agent::selftest {
namespace {

using json::Value;

constexpr std::array<std::string_view, 7> kParts = {"board",  "sensors", "meters",  "knobs",
                                                    "groups", "gpu",     "training"};
constexpr std::size_t kLogMax = 64 * 1024;

const char* mark(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed: return "ok";
    case Outcome::kFailed: return "BAD";
    case Outcome::kSkipped: return "-";
  }
  return "";
}

void print(const Finding& finding) {
  std::printf("%-4s %-12s %s\n", mark(finding.outcome), finding.check.c_str(),
              harmless(finding.said).c_str());
  if (!finding.remedy.empty()) std::printf("%-4s %-12s %s\n", "", "", finding.remedy.c_str());
  std::fflush(stdout);
}

Value as_json(const Finding& finding) {
  return Value::object()
      .set("check", finding.check)
      .set("outcome", name(finding.outcome))
      .set("said", finding.said)
      .set("remedy", finding.remedy)
      .set("measured", finding.measured);
}

// A folder that goes with the object.
class Folder {
 public:
  Folder() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base == nullptr || *base == '\0' ? "/var/tmp" : base) +
            "/laird-selftest-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string kernel() {
  utsname name{};
  if (::uname(&name) != 0) return "";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string log_of(const std::string& folder) {
  std::ifstream in(folder + "/agent.log");
  std::stringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  return text.size() > kLogMax ? text.substr(text.size() - kLogMax) : text;
}

class Run {
 public:
  Run(const Options& options, const Board& board) : options_(options), board_(board) {}

  int go() {
    if (wanted("board")) take(check_board(board_));
    if (wanted("sensors")) take(check_sensors(options_, board_));
    if (wanted("meters")) {
      told("comparing meters", options_.measuring);
      take(check_meters(options_, board_, raw_));
    }
    if (wanted("knobs")) take_all(check_knobs(options_));
    if (wanted("groups")) take_all(check_groups());
    if (wanted("gpu")) {
      take(check_gpu(board_));
      take(check_engines());
    }
    if (wanted("training")) train();
    return finish();
  }

 private:
  [[nodiscard]] bool wanted(std::string_view part) const {
    return options_.only.empty() ||
           std::find(options_.only.begin(), options_.only.end(), part) != options_.only.end();
  }
  static void told(const char* what, DurationNs lasts) {
    std::fprintf(stderr, "%s, %lld s ...\n", what, static_cast<long long>(lasts / kSecond));
  }
  void take(Finding finding) {
    print(finding);
    findings_.push_back(std::move(finding));
  }
  void take_all(std::vector<Finding> all) {
    for (Finding& finding : all) take(std::move(finding));
  }
  void train() {
    const Folder folder;
    if (folder.path().empty()) {
      take(failed("training", "cannot make a folder in /var/tmp",
                  "set TMPDIR to one that is writable"));
      return;
    }
    told("training, and then TensorRT", options_.training);
    take_all(check_training(options_, board_, folder.path()));
    log_ = log_of(folder.path());
  }
  int finish() {
    std::array<int, 3> counts{};
    Value checks = Value::array();
    for (const Finding& finding : findings_) {
      ++counts[static_cast<std::size_t>(finding.outcome)];
      checks.add(as_json(finding));
    }
    Value lines = Value::array();
    for (const std::string& line : raw_) lines.add(harmless(line));
    SystemClock clock;
    const Value report = Value::object()
                             .set("s", "laird.selftest/1.0")
                             .set("laird", options_.version)
                             .set("at_unix_s", clock.wall_ns() / kSecond)
                             .set("kernel", kernel())
                             .set("rehearsal", !options_.root.empty())
                             .set("passed", counts[0])
                             .set("failed", counts[1])
                             .set("skipped", counts[2])
                             .set("checks", std::move(checks))
                             .set("tegrastats", std::move(lines))
                             .set("agent_log", harmless_lines(log_));
    std::printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1], counts[2]);
    WholeFileOptions how;
    how.mode = 0644;
    if (const Status written = write_whole_file(options_.report, json::to_pretty_text(report), how);
        !written) {
      std::fprintf(stderr, "laird board: cannot write the report: %s\n",
                   written.error().text().c_str());
      return 1;
    }
    std::printf("everything that was seen is in %s; it holds no key and no serial number\n",
                options_.report.c_str());
    return counts[1] == 0 ? 0 : 1;
  }

  const Options& options_;
  const Board& board_;
  std::vector<Finding> findings_;
  std::vector<std::string> raw_;
  std::string log_;
};

}  // namespace

int run(const Options& options, const Board& board) {
  for (const std::string& part : options.only) {
    if (std::find(kParts.begin(), kParts.end(), part) == kParts.end()) {
      std::fprintf(stderr,
                   "laird board: no part '%s'; there are board, sensors, meters, knobs, groups, "
                   "gpu and training\n",
                   harmless(part).c_str());
      return 2;
    }
  }
  return Run(options, board).go();
}

}  // namespace laird::agent::selftest
