// Trainer protocol v1, from the agent to a trainer: the messages, written by the agent and parsed
// by the trainer. One JSON object a line, described for writers of trainers in
// docs/trainer-protocol.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "json/value.hpp"
#include "trainer_protocol/limits.hpp"

namespace laird::trainer_protocol {

struct Start {
  std::string task;
  std::string folder;
  json::Value params;
  std::uint64_t report_every = 0;
  std::uint64_t seed = 0;
  int threads = 1;
};
struct Run {
  std::uint64_t until = 0;
};
struct Pause {};
struct Checkpoint {};
struct Stop {};
// Since 1.1: hand the model over, as files beside `path`; answered by `exported`.
struct Export {
  std::string path;
};
struct Neighbour {
  std::string node;
  double weight = 0.0;
};
// Who takes part in a co-training task, as the agent sees it.
struct Peers {
  std::string self;
  std::uint64_t life = 0;  // grows from one process of the task to the next
  std::vector<Neighbour> peers;
  bool others_done = false;  // boards of the group have made all their rounds
};
// What one of them said.
struct Peer {
  std::string from;
  std::string bytes;
};

using FromAgent = std::variant<Start, Run, Pause, Checkpoint, Stop, Peers, Peer, Export>;

// One line with its newline.
[[nodiscard]] std::string line_of(const Start& start);
[[nodiscard]] std::string line_of(Run run);
[[nodiscard]] std::string line_of(Pause);
[[nodiscard]] std::string line_of(Checkpoint);
[[nodiscard]] std::string line_of(Stop);
[[nodiscard]] std::string line_of(const Export& request);
[[nodiscard]] std::string line_of(const Peers& peers);
[[nodiscard]] std::string peer_line(std::string_view from, std::string_view bytes);

// One line without its newline. An unknown type is kNotFound (to be ignored and noted), anything
// else wrong kInvalid.
[[nodiscard]] Result<FromAgent> parse_from_agent(std::string_view line);

}  // namespace laird::trainer_protocol
