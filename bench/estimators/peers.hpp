// The same DKF (LaiRA, eqs. 3-7) as others would write it, to measure ours against.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace laird::bench {

struct Report {
  double x;  // ln samples
  double r;  // ln loss
};

// K filters that each take one report per step.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void step(const std::vector<Report>& reports) = 0;
  [[nodiscard]] virtual double level(std::size_t filter, double x) const = 0;
};

[[nodiscard]] std::unique_ptr<Peer> eigen_dynamic(std::size_t filters);
[[nodiscard]] std::unique_ptr<Peer> eigen_fixed_textbook(std::size_t filters);
[[nodiscard]] std::unique_ptr<Peer> eigen_fixed_rank1(std::size_t filters);
[[nodiscard]] std::unique_ptr<Peer> opencv(std::size_t filters);

// The constants every peer uses.
inline constexpr double kStep = 0.01;
inline constexpr double kProcess[3] = {1e-4, 1e-6, 1e-8};
inline constexpr double kObservation = 1e-2;
inline constexpr double kStart[3] = {10.0, 1e-3, 1e-6};

}  // namespace laird::bench
