// A training run: data, model, optimiser, and how far it is. Advances one batch at a time, so that
// whoever drives it can listen between batches, and archives itself whole.
//
// Mini-batch gradient descent with momentum (Polyak, 1964): v <- m v - r g, w <- w + v, with
// r = learning_rate / (1 + decay * samples / rows). Each epoch visits every row once, in an order
// shuffled (Fisher, Yates) by the run's own random numbers.
// Batches lie on a grid within the epoch: 0, batch, 2 batch, ... A limit inside a batch cuts it
// there and the next batch ends on the grid again. Hence: limits on the grid leave no trace in the
// weights, and the same seed, params and limits give the same weights, killed and resumed or not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/archive.hpp"
#include "base/random.hpp"
#include "datasets/dataset.hpp"
#include "trainers/model/batch_loader.hpp"
#include "trainers/model/model_info.hpp"
#include "trainers/model/network.hpp"
#include "trainers/model/params.hpp"
#include "trainers/model/training_run.hpp"

namespace laird::trainers {

// All of a run that training changes.
struct TrainingState {
  std::uint64_t shape_digest = 0;  // kind, layer sizes and rows: a state fits only its own run
  std::uint64_t samples = 0;       // since the start of the run, over all epochs
  Random epoch_random;             // as it was before this epoch was shuffled
  double pending_loss = 0.0;       // sum over the samples since the last report
  std::uint64_t pending_samples = 0;
  std::optional<double> reported_loss;
  Network<float>::Vector parameters, velocity;

  void archive(Archive& ar);
  void archive_head(Archive& ar);  // all but parameters and velocity
};

[[nodiscard]] Shape shape_of(const Params& params, const datasets::Dataset& data);
[[nodiscard]] std::uint64_t digest_of_shape(const Params& params, const Shape& shape,
                                            const datasets::Dataset& data);

class Training final : public TrainingRun {
 public:
  // Loads the data; an error names the file or parameter.
  [[nodiscard]] static Result<Training> create(const Params& params, std::uint64_t seed);

  [[nodiscard]] std::uint64_t samples() const override { return state_.samples; }
  [[nodiscard]] std::optional<std::uint64_t> planned() const override { return planned_; }
  [[nodiscard]] bool finished() const override { return planned_ && state_.samples >= *planned_; }
  [[nodiscard]] bool may_advance(std::uint64_t limit) const override {
    return state_.samples < limit && !finished();
  }
  [[nodiscard]] Status advance(std::uint64_t limit) override;

  // Mean loss since the last report, or that report's when nothing was done since.
  [[nodiscard]] std::optional<double> loss() const override;
  [[nodiscard]] std::uint64_t unreported() const override { return state_.pending_samples; }
  [[nodiscard]] Report take_report() override;

  [[nodiscard]] Bytes save() const override;
  [[nodiscard]] Status restore(std::string_view bytes) override;
  // Of a run with the same layers and classes, whatever its data was.
  [[nodiscard]] Status begin_with(std::string_view bytes) override;

  [[nodiscard]] const ModelInfo& info() const override { return info_; }
  void read_weights(std::uint64_t first, std::span<float> out) const override;
  [[nodiscard]] const datasets::Dataset& training_rows() const override { return data_; }
  [[nodiscard]] const datasets::Dataset* held_out_rows() const override {
    return held_out_ ? &*held_out_ : nullptr;
  }

  [[nodiscard]] const Network<float>::Vector& parameters() const { return network_.parameters(); }

 private:
  Training(const Params& params, TaskData data, const Shape& shape, std::uint64_t seed);

  void shuffle();
  [[nodiscard]] double held_out_metric();

  Params params_;
  datasets::Dataset data_;
  std::optional<datasets::Dataset> held_out_;
  ModelInfo info_;
  Network<float> network_;
  std::optional<std::uint64_t> planned_;
  TrainingState state_;  // but for the parameters, which live in network_
  std::vector<std::uint32_t> order_;
  std::uint64_t shuffled_epoch_ = UINT64_MAX;
  Random next_random_;  // as it is after this epoch was shuffled
  BatchLoader loader_;
  std::optional<std::uint64_t> measured_at_;  // samples when the held-out rows were last looked at
};

}  // namespace laird::trainers
