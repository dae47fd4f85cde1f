// Engines that were built here, by what they depend on: the model, the board's module, the version
// of TensorRT, the precision and the largest batch. Beside each its verdict and its times. One of
// another key is never used, so an upgrade of TensorRT builds anew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "promote/backend.hpp"
#include "promote/verdict.hpp"

namespace laird::promote {

struct EngineKey {
  std::string model_sha256;
  std::string module;
  std::string backend;
  Version version;
  Precision precision = Precision::kFp32;
  std::uint32_t batch_max = 1;

  [[nodiscard]] std::string text() const;  // a file's name
};

struct Engine {
  std::string path;
  std::string sha256;
  std::uint64_t bytes = 0;
  double build_s = 0.0;
  std::string rows_sha256;  // what it was judged by
  std::optional<Verdict> verdict;
  std::vector<Timing> timings;
  // For one row at batch 1, above the board's idle power; and why it is not known, where it is not.
  std::optional<double> energy_mj_per_row;
  std::string no_energy;
};

class EngineCache {
 public:
  explicit EngineCache(std::string folder) : folder_(std::move(folder)) {}

  // Whole and as it was kept, or nothing.
  [[nodiscard]] std::optional<Engine> find(const EngineKey& key) const;
  // Takes the file at `built` in, and what is known of it.
  [[nodiscard]] Status keep(const EngineKey& key, const std::string& built, Engine& engine);
  // Anew for an engine that is kept already.
  [[nodiscard]] Status describe(const EngineKey& key, const Engine& engine);
  // Where TensorRT keeps what it measured, for a module and version.
  [[nodiscard]] std::string timing_cache(const std::string& module, const Version& version) const;

 private:
  [[nodiscard]] std::string engine_path(const EngineKey& key) const;
  [[nodiscard]] std::string about_path(const EngineKey& key) const;

  std::string folder_;
};

[[nodiscard]] json::Value to_json(const std::vector<Timing>& timings);
// Of a file, in pieces.
[[nodiscard]] Result<std::string> sha256_of_file(const std::string& path);

}  // namespace laird::promote
