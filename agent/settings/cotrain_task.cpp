#include "agent/settings/cotrain_task.hpp"

#include <string_view>
#include <vector>

namespace laird::agent {

bool has_cotrain_mark(const json::Value& params) {
  return params.find("fleet", json::Kind::kObject) != nullptr;
}

void mark_cotrain_tasks(core::State& state) {
  const auto mark = [](core::Task& task) {
    const Result<json::Value> params = json::parse(task.spec.params, "params");
    task.spec.cotrain = params && has_cotrain_mark(*params);
  };
  for (core::Task& task : state.live) mark(task);
  for (Part<core::Task>& task : state.ended) mark(task.change());
}

std::string cotrain_task_problem(const core::TaskSpec& spec,
                                 const std::map<std::string, TrainerProgram>& trainers,
                                 bool board_in_fleet) {
  if (!spec.cotrain) return {};
  if (!board_in_fleet) {
    return "a co-training task needs a board in a fleet; add the section \"fleet\" to its config";
  }
  const auto found = trainers.find(spec.trainer);
  if (found == trainers.end()) return {};  // refused for that already
  const TrainerProgram& program = found->second;
  const std::string can = "; the built-in ones can";
  if (program.lines_only) {
    return "the trainer '" + spec.trainer + "' only prints, so it cannot train with others" + can;
  }
  return {};
}

}  // namespace laird::agent
