// The same training runs without an agent, for people: progress as lines on the terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trainers/model/params.hpp"

namespace laird::trainers {

struct StandaloneOptions {
  Kind kind = Kind::kSoftmax;
  std::string params_path;
  std::string folder;  // empty: no checkpoint
  std::uint64_t samples_max = UINT64_MAX;
  double seconds_max = 1e18;
  std::uint64_t report_every = 0;  // 0: about once a second
  std::uint64_t seed = 1;
};

// The exit code.
[[nodiscard]] int run_standalone(const StandaloneOptions& options);

// Reads and checks a params file; prints every problem on stderr.
[[nodiscard]] std::optional<Params> read_params_file(Kind kind, const std::string& path);

}  // namespace laird::trainers
