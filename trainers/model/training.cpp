#include "trainers/model/training.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/require.hpp"
#include "trainers/model/load_data.hpp"

namespace laird::trainers {
namespace {

using FloatVector = Network<float>::Vector;

constexpr std::uint32_t kMeasuredRowsMax = 2000;

void archive_floats(Archive& ar, FloatVector& v) {
  std::uint32_t n = static_cast<std::uint32_t>(v.size());
  ar(n);
  if (ar.reading()) {
    if (ar.failed()) return;
    // The reader sizes the vector first: a count from a file allocates nothing.
    if (n != static_cast<std::uint32_t>(v.size())) {
      ar.fail();
      return;
    }
  }
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(v[i]);
    ar(bits);
    if (ar.failed()) return;
    if (ar.reading()) v[i] = std::bit_cast<float>(bits);
  }
}

}  // namespace

Shape shape_of(const Params& params, const datasets::Dataset& data) {
  Shape shape;
  shape.loss = loss_of(params.kind);
  shape.sizes.push_back(data.features);
  shape.sizes.insert(shape.sizes.end(), params.hidden.begin(), params.hidden.end());
  const bool one_output = data.classes == 0 || params.positive_class.has_value();
  shape.sizes.push_back(one_output ? 1 : data.classes);
  return shape;
}

std::uint64_t digest_of_shape(const Params& params, const Shape& shape,
                              const datasets::Dataset& data) {
  Archive ar = Archive::hasher();
  auto kind = static_cast<std::uint8_t>(params.kind);
  ar(kind);
  for (std::uint32_t size : shape.sizes) ar(size);
  std::uint32_t rows = data.rows;
  ar(rows);
  return ar.digest();
}

void TrainingState::archive_head(Archive& ar) {
  ar(shape_digest);
  ar(samples);
  ar(epoch_random);
  ar(pending_loss);
  ar(pending_samples);
  ar(reported_loss);
}

void TrainingState::archive(Archive& ar) {
  archive_head(ar);
  archive_floats(ar, parameters);
  archive_floats(ar, velocity);
}

Result<Training> Training::create(const Params& params, std::uint64_t seed) {
  Result<TaskData> data = load_task_data(params);
  LAIRD_TRY(data);
  const Shape shape = shape_of(params, data->training);
  if (weights_of(shape) > static_cast<double>(kParametersMax)) {
    return fail(Code::kInvalid, "params: the model would have more than " +
                                    std::to_string(kParametersMax) +
                                    " weights; make \"hidden\" smaller");
  }
  return Training(params, std::move(*data), shape, seed);
}

Training::Training(const Params& params, TaskData data, const Shape& shape, std::uint64_t seed)
    : params_(params),
      data_(std::move(data.training)),
      held_out_(std::move(data.held_out)),
      info_(info_of(params, shape, data_)),
      network_(shape, params.batch),
      loader_(params.batch) {
  Random random(seed);
  network_.initialise(random);
  state_.shape_digest = digest_of_shape(params_, shape, data_);
  state_.epoch_random = random;
  state_.velocity = FloatVector::Zero(network_.parameters().size());
  const std::uint64_t epochs = params_.epochs.value_or(0);
  if (epochs > 0) planned_ = epochs * data_.rows;
  order_.resize(data_.rows);
}

void Training::shuffle() {
  const std::uint64_t epoch = state_.samples / data_.rows;
  if (epoch == shuffled_epoch_) return;
  if (shuffled_epoch_ != UINT64_MAX) state_.epoch_random = next_random_;
  Random random = state_.epoch_random;
  std::iota(order_.begin(), order_.end(), 0U);
  for (std::uint32_t i = data_.rows; i > 1; --i) {
    std::swap(order_[i - 1], order_[random.below(i)]);
  }
  next_random_ = random;
  shuffled_epoch_ = epoch;
}

Status Training::advance(std::uint64_t limit) {
  LAIRD_REQUIRE(may_advance(limit), "the caller asks first");
  shuffle();
  const std::uint64_t at = state_.samples % data_.rows;
  std::uint64_t end = std::min<std::uint64_t>((at / params_.batch + 1) * params_.batch, data_.rows);
  end = std::min(end, at + (limit - state_.samples));
  const auto count = static_cast<std::uint32_t>(end - at);
  for (std::uint32_t c = 0; c < count; ++c) loader_.put(data_, order_[at + c], c, network_);
  const double loss = network_.loss_and_gradient(count, loader_.targets(data_, count));
  if (!std::isfinite(loss)) {
    return fail(Code::kInvalid, "the loss is no longer a number after " +
                                    std::to_string(state_.samples) +
                                    " samples: the training diverged; lower \"learning_rate\"");
  }
  if (params_.l2 > 0.0) {
    const double share = static_cast<double>(count) / static_cast<double>(params_.batch);
    network_.add_penalty(static_cast<float>(params_.l2 * share));
  }
  const double epochs_done = static_cast<double>(state_.samples) / static_cast<double>(data_.rows);
  const auto rate = static_cast<float>(params_.learning_rate / (1.0 + params_.decay * epochs_done));
  const auto momentum = static_cast<float>(params_.momentum);
  state_.velocity = momentum * state_.velocity - rate * network_.gradient();
  network_.parameters() += state_.velocity;
  state_.samples += count;
  state_.pending_loss += loss;
  state_.pending_samples += count;
  return {};
}

void Training::read_weights(std::uint64_t first, std::span<float> out) const {
  LAIRD_REQUIRE(first + out.size() <= static_cast<std::uint64_t>(network_.parameters().size()),
                "weights that are there");
  std::copy_n(network_.parameters().data() + first, out.size(), out.data());
}

// Over the first rows only: a report must not keep the agent waiting.
double Training::held_out_metric() {
  const std::uint32_t rows = std::min(held_out_->rows, kMeasuredRowsMax);
  double loss_sum = 0.0;
  std::uint32_t wrong = 0;
  for (std::uint32_t at = 0; at < rows; at += params_.batch) {
    const std::uint32_t count = std::min(params_.batch, rows - at);
    for (std::uint32_t c = 0; c < count; ++c) loader_.put(*held_out_, at + c, c, network_);
    loss_sum += network_.loss(count, loader_.targets(*held_out_, count));
    for (std::uint32_t c = 0; held_out_->classes > 0 && c < count; ++c) {
      wrong += network_.predicted(c) == held_out_->labels[at + c] ? 0 : 1;
    }
  }
  measured_at_ = state_.samples;
  const double sum =
      params_.target_metric == TargetMetric::kHeldOutError ? static_cast<double>(wrong) : loss_sum;
  return sum / static_cast<double>(rows);
}

std::optional<double> Training::loss() const {
  if (params_.target_metric != TargetMetric::kTrainingLoss) return state_.reported_loss;
  if (state_.pending_samples == 0) return state_.reported_loss;
  return state_.pending_loss / static_cast<double>(state_.pending_samples);
}

Report Training::take_report() {
  if (params_.target_metric != TargetMetric::kTrainingLoss) {
    // Not more often than so that looking costs less than learning.
    const std::uint64_t rows = std::min(held_out_->rows, kMeasuredRowsMax);
    const bool due = !measured_at_ || state_.samples - *measured_at_ >= rows || finished();
    if (due) state_.reported_loss = held_out_metric();
  }
  const std::optional<double> mean = loss();
  LAIRD_REQUIRE(mean.has_value(), "there is no loss before the first sample");
  state_.reported_loss = mean;
  state_.pending_loss = 0.0;
  state_.pending_samples = 0;
  return Report{state_.samples, *mean};
}

Bytes Training::save() const {
  Bytes out =
      begin_payload(info_, static_cast<std::size_t>(network_.parameters().size()) * 8 + 256);
  Archive ar = Archive::writer(out);
  TrainingState state = state_;
  // A run that just finished an epoch has not shuffled the next: its numbers go on from here.
  if (shuffled_epoch_ != UINT64_MAX && state.samples / data_.rows != shuffled_epoch_) {
    state.epoch_random = next_random_;
  }
  state.parameters = network_.parameters();
  state.archive(ar);
  return out;
}

Status Training::begin_with(std::string_view bytes) {
  const Result<Payload> payload = read_info(bytes);
  LAIRD_TRY(payload);
  if (!payload->info) return fail(Code::kRefused, "does not say what its model is");
  const ModelInfo& info = *payload->info;
  if (info.kind != info_.kind || info.sizes != info_.sizes || info.classes != info_.classes) {
    return fail(Code::kRefused, "is of a model with other layers or classes");
  }
  bytes.remove_prefix(payload->state_at);
  TrainingState read;
  read.parameters = FloatVector::Zero(network_.parameters().size());
  read.velocity = FloatVector::Zero(network_.parameters().size());
  Archive ar = Archive::reader(bytes);
  read.archive(ar);
  if (ar.failed() || !ar.at_end() || !read.parameters.allFinite()) {
    return fail(Code::kCorrupt, "is damaged");
  }
  network_.parameters() = read.parameters;
  return {};
}

Status Training::restore(std::string_view bytes) {
  const Result<Payload> payload = read_info(bytes);
  LAIRD_TRY(payload);
  bytes.remove_prefix(payload->state_at);
  TrainingState read;
  read.parameters = FloatVector::Zero(network_.parameters().size());
  read.velocity = FloatVector::Zero(network_.parameters().size());
  Archive ar = Archive::reader(bytes);
  ar(read.shape_digest);
  if (!ar.failed() && read.shape_digest != state_.shape_digest) {
    return fail(Code::kRefused, "is of another run (other trainer, layer sizes or data)");
  }
  ar = Archive::reader(bytes);
  read.archive(ar);
  if (ar.failed() || !ar.at_end()) return fail(Code::kCorrupt, "is damaged");
  const bool sound = read.parameters.allFinite() && read.velocity.allFinite() &&
                     std::isfinite(read.pending_loss) &&
                     std::isfinite(read.reported_loss.value_or(0.0)) &&
                     read.pending_samples <= read.samples &&
                     (read.reported_loss || read.pending_samples > 0 || read.samples == 0);
  if (!sound) return fail(Code::kCorrupt, "holds numbers no run can have");
  network_.parameters() = read.parameters;
  read.parameters.resize(0);
  state_ = std::move(read);
  shuffled_epoch_ = UINT64_MAX;
  return {};
}

}  // namespace laird::trainers
