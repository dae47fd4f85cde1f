#include "agent/core/state/promotion.hpp"

#include <charconv>
#include <cmath>

namespace laird::core {
namespace {

constexpr std::size_t kChoiceBytesMax = 8;
constexpr double kNumberMax = 1e15;

bool is_amount(double value) { return std::isfinite(value) && value >= 0.0 && value <= kNumberMax; }

}  // namespace

void PromoteSpec::archive(Archive& ar) {
  ar(wanted);
  ar(deadline_after, memory_bytes);
  ar.text(limits, kPromoteLimitsBytesMax);
}

bool PromoteSpec::fits_limits() const {
  if (!wanted) return true;
  return deadline_after > 0 && deadline_after <= kDeadlineMax && memory_bytes >= 0 &&
         memory_bytes <= kMemoryBytesMax && limits.size() <= kPromoteLimitsBytesMax;
}

bool Promotion::fits_limits() const {
  return choice.size() <= kChoiceBytesMax && note.size() <= kReasonBytesMax &&
         is_amount(agreement) && agreement <= 1.0 && is_amount(latency_us_p50) &&
         is_amount(latency_us_p95) && is_amount(latency_us_p99) && is_amount(rows_per_s);
}

void Promotion::archive(Archive& ar) {
  ar.text(choice, kChoiceBytesMax);
  ar(agreement, latency_us_p50, latency_us_p95, latency_us_p99, rows_per_s, bytes);
  ar.text(note, kReasonBytesMax);
}

namespace {

std::string fixed(double value, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return std::string(text, end.ptr);
}

}  // namespace

std::string describe(const Promotion& promotion) {
  std::string out = "promoted as " + promotion.choice;
  if (promotion.choice != "onnx") out += ": agreement " + fixed(promotion.agreement, 5);
  if (promotion.latency_us_p50 > 0.0) {
    out += ", p50 " + fixed(promotion.latency_us_p50, 0) + " us, p95 " +
           fixed(promotion.latency_us_p95, 0) + " us, p99 " + fixed(promotion.latency_us_p99, 0) +
           " us, " + fixed(promotion.rows_per_s, 0) + " rows/s";
  }
  if (!promotion.note.empty()) out += "; " + promotion.note;
  return out;
}

}  // namespace laird::core
