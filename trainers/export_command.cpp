#include "trainers/export_command.hpp"

#include <cstdio>
#include <filesystem>

#include "trainers/export/checkpoint_model.hpp"
#include "trainers/model/load_data.hpp"
#include "trainers/model/training.hpp"
#include "trainers/session.hpp"
#include "trainers/standalone.hpp"

namespace laird::trainers {
namespace {

void say(const std::string& text) { std::fprintf(stderr, "laird-train: %s\n", text.c_str()); }

// What the checkpoint of an earlier release would say of its model.
Result<ModelInfo> info_by_params(const Params& params) {
  const Result<TaskData> data = load_task_data(params);
  LAIRD_TRY(data);
  const Shape shape = shape_of(params, data->training);
  if (weights_of(shape) > static_cast<double>(kParametersMax)) {
    return fail(Code::kInvalid, "params: the model would have too many weights");
  }
  return info_of(params, shape, data->training);
}

struct CheckRows {
  std::optional<datasets::Dataset> rows;
  std::string from;
};

// The task's own rows: those held out, else those of the training.
Result<CheckRows> own_rows(const ModelInfo& info) {
  if (info.params.empty()) return fail(Code::kNotFound, "the checkpoint does not name its data");
  const Result<json::Value> value = json::parse(info.params, "params");
  LAIRD_TRY(value);
  std::vector<config::Problem> problems;
  const Params params = read_params(info.kind, *value, "params", problems);
  if (!problems.empty()) return fail(Code::kInvalid, problems.front().text());
  Result<TaskData> data = load_task_data(params);
  LAIRD_TRY(data);
  if (data->held_out) return CheckRows{std::move(data->held_out), "held-out"};
  return CheckRows{std::move(data->training), "training"};
}

Result<CheckRows> given_rows(const ModelInfo& info, const Params& params) {
  Result<datasets::Dataset> data = load_data(params, &info.scaling);
  LAIRD_TRY(data);
  if ((data->classes == 0) != (info.classes == 0) || data->classes > info.classes) {
    return fail(Code::kRefused, "the rows have other classes than the model");
  }
  return CheckRows{std::move(*data), "given"};
}

std::string task_of(const ExportCommand& command) {
  if (!command.task.empty()) return command.task;
  std::filesystem::path path = std::filesystem::absolute(command.checkpoint).lexically_normal();
  if (!std::filesystem::is_directory(path) || !path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

void print(const models::Model& model, const std::string& out) {
  std::printf("%s sha256=%s bytes=%llu", out.c_str(), model.onnx.sha256.c_str(),
              static_cast<unsigned long long>(model.onnx.bytes));
  if (model.held_out) {
    std::printf(" rows=%u from=%s loss=%.6g", model.held_out->rows, model.held_out->from.c_str(),
                model.held_out->metric.loss);
    if (model.held_out->metric.accuracy) {
      std::printf(" accuracy=%.5f", *model.held_out->metric.accuracy);
    }
  }
  std::printf("\n");
}

int refused(const Error& error) {
  say(error.context);
  return kExitError;
}

}  // namespace

int run_export(const ExportCommand& command) {
  if (command.kind.has_value() == command.params_path.empty()) {
    say("--kind and --params go together");
    return kExitUsage;
  }
  std::optional<ModelInfo> stated;
  if (command.kind) {
    const std::optional<Params> params = read_params_file(*command.kind, command.params_path);
    if (!params) return kExitError;
    const Result<ModelInfo> info = info_by_params(*params);
    if (!info) return refused(info.error());
    stated = *info;
  }
  const Result<CheckpointModel> model = CheckpointModel::open(command.checkpoint, stated);
  if (!model) return refused(model.error());
  std::optional<Params> other;
  if (!command.data_path.empty()) {
    other = read_params_file(model->info().kind, command.data_path);
    if (!other) return kExitError;
  }
  const Result<CheckRows> rows =
      other ? given_rows(model->info(), *other) : own_rows(model->info());
  if (!rows && other) return refused(rows.error());
  if (!rows) {
    say("no rows to check the model with go with it (" + rows.error().context +
        "); --data FILE gives some");
  }
  const ExportSource source{
      .info = model->info(),
      .read = [&](std::uint64_t first,
                  std::span<float> out) { return model->read_weights(first, out); },
      .task = task_of(command),
      .samples = model->samples(),
      .loss = model->loss(),
      .rows = rows ? &*rows->rows : nullptr,
      .rows_from = rows ? rows->from : ""};
  const Result<Exported> done = export_model(
      source, {.path = command.out, .half = !command.no_half, .rows_max = command.rows_max});
  if (!done) return refused(done.error());
  for (const std::string& note : done->notes) say(note);
  print(done->model, command.out);
  return kExitStopped;
}

}  // namespace laird::trainers
