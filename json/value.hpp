// A parsed JSON document that remembers where each value stood.
//
// Our own tree beside the vendor's parser (json/nlohmann/): it keeps the line of every value, so an
// error can name the place; it keeps the order of keys; looking up what is not there is an ordinary
// answer, not an exception; and its depth and size are bounded before anything is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace laird::json {

enum class Kind : std::uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };

[[nodiscard]] std::string_view name(Kind kind);

template <class T>
inline constexpr bool kCounts =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;

class Value {
 public:
  using Member = std::pair<std::string, Value>;

  Value() = default;
  // Plain values become JSON without being asked: `set("samples", task.samples)`. Only the types
  // named here do, each as what it is: a pointer is no bool, and a char is neither number nor text.
  template <class T>
  requires std::is_same_v<T, bool> Value(T v) : Value(boolean(v)) {}
  template <class T>
  requires kCounts<T> Value(T v) : Value(integer(fitted(v))) {}
  template <class T>
  requires std::is_floating_point_v<T> Value(T v) : Value(number(static_cast<double>(v))) {}
  Value(std::string v) : Value(string(std::move(v))) {}
  Value(std::string_view v) : Value(string(std::string(v))) {}
  Value(const char* v) : Value(string(v)) {}
  Value(std::nullptr_t) = delete;

  static Value boolean(bool v);
  static Value integer(std::int64_t v);
  static Value number(double v);
  static Value string(std::string v);
  static Value array() { return of_kind(Kind::kArray); }
  static Value object() { return of_kind(Kind::kObject); }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  [[nodiscard]] bool is_number() const { return is(Kind::kInteger) || is(Kind::kNumber); }
  // The line of the document the value ended on, counted from 1; 0 for one made in code.
  [[nodiscard]] int line() const { return line_; }
  void set_line(int line) { line_ = line; }

  // Each asks for the matching kind; as_double also takes an integer. Asking for another kind
  // is a bug: check the kind first, or read through config/schema.hpp.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_integer() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] const std::string& as_string() const;

  [[nodiscard]] const std::vector<Value>& items() const { return items_; }
  [[nodiscard]] std::vector<Value>& items() { return items_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::vector<Member>& members() { return members_; }

  // nullptr when this is not an object or has no such key.
  [[nodiscard]] const Value* find(std::string_view key) const;
  // Member access with a kind check in one: nullptr unless it is there and of that kind.
  [[nodiscard]] const Value* find(std::string_view key, Kind kind) const;

  // Building: set replaces or appends a member, add appends an item.
  Value& set(std::string key, Value value);
  Value& add(Value value);

 private:
  static Value of_kind(Kind kind);
  // A count beyond the largest signed one is told as that one.
  template <class T>
  static std::int64_t fitted(T v) {
    return std::in_range<std::int64_t>(v) ? static_cast<std::int64_t>(v) : INT64_MAX;
  }

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  int line_ = 0;
  std::int64_t integer_ = 0;
  double number_ = 0.0;
  std::string string_;
  std::vector<Value> items_;
  std::vector<Member> members_;
};

struct ParseLimits {
  std::size_t bytes_max = 1024 * 1024;
  int depth_max = 32;
  std::size_t values_max = 100'000;
  bool comments = false;  // // and /* */ comments, for files that people write
};

// `source` names the text in errors: "laird.json:12: expected ',' or '}'". Duplicate keys, invalid
// UTF-8, numbers out of range, too deep, too large and trailing text are all refused.
[[nodiscard]] Result<Value> parse(std::string_view text, std::string_view source,
                                  const ParseLimits& limits = {});

// One line, no spaces, keys in their order; numbers round-trip exactly. NaN and infinities, which
// JSON cannot say, become null.
[[nodiscard]] std::string to_text(const Value& value);
// Indented by two spaces, for files and terminals.
[[nodiscard]] std::string to_pretty_text(const Value& value);
// The JSON string literal of `text`, quotes included.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace laird::json
