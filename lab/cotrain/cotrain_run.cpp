#include "lab/cotrain/cotrain_run.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "lab/ledger/convergence.hpp"

namespace laird::lab {
namespace {

using gossip::Cotrainer;

struct Fleet {
  std::shared_ptr<const NeighbourGraph> graph;
  std::vector<ImageSet> data;  // by board
};

Fleet make_fleet(const CotrainConfig& config, const ImageSet& train) {
  Fleet fleet;
  Random random(config.seed);
  fleet.graph = make_graph(Graph::kErdosRenyi, config.nodes, random);
  const auto total = std::min<Eigen::Index>(config.samples, train.features.rows());
  const Eigen::Index each = total / config.nodes;
  for (int n = 0; n < config.nodes; ++n) {
    ImageSet part;
    part.features = train.features.middleRows(n * each, each);
    part.labels.assign(train.labels.begin() + n * each, train.labels.begin() + (n + 1) * each);
    fleet.data.push_back(std::move(part));
  }
  return fleet;
}

// Metropolis weights: symmetric, and positive for every pair that is up.
std::vector<std::pair<NodeId, double>> weights(const NeighbourGraph& graph, NodeId node,
                                               const std::vector<bool>& up) {
  const auto degree = [&](NodeId n) {
    double d = 0;
    for (const NodeId m : graph.neighbours(n)) d += up[m] ? 1 : 0;
    return d;
  };
  std::vector<std::pair<NodeId, double>> out;
  for (const NodeId m : graph.neighbours(node)) {
    if (up[m]) out.emplace_back(m, 1.0 / (1.0 + std::max(degree(node), degree(m))));
  }
  return out;
}

double lambda2_of(const NeighbourGraph& graph, int nodes) {
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(nodes, nodes);
  const std::vector<bool> up(static_cast<std::size_t>(nodes), true);
  for (NodeId i = 0; i < static_cast<NodeId>(nodes); ++i) {
    for (const auto& [j, w] : weights(graph, i, up)) {
      laplacian(i, i) += w;
      laplacian(i, j) -= w;
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(laplacian);
  return solver.eigenvalues()(1);
}

// Power iteration on X'X/m; softmax curvature is at most half of it, the others' at most it.
double smoothness_of(Model model, const ImageSet& set) {
  Eigen::VectorXf v = Eigen::VectorXf::Ones(set.features.cols());
  float value = 0;
  for (int k = 0; k < 30; ++k) {
    v = set.features.transpose() * (set.features * v) / static_cast<float>(set.features.rows());
    value = v.norm();
    v /= value;
  }
  return static_cast<double>(value) * (model == Model::kSoftmax ? 0.5 : 1.0);
}

constexpr double kDisagreementMax = 1e3;  // beyond it a run that is still finite has diverged too

void finish(const CotrainConfig& config, const ImageSet& test,
            const std::vector<std::vector<double>>& all, CotrainCurve& curve) {
  curve.final_worst = 100;
  std::vector<double> mean(all.front().size());
  for (const auto& y : all) {
    curve.final_worst = std::min(curve.final_worst, accuracy_of(config.model, test, y));
    for (std::size_t i = 0; i < y.size(); ++i) mean[i] += y[i] / static_cast<double>(all.size());
  }
  for (const auto& y : all) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      // NaN compares as not greater than anything, so it has to be asked for.
      curve.diverged |= !std::isfinite(y[i]);
      curve.disagreement = std::max(curve.disagreement, std::abs(y[i] - mean[i]));
    }
  }
  curve.diverged |= curve.disagreement > kDisagreementMax;
}

void note(CotrainCurve& curve, int round, double accuracy, double bytes) {
  curve.round.push_back(round);
  curve.accuracy.push_back(accuracy);
  curve.bytes.push_back(bytes);
}

class QuantizedRun {
 public:
  QuantizedRun(const CotrainConfig& config, const Fleet& fleet, std::size_t dimension)
      : config_(config), fleet_(fleet), up_(static_cast<std::size_t>(config.nodes), true) {
    gossip::GossipConfig c;
    c.dimension = static_cast<std::uint32_t>(dimension);
    c.alpha = config.alpha;
    c.rho = config.rho;
    c.density = config.density;
    c.gain = config.gain;
    trainer_config_ = c;
    for (int n = 0; n < config.nodes; ++n) {
      boards_.emplace_back(c, std::vector<double>(dimension, 0.0));
    }
    reconnect();
  }

  CotrainCurve run(const ImageSet& test) {
    CotrainCurve curve;
    std::vector<double> gradient;
    for (int round = 1; round <= config_.rounds; ++round) {
      change_membership(round);
      for (NodeId n = 0; n < boards_.size(); ++n) {
        if (!up_[n]) continue;
        boards_[n].mix();
        gradient_of(config_.model, fleet_.data[n], boards_[n].y(), gradient);
        boards_[n].track(gradient);
      }
      exchange();
      if (round % config_.evaluate_every == 0) {
        note(curve, round, accuracy_of(config_.model, test, boards_[0].y()),
             bytes_ / static_cast<double>(boards_.size()));
      }
    }
    std::vector<std::vector<double>> all;
    for (NodeId n = 0; n < boards_.size(); ++n) {
      if (up_[n]) all.push_back(boards_[n].y());
    }
    finish(config_, test, all, curve);
    return curve;
  }

 private:
  void reconnect() {
    for (NodeId n = 0; n < boards_.size(); ++n) {
      if (up_[n]) boards_[n].set_neighbours(weights(*fleet_.graph, n, up_));
    }
    // Whoever is new to a neighbour sends it everything once.
    for (NodeId n = 0; n < boards_.size(); ++n) {
      for (const auto& peer : std::vector(boards_[n].peers())) {
        if (up_[n] && !peer.known) deliver(peer.node, n, boards_[peer.node].snapshot());
      }
    }
  }

  void deliver(NodeId from, NodeId to, const Bytes& bytes) {
    bytes_ += static_cast<double>(bytes.size());
    const auto text = std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto ask = boards_[to].on_message(from, text);
    if (ask && *ask) {
      const Bytes whole = boards_[from].snapshot();
      bytes_ += static_cast<double>(whole.size());
      static_cast<void>(boards_[to].on_message(
          from, std::string_view(reinterpret_cast<const char*>(whole.data()), whole.size())));
    }
  }

  void exchange() {
    std::vector<Bytes> messages(boards_.size());
    for (NodeId n = 0; n < boards_.size(); ++n) {
      if (up_[n]) messages[n] = boards_[n].message();
    }
    for (NodeId n = 0; n < boards_.size(); ++n) {
      if (!up_[n]) continue;
      for (const NodeId m : fleet_.graph->neighbours(n)) {
        if (up_[m]) deliver(n, m, messages[n]);
      }
    }
  }

  void change_membership(int round) {
    const NodeId last = static_cast<NodeId>(boards_.size() - 1);
    if (round == config_.leave_at) {
      up_[last] = false;
      reconnect();
    }
    if (round == config_.join_at) {
      up_[last] = true;
      boards_[last] = Cotrainer(trainer_config_, boards_[0].y());
      reconnect();
    }
  }

  CotrainConfig config_;
  const Fleet& fleet_;
  gossip::GossipConfig trainer_config_;
  std::vector<Cotrainer> boards_;
  std::vector<bool> up_;
  double bytes_ = 0;
};

// The same equations with whole vectors exchanged as float32.
CotrainCurve run_float32(const CotrainConfig& config, const Fleet& fleet, std::size_t dimension,
                         const ImageSet& test) {
  const auto n = static_cast<std::size_t>(config.nodes);
  const std::vector<bool> up(n, true);
  std::vector<std::vector<double>> y(n, std::vector<double>(dimension));
  auto z = y;
  auto old = y;
  std::vector<double> gradient;
  CotrainCurve curve;
  double bytes = 0;
  for (int round = 1; round <= config.rounds; ++round) {
    const auto y0 = y;
    const auto z0 = z;
    for (NodeId i = 0; i < n; ++i) {
      for (const auto& [j, w] : weights(*fleet.graph, i, up)) {
        for (std::size_t k = 0; k < dimension; ++k) {
          y[i][k] -= w * (y0[i][k] - static_cast<double>(static_cast<float>(y0[j][k])));
          z[i][k] -= w * (z0[i][k] - static_cast<double>(static_cast<float>(z0[j][k])));
        }
        bytes += 8.0 * static_cast<double>(dimension);
      }
      if (round > 1) {
        for (std::size_t k = 0; k < dimension; ++k) y[i][k] -= config.alpha * z[i][k];
      }
      gradient_of(config.model, fleet.data[i], y[i], gradient);
      for (std::size_t k = 0; k < dimension; ++k) {
        z[i][k] = round == 1 ? gradient[k] : z[i][k] + gradient[k] - old[i][k];
      }
      old[i] = gradient;
    }
    if (round % config.evaluate_every == 0) {
      note(curve, round, accuracy_of(config.model, test, y[0]), bytes / static_cast<double>(n));
    }
  }
  finish(config, test, y, curve);
  return curve;
}

double central_accuracy(const CotrainConfig& config, const Fleet& fleet, std::size_t dimension,
                        const ImageSet& test) {
  std::vector<double> y(dimension);
  std::vector<double> sum(dimension);
  std::vector<double> gradient;
  for (int round = 0; round < config.rounds; ++round) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (const ImageSet& part : fleet.data) {
      gradient_of(config.model, part, y, gradient);
      for (std::size_t k = 0; k < dimension; ++k) sum[k] += gradient[k];
    }
    for (std::size_t k = 0; k < dimension; ++k) y[k] -= config.alpha * sum[k] / config.nodes;
  }
  return accuracy_of(config.model, test, y);
}

}  // namespace

CotrainResult run_cotrain(const CotrainConfig& config, const ImageSet& train, const ImageSet& test,
                          bool baselines) {
  const Fleet fleet = make_fleet(config, train);
  const std::size_t dimension = static_cast<std::size_t>(train.features.cols()) *
                                static_cast<std::size_t>(outputs_of(config.model));
  CotrainResult result;
  result.lambda2 = lambda2_of(*fleet.graph, config.nodes);
  result.smoothness = smoothness_of(config.model, fleet.data[0]);
  result.alpha_bound = result.lambda2 / (result.smoothness * std::exp(config.rho / 2));
  result.quantized = QuantizedRun(config, fleet, dimension).run(test);
  if (baselines) {
    result.float32 = run_float32(config, fleet, dimension, test);
    result.central_accuracy = central_accuracy(config, fleet, dimension, test);
    result.target_accuracy = result.central_accuracy - 0.5;
  }
  return result;
}

Reach reach_of(const CotrainCurve& curve, double accuracy) {
  for (std::size_t i = 0; i < curve.round.size(); ++i) {
    if (curve.accuracy[i] >= accuracy) return {curve.round[i], curve.bytes[i]};
  }
  return {};
}

}  // namespace laird::lab
