// What a group of co-training is, in the words of the trainer protocol.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "consensus/cotrain/group_rounds.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"
#include "trainers/model/fleet_params.hpp"

namespace laird::trainers {

[[nodiscard]] std::map<std::string, consensus::GroupPeer> states_of(
    const trainer_protocol::Peers& peers);

// What a target is about: the group's training loss, or what it is on all rows held out.
[[nodiscard]] std::optional<double> metric_of(const consensus::GroupModel& model,
                                              TargetMetric metric);

// `counts_right`: whether the boards' judgements say how many rows came out right.
[[nodiscard]] trainer_protocol::GroupStatus status_of(const consensus::GroupRounds& rounds,
                                                      std::uint32_t planned, bool counts_right);

// What a trainer leaves in trainer_protocol::kParcelsFile.
[[nodiscard]] Bytes parcels_file(const std::vector<Bytes>& parcels);

}  // namespace laird::trainers
