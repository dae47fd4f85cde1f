// How lairctl writes: data to standard output, messages to standard error, tables whose columns
// stay in place, and colours only on a terminal and never with NO_COLOR.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/harmless.hpp"
#include "json/value.hpp"

namespace laird::control {

enum class Colour : unsigned char { kNone, kRed, kGreen, kYellow, kDim, kBold };

[[nodiscard]] bool colours_on(std::FILE* out);
[[nodiscard]] std::string painted(std::string_view text, Colour colour, bool on);
[[nodiscard]] Colour colour_of_state(std::string_view state);

struct Column {
  std::string head;
  bool right = false;  // numbers stand on the right
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Two spaces between columns, none at the end of a line.
  [[nodiscard]] std::string text(bool with_head = true) const;
  // Minimum widths of the columns, so that rows printed later line up with those printed before.
  void set_widths(std::vector<std::size_t> widths) { widths_ = std::move(widths); }
  [[nodiscard]] std::vector<std::size_t> widths() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

// Characters a terminal shows for UTF-8 text, each one column wide.
[[nodiscard]] std::size_t width_of(std::string_view text);
[[nodiscard]] std::string fixed(const std::optional<double>& value, int digits,
                                const char* unit = "");
[[nodiscard]] std::string short_number(const std::optional<double>& value,  // 0.1234, 1.2e-05
                                       int digits = 4);
[[nodiscard]] std::string percent(const std::optional<double>& value);
// "45s", "3m10s", "2h05m", "4d03h"; a minus sign for the past.
[[nodiscard]] std::string span_text(const std::optional<double>& seconds);

// Asks the person at the terminal. True when the answer is yes, when `yes` was given, or when there
// is no terminal to ask at.
[[nodiscard]] bool confirmed(const std::string& question, bool yes);

// All that lairctl writes to standard output goes through these, and what could steer a terminal
// does not pass (harmless.hpp): nobody has to remember where a text came from.
[[gnu::format(printf, 1, 2)]] void print(const char* format, ...);
void print_text(std::string_view lines);
void print_json(const json::Value& value, bool pretty = false);  // one value, and the end of a line

// A message for people, on standard error; as safe.
void say(const std::string& text);

}  // namespace laird::control
