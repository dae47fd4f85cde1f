// The only file that names NVIDIA's library.
#include "power/readers/nvml/library.hpp"

#include <dlfcn.h>

#include <array>

namespace laird::power::nvml {
namespace {

// Of the library's return codes, those that decide something here.
enum ReturnCode : int {
  kSuccess = 0,
  kUninitialized = 1,
  kNotSupported = 3,
  kDriverNotLoaded = 9,
  kFunctionNotFound = 13,
  kGpuLost = 15,
  kVersionMismatch = 18,
};

constexpr unsigned kClockGraphics = 0;
constexpr unsigned kSensorGpu = 0;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

enum QueryId : std::size_t { kLoad, kClock, kPower, kTemperature, kQueryCount };

// Highest value that can be true; above it the answer is taken for noise.
struct QueryRule {
  const char* what;
  std::uint32_t max;
};
constexpr std::array<QueryRule, kQueryCount> kRules = {{
    {"load", 100},         // percent
    {"clock", 10'000},     // MHz
    {"power", 1'000'000},  // mW
    {"temperature", 200},  // C
}};

}  // namespace

struct Library::Functions {
  int (*init)() = nullptr;
  int (*shut_down)() = nullptr;
  int (*handle_by_index)(unsigned, void**) = nullptr;
  // Each of these may be missing.
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*utilization)(void*, Utilization*) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  std::array<bool, kQueryCount> unsupported = {};

  int ask(std::size_t which, void* device, std::uint32_t& out) const {
    unsigned value = 0;
    int code = kFunctionNotFound;
    if (which == kLoad && utilization != nullptr) {
      Utilization both{};
      code = utilization(device, &both);
      value = both.gpu;
    }
    if (which == kClock && clock != nullptr) code = clock(device, kClockGraphics, &value);
    if (which == kPower && power != nullptr) code = power(device, &value);
    if (which == kTemperature && temperature != nullptr) {
      code = temperature(device, kSensorGpu, &value);
    }
    out = value;
    return code;
  }
};

namespace {

template <class Function>
bool find(void* handle, const char* symbol, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(handle, symbol));
  return out != nullptr;
}

std::string last_dl_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

Library::Library(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

// The library stays mapped: it starts threads and exit handlers of its own, and unmapping code that
// may still run is how such libraries crash their hosts. Opening it again finds it in place.
Library::~Library() {
  if (initialised_ && functions_->shut_down != nullptr) functions_->shut_down();
}

std::string Library::text_of(int code) const {
  const char* text = functions_->error_string == nullptr ? nullptr : functions_->error_string(code);
  return (text == nullptr ? "error" : std::string(text)) + " (NVML " + std::to_string(code) + ")";
}

Result<std::unique_ptr<Library>> Library::open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(Code::kNotFound, "NVML cannot be loaded: " + last_dl_error());
  auto functions = std::make_unique<Functions>();
  Functions& f = *functions;
  for (const auto& [found, symbol] :
       {std::pair{find(handle, "nvmlInit_v2", f.init), "nvmlInit_v2"},
        std::pair{find(handle, "nvmlDeviceGetHandleByIndex_v2", f.handle_by_index),
                  "nvmlDeviceGetHandleByIndex_v2"}}) {
    if (!found) return fail(Code::kInvalid, name + " has no " + symbol + ": another version");
  }
  find(handle, "nvmlShutdown", f.shut_down);
  find(handle, "nvmlErrorString", f.error_string);
  find(handle, "nvmlSystemGetDriverVersion", f.driver_version);
  find(handle, "nvmlDeviceGetUtilizationRates", f.utilization);
  find(handle, "nvmlDeviceGetClockInfo", f.clock);
  find(handle, "nvmlDeviceGetPowerUsage", f.power);
  find(handle, "nvmlDeviceGetTemperature", f.temperature);
  std::unique_ptr<Library> out(new Library(std::move(functions)));
  if (const int code = f.init(); code != kSuccess) {
    const char* remedy = code == kVersionMismatch   ? "; library and driver differ, reboot"
                         : code == kDriverNotLoaded ? "; the driver is not loaded"
                                                    : "";
    return fail(Code::kUnavailable, "NVML does not start: " + out->text_of(code) + remedy);
  }
  out->initialised_ = true;
  std::array<char, 96> version{};
  if (f.driver_version != nullptr &&
      f.driver_version(version.data(), version.size() - 1) == kSuccess) {
    out->driver_ = version.data();
  }
  if (const int code = f.handle_by_index(0, &out->device_); code != kSuccess) {
    return fail(Code::kNotFound, "NVML knows no GPU: " + out->text_of(code));
  }
  return out;
}

Result<std::optional<std::uint32_t>> Library::ask(std::size_t which, Sample& out) {
  const auto absent = [&](const std::string& why) -> std::optional<std::uint32_t> {
    out.missing += (out.missing.empty() ? "" : ", ") + std::string(kRules[which].what) + ": " + why;
    return std::nullopt;
  };
  bool& unsupported = functions_->unsupported[which];
  if (unsupported) return absent("not supported");
  std::uint32_t value = 0;
  const int code = functions_->ask(which, device_, value);
  if (code == kSuccess && value <= kRules[which].max) return std::optional(value);
  if (code == kSuccess) return absent("makes no sense, " + std::to_string(value));
  if (code == kGpuLost || code == kUninitialized || code == kDriverNotLoaded) {
    return fail(Code::kUnavailable, "NVML lost the GPU: " + text_of(code));
  }
  unsupported = code == kNotSupported || code == kFunctionNotFound;
  return unsupported ? absent("not supported") : absent(text_of(code));
}

Result<Sample> Library::sample() {
  Sample out;
  std::array<std::optional<std::uint32_t>, kQueryCount> values;
  for (std::size_t i = 0; i < kQueryCount; ++i) {
    const Result<std::optional<std::uint32_t>> value = ask(i, out);
    LAIRD_TRY(value);
    values[i] = *value;
  }
  if (values[kLoad]) out.load_permille = static_cast<std::int32_t>(*values[kLoad]) * 10;
  if (values[kClock]) out.clock_mhz = static_cast<std::int32_t>(*values[kClock]);
  if (values[kPower]) out.power_mw = *values[kPower];
  if (values[kTemperature]) out.temperature_mc = std::int64_t{*values[kTemperature]} * 1000;
  return out;
}

}  // namespace laird::power::nvml
