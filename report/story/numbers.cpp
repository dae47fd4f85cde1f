#include "report/story/numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace laird::story {
namespace {

std::string text_of(double value, std::chars_format format, int precision) {
  if (!std::isfinite(value)) return "-";
  std::array<char, 400> text{};  // the largest double has 309 digits before its point
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  return {text.data(), end.ptr};
}

}  // namespace

std::string fixed(double value, int digits) {
  return text_of(value, std::chars_format::fixed, digits);
}

std::string figures(double value, int count) {
  return text_of(value, std::chars_format::general, count);
}

}  // namespace laird::story
