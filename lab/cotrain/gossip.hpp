// Trains one model on every board's own data: gradient tracking with short messages.
// docs/ledger.md, "Co-training", and docs/cotraining.md.
//
// Source: equations (31)-(32) of the co-optimization paper (Doostmohammadian et al. 2025), in
// discrete time:
//   y_i+ = y_i - sum_j w_ij (u_i - u_j) - alpha z_i
//   z_i+ = z_i - sum_j w_ij (v_i - v_j) + grad_i(y_i+) - grad_i(y_i)
// Symbols: y parameters, z tracks the mean gradient of all boards, u and v what the neighbours hold
// of y and z, w symmetric weights, alpha the step; rho the log quantizer's step.
// Assumptions: neighbours' messages arrive in order or are noticed missing (each is numbered);
// alpha < |lambda2| / (L e^(rho/2)).
// Deviations: a message carries not q(y) but the log-quantized difference of y against u, for the
// coordinates with the largest differences. What was rounded or left out stays in the difference
// and is sent later (error feedback), so the error vanishes at convergence. The sector is
// e^(+-rho/2), not the paper's 1 +- rho^2/4. With a momentum (heavy ball; Xin and Khan, 2020) the
// step is along m+ = beta m + z instead of z; the mean over the boards is then that of central
// training with the same momentum. Membership: sum z = sum grad holds only among boards that began
// together. A board whose neighbours change starts the next tracking epoch, and every board that
// hears of a higher epoch follows: its z begins again at its own gradient. Every board keeps y, so
// nothing learned is lost.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "consensus/account.hpp"

namespace laird::lab::gossip {

using consensus::kEdgesMax;
using consensus::NodeId;

inline constexpr std::size_t kCoTrainDimensionMax = 1'000'000;

struct GossipConfig {
  std::uint32_t dimension = 0;
  double alpha = 0.01;
  double rho = 0.125;
  double density = 0.25;  // the fraction of the coordinates that a message carries
  double gain = 0.4;      // of the mixing; below 1 so that unsent differences cannot build up
  double momentum = 0.0;  // the fraction of the last step that the next one keeps
};

// A vector and the copy of it that the neighbours hold.
struct SharedVector {
  std::vector<double> own;
  std::vector<double> held;
  void archive(Archive& ar);
};

struct CoTrainPeer {
  NodeId node = 0;
  double weight = 0.0;
  std::uint32_t seq = 0;  // last message applied
  std::uint32_t epoch = 0;
  bool known = false;  // the copies below are the peer's
  std::vector<double> y;
  std::vector<double> z;
  void archive(Archive& ar);
};

class Cotrainer {
 public:
  Cotrainer(const GossipConfig& config, std::vector<double> start);

  // The neighbours with their symmetric weights. Copies of neighbours that stay are kept. Starts a
  // new epoch.
  void set_neighbours(const std::vector<std::pair<NodeId, double>>& neighbours);
  // First half of a round: mixes and steps; the caller then computes its gradient at y().
  // `without`: neighbours whose copies are not of this round. If one of them took part in the last
  // round, the caller must call restart() first.
  void mix(std::span<const NodeId> without = {});
  // Second half: `gradient` of the local loss at y().
  void track(const std::vector<double>& gradient);
  // The message for every neighbour after a round; empty differences cost a few bytes.
  [[nodiscard]] Bytes message();
  // The message for a neighbour that holds no copy of this board or has missed a message: the copy
  // in full.
  [[nodiscard]] Bytes snapshot() const;
  // Refuses malformed messages. The value says whether the sender must be asked for a snapshot.
  [[nodiscard]] Result<bool> on_message(NodeId from, std::string_view bytes);
  // Takes over a neighbour's parameters, for a board that joins or fell behind. Its tracking starts
  // again.
  void adopt(const std::vector<double>& parameters);
  // Starts a new tracking epoch; every board that hears of it follows.
  void restart() { begin_epoch(epoch_ + 1); }
  // The copy of that neighbour is out of date, because the neighbour began again.
  void forget(NodeId node);
  // Begins again from `start`, as if no neighbour held a copy of this board.
  void begin_anew(std::vector<double> start, std::uint32_t epoch);

  [[nodiscard]] const std::vector<double>& y() const { return y_.own; }
  [[nodiscard]] const std::vector<double>& z() const { return z_.own; }
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  [[nodiscard]] const std::vector<CoTrainPeer>& peers() const { return peers_; }
  void archive(Archive& ar);

 private:
  void begin_epoch(std::uint32_t epoch);

  GossipConfig config_;
  SharedVector y_;
  SharedVector z_;
  std::vector<double> gradient_;
  std::vector<double> step_;  // m
  bool tracking_ = false;  // z tracks the mean gradient; otherwise it starts at the next gradient
  std::uint32_t epoch_ = 1;
  std::uint32_t seq_ = 0;
  std::vector<CoTrainPeer> peers_;
};

}  // namespace laird::lab::gossip
