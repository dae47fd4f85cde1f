// What can make an engine of a model on this board, and run it: TensorRT in this process through a
// small plugin, or the board's trtexec as a process of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laird::promote {

// From the fastest to the safest.
enum class Precision : std::uint8_t { kInt8, kFp16, kFp32 };
inline constexpr std::string_view kPrecisionNames[] = {"int8", "fp16", "fp32"};
[[nodiscard]] inline std::string_view name(Precision p) {
  return kPrecisionNames[static_cast<std::size_t>(p)];
}

// Of TensorRT: 8.5.2, 10.13.3.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;

  [[nodiscard]] bool at_least(int least_major, int least_minor) const {
    return major > least_major || (major == least_major && minor >= least_minor);
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }
};

// The tensors of a model that matter here.
struct Ports {
  std::string input;
  std::uint32_t features = 0;
  std::string output;
  std::uint32_t outputs = 0;
};

struct BuildRequest {
  std::string onnx;
  std::string engine;        // where it is to be written
  std::string timing_cache;  // read if it is there, and written
  Precision precision = Precision::kFp32;
  // The ONNX file itself is in half precision: what TensorRT 11 and later need for it.
  bool onnx_is_half = false;
  Ports ports;
  std::uint32_t batch_max = 1;
  std::uint32_t workspace_mb = 256;
};

struct Timing {
  std::uint32_t batch = 1;
  std::uint32_t runs = 0;
  double latency_us_p50 = 0.0;
  double latency_us_p95 = 0.0;
  double latency_us_p99 = 0.0;
  double rows_per_s = 0.0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Version version() const = 0;
  // kFull: the board's memory did not suffice. kInvalid: TensorRT cannot make this model.
  // kUnavailable: it did not end in time. Whatever it was, the context is one sentence.
  [[nodiscard]] virtual Status build(const BuildRequest& request) = 0;
  // The answers of an engine to rows, `ports.outputs` numbers a row.
  [[nodiscard]] virtual Result<std::vector<float>> run(const std::string& engine,
                                                       const Ports& ports, std::uint32_t batch_max,
                                                       std::span<const float> inputs) = 0;
  [[nodiscard]] virtual Result<Timing> time(const std::string& engine, const Ports& ports,
                                            std::uint32_t batch) = 0;
};

// Fills the numbers of a timing from latencies in milliseconds, at least one, and the time all
// runs took together.
[[nodiscard]] Timing timing_of(std::uint32_t batch, std::vector<double> latencies_ms,
                               double together_ms);

}  // namespace laird::promote
