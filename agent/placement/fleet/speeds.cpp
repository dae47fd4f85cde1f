#include "agent/placement/fleet/speeds.hpp"

#include <algorithm>
#include <cmath>

namespace laird::placement {
namespace {

// Of two middle values the lower: as good, and one that was there.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string_view name(SpeedBasis basis) {
  switch (basis) {
    case SpeedBasis::kMeasured: return "measured there";
    case SpeedBasis::kSameModule: return "measured on its module";
    case SpeedBasis::kOtherBoard: return "scaled from other boards";
    case SpeedBasis::kOtherWork: return "from other work of the trainer";
    case SpeedBasis::kHardware: return "by hardware only";
  }
  return "";
}

double speed_index(const Hardware& h, bool gpu) {
  if (!gpu) {
    if (h.cpu_cores <= 0 || h.cpu_mhz <= 0) return 0.0;
    return static_cast<double>(h.cpu_mhz) * std::sqrt(static_cast<double>(h.cpu_cores));
  }
  if (h.cuda_cores <= 0 || h.gpu_mhz <= 0 || h.memory_gb_s <= 0.0) return 0.0;
  const double arithmetic = static_cast<double>(h.cuda_cores) * static_cast<double>(h.gpu_mhz);
  return std::sqrt(std::sqrt(arithmetic * h.memory_gb_s));
}

Speeds::Speeds(const FleetFacts& facts) : facts_(facts) {
  for (const bool gpu : {false, true}) {
    double slowest = 0.0;
    for (const BoardFact& board : facts.boards) {
      const double index = speed_index(board.hardware, gpu);
      if (index > 0.0 && (slowest == 0.0 || index < slowest)) slowest = index;
    }
    if (slowest > 0.0) slowest_[gpu] = slowest;
  }
  for (std::size_t b = 0; b < facts.boards.size(); ++b) {
    for (const WorkFact& work : facts.boards[b].works) learn(b, work);
    // What runs now says more than what ran once.
    for (const TaskFact& task : facts.tasks) {
      if (task.board != facts.boards[b].name || task.rate <= 0.0) continue;
      learn(b, {task.trainer, task.work, task.gpu, task.rate, 0.0, 0.0});
    }
  }
  std::map<std::string, std::vector<double>> rates[2];
  for (std::size_t b = 0; b < facts.boards.size(); ++b) {
    for (const WorkFact& work : facts.boards[b].works) {
      rates[work.gpu][work.trainer].push_back(work.samples_per_s / index(b, work.gpu));
    }
  }
  for (const bool gpu : {false, true}) {
    for (auto& [trainer, of] : rates[gpu]) per_index_[gpu][trainer] = median(of);
  }
}

void Speeds::learn(std::size_t board, const WorkFact& work) {
  if (work.work.empty() || work.samples_per_s <= 0.0) return;
  measured_[work.gpu][work.work][board] = work.samples_per_s;
}

double Speeds::index(std::size_t board, bool gpu) const {
  const double own = speed_index(facts_.boards[board].hardware, gpu);
  return own > 0.0 ? own : slowest_[gpu];
}

Speeds::Ratio Speeds::ratio(std::size_t to, std::size_t from, bool gpu) const {
  const std::string& module = facts_.boards[to].module;
  const bool known = speed_index(facts_.boards[to].hardware, gpu) > 0.0;
  if (known && !module.empty() && module == facts_.boards[from].module) return {1.0, 0};
  std::vector<double> common;
  for (const auto& [work, by_board] : measured_[gpu]) {
    const auto there = by_board.find(to);
    const auto here = by_board.find(from);
    if (there == by_board.end() || here == by_board.end()) continue;
    common.push_back(there->second / here->second);
  }
  if (!common.empty()) return {median(common), 1};
  return {index(to, gpu) / index(from, gpu), 2};
}

SpeedGuess Speeds::of(const TaskFact& task, std::size_t board) const {
  const auto found = measured_[task.gpu].find(task.work);
  if (found != measured_[task.gpu].end() && !task.work.empty()) {
    const auto own = found->second.find(board);
    if (own != found->second.end()) return {own->second, SpeedBasis::kMeasured};
    std::vector<double> scaled;
    int nearest = 3;
    for (const auto& [other, speed] : found->second) {
      const Ratio r = ratio(board, other, task.gpu);
      if (r.distance > nearest) continue;
      if (r.distance < nearest) scaled.clear();
      nearest = r.distance;
      scaled.push_back(speed * r.value);
    }
    return {median(scaled), nearest == 0 ? SpeedBasis::kSameModule : SpeedBasis::kOtherBoard};
  }
  const auto rate = per_index_[task.gpu].find(task.trainer);
  if (rate != per_index_[task.gpu].end()) {
    return {rate->second * index(board, task.gpu), SpeedBasis::kOtherWork};
  }
  return {index(board, task.gpu), SpeedBasis::kHardware};
}

double Speeds::samples_of(const TaskFact& task) const {
  std::vector<double> known;
  for (const BoardFact& board : facts_.boards) {
    for (const WorkFact& work : board.works) {
      if (work.work != task.work || work.gpu != task.gpu || work.samples <= 0.0) continue;
      if (work.target_loss == task.target_loss) known.push_back(work.samples);
    }
  }
  return known.empty() ? 0.0 : median(known);
}

}  // namespace laird::placement
