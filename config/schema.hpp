// Configuration is data with a schema: name, type, unit, range, default, and why it exists.
//
// The same tables check a file, fill in its defaults, and write the reference page in docs/. A
// check collects every problem at once, each with file, line, path and remedy.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.hpp"

namespace laird::config {

enum class Type : std::uint8_t {
  kBool,
  kInteger,
  kNumber,
  kText,
  kName,      // [a-z0-9-], 1 to 32 characters: it may become a topic, a folder or a cgroup
  kDuration,  // "90s", normalised to integer nanoseconds
  kSize,      // "512MB", normalised to integer bytes
  kPower,     // "15W", normalised to integer milliwatts
  kChoice,    // one of `choices`
  kObject,    // of schema `of`
  kList,      // of objects of schema `of`, or of strings when there is none
  kIntegers,  // a list of at most 64 whole numbers, each within min and max
  kMap,       // names to objects of schema `of`, or to anything when there is none
  kAny,       // kept as it is
};

struct Schema;

struct Field {
  std::string_view name;
  Type type = Type::kText;
  std::string_view why;
  // The default as JSON text ("\"5s\"", "3", "{}"); empty means the field is required, and
  // kOptional that it may be absent with no default.
  std::string_view fallback = {};
  // Inclusive, in the normalised unit (ns, bytes, mW); for texts the length, for lists the count.
  double min = 0.0;
  double max = std::numeric_limits<double>::max();
  std::string_view unit = {};
  std::span<const std::string_view> choices = {};
  const Schema* of = nullptr;
};

inline constexpr std::string_view kOptional = "optional";

struct Schema {
  std::string_view name;
  std::string_view what;
  std::span<const Field> fields;
};

struct Problem {
  std::string source;  // the file
  int line = 0;        // 0 when unknown
  std::string path;    // "/tasks/2/deadline"
  std::string what;    // what is wrong, and what to write instead

  // "laird.json:12: /tasks/2/deadline: '60' has no unit; write a number and a unit, like "90s""
  [[nodiscard]] std::string text() const;
};

// The value with every default filled in and every quantity an integer of its unit. Problems are
// appended; what is returned may be used only if there were none. Fields named "comment" or
// starting with "$" are allowed everywhere and dropped.
[[nodiscard]] json::Value normalise(const Schema& schema, const json::Value& value,
                                    std::string_view source, std::vector<Problem>& problems);

// The Markdown reference of a schema and all schemas it refers to.
[[nodiscard]] std::string reference(const Schema& schema);

// True for [a-z0-9]([a-z0-9-]{0,31}).
[[nodiscard]] bool is_name(std::string_view text);

// Reads a whole file, bounded; the error names the file and says what to do.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t bytes_max);
// Writes a whole file in place, for pages and reports: a reader may see half of it.
[[nodiscard]] Status write_file(const std::string& path, std::string_view text);

}  // namespace laird::config
