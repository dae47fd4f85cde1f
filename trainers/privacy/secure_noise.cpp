#include "trainers/privacy/secure_noise.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

namespace laird::trainers {
namespace {

constexpr double kGridPart = 0x1p-20;

double to_grid(double value, double grid) { return std::round(value / grid) * grid; }

}  // namespace

Result<double> SecureNoise::unit() {
  if (left_ == 0) {
    auto* at = reinterpret_cast<char*>(words_.data());
    std::size_t wanted = sizeof words_;
    while (wanted > 0) {
      const ssize_t n = ::getrandom(at, wanted, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        return fail(Code::kIo, "the system gives no random bytes (" +
                                   std::string(std::strerror(errno)) +
                                   "): nothing is told of the rows without noise");
      }
      at += n;
      wanted -= static_cast<std::size_t>(n);
    }
    left_ = words_.size();
  }
  const std::uint64_t word = words_[--left_];
  words_[left_] = 0;  // what was used is not kept
  return static_cast<double>((word >> 11) + 1) * 0x1p-53;
}

Result<double> SecureNoise::next() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const Result<double> first = unit();
  LAIRD_TRY(first);
  const Result<double> second = unit();
  LAIRD_TRY(second);
  const double length = std::sqrt(-2.0 * std::log(*first));
  const double angle = 2.0 * std::numbers::pi * *second;
  spare_ = length * std::sin(angle);
  has_spare_ = true;
  return length * std::cos(angle);
}

// The power of two at or below. By its exponent: log2 and exp2 are newer than the oldest glibc.
double grid_of(double deviation) {
  int exponent = 0;
  static_cast<void>(std::frexp(deviation * kGridPart, &exponent));
  return std::ldexp(1.0, exponent - 1);
}

Status make_private(std::span<double> mean, double sensitivity, double times, SecureNoise& noise) {
  const double grid = grid_of(sensitivity * times);
  const double rounded = grid * std::sqrt(static_cast<double>(mean.size()));
  const double deviation = times * (sensitivity + rounded);
  for (double& value : mean) {
    const Result<double> drawn = noise.next();
    LAIRD_TRY(drawn);
    value = to_grid(value, grid) + to_grid(deviation * *drawn, grid);
  }
  return {};
}

}  // namespace laird::trainers
