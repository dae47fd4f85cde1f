// The kernels of the estimators, on this machine's GPU and on its CPU: do they give the same bits,
// and from which size on is the GPU faster.
#include <cstdio>
#include <optional>

#include "agent/selftest/own_process.hpp"
#include "agent/selftest/selftest.hpp"
#include "base/harmless.hpp"
#include "estimators/cuda/check.hpp"
#include "power/readers/reader.hpp"

namespace laird::agent::selftest {
namespace {

using estimators::DeviceCheck;
using json::Value;

// A driver that compiles PTX for the first time takes its while.
constexpr DurationNs kPatience = 2 * kMinute;
constexpr int kNothingToCheck = 3;

Value cost_json(const estimators::EngineCost& cost) {
  return Value::object().set("launch_ns", cost.launch_ns).set("update_ns", cost.update_ns);
}

Value as_json(const DeviceCheck& check) {
  Value kernels = Value::array();
  for (const estimators::KernelCheck& kernel : check.kernels) {
    kernels.add(Value::object()
                    .set("kernel", kernel.kernel)
                    .set("words", static_cast<std::int64_t>(kernel.words))
                    .set("different", static_cast<std::int64_t>(kernel.different)));
  }
  Value out = Value::object();
  out.set("device", harmless(check.device))
      .set("driver", check.driver)
      .set("cpu", check.cpu)
      .set("same_bits", check.different() == 0)
      .set("kernels", std::move(kernels))
      .set("cpu_cost", cost_json(check.cpu_cost))
      .set("gpu_cost", cost_json(check.gpu_cost));
  // Left out where the GPU is faster at no size.
  if (check.from_updates != estimators::kNeverUpdates) {
    out.set("gpu_from_updates", static_cast<std::int64_t>(check.from_updates));
  }
  return out;
}

// In the child: JSON, or "? WHY" when there is no GPU to check, or "! WHY".
std::string check_here() {
  const auto check =
      estimators::check_device(estimators::cuda_plugin(), "libcuda.so.1", power::monotonic_now);
  if (check) return json::to_text(as_json(*check));
  const bool absent = check.error().code == Code::kNotFound || check.error().code == Code::kInvalid;
  const bool no_gpu = check.error().context.find("no CUDA") != std::string::npos;
  return (absent || no_gpu ? "? " : "! ") + check.error().context;
}

struct Answer {
  std::optional<Value> found;
  std::string why;
  bool absent = false;
};

Answer ask() {
  const Result<std::string> words = ask_in_own_process(check_here, kPatience);
  if (!words) return {std::nullopt, words.error().context, false};
  if (words->starts_with("? ")) return {std::nullopt, words->substr(2), true};
  Result<Value> value = json::parse(*words, "the check");
  if (!value) return {std::nullopt, "the check ended without an answer", false};
  return {std::move(*value), {}, false};
}

double number(const Value& at, std::string_view key) {
  const Value* found = at.find(key);
  return found != nullptr && found->is_number() ? found->as_double() : 0.0;
}
std::string text(const Value& at, std::string_view key) {
  const Value* found = at.find(key, json::Kind::kString);
  return found == nullptr ? "" : found->as_string();
}
bool same_bits(const Value& found) {
  const Value* same = found.find("same_bits", json::Kind::kBool);
  return same != nullptr && same->as_bool();
}

std::string cost_text(const Value& found, std::string_view key) {
  const Value* cost = found.find(key, json::Kind::kObject);
  if (cost == nullptr) return "";
  char out[96];
  std::snprintf(out, sizeof out, "%.1f us a launch, %.2f ns a filter and report",
                number(*cost, "launch_ns") / 1e3, number(*cost, "update_ns"));
  return out;
}

std::string crossover_text(const Value& found) {
  if (found.find("gpu_from_updates") == nullptr) return "the CPU is faster at every size";
  char out[96];
  std::snprintf(out, sizeof out, "the GPU is faster from %.0f updates in a launch on",
                number(found, "gpu_from_updates"));
  return out;
}

void print(const Value& found) {
  std::printf("%-10s %s (driver %s)\n", "device", text(found, "device").c_str(),
              text(found, "driver").c_str());
  for (const Value& kernel : found.find("kernels")->items()) {
    std::printf("%-10s %.0f of %.0f words differ from the CPU's\n", text(kernel, "kernel").c_str(),
                number(kernel, "different"), number(kernel, "words"));
  }
  std::printf("%-10s %s: %s\n", "cpu", text(found, "cpu").c_str(),
              cost_text(found, "cpu_cost").c_str());
  std::printf("%-10s %s\n", "gpu", cost_text(found, "gpu_cost").c_str());
  std::printf("%-10s %s\n", "crossover", crossover_text(found).c_str());
  std::printf("%s\n", same_bits(found)
                          ? "the GPU gives the bits of the CPU"
                          : "the GPU does NOT give the bits of the CPU: set estimator.device to "
                            "\"cpu\" and send this output");
}

}  // namespace

Finding check_engines() {
  const Answer outcome = ask();
  if (!outcome.found) {
    return outcome.absent ? skipped("engines", outcome.why)
                          : failed("engines", outcome.why, "set estimator.device to \"cpu\"");
  }
  const Value& found = *outcome.found;
  Finding out =
      same_bits(found)
          ? passed("engines", "the GPU gives the bits of the CPU; " + crossover_text(found))
          : failed("engines", "the GPU does not give the bits of the CPU",
                   "set estimator.device to \"cpu\", and send the report");
  out.measured = found;
  return out;
}

int run_gpu_check(bool as_json) {
  const Answer outcome = ask();
  if (!outcome.found) {
    std::fprintf(stderr, "laird board: %s\n", harmless(outcome.why).c_str());
    return outcome.absent ? kNothingToCheck : 1;
  }
  if (as_json) {
    std::printf("%s", json::to_pretty_text(*outcome.found).c_str());
  } else {
    print(*outcome.found);
  }
  return same_bits(*outcome.found) ? 0 : 1;
}

}  // namespace laird::agent::selftest
