#include "trainers/check_command.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "trainers/model/training.hpp"
#include "trainers/session.hpp"
#include "trainers/standalone.hpp"

namespace laird::trainers {
namespace {

// The program itself, its libraries and buffers.
constexpr std::uint64_t kProgramBytes = 6 << 20;
// Of a weight: itself, its gradient and its velocity; while a checkpoint is made the first and the
// last again, then both as bytes, and those once more with the file's head.
constexpr std::uint64_t kBytesPerWeight = 4 * (3 + 2) + 8 + 8;

std::uint64_t bytes_of(const datasets::Dataset& data) {
  return data.bytes.size() + 4 * data.values.size() + 2 * data.labels.size() +
         4 * data.targets.size();
}

// A relative path is looked for in the task's folder, and a check at the door comes before that.
bool is_seen_at_the_start_only(const DataParams& data) {
  const auto is_elsewhere = [](const std::string& path) {
    std::error_code error;
    return !path.empty() && path.front() != '/' && !std::filesystem::exists(path, error);
  };
  return is_elsewhere(data.images) || is_elsewhere(data.labels) || is_elsewhere(data.path);
}

}  // namespace

Result<Estimate> estimate(const Params& params) {
  const Result<TaskData> data = load_task_data(params);
  LAIRD_TRY(data);
  const datasets::Dataset& training = data->training;
  const Shape shape = shape_of(params, training);
  Estimate out;
  out.weights = weights_of(shape);
  if (out.weights > static_cast<double>(kParametersMax)) {
    return fail(Code::kInvalid, "params: the model would have more than " +
                                    std::to_string(kParametersMax) +
                                    " weights; make \"hidden\" smaller");
  }
  out.rows = training.rows;
  out.held_out = data->held_out ? data->held_out->rows : 0;
  out.features = training.features;
  out.classes = training.classes;
  std::uint64_t activations = 0;
  for (const std::uint32_t size : shape.sizes) activations += 8 * std::uint64_t{size};
  out.memory_bytes = kProgramBytes + bytes_of(training) + 4 * std::uint64_t{training.rows} +
                     kBytesPerWeight * Network<float>::parameter_count(shape) +
                     activations * params.batch;
  if (data->held_out) out.memory_bytes += bytes_of(*data->held_out);
  return out;
}

int run_check(Kind kind, const std::string& path, bool with_data) {
  const std::optional<Params> params = read_params_file(kind, path);
  if (!params) return kExitError;
  if (!with_data) {
    std::printf("%s: ok\n", path.c_str());
    return kExitStopped;
  }
  if (is_seen_at_the_start_only(params->data)) {
    std::printf(
        "%s: ok; its data has a relative path, which is looked for in the task's folder when "
        "the task starts\n",
        path.c_str());
    return kExitStopped;
  }
  const Result<Estimate> found = estimate(*params);
  if (!found) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), found.error().context.c_str());
    return kExitError;
  }
  std::printf("%s: ok rows=%u held_out=%u features=%u classes=%u weights=%.0f memory_mb=%llu\n",
              path.c_str(), found->rows, found->held_out, found->features, found->classes,
              found->weights,
              static_cast<unsigned long long>((found->memory_bytes + 999'999) / 1'000'000));
  return kExitStopped;
}

}  // namespace laird::trainers
