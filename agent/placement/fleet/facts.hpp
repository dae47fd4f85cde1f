// What is known of a fleet's boards and tasks, as far as planning goes. It comes from what boards
// publish, so whoever hears the fleet's topics can know it: an operator's machine, or a board.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/limits.hpp"
#include "agent/core/state/task.hpp"
#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::placement {

// What is believed of one board: no more than a board of ours can have.
inline constexpr std::size_t kLanesOfBoardMax = core::kLanesMax;
inline constexpr std::size_t kTasksOfBoardMax = core::kTasksLiveMax;

// What a board's file says of its module; 0: not known.
struct Hardware {
  std::int64_t cpu_cores = 0;
  std::int64_t cpu_mhz = 0;
  std::int64_t cuda_cores = 0;
  std::int64_t gpu_mhz = 0;
  double memory_gb_s = 0.0;
  double gpu_w = 0.0;  // of the lane in use, above idle
  double cpu_w = 0.0;
};

struct LaneFact {
  std::string name;
  bool gpu = false;
};

// A work that the board has run: a trainer with its parameters (agent/placement/measured_works.hpp)
struct WorkFact {
  std::string trainer;
  std::string work;
  bool gpu = false;
  double samples_per_s = 0.0;
  double samples = 0.0;  // until the target was reached; 0: not known
  double target_loss = 0.0;
};

enum class Standing : std::uint8_t {
  kReady,
  kDraining,  // goes on with the tasks that it has, and takes none
  kAway,      // lost, switched off or drained: it takes nothing
};

struct BoardFact {
  std::string name;
  std::string module;
  Hardware hardware;
  std::vector<LaneFact> lanes;
  bool kinds_known = true;  // of its lanes; if not, they are guessed from the lanes' names
  std::vector<std::string> trainers;
  std::int64_t memory_bytes = 0;
  std::vector<WorkFact> works;
  Standing standing = Standing::kReady;
  bool removed = false;  // by a what-if: what it has learned still counts
};

enum class Stage : std::uint8_t {
  kWaiting,  // it has not begun
  kBegun,    // it has begun, and has no lane now
  kRunning,  // it has a lane now
  kPaused,   // an operator paused it
};

struct NeedSeconds {
  double low = 0.0;
  double median = 0.0;
  double high = 0.0;
};

struct TaskFact {
  std::string name;
  std::string board;    // that has it; empty: none has it yet
  std::string removed;  // the board that had it until a what-if removed that board
  std::string trainer;
  std::string work;
  bool gpu = false;
  std::int64_t memory_bytes = 0;
  Stage stage = Stage::kWaiting;
  double rate = 0.0;  // samples per second where it is; 0: not known
  double samples = 0.0;
  double planned_samples = 0.0;
  double target_loss = 0.0;
  std::optional<NeedSeconds> need;  // of the whole lane where it is
  bool hopeless = false;            // its forecast says that it will not reach its target in time
  double deadline_in_s = 0.0;       // 0: not known, or now
  double weight = 1.0;
  // Belongs to its board for another reason: co-training, promotion, a run of what recurs there.
  bool bound = false;
  bool movable = false;  // the fleet may move it
};

struct FleetFacts {
  std::string fleet;
  std::vector<BoardFact> boards;
  std::vector<TaskFact> tasks;
};

// A board from its retained topics: the word of its status, and its info. What is missing or
// malformed counts as not known: boards may be older, and payloads may be anything.
[[nodiscard]] BoardFact board_fact(const std::string& name, std::string_view status,
                                   const json::Value& info);

// A task from its retained topic; nothing for one that is over, or that has no state.
[[nodiscard]] std::optional<TaskFact> task_fact(const std::string& board, const json::Value& task);

// A task that nobody has yet, as somebody would submit it.
[[nodiscard]] TaskFact task_fact(const core::TaskSpec& spec, TimeNs wall_now);

}  // namespace laird::placement
