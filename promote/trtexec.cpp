#include "promote/trtexec.hpp"

#include <unistd.h>

#include <algorithm>

#include "config/schema.hpp"
#include "os/run_program.hpp"
#include "os/whole_file.hpp"
#include "promote/trtexec_words.hpp"

namespace laird::promote {
namespace {

constexpr std::size_t kFileMax = std::size_t{1} << 28;
constexpr DurationNs kVersionMost = 60 * kSecond;

class Trtexec final : public Backend {
 public:
  Trtexec(std::string path, std::string work, Version version, DurationNs most)
      : path_(std::move(path)), work_(std::move(work)), version_(version), most_(most) {}

  std::string_view name() const override { return "trtexec"; }
  Version version() const override { return version_; }

  Status build(const BuildRequest& request) override {
    const std::string doing = "building " + std::string(promote::name(request.precision));
    const bool had_cache = ::access(request.timing_cache.c_str(), F_OK) == 0;
    Status built = run_with(build_flags(version_, request), doing);
    // A timing cache of another TensorRT or board is a hard error: without it once more.
    if (!built && had_cache && built.error().code == Code::kUnavailable && !timed_out_) {
      ::unlink(request.timing_cache.c_str());
      built = run_with(build_flags(version_, request), doing);
    }
    LAIRD_TRY(built);
    if (::access(request.engine.c_str(), R_OK) != 0) {
      return fail(Code::kUnavailable, "trtexec said it built an engine and wrote none");
    }
    return {};
  }

  Result<std::vector<float>> run(const std::string& engine, const Ports& ports,
                                 std::uint32_t batch_max, std::span<const float> inputs) override {
    const std::size_t rows = inputs.size() / ports.features;
    std::vector<float> out;
    out.reserve(rows * ports.outputs);
    for (std::size_t row = 0; row < rows; row += batch_max) {
      const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(batch_max, rows - row));
      const Result<std::vector<float>> part = answer(
          engine, ports, n, inputs.subspan(row * ports.features, std::size_t{n} * ports.features));
      LAIRD_TRY(part);
      out.insert(out.end(), part->begin(), part->end());
    }
    return out;
  }

  Result<Timing> time(const std::string& engine, const Ports& ports, std::uint32_t batch) override {
    const std::string times = work_ + "/times.json";
    LAIRD_TRY(run_with(timing_flags(engine, ports, batch, times), "timing the engine"));
    const Result<std::string> text = config::read_file(times, kFileMax);
    LAIRD_TRY(text);
    return parse_times(*text, batch);
  }

 private:
  Status run_with(std::vector<std::string> flags, std::string_view doing) {
    flags.insert(flags.begin(), path_);
    const Result<Ended> ended = run_program(flags, work_ + "/trtexec.log", most_);
    LAIRD_TRY(ended);
    timed_out_ = ended->timed_out;
    if (ended->timed_out) {
      return fail(Code::kUnavailable, "trtexec did not end within " +
                                          std::to_string(most_ / kSecond) + " s while " +
                                          std::string(doing) + "; --timeout gives it longer");
    }
    if (ended->code == 0 && ended->signal == 0) return {};
    return tl::make_unexpected(failure_of(ended->output, ended->code, ended->signal, doing));
  }

  Result<std::vector<float>> answer(const std::string& engine, const Ports& ports,
                                    std::uint32_t batch, std::span<const float> inputs) {
    const std::string in = work_ + "/inputs.bin";
    const std::string out = work_ + "/answers.json";
    ::unlink(out.c_str());
    // trtexec reads the machine's own floats.
    LAIRD_TRY(write_whole_file(
        in, {reinterpret_cast<const char*>(inputs.data()), inputs.size_bytes()}, {.sync = false}));
    LAIRD_TRY(run_with(answer_flags(engine, ports, batch, in, out), "asking the engine"));
    const Result<std::string> text = config::read_file(out, kFileMax);
    LAIRD_TRY(text);
    return parse_answers(*text, ports, batch);
  }

  std::string path_;
  std::string work_;
  Version version_;
  DurationNs most_;
  bool timed_out_ = false;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_trtexec(const std::string& path, const std::string& work,
                                              DurationNs most) {
  if (::access(path.c_str(), X_OK) != 0) return std::unique_ptr<Backend>();
  if (work.find_first_of(",:") != work.npos) {
    return fail(Code::kInvalid, "trtexec divides names of files at commas and colons, and " + work +
                                    " has one; choose another --out");
  }
  const Result<Ended> ended =
      run_program({path, "--help"}, work + "/trtexec.log", std::min(most, kVersionMost));
  LAIRD_TRY(ended);
  const std::optional<Version> version = version_in(ended->output);
  if (!version || version->major < 8) {
    return fail(Code::kUnavailable,
                path + " does not say which TensorRT it is of; 8.0 or later is needed");
  }
  return std::unique_ptr<Backend>(std::make_unique<Trtexec>(path, work, *version, most));
}

}  // namespace laird::promote
