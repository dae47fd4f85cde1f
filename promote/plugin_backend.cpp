#include "promote/plugin_backend.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "os/clock.hpp"
#include "promote/tensorrt/plugin_abi.h"

namespace laird::promote {
namespace {

constexpr DurationNs kTimingFor = 2 * kSecond;
constexpr std::uint32_t kTimingRunsMin = 20;
constexpr std::uint32_t kTimingRunsMax = 100'000;
constexpr std::uint32_t kWarmUpRuns = 10;

struct Library {
  void* handle = nullptr;
  decltype(&laird_trt_abi) abi = nullptr;
  decltype(&laird_trt_start) start = nullptr;
  decltype(&laird_trt_make) make = nullptr;
  decltype(&laird_trt_open) open = nullptr;
  decltype(&laird_trt_run) run = nullptr;
  decltype(&laird_trt_close) close = nullptr;
};

template <class Function>
bool find(void* handle, const char* symbol, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(handle, symbol));
  return out != nullptr;
}

struct Problem {
  std::array<char, LAIRD_TRT_PROBLEM_MAX> text{};

  [[nodiscard]] Error error(int code) const {
    const Code as = code == LAIRD_TRT_NO_MEMORY     ? Code::kFull
                    : code == LAIRD_TRT_UNSUPPORTED ? Code::kInvalid
                                                    : Code::kUnavailable;
    std::string said(text.begin(), std::find(text.begin(), text.end(), '\0'));
    return {as, said.empty() ? "TensorRT failed without saying why" : std::move(said)};
  }
};

// An engine that is open.
class Opened {
 public:
  Opened(const Library& library, void* opened) : library_(library), opened_(opened) {}
  ~Opened() {
    if (opened_ != nullptr) library_.close(opened_);
  }
  Opened(Opened&& other) noexcept
      : library_(other.library_), opened_(std::exchange(other.opened_, nullptr)) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  Opened& operator=(Opened&&) = delete;

  Status run(const float* inputs, std::uint32_t rows, float* answers, double& milliseconds) {
    Problem problem;
    const int code = library_.run(opened_, inputs, rows, answers, &milliseconds,
                                  problem.text.data(), problem.text.size());
    if (code != LAIRD_TRT_OK) return tl::make_unexpected(problem.error(code));
    return {};
  }

 private:
  const Library& library_;
  void* opened_;
};

class Plugin final : public Backend {
 public:
  Plugin(const Library& library, Version version) : library_(library), version_(version) {}

  std::string_view name() const override { return "tensorrt"; }
  Version version() const override { return version_; }

  Status build(const BuildRequest& request) override {
    Status built = make(request);
    // A timing cache of another TensorRT or board is a hard error: without it once more.
    if (!built && built.error().code == Code::kUnavailable &&
        ::unlink(request.timing_cache.c_str()) == 0) {
      built = make(request);
    }
    return built;
  }

  Result<std::vector<float>> run(const std::string& engine, const Ports& ports,
                                 std::uint32_t batch_max, std::span<const float> inputs) override {
    Result<Opened> opened = open(engine, ports, batch_max);
    LAIRD_TRY(opened);
    const std::size_t rows = inputs.size() / ports.features;
    std::vector<float> out(rows * ports.outputs);
    double ignored = 0.0;
    for (std::size_t row = 0; row < rows; row += batch_max) {
      const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(batch_max, rows - row));
      LAIRD_TRY(opened->run(inputs.data() + row * ports.features, n,
                            out.data() + row * ports.outputs, ignored));
    }
    return out;
  }

  Result<Timing> time(const std::string& engine, const Ports& ports, std::uint32_t batch) override {
    Result<Opened> opened = open(engine, ports, batch);
    LAIRD_TRY(opened);
    const std::vector<float> inputs(std::size_t{batch} * ports.features, 0.5F);
    std::vector<float> answers(std::size_t{batch} * ports.outputs);
    double milliseconds = 0.0;
    for (std::uint32_t i = 0; i < kWarmUpRuns; ++i) {
      LAIRD_TRY(opened->run(inputs.data(), batch, answers.data(), milliseconds));
    }
    SystemClock clock;
    const TimeNs start = clock.boot_ns();
    std::vector<double> latencies;
    while (latencies.size() < kTimingRunsMin ||
           (clock.boot_ns() < start + kTimingFor && latencies.size() < kTimingRunsMax)) {
      LAIRD_TRY(opened->run(inputs.data(), batch, answers.data(), milliseconds));
      latencies.push_back(milliseconds);
    }
    const double together = static_cast<double>(clock.boot_ns() - start) / kMillisecond;
    return timing_of(batch, std::move(latencies), together);
  }

 private:
  Status make(const BuildRequest& request) {
    const laird_trt_build build{request.onnx.c_str(),
                                request.engine.c_str(),
                                request.timing_cache.c_str(),
                                request.ports.input.c_str(),
                                request.ports.features,
                                request.batch_max,
                                std::uint64_t{request.workspace_mb} << 20U,
                                static_cast<int>(request.precision),
                                request.onnx_is_half ? 1 : 0};
    Problem problem;
    const int code = library_.make(&build, problem.text.data(), problem.text.size());
    if (code != LAIRD_TRT_OK) return tl::make_unexpected(problem.error(code));
    return {};
  }

  Result<Opened> open(const std::string& engine, const Ports& ports, std::uint32_t batch_max) {
    const laird_trt_ports named{ports.input.c_str(), ports.features, ports.output.c_str(),
                                ports.outputs};
    Problem problem;
    void* opened =
        library_.open(engine.c_str(), &named, batch_max, problem.text.data(), problem.text.size());
    if (opened == nullptr) return tl::make_unexpected(problem.error(LAIRD_TRT_FAILED));
    return Opened(library_, opened);
  }

  Library library_;
  Version version_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_plugin(const std::string& path, std::string& why) {
  if (::access(path.c_str(), R_OK) != 0) {
    why = "no plugin at " + path;
    return std::unique_ptr<Backend>();
  }
  Library library;
  // Never closed: TensorRT does not like to be.
  library.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    const char* said = ::dlerror();
    return fail(Code::kUnavailable, "cannot open " + path + (said ? ": " + std::string(said) : ""));
  }
  if (!find(library.handle, "laird_trt_abi", library.abi) || library.abi() != LAIRD_TRT_ABI ||
      !find(library.handle, "laird_trt_start", library.start) ||
      !find(library.handle, "laird_trt_make", library.make) ||
      !find(library.handle, "laird_trt_open", library.open) ||
      !find(library.handle, "laird_trt_run", library.run) ||
      !find(library.handle, "laird_trt_close", library.close)) {
    return fail(Code::kUnavailable, path + " is no plugin of this laird-promote; build both anew");
  }
  int version[3] = {0, 0, 0};
  Problem problem;
  const int code = library.start(version, problem.text.data(), problem.text.size());
  if (code == LAIRD_TRT_ABSENT) {
    why = problem.error(code).context;
    return std::unique_ptr<Backend>();
  }
  if (code != LAIRD_TRT_OK) return tl::make_unexpected(problem.error(code));
  return std::unique_ptr<Backend>(
      std::make_unique<Plugin>(library, Version{version[0], version[1], version[2]}));
}

}  // namespace laird::promote
