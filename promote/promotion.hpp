// From an exported model to what stands as current: engines from the fastest precision to the
// safest until one is as good as the model, else the ONNX itself.
#pragma once

#include <string>
#include <vector>

#include "base/time.hpp"
#include "promote/backend.hpp"
#include "promote/engine_cache.hpp"
#include "promote/meter.hpp"
#include "promote/shelf/shelf.hpp"
#include "promote/verdict.hpp"

namespace laird::promote {

struct Plan {
  std::string onnx;  // model.json is beside it
  std::string module;
  std::vector<Precision> precisions = {Precision::kFp16, Precision::kFp32};
  bool every = false;  // goes on after the first that is good enough, for the table
  bool timed = true;
  Limits limits;
  std::uint32_t batch_max = 256;
  std::uint32_t workspace_mb = 256;
};

// What became of one precision.
struct Attempt {
  Precision precision = Precision::kFp32;
  bool cached = false;
  bool good = false;
  std::string why_not;  // one sentence, when it is not
  std::optional<Engine> engine;
};

struct Promoted {
  std::string version;
  std::string choice;  // a precision, or "onnx"
  std::string reason;  // why it is not an engine, when it is not
  std::vector<Attempt> attempts;
};

// `backend` may be nullptr: then `why_none` says why, and the ONNX is promoted.
// `meter` may be nullptr: then the energy of a row is not known.
[[nodiscard]] Result<Promoted> promote(Shelf& shelf, Backend* backend, const std::string& why_none,
                                       const Plan& plan, Meter* meter = nullptr);

// The board's module as its device tree names it, else the machine's architecture.
[[nodiscard]] std::string module_of_this_board();

}  // namespace laird::promote
