// What a session drives: a run that advances a batch at a time, and may talk to other boards' runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "datasets/dataset.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"
#include "trainers/model/model_info.hpp"

namespace laird::trainers {

struct Report {
  std::uint64_t samples = 0;
  double loss = 0.0;
};

// Who takes part in a co-training task, in the protocol's words.
using Peers = trainer_protocol::Peers;
using GroupStatus = trainer_protocol::GroupStatus;

struct Share {
  std::string to;  // a node; empty: every board of the group
  std::string bytes;
};

class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  [[nodiscard]] virtual std::uint64_t samples() const = 0;
  // nullopt when there is no planned end.
  [[nodiscard]] virtual std::optional<std::uint64_t> planned() const = 0;
  [[nodiscard]] virtual bool finished() const = 0;
  [[nodiscard]] virtual bool may_advance(std::uint64_t limit) const = 0;
  // One batch, not beyond `limit` samples; asks may_advance(limit). A loss that is not a finite
  // number ends the run with an error.
  [[nodiscard]] virtual Status advance(std::uint64_t limit) = 0;
  // nullopt when no sample was ever seen.
  [[nodiscard]] virtual std::optional<double> loss() const = 0;
  [[nodiscard]] virtual std::uint64_t unreported() const = 0;
  // Samples and loss to send; starts a new mean. Asks loss() to have a value.
  [[nodiscard]] virtual Report take_report() = 0;
  [[nodiscard]] virtual Bytes save() const = 0;
  // All or nothing: a state that is damaged, hostile or of another run changes nothing.
  [[nodiscard]] virtual Status restore(std::string_view bytes) = 0;

  // Begins with the model of such a state of an earlier run, and with nothing else of it. Before
  // the first batch.
  [[nodiscard]] virtual Status begin_with(std::string_view) {
    return fail(Code::kRefused, "is not what a task of many boards can begin with");
  }

  // For an export: the model, and rows to check it with.
  [[nodiscard]] virtual const ModelInfo& info() const = 0;
  virtual void read_weights(std::uint64_t first, std::span<float> out) const = 0;
  [[nodiscard]] virtual const datasets::Dataset& training_rows() const = 0;
  [[nodiscard]] virtual const datasets::Dataset* held_out_rows() const { return nullptr; }

  // A run by itself has no peers and nothing to say.
  [[nodiscard]] virtual Status set_peers(const Peers&) {
    return fail(Code::kRefused, "this task is not trained with other boards");
  }
  [[nodiscard]] virtual Status hear(const std::string&, std::string_view) {
    return fail(Code::kRefused, "this task is not trained with other boards");
  }
  // Says what time it is; gives the time at which to say so again if nothing happens before.
  [[nodiscard]] virtual TimeNs tick(TimeNs) { return kNever; }
  [[nodiscard]] virtual std::vector<Share> take_shares() { return {}; }
  // How the group is; none for a run by itself.
  [[nodiscard]] virtual std::optional<GroupStatus> group() const { return std::nullopt; }
  // The model as messages for boards that come after the end.
  [[nodiscard]] virtual std::vector<Bytes> parcels() const { return {}; }
};

}  // namespace laird::trainers
