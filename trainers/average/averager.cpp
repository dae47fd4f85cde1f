#include "trainers/average/averager.hpp"

#include <algorithm>
#include <cmath>

#include "trainers/model/group_words.hpp"

namespace laird::trainers {
namespace {

// What the other boards would not take: then they would wait for this one without end.
Status check_of(const LocalSteps& local) {
  const bool small = std::all_of(local.parameters.begin(), local.parameters.end(),
                                 [](float v) { return std::abs(v) <= consensus::kScaleMax; });
  const consensus::Judgement& judged = local.judged;
  const bool losses = std::abs(judged.loss) <= consensus::kLossMax &&
                      std::abs(judged.held_loss) <= consensus::kLossMax;
  if (!small || !losses) {
    return fail(Code::kInvalid,
                "average: the tensors or the loss hold a number that is not finite or beyond 1e30: "
                "the training diverged; lower its learning rate");
  }
  if (!(local.rows >= 0.0 && local.rows <= consensus::kWeightMax)) {
    return fail(Code::kInvalid,
                "average: \"rows\" must be 0 to 1e12: how much the board counts, or 0 if there "
                "were no steps");
  }
  if (!is_sound(judged)) {
    return fail(Code::kInvalid, "average: of at most " + std::to_string(consensus::kHeldRowsMax) +
                                    " rows held out no more than all are right");
  }
  return {};
}

}  // namespace

Status Averager::ask(LocalSteps local) {
  const std::size_t count = local.parameters.size();
  if (asked_) return fail(Code::kInvalid, "average: asked again before the answer");
  if (count == 0 || count > consensus::kGroupDimensionMax) {
    return fail(Code::kInvalid,
                "average: give 1 to " + std::to_string(consensus::kGroupDimensionMax) + " weights");
  }
  if (model_.dimension != 0 && model_.dimension != count) {
    return fail(Code::kInvalid, "average: " + std::to_string(count) + " weights, and before " +
                                    std::to_string(model_.dimension) +
                                    "; give the same tensors each time");
  }
  LAIRD_TRY(check_of(local));
  counts_right_ = counts_right_ || local.judged.held_rows > 0;
  asked_ = std::move(local);
  begin();
  settle();
  return {};
}

void Averager::begin() {
  if (rounds_ != nullptr || !peers_ || !asked_) return;
  const std::vector<float>& start = asked_->parameters;
  model_.dimension = static_cast<std::uint32_t>(start.size());
  model_.step = consensus::GroupStep::kAveraged;
  model_.rate = params_.rate;
  model_.momentum = params_.momentum;
  model_.coding = coding_of(params_.fleet, start.size());
  model_.trim = params_.fleet.trim;
  model_.clip = params_.fleet.clip;
  rounds_ = std::make_unique<consensus::GroupRounds>(rounds_of(params_.fleet, model_), peers_->self,
                                                     start, peers_->life);
  if (restored_) rounds_->restore(std::move(*restored_));
  restored_.reset();
  rounds_->set_peers(states_of(*peers_), now_);
}

void Averager::set_peers(const trainer_protocol::Peers& peers) {
  peers_ = peers;
  if (rounds_ != nullptr) rounds_->set_peers(states_of(peers), now_);
  begin();
  settle();
}

Status Averager::hear(const std::string& from, std::string_view bytes) {
  if (rounds_ == nullptr) return {};
  const Status heard = rounds_->hear(from, bytes, now_);
  settle();
  return heard;
}

TimeNs Averager::tick(TimeNs now) {
  now_ = now;
  if (rounds_ == nullptr) return kNever;
  const TimeNs next = rounds_->tick(now);
  settle();
  return next;
}

bool Averager::is_at_base() const {
  const consensus::GroupModel& model = rounds_->model();
  return base_lineage_ == model.lineage() && base_round_ == model.round() &&
         base_digest_ == model.digest();
}

// Contributes what was asked with, if the group still stands where the local steps began.
void Averager::settle() {
  if (rounds_ == nullptr || !asked_ || !(asked_->rows > 0.0) || !rounds_->may_contribute()) return;
  if (is_at_base()) {
    const std::vector<float>& x = rounds_->model().x();
    std::vector<float>& wanted = asked_->parameters;
    const bool adds = left_over_.size() == x.size();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = x[i] - wanted[i] + (adds ? left_over_[i] : 0.0F);
    }
    rounds_->contribute(wanted, asked_->rows, asked_->judged, now_);
    left_over_ = std::move(wanted);
  } else if (base_lineage_ != rounds_->model().lineage()) {
    left_over_.clear();
  }
  asked_->parameters.clear();
  asked_->rows = 0.0;
}

std::optional<Averaged> Averager::take_answer() {
  if (!asked_ || rounds_ == nullptr) return std::nullopt;
  const bool finished = rounds_->finished();
  if (!finished && (asked_->rows > 0.0 || !rounds_->may_contribute())) return std::nullopt;
  const consensus::GroupModel& model = rounds_->model();
  base_lineage_ = model.lineage();
  base_round_ = model.round();
  base_digest_ = model.digest();
  asked_.reset();
  return Averaged{finished ? model.best() : model.x(), model.round(), finished};
}

std::optional<double> Averager::loss() const {
  return rounds_ == nullptr ? std::nullopt : metric_of(rounds_->model(), params_.target_metric);
}

std::vector<consensus::ToPeer> Averager::take_outgoing() {
  return rounds_ == nullptr ? std::vector<consensus::ToPeer>{} : rounds_->take_outgoing();
}

std::optional<trainer_protocol::GroupStatus> Averager::group() const {
  if (rounds_ == nullptr) return std::nullopt;
  return status_of(*rounds_, params_.fleet.rounds, counts_right_);
}

std::vector<Bytes> Averager::parcels() const {
  return rounds_ == nullptr ? std::vector<Bytes>{} : rounds_->parcels();
}

Bytes Averager::save() const {
  if (rounds_ != nullptr && rounds_->model().known()) return rounds_->model().save();
  return restored_ ? restored_->save() : Bytes{};
}

Status Averager::restore(std::string_view bytes) {
  // How many weights there are, the trainer says later; the file is its own.
  consensus::GroupConfig any;
  any.step = consensus::GroupStep::kAveraged;
  any.dimension = consensus::GroupModel::dimension_of(bytes);
  Result<consensus::GroupModel> read = consensus::GroupModel::load(any, bytes);
  if (!read) return fail(Code::kCorrupt, "holds numbers no group can have");
  restored_ = std::move(*read);
  model_.dimension = any.dimension;
  return {};
}

}  // namespace laird::trainers
