// The same training runs without an agent, for people: progress as lines on the terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trainers/model/params.hpp"

namespace laird::trainers {

inline constexpr std::uint64_t kNoSampleLimit = UINT64_MAX;
inline constexpr double kNoTimeLimit = 1e18;

struct StandaloneOptions {
  Kind kind = Kind::kSoftmax;
  std::string params_path;
  std::string folder;  // empty: no checkpoint
  std::uint64_t samples_max = kNoSampleLimit;
  double seconds_max = kNoTimeLimit;
  std::uint64_t report_every = 0;  // 0: about once a second
  std::uint64_t seed = 1;
};

// The exit code.
[[nodiscard]] int run_standalone(const StandaloneOptions& options);

// Reads and checks a params file; prints every problem on stderr.
[[nodiscard]] std::optional<Params> read_params_file(Kind kind, const std::string& path);

}  // namespace laird::trainers
