#include "trainers/model/cotrain.hpp"

#include <algorithm>
#include <cmath>

#include "base/require.hpp"
#include "consensus/cotrain/privacy_budget.hpp"
#include "trainers/model/group_words.hpp"
#include "trainers/model/load_data.hpp"
#include "trainers/model/training.hpp"

namespace laird::trainers {
namespace {

constexpr std::uint32_t kHeldOutMost = 2000;  // rows that are looked at in a round
constexpr double kCurvatureStep = 0.35;       // of what would be the longest stable step
// Of a row, where a round's loss is told with noise: above that of a guess among ten classes.
constexpr double kRowLossMax = 4.0;
// One row replaced by another moves a sum of bounded parts by twice the bound at most; of sums of
// floats a little more, for rounding.
constexpr double kReplaced = 2.0 * 1.0001;
constexpr std::size_t kGroupBytesMax = std::size_t{1} << 30;

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

consensus::GroupConfig model_config(const Params& params, std::size_t dimension) {
  const FleetParams& fleet = *params.fleet;
  consensus::GroupConfig out;
  out.dimension = static_cast<std::uint32_t>(dimension);
  out.momentum = params.momentum;
  out.coding = coding_of(fleet, dimension);
  out.trim = fleet.trim;
  out.clip = fleet.clip;
  out.rate = params.learning_rate;
  // Noise hides the curvature that steps would be adapted to.
  const bool hidden = fleet.privacy && !params.rate_given;
  if (params.kind == Kind::kMlp || hidden) {
    out.step = consensus::GroupStep::kAdam;
  } else if (params.rate_given) {
    out.step = consensus::GroupStep::kFixed;
  } else {
    out.rate = kCurvatureStep;
  }
  return out;
}

}  // namespace

void CoTrainingState::archive(Archive& ar) {
  ar(format);
  ar(shape_digest);
  ar(samples);
  ar(loss);
  ar.sequence(parameters, consensus::kGroupDimensionMax);
  ar.text(group, kGroupBytesMax);
}

Result<std::unique_ptr<CotrainRun>> CotrainRun::create(const Params& params, std::uint64_t seed,
                                                       const std::string& folder) {
  LAIRD_REQUIRE(params.fleet.has_value(), "a co-training task has its section");
  Result<TaskData> data = load_task_data(params);
  LAIRD_TRY(data);
  const Shape shape = shape_of(params, data->training);
  const double count = weights_of(shape);
  if (count > static_cast<double>(consensus::kTrackedDimensionMax) ||
      Network<float>::parameter_count(shape) > consensus::kTrackedDimensionMax) {
    return fail(Code::kInvalid, "params: a co-training task's model has at most " +
                                    std::to_string(consensus::kTrackedDimensionMax) +
                                    " weights; this one would have more: use fewer features or "
                                    "smaller hidden layers");
  }
  const std::uint64_t digest = digest_of_shape(params, shape, data->training);
  std::unique_ptr<CotrainRun> out(new CotrainRun(params, std::move(*data), shape, digest, seed));
  if (params.fleet->privacy) {
    Result<SpentBudget> spent = SpentBudget::open(folder);
    LAIRD_TRY(spent);
    out->spent_ = std::move(*spent);
    out->network_.bound_rows(static_cast<float>(params.fleet->privacy->row_clip), kRowLossMax);
  }
  return out;
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
  model_ = model_config(params_, state_.parameters.size());
}

std::optional<std::uint64_t> CotrainRun::planned() const {
  if (params_.fleet->rounds == 0) return std::nullopt;
  return std::uint64_t{params_.fleet->rounds} * data_.rows;
}

// A contribution that is made a second time, after a crash, is not counted again: counts never
// pass the plan.
bool CotrainRun::may_advance(std::uint64_t limit) const {
  if (rounds_ == nullptr || limit == 0 || !rounds_->may_contribute()) return false;
  const std::uint64_t whole = (std::uint64_t{rounds_->round()} + 1) * data_.rows;
  return state_.samples < limit || state_.samples >= whole;
}

Status CotrainRun::advance(std::uint64_t limit) {
  LAIRD_REQUIRE(may_advance(limit), "the caller asks first");
  if (!working_) begin_round();
  const std::uint64_t whole = (std::uint64_t{round_} + 1) * data_.rows;
  std::uint64_t left = data_.rows - row_;
  if (state_.samples < whole) left = std::min<std::uint64_t>(left, limit - state_.samples);
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(params_.batch, left));
  for (std::uint32_t c = 0; c < count; ++c) loader_.put(data_, row_ + c, c, network_);
  loss_sum_ += network_.loss_and_gradient(count, loader_.targets(data_, count));
  row_ += count;
  state_.samples += std::min<std::uint64_t>(count, whole - std::min(whole, state_.samples));
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
  const std::vector<float>& x = rounds_->model().x();
  std::copy(x.begin(), x.end(), network_.parameters().data());
  working_ = true;
  round_ = rounds_->round();
  digest_ = rounds_->model().digest();
  row_ = 0;
  loss_sum_ = 0.0;
  gradient_.assign(x.size(), 0.0);
}

Status CotrainRun::end_round() {
  consensus::Judgement judged;
  judged.loss = loss_sum_ / data_.rows;
  if (held_out_) judge_held_out(judged);
  for (double& sum : gradient_) sum /= data_.rows;
  if (spent_) LAIRD_TRY(add_noise(judged));
  std::vector<float> wanted(gradient_.size());
  bool sound = consensus::is_sound(judged);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double mean = gradient_[i];
    sound = sound && std::abs(mean) <= static_cast<double>(consensus::kScaleMax);
    wanted[i] = sound ? static_cast<float>(mean) : 0.0F;
  }
  // The others would not take it, and wait for this board without end.
  if (!sound) {
    return fail(Code::kInvalid, "the loss is no longer a number after round " +
                                    std::to_string(round_) +
                                    ": the training diverged; lower \"learning_rate\"");
  }
  working_ = false;
  if (!state_.loss) state_.loss = judged.loss;
  rounds_->contribute(wanted, data_.rows, judged, now_);
  follow();
  return {};
}

// What leaves the board of a round is made here: the gradient and the loss, nothing else of the
// rows.
Status CotrainRun::add_noise(consensus::Judgement& judged) {
  const PrivacyParams& privacy = *params_.fleet->privacy;
  LAIRD_TRY(spent_->spend(consensus::zcdp_of_round(privacy.noise)));
  const double part = kReplaced / data_.rows;
  LAIRD_TRY(make_private(gradient_, part * privacy.row_clip, privacy.noise, noise_));
  return make_private(std::span(&judged.loss, 1), part * kRowLossMax,
                      consensus::kLossNoiseTimes * privacy.noise, noise_);
}

void CotrainRun::judge_held_out(consensus::Judgement& judged) {
  const std::uint32_t rows = std::min(held_out_->rows, kHeldOutMost);
  double sum = 0.0;
  for (std::uint32_t at = 0; at < rows; at += params_.batch) {
    const std::uint32_t count = std::min(params_.batch, rows - at);
    for (std::uint32_t c = 0; c < count; ++c) loader_.put(*held_out_, at + c, c, network_);
    sum += network_.loss(count, loader_.targets(*held_out_, count));
    for (std::uint32_t c = 0; held_out_->classes > 0 && c < count; ++c) {
      judged.held_right += network_.predicted(c) == held_out_->labels[at + c] ? 1 : 0;
    }
  }
  judged.held_rows = rows;
  judged.held_loss = rows > 0 ? sum / rows : 0.0;
}

void CotrainRun::follow() {
  if (rounds_ == nullptr || !rounds_->model().known()) return;
  const consensus::GroupModel& model = rounds_->model();
  if (spent_ && !planned_) {
    const FleetParams& fleet = *params_.fleet;
    const std::uint32_t left = fleet.rounds - std::min(fleet.rounds, model.round());
    planned_ = spent_->zcdp() + left * consensus::zcdp_of_round(fleet.privacy->noise);
  }
  if (seen_round_ == model.round() && seen_digest_ == model.digest()) return;
  seen_round_ = model.round();
  seen_digest_ = model.digest();
  if (round_ != model.round() || digest_ != model.digest()) working_ = false;
  if (const auto metric = metric_of(model, params_.target_metric)) state_.loss = *metric;
}

Report CotrainRun::take_report() {
  LAIRD_REQUIRE(state_.loss.has_value() || row_ > 0, "there is no loss before the first sample");
  reported_ = state_.samples;
  // What the agent hears, operators and other boards may hear too.
  const double own = spent_ ? kRowLossMax : loss_sum_ / std::max(row_, 1U);
  return Report{state_.samples, state_.loss.value_or(own)};
}

Bytes CotrainRun::save() const {
  CoTrainingState state = state_;
  if (rounds_ != nullptr && rounds_->model().known()) {
    const std::vector<float>& best = rounds_->model().best();
    state.parameters.assign(best.begin(), best.end());
    const Bytes group = rounds_->model().save();
    state.group = std::string(text(group));
  }
  Bytes out = begin_payload(info_, state.parameters.size() * 8 + state.group.size() + 256);
  Archive ar = Archive::writer(out);
  ar(state);
  return out;
}

void CotrainRun::read_weights(std::uint64_t first, std::span<float> out) const {
  LAIRD_REQUIRE(first + out.size() <= state_.parameters.size(), "weights that are there");
  const bool known = rounds_ != nullptr && rounds_->model().known();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = known ? rounds_->model().best()[first + i]
                   : static_cast<float>(state_.parameters[first + i]);
  }
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
  const bool sound = read.group.empty() || consensus::GroupModel::load(model_, read.group);
  if (!finite || !sound || !std::isfinite(read.loss.value_or(0.0))) {
    return fail(Code::kCorrupt, "holds numbers no run can have");
  }
  state_ = std::move(read);
  reported_ = state_.samples;
  return {};
}

Status CotrainRun::set_peers(const Peers& peers) {
  if (rounds_ == nullptr) {
    std::vector<float> start(state_.parameters.begin(), state_.parameters.end());
    rounds_ = std::make_unique<consensus::GroupRounds>(rounds_of(*params_.fleet, model_),
                                                       peers.self, std::move(start), peers.life);
    if (!state_.group.empty()) {
      Result<consensus::GroupModel> model = consensus::GroupModel::load(model_, state_.group);
      if (model) rounds_->restore(std::move(*model));
    }
  }
  rounds_->set_peers(states_of(peers), now_);
  follow();
  return {};
}

Status CotrainRun::hear(const std::string& node, std::string_view bytes) {
  if (rounds_ == nullptr) return {};
  const Status heard = rounds_->hear(node, bytes, now_);
  follow();
  return heard;
}

TimeNs CotrainRun::tick(TimeNs now) {
  now_ = now;
  if (rounds_ == nullptr) return kNever;
  const TimeNs next = rounds_->tick(now);
  follow();
  return next;
}

std::vector<Share> CotrainRun::take_shares() {
  std::vector<Share> out;
  if (rounds_ == nullptr) return out;
  for (const consensus::ToPeer& message : rounds_->take_outgoing()) {
    out.push_back({message.to, std::string(text(message.bytes))});
  }
  return out;
}

std::optional<GroupStatus> CotrainRun::group() const {
  if (rounds_ == nullptr) return std::nullopt;
  GroupStatus out = status_of(*rounds_, params_.fleet->rounds, data_.classes > 0);
  if (spent_) {
    const PrivacyParams& privacy = *params_.fleet->privacy;
    out.epsilon = consensus::epsilon_of(spent_->zcdp(), privacy.delta);
    out.delta = privacy.delta;
    // The note is kept for good, so it changes seldom: what is planned, and at the end what it was.
    // A target that is reached ends the task before.
    if (finished()) {
      out.note += "; told of its rows: " + privacy_words(spent_->zcdp(), privacy.delta);
    } else if (planned_) {
      out.note += "; tells of its rows at most " + privacy_words(*planned_, privacy.delta);
    }
  }
  return out;
}

std::vector<Bytes> CotrainRun::parcels() const {
  return rounds_ == nullptr ? std::vector<Bytes>{} : rounds_->parcels();
}

}  // namespace laird::trainers
