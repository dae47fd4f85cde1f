#include "lab/cotrain/split_run.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/random.hpp"
#include "consensus/cotrain/group_model.hpp"

namespace laird::lab {
namespace {

using consensus::Contribution;
using consensus::GroupConfig;
using consensus::GroupModel;
using consensus::GroupStep;
using Random = laird::RandomOf<Range::kUnbiased>;

constexpr int kLookEvery = 5;
constexpr double kCurvatureStep = 0.35;  // as laird-train takes
constexpr float kScaledBy = 100.0F;

ImageSet rows_of(const ImageSet& set, const std::vector<Eigen::Index>& order, std::size_t from,
                 std::size_t count) {
  ImageSet out;
  out.features.resize(static_cast<Eigen::Index>(count), set.features.cols());
  for (std::size_t k = 0; k < count; ++k) {
    const Eigen::Index row = order[from + k];
    out.features.row(static_cast<Eigen::Index>(k)) = set.features.row(row);
    out.labels.push_back(set.labels[static_cast<std::size_t>(row)]);
  }
  return out;
}

template <class T>
void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.below(static_cast<std::uint32_t>(i))]);
  }
}

struct Board {
  std::string name;
  ImageSet data;
  std::vector<Eigen::Index> order;  // of the epoch under way
  std::size_t at = 0;
  std::vector<float> left_over;  // of earlier changes
};

std::vector<Board> boards_of(const SplitConfig& config, const ImageSet& train, Random& random) {
  const auto total = std::min<std::size_t>(static_cast<std::size_t>(config.samples),
                                           static_cast<std::size_t>(train.features.rows()));
  std::vector<Eigen::Index> order(total);
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  if (config.sorted) {
    std::stable_sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) {
      return train.labels[static_cast<std::size_t>(a)] < train.labels[static_cast<std::size_t>(b)];
    });
  }
  const std::size_t each = total / static_cast<std::size_t>(config.boards);
  std::vector<Board> out;
  for (int k = 0; k < config.boards; ++k) {
    Board board;
    board.name = "n-" + std::to_string(100 + k);
    board.data = rows_of(train, order, static_cast<std::size_t>(k) * each, each);
    board.order.resize(each);
    std::iota(board.order.begin(), board.order.end(), Eigen::Index{0});
    board.at = each;
    out.push_back(std::move(board));
  }
  if (config.poison == Poison::kLabels) shuffle(out.back().data.labels, random);
  return out;
}

// What the board would have the group go along: its gradient, or the change after local steps.
std::vector<float> wanted_of(const SplitConfig& config, Board& board, const std::vector<float>& x,
                             Random& random) {
  std::vector<double> at(x.begin(), x.end());
  std::vector<double> gradient;
  std::vector<float> out(x.size());
  if (config.local_steps == 0) {
    gradient_of(config.model, board.data, at, gradient);
    std::transform(gradient.begin(), gradient.end(), out.begin(),
                   [](double g) { return static_cast<float>(g); });
    return out;
  }
  const auto batch = std::min(static_cast<std::size_t>(config.batch), board.order.size());
  for (int k = 0; k < config.local_steps; ++k) {
    if (board.at + batch > board.order.size()) {
      shuffle(board.order, random);
      board.at = 0;
    }
    gradient_of(config.model, rows_of(board.data, board.order, board.at, batch), at, gradient);
    board.at += batch;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] -= config.rate * gradient[i];
  }
  board.left_over.resize(x.size(), 0.0F);
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = x[i] - static_cast<float>(at[i]) + board.left_over[i];
  }
  return out;
}

GroupConfig group_config(const SplitConfig& config, std::size_t dimension) {
  GroupConfig out;
  out.dimension = static_cast<std::uint32_t>(dimension);
  out.momentum = config.momentum;
  out.coding.density = config.density;
  out.coding.rho = 0.25;
  out.trim = config.trim;
  out.clip = config.clip;
  out.step = config.local_steps == 0 ? GroupStep::kAdapted : GroupStep::kAveraged;
  out.rate = config.local_steps == 0 ? kCurvatureStep : 1.0;
  return out;
}

}  // namespace

SplitResult run_split(const SplitConfig& config, const ImageSet& train, const ImageSet& test,
                      double target) {
  Random random(config.seed);
  std::vector<Board> boards = boards_of(config, train, random);
  const auto dimension = static_cast<std::size_t>(train.features.cols()) *
                         static_cast<std::size_t>(outputs_of(config.model));
  const GroupConfig group = group_config(config, dimension);
  std::vector<std::string> names;
  names.reserve(boards.size());
  for (const Board& board : boards) names.push_back(board.name);
  GroupModel model(group, 1, std::vector<float>(dimension, 0.0F), names);
  SplitResult result;
  for (int round = 1; round <= config.rounds; ++round) {
    std::map<std::string, Contribution> all;
    for (Board& board : boards) {
      Contribution own;
      own.weight = static_cast<double>(board.data.features.rows());
      std::vector<float> wanted = wanted_of(config, board, model.x(), random);
      if (config.poison == Poison::kScaled && &board == &boards.back()) {
        for (float& v : wanted) v *= kScaledBy;
      }
      own.changes = model.changes_of(group, board.name, wanted);
      if (config.local_steps > 0) board.left_over = std::move(wanted);
      result.bytes += static_cast<double>(own.changes.size()) / config.boards;
      // A message that no longer holds numbers would be refused by all; the run is lost.
      if (!model.check(group, own)) return result;
      all[board.name] = std::move(own);
    }
    model.apply(group, all, {}, {});
    if (round % kLookEvery != 0 && round != config.rounds) continue;
    const std::vector<double> x(model.x().begin(), model.x().end());
    result.accuracy = accuracy_of(config.model, test, x);
    if (result.rounds_to < 0 && result.accuracy >= target) result.rounds_to = round;
  }
  return result;
}

}  // namespace laird::lab
