#include <algorithm>
#include <cmath>

#include "base/require.hpp"
#include "promote/backend.hpp"

namespace laird::promote {
namespace {

// The smallest latency that `part` of all are not above.
double quantile(const std::vector<double>& sorted, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

Timing timing_of(std::uint32_t batch, std::vector<double> latencies_ms, double together_ms) {
  LAIRD_REQUIRE(!latencies_ms.empty(), "a timing of at least one run");
  std::sort(latencies_ms.begin(), latencies_ms.end());
  Timing out;
  out.batch = batch;
  out.runs = static_cast<std::uint32_t>(latencies_ms.size());
  out.latency_us_p50 = 1000.0 * quantile(latencies_ms, 0.50);
  out.latency_us_p95 = 1000.0 * quantile(latencies_ms, 0.95);
  out.latency_us_p99 = 1000.0 * quantile(latencies_ms, 0.99);
  const double rows = static_cast<double>(batch) * static_cast<double>(latencies_ms.size());
  if (together_ms > 0.0) out.rows_per_s = 1000.0 * rows / together_ms;
  return out;
}

}  // namespace laird::promote
