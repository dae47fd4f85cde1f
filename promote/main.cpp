// laird-promote: from an exported model to a verified engine that stands as current.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "os/agent_socket.hpp"
#include "promote/meter.hpp"
#include "promote/plugin_backend.hpp"
#include "promote/promotion.hpp"
#include "promote/task/adopt_session.hpp"
#include "promote/task/task_session.hpp"
#include "promote/trtexec.hpp"

namespace {

using namespace laird;
using namespace laird::promote;

constexpr int kExitError = 1;
constexpr int kExitUsage = 2;

struct BuildOptions {
  Plan plan;
  std::string out;
  std::string backend = "auto";
  std::string trtexec{kTrtexecPath};
  std::string plugin = "/usr/lib/laird/laird_tensorrt.so";
  std::vector<std::string> precisions;
  double timeout_s = 1800.0;
  bool metered = false;
};

int refused(const Error& error) {
  std::fprintf(stderr, "laird-promote: %s\n", error.context.c_str());
  return kExitError;
}

struct Chosen {
  std::unique_ptr<Backend> backend;
  std::string why_none;
};

// In this process where that is possible, else by trtexec, else not at all.
Result<Chosen> choose(const BuildOptions& options, const std::string& work) {
  Chosen out;
  if (options.backend == "none") {
    out.why_none = "no engine was asked for (--backend none)";
    return out;
  }
  std::string no_plugin;
  if (options.backend != "trtexec") {
    Result<std::unique_ptr<Backend>> plugin = open_plugin(options.plugin, no_plugin);
    LAIRD_TRY(plugin);
    out.backend = std::move(*plugin);
    if (out.backend != nullptr) return out;
    if (options.backend == "plugin") return fail(Code::kNotFound, no_plugin);
  }
  Result<std::unique_ptr<Backend>> trtexec =
      open_trtexec(options.trtexec, work, static_cast<DurationNs>(options.timeout_s * 1e9));
  LAIRD_TRY(trtexec);
  out.backend = std::move(*trtexec);
  if (out.backend != nullptr) return out;
  const std::string no_trtexec = "no trtexec at " + options.trtexec;
  if (options.backend == "trtexec") return fail(Code::kNotFound, no_trtexec);
  out.why_none = "no TensorRT on this board (" + no_plugin + "; " + no_trtexec + ")";
  return out;
}

void print(const Attempt& attempt) {
  std::printf("%s:", std::string(name(attempt.precision)).c_str());
  if (attempt.engine) {
    std::printf(attempt.cached ? " cached" : " built in %.1f s", attempt.engine->build_s);
    if (attempt.engine->verdict) {
      std::printf(" agreement=%.5f loss_change=%.6g", attempt.engine->verdict->agreement.part,
                  attempt.engine->verdict->loss_change);
    }
    for (const Timing& t : attempt.engine->timings) {
      std::printf(" batch=%u p50=%.0fus p95=%.0fus p99=%.0fus rows/s=%.0f", t.batch,
                  t.latency_us_p50, t.latency_us_p95, t.latency_us_p99, t.rows_per_s);
    }
  }
  if (!attempt.good) std::printf(" not used: %s", attempt.why_not.c_str());
  std::printf("\n");
}

int build(BuildOptions& options) {
  if (!options.precisions.empty()) options.plan.precisions.clear();
  for (std::size_t p = 0; p < std::size(kPrecisionNames); ++p) {
    for (const std::string& wanted : options.precisions) {
      if (wanted == kPrecisionNames[p]) {
        options.plan.precisions.push_back(static_cast<Precision>(p));
        break;
      }
    }
  }
  if (options.plan.module.empty()) options.plan.module = module_of_this_board();
  Result<Shelf> shelf = Shelf::open(options.out);
  if (!shelf) return refused(shelf.error());
  const Result<Chosen> chosen = choose(options, shelf->work_folder());
  if (!chosen) return refused(chosen.error());
  AskedMeter agents(STDIN_FILENO);
  const Result<Promoted> done = promote::promote(*shelf, chosen->backend.get(), chosen->why_none,
                                                 options.plan, options.metered ? &agents : nullptr);
  if (!done) return refused(done.error());
  for (const Attempt& attempt : done->attempts) print(attempt);
  std::printf("current: %s %s%s%s\n", done->version.c_str(), done->choice.c_str(),
              done->reason.empty() ? "" : ": ", done->reason.c_str());
  return 0;
}

int rollback(const std::string& folder) {
  Result<Shelf> shelf = Shelf::open(folder);
  if (!shelf) return refused(shelf.error());
  const Result<std::string> back = shelf->rollback();
  if (!back) return refused(back.error());
  std::printf("current: %s\n", back->c_str());
  return 0;
}

int show(const std::string& folder) {
  const std::optional<std::string> current = current_of(folder);
  if (!current) return refused({Code::kNotFound, "no model was promoted in " + folder});
  const Result<json::Value> about = promoted_of(folder, *current);
  if (!about) return refused(about.error());
  std::printf("%s\n", json::to_pretty_text(*about).c_str());
  return 0;
}

int take(const std::string& from, const std::string& folder, const std::string& id) {
  Result<Shelf> shelf = Shelf::open(folder);
  if (!shelf) return refused(shelf.error());
  const Result<std::string> current = take_over(*shelf, folder, from, id);
  if (!current) return refused(current.error());
  std::printf("current: %s\n", current->c_str());
  return 0;
}

// The socket on which an agent speaks to its trainers, or nullopt after saying what is wrong.
std::optional<int> agent_of(const char* command) {
  const auto agent = find_agent();
  if (agent && *agent) return **agent;
  std::fprintf(stderr,
               "laird-promote: %s: `%s` is started by an agent; `laird-promote build` is for "
               "people\n",
               agent ? agent->error().context.c_str() : "LAIRD_FD names no open socket", command);
  return std::nullopt;
}

int adopt() {
  const std::optional<int> agent = agent_of("adopt");
  return agent ? run_adoption(*agent) : kExitUsage;
}

int task(TaskOptions options) {
  const std::optional<int> agent = agent_of("task");
  if (!agent) return kExitUsage;
  std::error_code failed;
  options.program = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  return run_task(*agent, options);
}

void add_task(cli::Command& app, TaskOptions& options, int& code) {
  cli::Command* command = app.add_subcommand(
      "task",
      "promote the model of a task, under an agent. A board's file may give the options under "
      "\"trainers\": {\"laird-promote\": {\"exec\": [\"laird-promote\", \"task\", ...]}}");
  const auto given = std::make_shared<std::map<std::string, std::string>>();
  const auto pass_on = [&](const char* flag, const char* what) {
    command->add_option(flag, (*given)[flag], what);
  };
  pass_on("--backend", "as for build");
  pass_on("--plugin", "as for build");
  pass_on("--trtexec", "as for build");
  pass_on("--batch-max", "as for build");
  pass_on("--workspace", "as for build");
  pass_on("--timeout", "as for build");
  command->callback([given, &options, &code] {
    for (const auto& [flag, value] : *given) {
      if (!value.empty()) options.build.insert(options.build.end(), {flag, value});
    }
    code = task(options);
  });
}

void add_take(cli::Command& app, int& code) {
  cli::Command* command = app.add_subcommand(
      "take", "make what is current in another folder current here, every file checked");
  struct Given {
    std::string from;
    std::string folder;
    std::string id;
  };
  const auto given = std::make_shared<Given>();
  command->add_option("from", given->from, "folder of promoted models")->required();
  command->add_option("--out", given->folder, "folder of the promoted models")->required();
  command->add_option("--id", given->id, "names the promotion; what bears it is not taken again")
      ->required();
  command->callback([given, &code] { code = take(given->from, given->folder, given->id); });
}

void add_build(cli::Command& app, BuildOptions& options, int& code) {
  cli::Command* command = app.add_subcommand(
      "build",
      "build engines of a model, check them against its own answers, make the best one current.\n"
      "Example: laird-promote build model.onnx --out /var/lib/laird/models/night");
  command->add_option("model", options.plan.onnx, "the ONNX file; model.json is beside it")
      ->required();
  command->add_option("--out", options.out, "folder of the promoted models")->required();
  command
      ->add_option("--precisions", options.precisions,
                   "which to try, from the fastest to the safest: int8, fp16, fp32; fp16,fp32 if "
                   "not given")
      ->delimiter(',')
      ->check(cli::one_of({"int8", "fp16", "fp32"}));
  command->add_flag("--every", options.plan.every,
                    "build every precision for the table, not only until one is good enough");
  command
      ->add_option("--agreement-min", options.plan.limits.agreement_min,
                   "least part of the rows with the model's own decision")
      ->check(cli::range(0.0, 1.0))
      ->show_default();
  command
      ->add_option("--loss-change-max", options.plan.limits.loss_change_max,
                   "by how much the loss may be worse")
      ->check(cli::range(0.0, 1e9))
      ->show_default();
  command->add_option("--batch-max", options.plan.batch_max, "largest batch of the engine")
      ->check(cli::range(1, 4096))
      ->show_default();
  command->add_option("--workspace", options.plan.workspace_mb, "memory TensorRT may try out, MB")
      ->check(cli::range(1, 65536))
      ->show_default();
  command->add_option("--timeout", options.timeout_s, "seconds for one run of trtexec")
      ->check(cli::range(1.0, 86400.0))
      ->show_default();
  command->add_option("--module", options.plan.module,
                      "name of the board's module; from its device tree if not given");
  command
      ->add_option("--backend", options.backend,
                   "how engines are made; auto takes the plugin, else trtexec, else none")
      ->check(cli::one_of({"auto", "plugin", "trtexec", "none"}))
      ->show_default();
  command->add_flag("--metered", options.metered,
                    "standard input is a socket that tells what the board's meter counts, as "
                    "`laird-promote task` gives it");
  command->add_option("--plugin", options.plugin, "plugin for the board's TensorRT")
      ->show_default();
  command->add_option("--trtexec", options.trtexec, "the board's trtexec")->show_default();
  command->callback([&] { code = build(options); });
}

}  // namespace

int main(int argc, char** argv) {
  cli::Command app{"laird-promote: engines of trained models, verified on the board"};
  app.footer(
      "Without TensorRT on the board the ONNX file itself is promoted, which is no error.\n"
      "Exit codes: 0 promoted, 1 error, 2 usage.");
  app.set_version(LAIRD_VERSION);
  app.require_subcommand();
  int code = 0;
  BuildOptions options;
  std::string folder;
  TaskOptions task_options;
  add_build(app, options, code);
  add_task(app, task_options, code);
  add_take(app, code);
  app.add_subcommand("adopt",
                     "take over a model that was pushed to the board, under an agent: the trainer "
                     "laird-adopt")
      ->callback([&] { code = adopt(); });
  cli::Command* back = app.add_subcommand("rollback", "make the version before current again");
  back->add_option("folder", folder, "folder of the promoted models")->required();
  back->callback([&] { code = rollback(folder); });
  cli::Command* about = app.add_subcommand("show", "print what is current, as JSON");
  about->add_option("folder", folder, "folder of the promoted models")->required();
  about->callback([&] { code = show(folder); });
  if (const std::optional<int> ended = app.parse(argc, argv)) return *ended;
  return code;
}
