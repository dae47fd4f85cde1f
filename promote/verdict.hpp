// Whether an engine may take the model's place: judged by its answers to the rows that came with
// the model, against the model's own. Pure.
#pragma once

#include <string>

#include "json/value.hpp"
#include "models/model_file.hpp"
#include "models/rows_file.hpp"

namespace laird::promote {

struct Limits {
  double agreement_min = 0.999;   // part of the rows with the same decision
  double loss_change_max = 0.01;  // how much worse the loss may be
};

struct Verdict {
  models::Agreement agreement;
  models::Metric metric;  // of the engine
  double loss_change = 0.0;
};

[[nodiscard]] Verdict judge(const models::Judge& by, const models::Rows& rows,
                            std::span<const float> answers);

// Empty: it may. Else why not.
[[nodiscard]] std::string refusal(const Verdict& verdict, const Limits& limits);

[[nodiscard]] json::Value to_json(const Verdict& verdict);
[[nodiscard]] Result<Verdict> verdict_from(const json::Value& value);

}  // namespace laird::promote
