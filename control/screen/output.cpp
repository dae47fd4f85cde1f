#include "control/screen/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdlib>

namespace laird::control {
namespace {

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

}  // namespace

bool colours_on(std::FILE* out) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(out)) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

std::string painted(std::string_view text, Colour colour, bool on) {
  if (!on || colour == Colour::kNone) return std::string(text);
  const char* code = "0";
  switch (colour) {
    case Colour::kRed: code = "31"; break;
    case Colour::kGreen: code = "32"; break;
    case Colour::kYellow: code = "33"; break;
    case Colour::kDim: code = "2"; break;
    case Colour::kBold: code = "1"; break;
    case Colour::kNone: break;
  }
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

Colour colour_of_state(std::string_view state) {
  if (state == "ready" || state == "running" || state == "succeeded") return Colour::kGreen;
  if (state == "lost" || state == "alert" || state == "failed" || state == "missed") {
    return Colour::kRed;
  }
  if (state == "draining" || state == "drained" || state == "offline" || state == "unknown" ||
      state == "throttled") {
    return Colour::kYellow;
  }
  return Colour::kNone;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> out = widths_;
  out.resize(columns_.size(), 0);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out[i] = std::max(out[i], width_of(columns_[i].head));
    for (const auto& row : rows_) {
      if (i < row.size()) out[i] = std::max(out[i], width_of(row[i]));
    }
  }
  return out;
}

std::string Table::text(bool with_head) const {
  const std::vector<std::size_t> wide = widths();
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = cell_of(i);
      const std::string pad(wide[i] - std::min(wide[i], width_of(cell)), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].right ? pad + cell : cell + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  if (with_head) line([&](std::size_t i) { return columns_[i].head; });
  for (const auto& row : rows_) {
    line([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
  }
  return out;
}

std::string fixed(const std::optional<double>& value, int digits, const char* unit) {
  if (!value || !std::isfinite(*value)) return "-";
  return format("%.*f", digits, *value) + unit;
}

std::string short_number(const std::optional<double>& value, int digits) {
  return !value || !std::isfinite(*value) ? "-" : format("%.*g", digits, *value);
}

std::string percent(const std::optional<double>& value) {
  return !value || !std::isfinite(*value) ? "-" : format("%.0f%%", *value * 100.0);
}

std::string span_text(const std::optional<double>& seconds) {
  if (!seconds || !std::isfinite(*seconds) || std::abs(*seconds) > 1e11) return "-";
  const auto whole = static_cast<long long>(std::abs(*seconds));
  const std::string sign = *seconds < 0.0 && whole > 0 ? "-" : "";
  if (whole < 60) return sign + format("%llds", whole);
  if (whole < 3'600) return sign + format("%lldm%02llds", whole / 60, whole % 60);
  if (whole < 86'400) return sign + format("%lldh%02lldm", whole / 3'600, whole / 60 % 60);
  return sign + format("%lldd%02lldh", whole / 86'400, whole / 3'600 % 24);
}

bool confirmed(const std::string& question, bool yes) {
  if (yes || ::isatty(STDIN_FILENO) == 0) return true;
  std::fprintf(stderr, "%s [y/N] ", harmless(question).c_str());
  std::fflush(stderr);
  char answer[16] = {};
  if (std::fgets(answer, sizeof answer, stdin) == nullptr) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

void print_text(std::string_view lines) {
  const std::string safe = harmless_lines(lines);
  std::fwrite(safe.data(), 1, safe.size(), stdout);
}

void print(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<std::size_t>(std::max(size, 0)) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  print_text(text);
}

void print_json(const json::Value& value, bool pretty) {
  const std::string text =
      harmless_json(pretty ? json::to_pretty_text(value) : json::to_text(value));
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

void say(const std::string& text) {
  std::fprintf(stderr, "lairctl: %s\n", harmless_lines(text).c_str());
}

}  // namespace laird::control
