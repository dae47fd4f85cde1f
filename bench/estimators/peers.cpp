#include "bench/estimators/peers.hpp"

#include <Eigen/Dense>

namespace laird::bench {

namespace {

// One filter over any Eigen matrix type; `Rank1` takes the covariance update as P -= k k^T / s.
template <class Matrix, class Vector, bool Rank1>
struct Filter {
  Vector mean = Vector::Zero(6);
  Matrix p = Matrix::Zero(6, 6);

  Filter() {
    for (int i = 0; i < 6; ++i) p(i, i) = kStart[i / 2];
  }
  void step(const Matrix& f, const Matrix& q, const Report& report) {
    mean = (f * mean).eval();
    p = (f * p * f.transpose()).eval() + q;
    Vector h = Vector::Zero(6);
    h(0) = report.x;
    h(1) = 1.0;
    const Vector ph = p * h;
    const double s = h.dot(ph) + kObservation;
    const Vector gain = ph / s;
    mean += gain * (report.r - h.dot(mean));
    if constexpr (Rank1) {
      p.noalias() -= gain * ph.transpose();
    } else {
      p = ((Matrix::Identity(6, 6) - gain * h.transpose()) * p).eval();
    }
  }
};

template <class Matrix, class Vector, bool Rank1>
class EigenPeer final : public Peer {
 public:
  explicit EigenPeer(std::size_t filters) : filters_(filters) {
    f_ = Matrix::Identity(6, 6);
    q_ = Matrix::Zero(6, 6);
    for (int i = 0; i < 4; ++i) f_(i, i + 2) = kStep;
    for (int i = 0; i < 2; ++i) f_(i, i + 4) = 0.5 * kStep * kStep;
    for (int i = 0; i < 6; ++i) q_(i, i) = kProcess[i / 2];
  }
  void step(const std::vector<Report>& reports) override {
    for (std::size_t i = 0; i < filters_.size(); ++i) filters_[i].step(f_, q_, reports[i]);
  }
  [[nodiscard]] double level(std::size_t i, double x) const override {
    return filters_[i].mean(0) * x + filters_[i].mean(1);
  }

 private:
  Matrix f_;
  Matrix q_;
  std::vector<Filter<Matrix, Vector, Rank1>> filters_;
};

using Fixed = Eigen::Matrix<double, 6, 6>;
using FixedVector = Eigen::Matrix<double, 6, 1>;

}  // namespace

std::unique_ptr<Peer> eigen_dynamic(std::size_t filters) {
  return std::make_unique<EigenPeer<Eigen::MatrixXd, Eigen::VectorXd, false>>(filters);
}
std::unique_ptr<Peer> eigen_fixed_textbook(std::size_t filters) {
  return std::make_unique<EigenPeer<Fixed, FixedVector, false>>(filters);
}
std::unique_ptr<Peer> eigen_fixed_rank1(std::size_t filters) {
  return std::make_unique<EigenPeer<Fixed, FixedVector, true>>(filters);
}

}  // namespace laird::bench
