// laird-train: the built-in trainers. Started by the agent it speaks the trainer protocol on the
// socket named by LAIRD_FD; started by a person it trains and prints.
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "cli/command.hpp"
#include "os/agent_socket.hpp"
#include "trainers/average/average_session.hpp"
#include "trainers/check_command.hpp"
#include "trainers/evaluate.hpp"
#include "trainers/export_command.hpp"
#include "trainers/model/params.hpp"
#include "trainers/session.hpp"
#include "trainers/standalone.hpp"

namespace {

using namespace laird::trainers;

// The socket's number, or nullopt after saying what is wrong.
std::optional<int> socket_of(const laird::Result<int>& agent) {
  if (agent) return *agent;
  std::fprintf(stderr, "laird-train: %s; the agent sets it, unset it to train without one\n",
               agent.error().context.c_str());
  return std::nullopt;
}

int train(StandaloneOptions& options, Kind kind) {
  if (const auto agent = laird::find_agent()) {
    const std::optional<int> fd = socket_of(*agent);
    return fd ? run_session(*fd, kind) : kExitUsage;
  }
  if (options.params_path.empty()) {
    std::fprintf(stderr,
                 "laird-train: --params FILE is missing (and LAIRD_FD is not set, so there is no "
                 "agent to give them)\n");
    return kExitUsage;
  }
  options.kind = kind;
  return run_standalone(options);
}

void add_kind(laird::cli::Command& app, Kind kind, const char* what, StandaloneOptions& options,
              int& code) {
  laird::cli::Command* sub = app.add_subcommand(std::string(name(kind)), what);
  sub->add_option("--params", options.params_path, "JSON file with the params of a task");
  sub->add_option("--samples", options.samples_max, "stop after so many samples in all");
  sub->add_option("--seconds", options.seconds_max, "stop after so many seconds");
  sub->add_option("--report", options.report_every, "print every so many samples, not each second");
  sub->add_option("--dir", options.folder, "resume from and save a checkpoint in this folder");
  sub->add_option("--seed", options.seed, "picks first weights and shuffles");
  sub->callback([&options, &code, kind] { code = train(options, kind); });
}

// Says so where there is no such trainer.
[[nodiscard]] std::optional<Kind> known_kind(const std::string& kind_name) {
  const std::optional<Kind> kind = kind_of(kind_name);
  if (!kind) {
    std::fprintf(stderr, "laird-train: no trainer \"%.40s\"; there are linear, svm, softmax, mlp\n",
                 kind_name.c_str());
  }
  return kind;
}

int average() {
  const auto agent = laird::find_agent();
  if (!agent) {
    std::fprintf(stderr,
                 "laird-train: average is started by a trainer that has an agent (LAIRD_FD), as "
                 "laird_trainer.py does\n");
    return kExitUsage;
  }
  const std::optional<int> fd = socket_of(*agent);
  return fd ? run_average_session(*fd) : kExitUsage;
}

void add_check(laird::cli::Command& app, std::string& kind_name, std::string& path, bool& no_data,
               int& code) {
  laird::cli::Command* check = app.add_subcommand("check",
                                                  "check a params file, every problem at once, and "
                                                  "its data; print the memory a training needs");
  check->add_flag("--no-data", no_data, "look at the file alone, not at the data it names");
  check->add_option("kind", kind_name, "linear, svm, softmax or mlp")->required();
  check->add_option("file", path, "JSON file with the params of a task")->required();
  check->callback([&] {
    const std::optional<Kind> kind = known_kind(kind_name);
    code = kExitUsage;
    if (!kind) return;
    code = run_check(*kind, path, !no_data);
  });
}

void add_evaluate(laird::cli::Command& app, std::string& kind_name, std::string& path,
                  std::string& folder, int& code) {
  laird::cli::Command* command = app.add_subcommand(
      "evaluate",
      "loss and accuracy of a checkpoint's model on the data of a params file.\n"
      "Example: laird-train evaluate softmax test.json --dir /var/lib/laird/tasks/shared");
  command->add_option("kind", kind_name, "linear, svm, softmax or mlp")->required();
  command->add_option("file", path, "JSON file of params; only its data may differ from the task's")
      ->required();
  command->add_option("--dir", folder, "the task's folder, where its checkpoint is")->required();
  command->callback([&] {
    const std::optional<Kind> kind = known_kind(kind_name);
    code = kExitUsage;
    if (!kind) return;
    code = run_evaluate(*kind, path, folder);
  });
}

void add_export(laird::cli::Command& app, std::string& kind_name, ExportCommand& out, int& code) {
  laird::cli::Command* command = app.add_subcommand(
      "export",
      "the model of a checkpoint as ONNX, with model.json and rows to check it by.\n"
      "Example: laird-train export /var/lib/laird/tasks/shared -o model.onnx");
  command->add_option("checkpoint", out.checkpoint, "a checkpoint's file, or a task's folder")
      ->required();
  command->add_option("-o,--out", out.out, "the ONNX file; the others go beside it")
      ->show_default();
  command->add_option("--data", out.data_path,
                      "JSON file of params whose data are the rows to check with; the task's own "
                      "if not given");
  command->add_option("--rows", out.rows_max, "how many rows go with the model at most")
      ->check(laird::cli::range(1, static_cast<int>(kExportRowsMax)))
      ->show_default();
  command->add_flag("--no-fp16", out.no_half, "no file in half precision");
  command->add_option("--task", out.task,
                      "the task's name, for model.json; the folder's if not given");
  command->add_option("--kind", kind_name,
                      "with --params: what a checkpoint of an earlier release does not say");
  command->add_option("--params", out.params_path, "JSON file with the params of its task");
  command->callback([&] {
    code = kExitUsage;
    if (!kind_name.empty()) {
      out.kind = known_kind(kind_name);
      if (!out.kind) return;
    }
    code = run_export(out);
  });
}

}  // namespace

int main(int argc, char** argv) {
  laird::cli::Command app{
      "laird-train: linear regression, SVM, softmax regression and MLP as trainers"};
  app.footer(
      "Example:\n  laird-train softmax --params fashion.json --seconds 10\n"
      "The agent starts `laird-train KIND` with a socket in LAIRD_FD and speaks the trainer "
      "protocol "
      "(docs/trainer-protocol.md).\nExit codes: 0 stopped or done, 1 error, 2 usage, 3 the agent "
      "is "
      "gone.");
  app.set_version(LAIRD_VERSION);
  app.require_subcommand();
  int code = 0;
  StandaloneOptions options;
  std::string kind_name;
  std::string path;
  add_kind(app, Kind::kLinear, "least squares", options, code);
  add_kind(app, Kind::kSvm, "hinge loss", options, code);
  add_kind(app, Kind::kSoftmax, "softmax regression, cross-entropy", options, code);
  add_kind(app, Kind::kMlp, "layers with ReLU, cross-entropy", options, code);
  bool no_data = false;
  app.add_subcommand("average",
                     "stand between the agent and a trainer of one's own that takes part in a "
                     "co-training task.\nlaird_trainer.py starts it: trainer.average(tensors)")
      ->callback([&code] { code = average(); });
  add_check(app, kind_name, path, no_data, code);
  std::string folder;
  add_evaluate(app, kind_name, path, folder, code);
  ExportCommand handed_over;
  add_export(app, kind_name, handed_over, code);
  app.add_subcommand("reference", "print the reference of the params as Markdown")->callback([] {
    std::fputs(laird::config::reference(params_schema()).c_str(), stdout);
  });
  if (const std::optional<int> ended = app.parse(argc, argv)) return *ended;
  return code;
}
