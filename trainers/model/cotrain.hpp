// A run of a co-training task: rounds over the board's own rows, each along the gradient that all
// boards of the group track together (consensus/cotrain/cotrain_rounds.hpp). Advances one batch of
// a round at a time, as any run does; between rounds it waits for its neighbours without using the
// processor.
//
// The loss of board i is the mean over its rows, times rows / rows_each where that is given: then
// the mean over the boards is that of the pooled rows. A round is deterministic but for who took
// part in it.
// A checkpoint holds the parameters and the round. What neighbours hold of a process dies with it:
// the next one begins anew under a higher life, so the rest would only be written to be thrown
// away.
#pragma once

#include <map>
#include <memory>

#include "consensus/cotrain/cotrain_rounds.hpp"
#include "trainers/model/batch_loader.hpp"
#include "trainers/model/network.hpp"
#include "trainers/model/params.hpp"
#include "trainers/model/training_run.hpp"

namespace laird::trainers {

struct CoTrainingState {
  std::uint64_t format = kFormat;  // tells it from the state of a run by itself
  std::uint64_t shape_digest = 0;
  std::uint64_t samples = 0;
  std::uint32_t round = 0;
  std::uint32_t epoch = 1;
  std::optional<double> loss;
  std::vector<double> parameters;

  static constexpr std::uint64_t kFormat = 0x4E49415254'4F43ULL;
  void archive(Archive& ar);
};

class CotrainRun final : public TrainingRun {
 public:
  // Loads the data; an error names the file or parameter. Asks params.fleet to be set.
  [[nodiscard]] static Result<std::unique_ptr<CotrainRun>> create(const Params& params,
                                                                  std::uint64_t seed);

  [[nodiscard]] std::uint64_t samples() const override { return state_.samples; }
  // Rounds times rows. A board that was left behind ends with fewer.
  [[nodiscard]] std::optional<std::uint64_t> planned() const override;
  [[nodiscard]] bool finished() const override { return rounds_ != nullptr && rounds_->finished(); }
  [[nodiscard]] bool may_advance(std::uint64_t limit) const override;
  [[nodiscard]] Status advance(std::uint64_t limit) override;

  // Of the board and its neighbours in the last whole round; of the own rows before there is one.
  [[nodiscard]] std::optional<double> loss() const override { return state_.loss; }
  [[nodiscard]] std::uint64_t unreported() const override { return state_.samples - reported_; }
  [[nodiscard]] Report take_report() override;

  [[nodiscard]] Bytes save() const override;
  [[nodiscard]] Status restore(std::string_view bytes) override;

  [[nodiscard]] Status set_neighbours(const Neighbours& neighbours) override;
  [[nodiscard]] Status hear(const std::string& node, std::string_view bytes) override;
  [[nodiscard]] TimeNs tick(TimeNs now) override;
  [[nodiscard]] std::vector<Share> take_shares() override;

  [[nodiscard]] const ModelInfo& info() const override { return info_; }
  void read_weights(std::uint64_t first, std::span<float> out) const override;
  [[nodiscard]] const datasets::Dataset& training_rows() const override { return data_; }
  [[nodiscard]] const datasets::Dataset* held_out_rows() const override {
    return held_out_ ? &*held_out_ : nullptr;
  }

  [[nodiscard]] const consensus::CoTrainRounds* rounds() const { return rounds_.get(); }

 private:
  CotrainRun(const Params& params, TaskData data, const Shape& shape, std::uint64_t digest,
             std::uint64_t seed);
  [[nodiscard]] const std::vector<double>& parameters() const {
    return rounds_ != nullptr ? rounds_->y() : state_.parameters;
  }
  void begin_round();
  [[nodiscard]] Status end_round();

  Params params_;
  datasets::Dataset data_;
  std::optional<datasets::Dataset> held_out_;
  ModelInfo info_;
  Network<float> network_;
  BatchLoader loader_;
  CoTrainingState state_;
  std::uint64_t reported_ = 0;
  std::unique_ptr<consensus::CoTrainRounds> rounds_;  // once the agent has named the neighbours
  TimeNs now_ = 0;
  std::map<std::string, consensus::NodeId> numbers_;  // of nodes that were ever neighbours
  // The round that is being made.
  std::uint32_t row_ = 0;
  std::vector<double> gradient_;
  double loss_sum_ = 0.0;
};

}  // namespace laird::trainers
