#include "promote/trtexec_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>

#include "json/value.hpp"

namespace laird::promote {
namespace {

using json::Kind;
using json::Value;

std::string shape(const Ports& ports, std::uint32_t batch) {
  return ports.input + ":" + std::to_string(batch) + "x" + std::to_string(ports.features);
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != text.npos; });
}

// The first line with an error, without the time and the mark in front of it.
std::string first_error(std::string_view output) {
  constexpr std::string_view kMark = "[E] ";
  std::size_t at = output.find(kMark);
  if (at == output.npos) return {};
  std::string_view line = output.substr(at + kMark.size());
  line = line.substr(0, line.find('\n'));
  return std::string(line.substr(0, 300));
}

// "No importer registered for op: Foo." names the operator.
std::string unsupported(std::string_view output) {
  for (const std::string_view mark :
       {"No importer registered for op: ", "could not find plugin: "}) {
    const std::size_t at = output.find(mark);
    if (at == output.npos) continue;
    std::string_view rest = output.substr(at + mark.size());
    rest = rest.substr(0, rest.find_first_of(" .\n,\"'"));
    return std::string(rest.substr(0, 80));
  }
  return {};
}

Result<Value> parse_file(std::string_view text, std::string_view what) {
  json::ParseLimits limits;
  limits.bytes_max = std::size_t{1} << 28;
  limits.values_max = std::size_t{1} << 24;
  return json::parse(text, what, limits);
}

}  // namespace

std::optional<Version> version_in(std::string_view output) {
  constexpr std::string_view kMark = "[TensorRT v";
  const std::size_t at = output.find(kMark);
  if (at == output.npos) return std::nullopt;
  const std::string_view digits = output.substr(at + kMark.size());
  int number = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (end.ec != std::errc() || number < 1000) return std::nullopt;
  // Until 9 the major version had three digits below it, since 10 it has four.
  const int unit = number < 10'000 ? 1000 : 10'000;
  return Version{number / unit, number % unit / 100, number % 100};
}

std::vector<std::string> build_flags(const Version& version, const BuildRequest& request) {
  const std::uint32_t opt = std::min<std::uint32_t>(request.batch_max, 8);
  std::vector<std::string> out = {
      "--onnx=" + request.onnx,
      "--saveEngine=" + request.engine,
      "--minShapes=" + shape(request.ports, 1),
      "--optShapes=" + shape(request.ports, opt),
      "--maxShapes=" + shape(request.ports, request.batch_max),
      "--timingCacheFile=" + request.timing_cache,
      (version.at_least(8, 4) ? "--memPoolSize=workspace:" : "--workspace=") +
          std::to_string(request.workspace_mb),
      version.at_least(8, 6) ? "--skipInference" : "--buildOnly",
  };
  if (request.precision == Precision::kFp16 && !request.onnx_is_half) out.emplace_back("--fp16");
  if (request.precision == Precision::kInt8 && !version.at_least(11, 0)) {
    out.emplace_back("--int8");
  }
  return out;
}

std::vector<std::string> answer_flags(const std::string& engine, const Ports& ports,
                                      std::uint32_t batch, const std::string& inputs,
                                      const std::string& answers) {
  return {"--loadEngine=" + engine,
          "--shapes=" + shape(ports, batch),
          "--loadInputs=" + ports.input + ":" + inputs,
          "--exportOutput=" + answers,
          "--iterations=1",
          "--warmUp=0",
          "--duration=0"};
}

std::vector<std::string> timing_flags(const std::string& engine, const Ports& ports,
                                      std::uint32_t batch, const std::string& times) {
  return {"--loadEngine=" + engine, "--shapes=" + shape(ports, batch),
          "--exportTimes=" + times, "--warmUp=200",
          "--duration=2",           "--iterations=100"};
}

Error failure_of(std::string_view output, int code, int signal, std::string_view doing) {
  const std::string act(doing);
  // The kernel ends what takes the board's last memory by SIGKILL, without a word.
  if (signal == SIGKILL || has_any(output, {"out of memory", "OutOfMemory", "Out of memory",
                                            "cudaErrorMemoryAllocation", "Cuda failure: 2"})) {
    return {Code::kFull, "TensorRT ran out of memory while " + act +
                             "; give it less with --workspace, stop other programs, or build on "
                             "another board of this module and copy its cache"};
  }
  if (const std::string op = unsupported(output); !op.empty()) {
    return {Code::kInvalid, "TensorRT does not know the operator " + op +
                                " of this model; export it without that operator"};
  }
  const std::string why = first_error(output);
  const std::string how = signal != 0 ? "ended by signal " + std::to_string(signal)
                                      : "exit code " + std::to_string(code);
  return {Code::kUnavailable,
          "trtexec failed while " + act + " (" + how + ")" + (why.empty() ? "" : ": " + why)};
}

Result<std::vector<float>> parse_answers(std::string_view text, const Ports& ports,
                                         std::uint32_t batch) {
  const Result<Value> value = parse_file(text, "the answers of trtexec");
  LAIRD_TRY(value);
  for (const Value& tensor : value->items()) {
    const Value* name = tensor.find("name", Kind::kString);
    const Value* values = tensor.find("values", Kind::kArray);
    if (name == nullptr || values == nullptr || name->as_string() != ports.output) continue;
    if (values->items().size() != std::size_t{batch} * ports.outputs) break;
    std::vector<float> out;
    out.reserve(values->items().size());
    for (const Value& v : values->items()) {
      if (!v.is_number()) return fail(Code::kCorrupt, "trtexec gave an answer that is no number");
      out.push_back(static_cast<float>(v.as_double()));
    }
    return out;
  }
  return fail(Code::kCorrupt, "trtexec gave no output " + json::quoted(ports.output) + " of " +
                                  std::to_string(batch) + " x " + std::to_string(ports.outputs) +
                                  " numbers");
}

Result<Timing> parse_times(std::string_view text, std::uint32_t batch) {
  const Result<Value> value = parse_file(text, "the times of trtexec");
  LAIRD_TRY(value);
  std::vector<double> latencies;
  double first = 0.0;
  double last = 0.0;
  for (const Value& run : value->items()) {
    const Value* start = run.find("startH2dMs");
    const Value* end = run.find("endD2hMs");
    const Value* latency = run.find("latencyMs");
    const auto good = [](const Value* v) {
      return v != nullptr && v->is_number() && v->as_double() >= 0.0;
    };
    if (!good(start) || !good(latency)) continue;
    if (latencies.empty()) first = start->as_double();
    latencies.push_back(latency->as_double());
    last = std::max(last, good(end) ? end->as_double() : start->as_double() + latencies.back());
  }
  if (latencies.empty()) return fail(Code::kCorrupt, "trtexec wrote no times");
  return timing_of(batch, std::move(latencies), last - first);
}

}  // namespace laird::promote
