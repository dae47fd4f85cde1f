// A run of a co-training task: rounds over the board's own rows, made together with the other
// boards of the group (consensus/cotrain/group_rounds.hpp). Advances one batch of a round at a
// time, as any run does; between rounds it waits for the others without using the processor.
//
// A round's contribution is the gradient of the mean loss over the board's rows at the group's
// model, with the rows as its weight: the mean over the boards is then that of the pooled rows.
// A checkpoint holds the group's model whole, so a board that comes back needs the others only for
// what they did meanwhile.
#pragma once

#include <memory>

#include "consensus/cotrain/group_rounds.hpp"
#include "trainers/model/batch_loader.hpp"
#include "trainers/model/network.hpp"
#include "trainers/model/params.hpp"
#include "trainers/model/training_run.hpp"
#include "trainers/privacy/secure_noise.hpp"
#include "trainers/privacy/spent_budget.hpp"

namespace laird::trainers {

struct CoTrainingState {
  std::uint64_t format = kFormat;  // tells it from the state of a run by itself
  std::uint64_t shape_digest = 0;
  std::uint64_t samples = 0;
  std::optional<double> loss;
  std::vector<double> parameters;  // what the task gives: the best model, or the last one
  std::string group;               // consensus::GroupModel; empty: none yet

  static constexpr std::uint64_t kFormat = 0x4E49415254'5047ULL;
  void archive(Archive& ar);
};

class CotrainRun final : public TrainingRun {
 public:
  // Loads the data; an error names the file or parameter. Asks params.fleet to be set. What is told
  // of the rows with noise is counted in `folder`.
  [[nodiscard]] static Result<std::unique_ptr<CotrainRun>> create(const Params& params,
                                                                  std::uint64_t seed,
                                                                  const std::string& folder);

  [[nodiscard]] std::uint64_t samples() const override { return state_.samples; }
  // Rounds times rows. A board that came late ends with fewer.
  [[nodiscard]] std::optional<std::uint64_t> planned() const override;
  [[nodiscard]] bool finished() const override { return rounds_ != nullptr && rounds_->finished(); }
  [[nodiscard]] bool may_advance(std::uint64_t limit) const override;
  [[nodiscard]] Status advance(std::uint64_t limit) override;

  // Of the group in the last whole round; of the own rows before there is one.
  [[nodiscard]] std::optional<double> loss() const override { return state_.loss; }
  [[nodiscard]] std::uint64_t unreported() const override { return state_.samples - reported_; }
  [[nodiscard]] Report take_report() override;

  [[nodiscard]] Bytes save() const override;
  [[nodiscard]] Status restore(std::string_view bytes) override;

  [[nodiscard]] Status set_peers(const Peers& peers) override;
  [[nodiscard]] Status hear(const std::string& node, std::string_view bytes) override;
  [[nodiscard]] TimeNs tick(TimeNs now) override;
  [[nodiscard]] std::vector<Share> take_shares() override;
  [[nodiscard]] std::optional<GroupStatus> group() const override;
  [[nodiscard]] std::vector<Bytes> parcels() const override;

  [[nodiscard]] const ModelInfo& info() const override { return info_; }
  void read_weights(std::uint64_t first, std::span<float> out) const override;
  [[nodiscard]] const datasets::Dataset& training_rows() const override { return data_; }
  [[nodiscard]] const datasets::Dataset* held_out_rows() const override {
    return held_out_ ? &*held_out_ : nullptr;
  }

  [[nodiscard]] const consensus::GroupRounds* rounds() const { return rounds_.get(); }

 private:
  CotrainRun(const Params& params, TaskData data, const Shape& shape, std::uint64_t digest,
             std::uint64_t seed);
  void begin_round();
  [[nodiscard]] Status end_round();
  [[nodiscard]] Status add_noise(consensus::Judgement& judged);
  void judge_held_out(consensus::Judgement& judged);
  // The group may be at another round than before: what this board works on is then old.
  void follow();

  Params params_;
  datasets::Dataset data_;
  std::optional<datasets::Dataset> held_out_;
  ModelInfo info_;
  Network<float> network_;
  BatchLoader loader_;
  CoTrainingState state_;
  consensus::GroupConfig model_;
  SecureNoise noise_;
  std::optional<SpentBudget> spent_;  // where the task asks for privacy
  std::optional<double> planned_;     // of it, once there is a group
  std::uint64_t reported_ = 0;
  std::unique_ptr<consensus::GroupRounds> rounds_;  // once the agent has named the peers
  TimeNs now_ = 0;
  // The contribution that is being made, at the model of that round.
  bool working_ = false;
  std::uint32_t round_ = 0;
  std::uint32_t digest_ = 0;
  std::uint32_t row_ = 0;
  std::vector<double> gradient_;  // the sum over the rows so far; at the end of a round their mean
  double loss_sum_ = 0.0;
  std::uint32_t seen_round_ = 0;
  std::uint32_t seen_digest_ = 0;
};

}  // namespace laird::trainers
