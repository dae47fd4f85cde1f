#include "agent/placement/fleet/facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "agent/placement/measured_works.hpp"
#include "agent/placement/need.hpp"
#include "base/duration.hpp"
#include "base/harmless.hpp"

namespace laird::placement {
namespace {

using json::Kind;
using json::Value;

// Outside of these a number of a board's is no measurement: products and ratios of the others stay
// far from the ends of a double.
constexpr double kNumberMin = 1e-9;
constexpr double kNumberMax = 1e15;
constexpr std::size_t kListMax = 256;
constexpr std::size_t kTextBytesMax = 256;

// Not below 0; 0 when it is not there.
double number(const Value& of, std::string_view key) {
  const Value* v = of.find(key);
  if (v == nullptr || !v->is_number()) return 0.0;
  const double out = v->as_double();
  return out >= kNumberMin && out <= kNumberMax ? out : 0.0;
}

std::int64_t whole(const Value& of, std::string_view key) {
  return static_cast<std::int64_t>(number(of, key));
}

// On one line, whatever a board says: it becomes part of explanations. Too long: not said.
std::string clean(const std::string& said) {
  return said.size() > kTextBytesMax ? std::string() : harmless(said);
}

std::string text(const Value& of, std::string_view key) {
  const Value* v = of.find(key, Kind::kString);
  return v == nullptr ? std::string() : clean(v->as_string());
}

std::vector<std::string> texts(const Value& of, std::string_view key) {
  std::vector<std::string> out;
  const Value* list = of.find(key, Kind::kArray);
  if (list == nullptr) return out;
  for (const Value& item : list->items()) {
    if (item.is(Kind::kString) && out.size() < kListMax) out.push_back(clean(item.as_string()));
  }
  return out;
}

Hardware hardware_of(const Value& info) {
  Hardware out;
  const Value* of = info.find("hardware", Kind::kObject);
  if (of == nullptr) return out;
  out.cpu_cores = whole(*of, "cpu_cores");
  out.cpu_mhz = whole(*of, "cpu_mhz");
  out.cuda_cores = whole(*of, "cuda_cores");
  out.gpu_mhz = whole(*of, "gpu_mhz");
  out.memory_gb_s = number(*of, "memory_gb_s");
  out.gpu_w = number(*of, "gpu_w");
  out.cpu_w = number(*of, "cpu_w");
  return out;
}

std::vector<WorkFact> works_of(const Value& info) {
  std::vector<WorkFact> out;
  const Value* list = info.find("works", Kind::kArray);
  if (list == nullptr) return out;
  for (const Value& item : list->items()) {
    WorkFact work{text(item, "trainer"),       text(item, "work"),
                  text(item, "lane") == "gpu", number(item, "samples_per_s"),
                  number(item, "samples"),     number(item, "target_loss")};
    if (work.samples_per_s > 0.0 && out.size() < kMeasuredWorksMax) out.push_back(std::move(work));
  }
  return out;
}

Standing standing_of(std::string_view status) {
  if (status == "ready") return Standing::kReady;
  // It cannot write its journal, so it takes nothing, and goes on with what it has.
  if (status == "draining" || status == "alert") return Standing::kDraining;
  return Standing::kAway;
}

// Nothing: it is over, or of no state that is known.
std::optional<Stage> stage_of(std::string_view state, bool begun) {
  constexpr std::array<std::string_view, 3> kAtWork = {"running", "throttled", "pausing"};
  constexpr std::array<std::string_view, 5> kBetween = {"queued", "starting", "ready", "evicting",
                                                        "backoff"};
  const auto is_one_of = [state](const auto& names) {
    return std::find(names.begin(), names.end(), state) != names.end();
  };
  if (is_one_of(kAtWork)) return Stage::kRunning;
  if (is_one_of(kBetween)) return begun || state != "queued" ? Stage::kBegun : Stage::kWaiting;
  if (state == "holding" || state == "held") return Stage::kPaused;
  return std::nullopt;
}

// Lanes without a name of their own cannot be told apart: the first of them counts.
std::vector<LaneFact> lanes_of(const Value& info) {
  std::vector<LaneFact> out;
  const std::vector<std::string> names = texts(info, "lanes");
  const std::vector<std::string> kinds = texts(info, "lane_kinds");
  for (std::size_t i = 0; i < names.size() && out.size() < kLanesOfBoardMax; ++i) {
    const bool told = std::any_of(out.begin(), out.end(),
                                  [&](const LaneFact& lane) { return lane.name == names[i]; });
    if (told || names[i].empty()) continue;
    const std::string& kind = i < kinds.size() ? kinds[i] : names[i];
    out.push_back({names[i], kind.rfind("gpu", 0) == 0});
  }
  return out;
}

std::optional<NeedSeconds> need_of_topic(const Value& task) {
  const Value* need = task.find("need", Kind::kObject);
  const Value* range = need == nullptr ? nullptr : need->find("seconds", Kind::kObject);
  if (range == nullptr) return std::nullopt;
  NeedSeconds out{number(*range, "low"), number(*range, "median"), number(*range, "high")};
  out.low = std::min(out.low, out.median);
  out.high = std::max(out.high, out.median);
  return out;
}

}  // namespace

BoardFact board_fact(const std::string& name, std::string_view status, const Value& info) {
  BoardFact out;
  out.name = name;
  out.standing = standing_of(status);
  out.module = text(info, "module");
  out.hardware = hardware_of(info);
  out.lanes = lanes_of(info);
  out.kinds_known = info.find("lane_kinds", Kind::kArray) != nullptr;
  out.trainers = texts(info, "trainers");
  out.memory_bytes = whole(info, "memory_bytes");
  out.works = works_of(info);
  return out;
}

std::optional<TaskFact> task_fact(const std::string& board, const Value& task) {
  TaskFact out;
  out.name = text(task, "name");
  out.board = board;
  out.trainer = text(task, "trainer");
  out.work = text(task, "work");
  out.gpu = text(task, "lane") == "gpu";
  out.memory_bytes = whole(task, "memory_bytes");
  out.rate = number(task, "rate");
  out.samples = number(task, "samples");
  out.planned_samples = number(task, "planned_samples");
  const Value* target = task.find("target_loss");
  if (target != nullptr && target->is_number()) out.target_loss = target->as_double();
  out.need = need_of_topic(task);
  if (out.need) {
    const Value* probability = task.find("need")->find("probability");
    out.hopeless = probability != nullptr && probability->is_number() &&
                   probability->as_double() < kFeasibleMin;
  }
  const Value* left = task.find("deadline_in_s");
  if (left != nullptr && left->is_number() && std::fabs(left->as_double()) < kNumberMax) {
    out.deadline_in_s = left->as_double();
  }
  const double weight = number(task, "weight");
  if (weight > 0.0) out.weight = std::clamp(weight, 0.1, 100.0);
  const auto says = [&](std::string_view key) {
    const Value* v = task.find(key, Kind::kString);
    return v != nullptr && !v->as_string().empty();
  };
  const Value* movable = task.find("movable", Kind::kBool);
  out.movable = movable != nullptr && movable->as_bool();
  out.bound = task.find("fleet", Kind::kObject) != nullptr || says("promotes") || says("run_of");
  const auto stage = stage_of(text(task, "state"), out.samples > 0.0);
  if (!stage || out.name.empty()) return std::nullopt;
  out.stage = *stage;
  return out;
}

TaskFact task_fact(const core::TaskSpec& spec, TimeNs wall_now) {
  TaskFact out;
  out.name = spec.name;
  out.trainer = spec.trainer;
  out.work = work_of(spec);
  out.gpu = spec.lane == core::LaneKind::kGpu;
  out.memory_bytes = spec.memory_bytes;
  out.planned_samples = static_cast<double>(spec.planned_samples);
  out.target_loss = spec.target_loss;
  // A task that recurs has its window's length when it has no deadline of its own.
  const DurationNs after =
      spec.deadline_after > 0 ? spec.deadline_after : spec.every.window.length();
  out.deadline_in_s = seconds(spec.deadline_wall > 0 ? spec.deadline_wall - wall_now : after);
  out.weight = spec.weight();
  return out;
}

}  // namespace laird::placement
