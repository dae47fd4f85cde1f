#include "trainers/standalone.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>

#include "trainers/model/checkpoint.hpp"
#include "trainers/model/training.hpp"
#include "trainers/session.hpp"

namespace laird::trainers {
namespace {

constexpr std::size_t kParamsBytesMax = 1 << 20;
// Under the agent a task's target and deadline end a training; alone something else has to.
constexpr std::uint32_t kEpochsAlone = 10;

void say(const std::string& text) { std::fprintf(stderr, "laird-train: %s\n", text.c_str()); }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print(const Report& report, double seconds, std::uint64_t done) {
  std::printf("samples=%llu loss=%.6g seconds=%.2f samples_per_s=%.0f\n",
              static_cast<unsigned long long>(report.samples), report.loss, seconds,
              static_cast<double>(done) / seconds);
  std::fflush(stdout);
}

// False when the training failed; the reason is on stderr.
bool work(const StandaloneOptions& options, Training& training) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t first = training.samples();
  double last_print = 0.0;
  while (training.may_advance(options.samples_max)) {
    if (const Status s = training.advance(options.samples_max); !s) {
      say(s.error().context);
      return false;
    }
    const double now = seconds_since(start);
    const bool due = options.report_every > 0 ? training.unreported() >= options.report_every
                                              : now - last_print >= 1.0;
    if (due) {
      print(training.take_report(), now, training.samples() - first);
      last_print = now;
    }
    if (now >= options.seconds_max) break;
  }
  if (training.unreported() > 0) {
    print(training.take_report(), seconds_since(start), training.samples() - first);
  }
  return true;
}

}  // namespace

namespace {

// "-" is standard input.
Result<std::string> read_params_text(const std::string& path) {
  if (path != "-") return config::read_file(path, kParamsBytesMax);
  std::string out;
  std::array<char, 4096> block{};
  std::size_t n = 0;
  while ((n = std::fread(block.data(), 1, block.size(), stdin)) > 0) {
    out.append(block.data(), n);
    if (out.size() > kParamsBytesMax)
      return fail(Code::kInvalid, "the params are longer than 1 MB");
  }
  return out;
}

}  // namespace

std::optional<Params> read_params_file(Kind kind, const std::string& path) {
  const Result<std::string> text = read_params_text(path);
  if (!text) {
    say(text.error().text());
    return std::nullopt;
  }
  json::ParseLimits limits;
  limits.comments = true;
  const Result<json::Value> value = json::parse(*text, path, limits);
  if (!value) {
    say(value.error().context);
    return std::nullopt;
  }
  std::vector<config::Problem> problems;
  const Params params = read_params(kind, *value, path, problems);
  for (const config::Problem& p : problems) std::fprintf(stderr, "%s\n", p.text().c_str());
  if (!problems.empty()) return std::nullopt;
  return params;
}

int run_standalone(const StandaloneOptions& options) {
  std::optional<Params> params = read_params_file(options.kind, options.params_path);
  if (!params) return kExitError;
  const bool limited = options.samples_max != kNoSampleLimit || options.seconds_max != kNoTimeLimit;
  if (!params->epochs && !limited) params->epochs = kEpochsAlone;
  if (params->fleet) {
    say("\"fleet\" needs an agent and other boards; without it the params train this board's data "
        "alone");
    return kExitUsage;
  }
  Result<Training> training = Training::create(*params, options.seed);
  if (!training) {
    say(training.error().text());
    return kExitError;
  }
  CheckpointFolder folder(options.folder);
  if (!options.folder.empty()) {
    std::vector<std::string> notes;
    const bool resumed =
        folder.load([&](std::string_view payload) { return training->restore(payload); }, notes);
    for (const std::string& note : notes) say(note);
    if (resumed) say("resumed at " + std::to_string(training->samples()) + " samples");
  }
  if (!work(options, *training)) return kExitError;
  if (!options.folder.empty()) {
    if (const Status s = folder.save(training->save()); !s) {
      say(s.error().text());
      return kExitError;
    }
  }
  if (training->finished())
    std::printf("done samples=%llu\n", static_cast<unsigned long long>(training->samples()));
  return kExitStopped;
}

}  // namespace laird::trainers
