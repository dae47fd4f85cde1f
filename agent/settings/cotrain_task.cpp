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
  const std::string can = "; of the built-in ones linear, svm and softmax can";
  if (program.lines_only) {
    return "the trainer '" + spec.trainer + "' only prints, so it cannot train with others" + can;
  }
  const std::string_view path = program.argv.empty() ? "" : std::string_view(program.argv[0]);
  const bool built_in = path.substr(path.rfind('/') + 1) == "laird-train";
  if (built_in && program.argv.size() > 1 && program.argv[1] == "mlp") {
    return "the trainer 'mlp' cannot train with others" + can;
  }
  return {};
}

}  // namespace laird::agent
