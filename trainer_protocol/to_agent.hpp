// Trainer protocol v1, from a trainer to the agent: the messages, written by the trainer and parsed
// by the agent. Described for writers of trainers in docs/trainer-protocol.md. Every message is
// bounded and checked here, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "trainer_protocol/limits.hpp"

namespace laird::trainer_protocol {

// What a promotion ended with: only `laird-promote` says it, for the tasks that the agent makes of
// a task's "promote".
struct Promoted {
  std::string choice;  // "int8", "fp16", "fp32", "onnx"
  double agreement = 0.0;
  double latency_us_p50 = 0.0;
  double latency_us_p95 = 0.0;
  double latency_us_p99 = 0.0;
  double rows_per_s = 0.0;
  std::uint64_t bytes = 0;
  std::string note;
};

// How a co-training task's group is, for people.
struct GroupStatus {
  struct Board {
    std::string node;
    std::uint64_t rows = 0;
    std::optional<double> accuracy;  // on its held-out rows; none without
    bool operator==(const Board&) const = default;
  };
  std::uint32_t round = 0;
  std::uint32_t rounds = 0;  // planned; 0: no end
  std::string note;          // who made the model, and without whom
  std::vector<Board> boards;
  std::vector<std::string> waits_for;
  std::optional<double> accuracy;  // on all boards' held-out rows
  // What this board has told of its rows so far, where it is told with noise.
  std::optional<double> epsilon;
  double delta = 0.0;
  bool operator==(const GroupStatus&) const = default;
};

struct TrainerMessage {
  enum class Type : std::uint8_t {
    kReady,
    kProgress,
    kCheckpointed,
    kDone,
    kError,
    kToPeers,
    kYield,
    kPromoted,
    kGroup,
    kMeter
  };
  Type type = Type::kReady;
  std::uint64_t samples = 0;
  std::uint64_t planned_samples = 0;
  double loss = 0.0;
  std::string text;       // of an error
  DurationNs for_ns = 0;  // of a yield
  std::string to;         // of a share: a node, empty for every neighbour
  std::string bytes;      // of a share
  Promoted promoted;
  GroupStatus group;
};

// One line, without its newline. The error says what is wrong with it.
[[nodiscard]] Result<TrainerMessage> parse_trainer_line(std::string_view line);

// For trainers that cannot cooperate: "laird: samples=1200 loss=0.35" on standard output.
[[nodiscard]] std::optional<TrainerMessage> parse_progress_line(std::string_view line);

// The answer to `export`, since 1.1: the files are there, or why they are not. It comes only when
// asked for, and is none of the messages above.
struct Exported {
  std::string path;  // of the ONNX file
  std::string sha256;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  std::string problem;  // empty: it went well
};
[[nodiscard]] Result<Exported> parse_exported_line(std::string_view line);

// Each gives one line with its newline, at most kLineToAgentMax bytes.
[[nodiscard]] std::string ready_line(std::uint64_t samples, std::optional<double> loss,
                                     bool resumed, std::optional<std::uint64_t> planned);
[[nodiscard]] std::string progress_line(std::uint64_t samples, double loss);
[[nodiscard]] std::string checkpointed_line(std::uint64_t samples, std::optional<double> loss);
[[nodiscard]] std::string done_line(std::uint64_t samples, double loss);
// Gives the lane back for a while; the allowance is gone with it.
[[nodiscard]] std::string yield_line(DurationNs for_ns);
// To a node, or to every neighbour when `to` is empty. At most kToPeersLineMax bytes.
[[nodiscard]] std::string share_line(std::string_view to, std::string_view bytes);
[[nodiscard]] std::string group_line(const GroupStatus& group);
[[nodiscard]] std::string promoted_line(std::uint64_t samples, const Promoted& promoted);
// Asks what the board's meter has counted for this task; answered by `metered`.
[[nodiscard]] std::string meter_line();
[[nodiscard]] std::string exported_line(const Exported& exported);
// A message too long for a line is cut.
[[nodiscard]] std::string error_line(std::string message);

}  // namespace laird::trainer_protocol
