// What stands between a trainer that makes local steps by itself and the other boards' ones: takes
// over what came of the steps, makes a round of it with the group, and hands the group's model back
// (consensus/cotrain/group_rounds.hpp, GroupStep::kAveraged).
//
// The trainer asks with its parameters. The first time it has nothing to contribute and only takes
// the group's model over; so does a board whose group went on without it, since its steps began at
// a model that is old. The change against the model that was handed out is the contribution. What
// of it did not travel (delta_codec) is added to the next one.
//
// Pure: the owner tells the time and carries the bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/archive.hpp"
#include "consensus/cotrain/group_rounds.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"
#include "trainers/model/fleet_params.hpp"

namespace laird::trainers {

struct LocalSteps {
  std::vector<float> parameters;
  double rows = 0.0;  // 0: nothing to contribute
  consensus::Judgement judged;
};

struct Averaged {
  std::vector<float> parameters;
  std::uint32_t round = 0;
  bool finished = false;
};

class Averager {
 public:
  explicit Averager(const AverageParams& params) : params_(params) {}

  void set_peers(const trainer_protocol::Peers& peers);
  [[nodiscard]] Status hear(const std::string& from, std::string_view bytes);
  // Says what time it is; gives the time at which to say so again if nothing happens before.
  [[nodiscard]] TimeNs tick(TimeNs now);
  // Refuses numbers that other boards would not take, another count of weights than before, and a
  // second question.
  [[nodiscard]] Status ask(LocalSteps local);
  [[nodiscard]] bool is_asked() const { return asked_.has_value(); }
  // The answer, once the group has made its round, or the board takes part again.
  [[nodiscard]] std::optional<Averaged> take_answer();

  [[nodiscard]] bool finished() const { return rounds_ != nullptr && rounds_->finished(); }
  // Of the group; none before its first round.
  [[nodiscard]] std::optional<double> loss() const;
  [[nodiscard]] std::vector<consensus::ToPeer> take_outgoing();
  [[nodiscard]] std::optional<trainer_protocol::GroupStatus> group() const;
  [[nodiscard]] std::vector<Bytes> parcels() const;
  [[nodiscard]] std::uint32_t round() const { return rounds_ == nullptr ? 0 : rounds_->round(); }

  // The group's model; empty while there is none.
  [[nodiscard]] Bytes save() const;
  // All or nothing. Asks for nothing to have been heard yet.
  [[nodiscard]] Status restore(std::string_view bytes);

 private:
  void begin();
  void settle();
  [[nodiscard]] bool is_at_base() const;

  AverageParams params_;
  consensus::GroupConfig model_;
  std::optional<trainer_protocol::Peers> peers_;
  std::unique_ptr<consensus::GroupRounds> rounds_;  // once peers and the count of weights are known
  std::optional<consensus::GroupModel> restored_;
  std::optional<LocalSteps> asked_;
  std::vector<float> left_over_;  // of earlier changes
  // The model that was handed out.
  std::uint64_t base_lineage_ = 0;
  std::uint32_t base_round_ = 0;
  std::uint32_t base_digest_ = 0;
  bool counts_right_ = false;
  TimeNs now_ = 0;
};

}  // namespace laird::trainers
