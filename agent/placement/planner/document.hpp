// Reading JSON documents of the planner: errors that name the line.
#pragma once

#include <string>
#include <string_view>

#include "json/value.hpp"

namespace laird::placement {

[[nodiscard]] inline std::string at_line(const json::Value& v) {
  return v.line() > 0 ? "line " + std::to_string(v.line()) + ": " : std::string();
}

[[nodiscard]] inline tl::unexpected<Error> wrong(const json::Value& at, const std::string& what) {
  return tl::make_unexpected(Error{Code::kInvalid, at_line(at) + what, at.line()});
}

// Leaves `out` as it is when the key is absent.
template <class T>
[[nodiscard]] Status read_integer(const json::Value& object, std::string_view key,
                                  const std::string& what, std::int64_t max, T* out) {
  const json::Value* v = object.find(key);
  if (v == nullptr) return {};
  if (!v->is(json::Kind::kInteger) || v->as_integer() < 0 || v->as_integer() > max) {
    return wrong(*v, what + ": " + std::string(key) + " must be a whole number from 0 to " +
                         std::to_string(max));
  }
  *out = static_cast<T>(v->as_integer());
  return {};
}

}  // namespace laird::placement
