#include "trainers/model/cotrain.hpp"

#include <algorithm>
#include <cmath>

#include "base/require.hpp"
#include "trainers/model/load_data.hpp"
#include "trainers/model/training.hpp"

namespace laird::trainers {
namespace {

constexpr std::size_t kNodesMax = 4096;  // names a process remembers

// The same on every board; a fleet's plan refuses two names of one number.
consensus::NodeId number_of(const std::string& node) {
  const std::uint64_t digest = digest_of(node);
  return static_cast<consensus::NodeId>(digest ^ (digest >> 32));
}

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

consensus::RoundsConfig rounds_config(const Params& params, std::size_t dimension) {
  const FleetParams& fleet = *params.fleet;
  consensus::RoundsConfig out;
  out.model.dimension = static_cast<std::uint32_t>(dimension);
  out.model.alpha = params.learning_rate;
  out.model.momentum = params.momentum;
  out.model.rho = fleet.rho;
  out.model.density = fleet.density;
  out.model.gain = fleet.gain;
  out.wait = fleet.wait;
  out.peers_min = fleet.peers_min;
  out.rounds = fleet.rounds;
  return out;
}

}  // namespace

void CoTrainingState::archive(Archive& ar) {
  ar(format);
  ar(shape_digest);
  ar(samples);
  ar(round);
  ar(epoch);
  ar(loss);
  ar.sequence(parameters, consensus::kRoundsDimensionMax);
}

Result<std::unique_ptr<CotrainRun>> CotrainRun::create(const Params& params, std::uint64_t seed) {
  LAIRD_REQUIRE(params.fleet.has_value(), "a co-training task has its section");
  Result<TaskData> data = load_task_data(params);
  LAIRD_TRY(data);
  const Shape shape = shape_of(params, data->training);
  const double count = weights_of(shape);
  if (count > static_cast<double>(consensus::kRoundsDimensionMax) ||
      Network<float>::parameter_count(shape) > consensus::kRoundsDimensionMax) {
    return fail(Code::kInvalid, "params: a co-training task's model has at most " +
                                    std::to_string(consensus::kRoundsDimensionMax) +
                                    " weights; this one would have more: use fewer features");
  }
  const std::uint64_t digest = digest_of_shape(params, shape, data->training);
  return std::unique_ptr<CotrainRun>(new CotrainRun(params, std::move(*data), shape, digest, seed));
}

CotrainRun::CotrainRun(const Params& params, TaskData data, const Shape& shape,
                       std::uint64_t digest, std::uint64_t seed)
    : params_(params),
      data_(std::move(data.training)),
      held_out_(std::move(data.held_out)),
      info_(info_of(params, shape, data_)),
      network_(shape, params.batch),
      loader_(params.batch) {
  Random random(seed);
  network_.initialise(random);
  state_.shape_digest = digest;
  state_.parameters.assign(network_.parameters().begin(), network_.parameters().end());
}

std::optional<std::uint64_t> CotrainRun::planned() const {
  if (params_.fleet->rounds == 0) return std::nullopt;
  return std::uint64_t{params_.fleet->rounds} * data_.rows;
}

bool CotrainRun::may_advance(std::uint64_t limit) const {
  if (rounds_ == nullptr || state_.samples >= limit) return false;
  return rounds_->in_round() || rounds_->may_begin(now_);
}

Status CotrainRun::advance(std::uint64_t limit) {
  LAIRD_REQUIRE(may_advance(limit), "the caller asks first");
  if (!rounds_->in_round()) begin_round();
  const std::uint64_t left = std::min<std::uint64_t>(data_.rows - row_, limit - state_.samples);
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(params_.batch, left));
  for (std::uint32_t c = 0; c < count; ++c) loader_.put(data_, row_ + c, c, network_);
  loss_sum_ += network_.loss_and_gradient(count, loader_.targets(data_, count));
  row_ += count;
  state_.samples += count;
  if (row_ == data_.rows && params_.l2 > 0.0) {
    // Once in a round, in the measure of the sum over its rows.
    network_.add_penalty(static_cast<float>(params_.l2 * data_.rows / params_.batch));
  }
  // The network divides by its nominal batch.
  const auto& part = network_.gradient();
  for (std::size_t i = 0; i < gradient_.size(); ++i) {
    gradient_[i] += static_cast<double>(part[static_cast<Eigen::Index>(i)]) * params_.batch;
  }
  if (row_ < data_.rows) return {};
  return end_round();
}

void CotrainRun::begin_round() {
  rounds_->begin();
  if (std::isfinite(rounds_->group_loss())) state_.loss = rounds_->group_loss();
  const std::vector<double>& y = rounds_->y();
  for (std::size_t i = 0; i < y.size(); ++i) {
    network_.parameters()[static_cast<Eigen::Index>(i)] = static_cast<float>(y[i]);
  }
  row_ = 0;
  loss_sum_ = 0.0;
  gradient_.assign(y.size(), 0.0);
}

Status CotrainRun::end_round() {
  const double loss = loss_sum_ / data_.rows;
  if (!std::isfinite(loss)) {
    return fail(Code::kInvalid, "the loss is no longer a number after round " +
                                    std::to_string(rounds_->round()) +
                                    ": the training diverged; lower \"learning_rate\"");
  }
  const std::uint32_t each = params_.fleet->rows_each;
  const double divisor = each > 0 ? each : data_.rows;
  for (double& g : gradient_) g /= divisor;
  rounds_->end(gradient_, loss, now_);
  if (!state_.loss) state_.loss = loss;
  return {};
}

Report CotrainRun::take_report() {
  LAIRD_REQUIRE(state_.loss.has_value() || row_ > 0, "there is no loss before the first sample");
  reported_ = state_.samples;
  return Report{state_.samples, state_.loss.value_or(loss_sum_ / std::max(row_, 1U))};
}

Bytes CotrainRun::save() const {
  CoTrainingState state = state_;
  if (rounds_ != nullptr) {
    state.round = rounds_->round();
    state.epoch = rounds_->epoch();
    state.parameters = parameters();
  }
  Bytes out = begin_payload(info_, state.parameters.size() * 8 + 256);
  Archive ar = Archive::writer(out);
  ar(state);
  return out;
}

void CotrainRun::read_weights(std::uint64_t first, std::span<float> out) const {
  const std::vector<double>& from = parameters();
  LAIRD_REQUIRE(first + out.size() <= from.size(), "weights that are there");
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(from[first + i]);
}

Status CotrainRun::restore(std::string_view bytes) {
  const Result<Payload> payload = read_info(bytes);
  LAIRD_TRY(payload);
  bytes.remove_prefix(payload->state_at);
  CoTrainingState read;
  Archive ar = Archive::reader(bytes);
  ar(read);
  if (ar.failed() || !ar.at_end() || read.format != CoTrainingState::kFormat) {
    return fail(Code::kCorrupt, "is damaged, or of a task that is not a co-training task");
  }
  if (read.shape_digest != state_.shape_digest ||
      read.parameters.size() != state_.parameters.size()) {
    return fail(Code::kRefused, "is of another run (other trainer, layer sizes or data)");
  }
  const bool finite = std::all_of(read.parameters.begin(), read.parameters.end(),
                                  [](double v) { return std::isfinite(v); });
  if (!finite || !std::isfinite(read.loss.value_or(0.0)) || read.round > consensus::kRoundMax) {
    return fail(Code::kCorrupt, "holds numbers no run can have");
  }
  state_ = std::move(read);
  reported_ = state_.samples;
  return {};
}

Status CotrainRun::set_neighbours(const Neighbours& neighbours) {
  if (numbers_.size() + neighbours.peers.size() > kNodesMax) {
    return fail(Code::kFull, "too many different neighbours");
  }
  std::vector<std::pair<consensus::NodeId, double>> around;
  for (const Neighbour& peer : neighbours.peers) {
    around.emplace_back(number_of(peer.node), peer.weight);
    numbers_[peer.node] = number_of(peer.node);
  }
  if (rounds_ == nullptr) {
    rounds_ = std::make_unique<consensus::CoTrainRounds>(
        rounds_config(params_, state_.parameters.size()), number_of(neighbours.self),
        state_.parameters, neighbours.life, state_.round, state_.epoch);
  }
  rounds_->set_neighbours(around, neighbours.others_done, now_);
  return {};
}

Status CotrainRun::hear(const std::string& node, std::string_view bytes) {
  const auto known = numbers_.find(node);
  // While a group changes, one board knows of it before the other.
  if (rounds_ == nullptr || known == numbers_.end()) return {};
  return rounds_->hear(known->second, bytes, now_);
}

TimeNs CotrainRun::tick(TimeNs now) {
  now_ = now;
  return rounds_ == nullptr ? kNever : rounds_->tick(now);
}

std::vector<Share> CotrainRun::take_shares() {
  std::vector<Share> out;
  if (rounds_ == nullptr) return out;
  for (const consensus::ToPeer& message : rounds_->take_outgoing()) {
    std::string to;
    for (const auto& [name, number] : numbers_) {
      if (!message.everyone && number == message.to) to = name;
    }
    out.push_back({std::move(to), std::string(text(message.bytes))});
  }
  return out;
}

}  // namespace laird::trainers
