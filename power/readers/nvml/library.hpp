// NVIDIA's management library, loaded at run time: nothing here is needed to build or to link.
//
// Everything in this file may hang for as long as the driver does, so it belongs on a thread of its
// own (gpu_probe.hpp). A value that the library does not give is absent, never 0: on a Jetson most
// queries answer "not supported", and which ones differs by release.
//
// Source: the library's public interface description (nvmlInit_v2, nvmlDeviceGetUtilizationRates,
// ...), declared anew in library.cpp. Thor gives the load and, by public reports, neither power nor
// clocks; the others are asked for because a later release may give them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace laird::power::nvml {

inline constexpr const char* kLibrary = "libnvidia-ml.so.1";

struct Sample {
  std::optional<std::int32_t> load_permille;
  std::optional<std::int32_t> clock_mhz;
  std::optional<std::int64_t> power_mw;
  std::optional<std::int64_t> temperature_mc;
  std::string missing;  // for people: what is absent and why; empty when nothing is

  [[nodiscard]] bool has_any() const {
    return load_permille || clock_mhz || power_mw || temperature_mc;
  }
};

// An initialised library and the first GPU.
class Library {
 public:
  // Fails with the reason when the library is absent, lacks a function that everything needs, does
  // not fit the driver, or knows no GPU.
  [[nodiscard]] static Result<std::unique_ptr<Library>> open(const std::string& name);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // Fails when the GPU is gone or the library is no longer usable: then open it again, later. A
  // query that is not supported is not asked twice.
  [[nodiscard]] Result<Sample> sample();
  [[nodiscard]] const std::string& driver() const { return driver_; }

 private:
  struct Functions;
  explicit Library(std::unique_ptr<Functions> functions);
  [[nodiscard]] std::string text_of(int code) const;
  // The query's value, when it gives one that makes sense; notes in `out` what it does not give.
  [[nodiscard]] Result<std::optional<std::uint32_t>> ask(std::size_t which, Sample& out);

  std::unique_ptr<Functions> functions_;
  void* device_ = nullptr;
  bool initialised_ = false;
  std::string driver_;
};

}  // namespace laird::power::nvml
