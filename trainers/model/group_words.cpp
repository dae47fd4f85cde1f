#include "trainers/model/group_words.hpp"

namespace laird::trainers {
namespace {

consensus::GroupPeer state_of(trainer_protocol::PeerState state) {
  using From = trainer_protocol::PeerState;
  switch (state) {
    case From::kAtWork: return consensus::GroupPeer::kAtWork;
    case From::kAway: return consensus::GroupPeer::kAway;
    case From::kDone: return consensus::GroupPeer::kDone;
    case From::kLeft: return consensus::GroupPeer::kLeft;
  }
  return consensus::GroupPeer::kAway;
}

}  // namespace

std::map<std::string, consensus::GroupPeer> states_of(const trainer_protocol::Peers& peers) {
  std::map<std::string, consensus::GroupPeer> out;
  for (const auto& [node, state] : peers.peers) out[node] = state_of(state);
  return out;
}

std::optional<double> metric_of(const consensus::GroupModel& model, TargetMetric metric) {
  if (metric == TargetMetric::kTrainingLoss) return model.loss();
  const std::optional<consensus::Judgement> held = model.held_out();
  if (!held) return std::nullopt;
  if (metric == TargetMetric::kHeldOutLoss) return held->held_loss;
  return 1.0 - static_cast<double>(held->held_right) / static_cast<double>(held->held_rows);
}

trainer_protocol::GroupStatus status_of(const consensus::GroupRounds& rounds, std::uint32_t planned,
                                        bool counts_right) {
  const consensus::GroupModel& model = rounds.model();
  trainer_protocol::GroupStatus out;
  out.round = model.round();
  out.rounds = planned;
  out.note = rounds.note();
  out.waits_for = rounds.waits_for();
  for (const consensus::GroupBoard& board : model.boards()) {
    trainer_protocol::GroupStatus::Board row{board.name, static_cast<std::uint64_t>(board.weight),
                                             std::nullopt};
    const consensus::Judgement& judged = board.judged;
    if (judged.held_rows > 0 && counts_right) {
      row.accuracy = static_cast<double>(judged.held_right) / judged.held_rows;
    }
    out.boards.push_back(std::move(row));
  }
  const std::optional<consensus::Judgement> held = model.held_out();
  if (held && counts_right) {
    out.accuracy = static_cast<double>(held->held_right) / held->held_rows;
    // Which round it is of changes with nearly every round, and each note is kept for good.
    out.note += "; the best on the rows held out";
    out.note += rounds.finished() ? ", of round " + std::to_string(model.best_round()) : " is kept";
  }
  return out;
}

Bytes parcels_file(const std::vector<Bytes>& parcels) {
  Bytes file;
  for (const Bytes& parcel : parcels) {
    for (unsigned k = 0; k < 4; ++k) {
      file.push_back(static_cast<std::uint8_t>(parcel.size() >> (8 * k)));
    }
    file.insert(file.end(), parcel.begin(), parcel.end());
  }
  return file;
}

}  // namespace laird::trainers
