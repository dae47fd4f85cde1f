#include "lab/placement/instances.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "config/schema.hpp"

namespace laird::lab {
namespace {

using placement::Choice;
using placement::Instance;

constexpr std::size_t kKinds = 3;
struct Kind {
  const char* name;
  std::int64_t memory_mb;
};
constexpr std::array<Kind, kKinds> kKind = {{{"orin", 16000}, {"xavier", 16000}, {"nano", 4000}}};

struct Profile {
  const char* name;
  std::array<double, kKinds> minutes;  // by kind
  std::array<int, kKinds> gpu;         // thousandths
  std::int64_t memory_mb;
};
constexpr std::array<Profile, 6> kProfile = {{
    {"cifar-10", {12, 22, 30}, {200, 350, 600}, 1200},
    {"fashion-mnist", {7, 13, 18}, {90, 220, 400}, 900},
    {"mnist", {5, 9, 12}, {70, 180, 350}, 800},
    {"skin-cancer", {36, 74, 97.68}, {600, 750, 900}, 3600},
    {"chest-x-ray/1", {70, 152, 155}, {640, 800, 960}, 4000},
    {"chest-x-ray/2", {53, 115, 117.36}, {600, 760, 920}, 3000},
}};
constexpr std::size_t kTasks = 5;  // the last has two parts

std::size_t kind_of(const placement::PlannedBoard& board) {
  std::size_t k = 0;
  while (board.kind != kKind[k].name) ++k;
  return k;
}

// Varied by up to `part` of itself when there is chance.
double varied(double value, double part, SplitMix64* chance) {
  return chance == nullptr ? value : value * (1.0 + part * (2.0 * chance->unit() - 1.0));
}

void add_task(Instance& instance, std::string name, const Profile& profile, SplitMix64* chance) {
  placement::PlannedTask task;
  task.name = std::move(name);
  task.memory_mb = chance == nullptr
                       ? profile.memory_mb
                       : static_cast<std::int64_t>(static_cast<double>(profile.memory_mb) *
                                                   (1.0 - 0.1 * chance->unit()));
  std::array<Choice, kKinds> by_kind;
  for (std::size_t k = 0; k < kKinds; ++k) {
    by_kind[k].time_s = std::llround(varied(60.0 * profile.minutes[k], 0.15, chance));
    by_kind[k].gpu =
        std::min(1000, static_cast<int>(std::lround(varied(profile.gpu[k], 0.05, chance))));
  }
  for (const placement::PlannedBoard& b : instance.boards) {
    instance.choices.push_back(by_kind[kind_of(b)]);
  }
  instance.tasks.push_back(std::move(task));
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::vector<std::string> cut(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ':') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

placement::ReadInstance named(Instance instance) {
  placement::ReadInstance out;
  out.hash = placement::hash_of(placement::instance_json(instance));
  out.instance = std::move(instance);
  return out;
}

bool fits(std::optional<std::uint64_t> tasks, std::optional<std::uint64_t> boards) {
  return tasks && boards && *tasks >= 1 && *boards >= 1 &&
         *tasks <= placement::kPlannedTasksMax / 2 && *boards <= placement::kPlannedBoardsMax &&
         2 * *tasks * *boards <= placement::kPlannedPairsMax;
}

}  // namespace

Instance paper_fleet(std::size_t boards) {
  Instance out;
  const std::array<std::size_t, kKinds> counts = {boards / 4, (boards + 1) / 4,
                                                  boards - boards / 4 - (boards + 1) / 4};
  for (std::size_t k = 0; k < kKinds; ++k) {
    for (std::size_t i = 1; i <= counts[k]; ++i) {
      placement::PlannedBoard b;
      b.kind = kKind[k].name;
      b.name = b.kind + "-" + std::to_string(i);
      b.memory_mb = kKind[k].memory_mb;
      out.boards.push_back(std::move(b));
    }
  }
  return out;
}

Instance paper_instance(std::size_t tasks, std::size_t boards) {
  Instance out = paper_fleet(boards);
  out.name = "paper" + std::to_string(tasks) + ":" + std::to_string(boards);
  for (std::size_t t = 0; t < tasks; ++t) {
    const std::size_t which = t % kTasks;
    const std::string mark = tasks > kTasks ? "-" + std::to_string(t / kTasks + 1) : "";
    add_task(out, kProfile[which].name + mark, kProfile[which], nullptr);
    if (which + 1 == kTasks) add_task(out, kProfile[kTasks].name + mark, kProfile[kTasks], nullptr);
  }
  return out;
}

Instance generated_instance(std::size_t items, std::size_t boards, std::uint64_t seed) {
  Instance out = paper_fleet(boards);
  out.name =
      "gen:" + std::to_string(items) + ":" + std::to_string(boards) + ":" + std::to_string(seed);
  SplitMix64 chance{spread_seed(seed)};
  for (std::size_t t = 0; t < items; ++t) {
    const Profile& profile = kProfile[chance.next() % kProfile.size()];
    add_task(out, "t" + std::to_string(t + 1) + "-" + profile.name, profile, &chance);
  }
  return out;
}

Result<placement::ReadInstance> find_instance(const std::string& name) {
  const std::vector<std::string> parts = cut(name);
  if (parts[0].starts_with("paper") && parts.size() == 2) {
    const auto tasks = number(parts[0].substr(5));
    const auto boards = number(parts[1]);
    if (!fits(tasks, boards))
      return fail(Code::kInvalid, "'" + name + "': expected paperTASKS:BOARDS, such as paper5:8");
    return named(paper_instance(*tasks, *boards));
  }
  if (parts[0] == "gen" && parts.size() == 4) {
    const auto items = number(parts[1]);
    const auto boards = number(parts[2]);
    const auto seed = number(parts[3]);
    if (!fits(items, boards) || !seed)
      return fail(Code::kInvalid,
                  "'" + name + "': expected gen:TASKS:BOARDS:SEED, such as gen:100:8:1");
    return named(generated_instance(*items, *boards, *seed));
  }
  const Result<std::string> text = config::read_file(name, placement::instance_limits().bytes_max);
  LAIRD_TRY(text);
  const Result<json::Value> document = json::parse(*text, name, placement::instance_limits());
  LAIRD_TRY(document);
  Result<placement::ReadInstance> out = placement::read_instance(*document);
  if (!out) return fail(out.error().code, name + ": " + out.error().context);
  return out;
}

}  // namespace laird::lab
