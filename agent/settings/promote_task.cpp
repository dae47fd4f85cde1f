#include "agent/settings/promote_task.hpp"

namespace laird::agent {
namespace {

using config::Field;
using config::Schema;
using config::Type;

constexpr double kSecondNs = 1e9;

constexpr Field kPromoteFields[] = {
    {.name = "deadline",
     .type = Type::kDuration,
     .why = "The promotion ends so long after the training at the latest.",
     .fallback = "\"1h\"",
     .min = kSecondNs,
     .max = 366.0 * 86400 * kSecondNs},
    {.name = "memory",
     .type = Type::kSize,
     .why = "What it may use; building engines takes more than running them.",
     .fallback = "\"1GB\"",
     .min = 1e6,
     .max = 1e12},
    {.name = "agreement_min",
     .type = Type::kNumber,
     .why = "The least part of the checked rows on which an engine decides as the model does.",
     .fallback = "0.999",
     .min = 0,
     .max = 1},
    {.name = "loss_change_max",
     .type = Type::kNumber,
     .why = "By how much the loss of an engine may be worse than the model's.",
     .fallback = "0.01",
     .min = 0,
     .max = 1e9},
    {.name = "precisions",
     .type = Type::kList,
     .why = "Which to try, from the fastest to the safest: int8, fp16, fp32.",
     .fallback = "[\"fp16\",\"fp32\"]",
     .min = 1,
     .max = 3},
};
}  // namespace

const Schema kPromoteSchema{"promote",
                            "What follows when the target is reached: the model is exported, and a "
                            "task of its own makes it stand ready on the board.",
                            kPromoteFields};

std::string promote_task_problem(const core::TaskSpec& spec,
                                 const std::map<std::string, TrainerProgram>& trainers) {
  if (!spec.promote.wanted) return {};
  const auto trainer = trainers.find(spec.trainer);
  if (trainer != trainers.end() && trainer->second.lines_only) {
    return "the trainer '" + spec.trainer +
           "' only prints, so its model cannot be exported; leave \"promote\" out";
  }
  if (!trainers.contains(std::string(core::kPromoter))) {
    return "this board has no laird-promote beside laird or in /usr/lib/laird; install it, or "
           "leave "
           "\"promote\" out";
  }
  return {};
}

}  // namespace laird::agent
