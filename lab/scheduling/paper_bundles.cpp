#include "lab/scheduling/paper_bundles.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "lab/simulator/random.hpp"

namespace laird::lab {
namespace {

constexpr double kNeedSpread = 0.15;
constexpr double kDrift = 0.08;   // of the exponent
constexpr double kNoise = 0.015;  // standard deviation of ln loss
constexpr double kPi = 3.14159265358979323846;

struct PaperTask {
  double deadline;
  double target;
  double first_loss;  // after one unit; that of a guess where the paper's data say it
  double need;        // units alone on the lane
  // A curve out of reach falls like the others at first and levels off: where, and what it has come
  // to after its need, both over its target.
  double floor = 0.0;
  double near = 1.0;
};

// Table 1, CIFAR-10: a guess costs ln 10.
constexpr std::array<PaperTask, 10> kPure = {{
    {1560, 1.23, 2.30, 480},            // ViT
    {1000, 0.23, 2.30, 250, 1.3, 1.6},  // LSTM
    {1680, 0.41, 2.30, 150},            // CNN
    {1600, 0.38, 2.30, 420},            // ResNet-18
    {1560, 0.28, 2.30, 400, 1.3, 1.6},  // ResNet-34
    {1550, 0.44, 2.30, 400, 1.3, 1.6},  // VGG
    {1590, 0.48, 2.30, 520},            // EffNet
    {1250, 1.08, 2.30, 110},            // Squiz
    {1200, 0.27, 2.30, 250, 1.3, 1.6},  // LeNet
    {1400, 0.48, 2.30, 600},            // DenseNet
}};

// Table 2; first losses of the other kinds of data are ours.
constexpr std::array<PaperTask, 10> kMixed = {{
    {500, 0.45, 2.30, 320},             // CV, ViT
    {975, 0.11, 2.30, 250, 1.6, 2.1},   // CV, ResNet-18
    {1250, 0.42, 2.30, 400},            // CV, ResNet-34
    {1400, 0.10, 2.30, 110},            // CV, CNN
    {980, 0.0012, 0.02, 80},            // RL, RL_Net
    {1360, 0.01, 0.69, 300, 2.0, 3.0},  // NLP, RNN
    {1200, 0.08, 0.69, 250, 1.6, 2.1},  // NLP, MLP
    {1380, 0.12, 0.69, 110},            // NLP, GRU
    {1120, 0.0024, 0.03, 320},          // Audio, transformer
    {1120, 0.0015, 0.03, 260},          // Audio, LSTM
}};

// Near enough to a normal number, and the same on every machine.
[[nodiscard]] double normal(Random& random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

void add(const PaperTask& paper, Random& random, Bundle& out) {
  const double need = paper.need * (1.0 + kNeedSpread * (2.0 * random.unit() - 1.0));
  const double floor = paper.floor * paper.target;
  const double near = paper.near * paper.target;
  const double exponent = std::log((paper.first_loss - floor) / (near - floor)) / std::log(need);
  const double phase = 2.0 * kPi * random.unit();
  const double waves = random.between(0.5, 1.5);  // over the ln of the need
  const auto drift = [&](double at) {
    return kDrift * std::sin(phase + 2.0 * kPi * waves * std::log(at) / std::log(need));
  };
  auto curve = std::make_unique<std::vector<double>>();
  const auto points = static_cast<std::size_t>(std::ceil(paper.deadline));
  for (std::size_t i = 1; i <= points; ++i) {
    const auto s = static_cast<double>(i);
    // The wave is taken off where it would move the need.
    const double b = exponent * (1.0 + drift(s) - drift(need));
    const double loss = floor + (paper.first_loss - floor) * std::exp(-b * std::log(s));
    curve->push_back(loss * std::exp(kNoise * normal(random)));
  }
  SimulatedTask task;
  task.losses = curve.get();
  task.duration_units = static_cast<double>(points);
  task.deadline_units = paper.deadline;
  task.target_loss = paper.target;
  out.curves.push_back(std::move(curve));
  out.tasks.push_back(task);
}

}  // namespace

Bundle pure_bundle(std::uint64_t seed) {
  Random random(seed);
  Bundle out;
  for (const PaperTask& task : kPure) add(task, random, out);
  return out;
}

Bundle mixed_bundle(std::uint64_t seed) {
  Random random(seed);
  Bundle out;
  for (const PaperTask& task : kMixed) add(task, random, out);
  return out;
}

Bundle scale_bundle(std::size_t tasks, std::uint64_t seed) {
  constexpr double kUnitsPerTask = 150.0;
  Random random(seed);
  Bundle out;
  const double horizon = kUnitsPerTask * static_cast<double>(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::size_t kind = i % 10;  // 0, 1 near; 2..7 middle; 8, 9 far
    PaperTask task{};
    task.first_loss = 2.30;
    task.need = random.between(100.0, 300.0);
    if (kind < 2) {
      task.deadline = horizon * random.between(0.3, 0.5);
    } else if (kind < 8) {
      task.deadline = horizon * random.between(0.65, 0.75);
      if (kind == 2) {
        task.floor = 1.3;
        task.near = 1.6;
      }
    } else {
      task.deadline = horizon * random.between(0.9, 1.0);
    }
    task.target = random.between(0.4, 1.0);
    add(task, random, out);
  }
  return out;
}

}  // namespace laird::lab
