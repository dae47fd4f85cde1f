#include "trainers/evaluate.hpp"

#include <cstdio>

#include "trainers/model/batch_loader.hpp"
#include "trainers/model/checkpoint.hpp"
#include "trainers/model/cotrain.hpp"
#include "trainers/model/load_data.hpp"
#include "trainers/model/training.hpp"
#include "trainers/session.hpp"
#include "trainers/standalone.hpp"

namespace laird::trainers {
namespace {

using FloatVector = Network<float>::Vector;

// The rows of another data set may be more or fewer: only the model's size must fit.
Result<FloatVector> parameters_of(std::string_view payload, Eigen::Index size) {
  CoTrainingState shared;
  Archive as_shared = Archive::reader(payload);
  as_shared(shared);
  FloatVector out = FloatVector::Zero(size);
  if (!as_shared.failed() && shared.format == CoTrainingState::kFormat) {
    if (shared.parameters.size() != static_cast<std::size_t>(size)) {
      return fail(Code::kRefused, "is of a model of another size; are kind and params the same?");
    }
    for (Eigen::Index i = 0; i < size; ++i) {
      out[i] = static_cast<float>(shared.parameters[static_cast<std::size_t>(i)]);
    }
  } else {
    TrainingState own;
    own.parameters = out;
    own.velocity = out;
    Archive as_own = Archive::reader(payload);
    as_own(own);
    if (as_own.failed() || !as_own.at_end()) {
      return fail(Code::kRefused, "is of a model of another size; are kind and params the same?");
    }
    out = own.parameters;
  }
  if (!out.allFinite()) return fail(Code::kCorrupt, "holds numbers that are not finite");
  return out;
}

Status fits(const ModelInfo& info, const Params& params, const datasets::Dataset& data) {
  const bool same = info.kind == params.kind && data.features == info.sizes.front() &&
                    data.classes <= info.classes && (data.classes == 0) == (info.classes == 0);
  if (same) return {};
  return fail(Code::kRefused, "is of a model of another size; are kind and params the same?");
}

}  // namespace

Result<Evaluation> evaluate(const Params& params, std::string_view payload) {
  const Result<Payload> start = read_info(payload);
  LAIRD_TRY(start);
  payload.remove_prefix(start->state_at);
  const bool known = start->info.has_value();
  const Result<datasets::Dataset> data = load_data(params, known ? &start->info->scaling : nullptr);
  LAIRD_TRY(data);
  if (known) LAIRD_TRY(fits(*start->info, params, *data));
  // Rows that do not show every class are of the same model.
  const Shape shape = known ? start->info->shape() : shape_of(params, *data);
  if (weights_of(shape) > static_cast<double>(kParametersMax)) {
    return fail(Code::kInvalid, "params: the model would have too many weights");
  }
  Network<float> network(shape, params.batch);
  const Result<FloatVector> parameters = parameters_of(payload, network.parameters().size());
  LAIRD_TRY(parameters);
  network.parameters() = *parameters;
  BatchLoader loader(params.batch);
  Evaluation out;
  out.scaled_as_trained = known;
  std::uint64_t right = 0;
  for (std::uint32_t at = 0; at < data->rows; at += params.batch) {
    const std::uint32_t count = std::min(params.batch, data->rows - at);
    for (std::uint32_t c = 0; c < count; ++c) loader.put(*data, at + c, c, network);
    out.loss += network.loss(count, loader.targets(*data, count));
    for (std::uint32_t c = 0; data->classes > 0 && c < count; ++c) {
      right += network.predicted(c) == data->labels[at + c] ? 1 : 0;
    }
  }
  out.rows = data->rows;
  out.loss /= data->rows;
  if (data->classes > 0) {
    out.accuracy = static_cast<double>(right) / static_cast<double>(data->rows);
  }
  return out;
}

int run_evaluate(Kind kind, const std::string& params_path, const std::string& folder) {
  const std::optional<Params> params = read_params_file(kind, params_path);
  if (!params) return kExitError;
  const std::string path = folder + "/" + std::string(CheckpointFolder::kNewest);
  const Result<std::string> file = config::read_file(path, kCheckpointBytesMax);
  if (!file) {
    std::fprintf(stderr, "laird-train: %s\n", file.error().text().c_str());
    return kExitError;
  }
  const Result<std::string_view> payload = unpack_checkpoint(*file);
  const Result<Evaluation> result =
      payload ? evaluate(*params, *payload) : tl::make_unexpected(payload.error());
  if (!result) {
    std::fprintf(stderr, "laird-train: %s: %s\n", path.c_str(), result.error().context.c_str());
    return kExitError;
  }
  if (!result->scaled_as_trained) {
    std::fprintf(stderr,
                 "laird-train: %s is of an earlier release and does not hold the training's shift "
                 "and scale; the rows were scaled by themselves, and the result is off by that\n",
                 path.c_str());
  }
  std::printf("rows=%u loss=%.6g", result->rows, result->loss);
  if (result->accuracy) std::printf(" accuracy=%.5f", *result->accuracy);
  std::printf("\n");
  return kExitStopped;
}

}  // namespace laird::trainers
