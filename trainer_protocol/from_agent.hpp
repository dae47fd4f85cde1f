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
  // Since 1.2: a folder with what an earlier run left, whose model is to be the beginning; empty:
  // none.
  std::string warm;
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
enum class PeerState : std::uint8_t {
  kAtWork,  // its trainer is there
  kAway,    // it has the task, and is not at work on it or not heard: it may come (back)
  kDone,    // it ended as planned and has the model
  kLeft,    // for good: it has the task no more
};
inline constexpr std::string_view kPeerStates[] = {"at-work", "away", "done", "left"};
struct GroupPeer {
  std::string node;
  PeerState state = PeerState::kAway;
};
// What the agent knows of the other boards with a co-training task.
struct Peers {
  std::string self;
  std::uint64_t life = 0;  // grows from one process of the task to the next
  std::vector<GroupPeer> peers;
};
// What one of them said.
struct Peer {
  std::string from;
  std::string bytes;
};

// What the board's meter has counted for the task so far: the answer to `meter`, which only a
// promotion asks.
struct Metered {
  double above_idle_j = 0.0;  // of what it ran, the board's idle power not counted
  double metered_s = 0.0;     // for how long there were readings, whoever ran
  std::uint64_t readings = 0;
  std::string problem;  // why there is nothing to tell; empty: there is
};

using FromAgent = std::variant<Start, Run, Pause, Checkpoint, Stop, Peers, Peer, Export, Metered>;

// One line with its newline.
[[nodiscard]] std::string line_of(const Start& start);
[[nodiscard]] std::string line_of(Run run);
[[nodiscard]] std::string line_of(Pause);
[[nodiscard]] std::string line_of(Checkpoint);
[[nodiscard]] std::string line_of(Stop);
[[nodiscard]] std::string line_of(const Export& request);
[[nodiscard]] std::string line_of(const Metered& metered);
[[nodiscard]] std::string line_of(const Peers& peers);
[[nodiscard]] std::string peer_line(std::string_view from, std::string_view bytes);

// One line without its newline. An unknown type is kNotFound (to be ignored and noted), anything
// else wrong kInvalid.
[[nodiscard]] Result<FromAgent> parse_from_agent(std::string_view line);

}  // namespace laird::trainer_protocol
