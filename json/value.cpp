#include "json/value.hpp"

#include "base/require.hpp"

namespace laird::json {

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kBool: return "true or false";
    case Kind::kInteger: return "a whole number";
    case Kind::kNumber: return "a number";
    case Kind::kString: return "a string";
    case Kind::kArray: return "an array";
    case Kind::kObject: return "an object";
  }
  return "unknown";
}

Value Value::of_kind(Kind kind) {
  Value out;
  out.kind_ = kind;
  return out;
}

Value Value::boolean(bool v) {
  Value out = of_kind(Kind::kBool);
  out.bool_ = v;
  return out;
}

Value Value::integer(std::int64_t v) {
  Value out = of_kind(Kind::kInteger);
  out.integer_ = v;
  return out;
}

Value Value::number(double v) {
  Value out = of_kind(Kind::kNumber);
  out.number_ = v;
  return out;
}

Value Value::string(std::string v) {
  Value out = of_kind(Kind::kString);
  out.string_ = std::move(v);
  return out;
}

bool Value::as_bool() const {
  LAIRD_REQUIRE(kind_ == Kind::kBool, "JSON value read as another kind");
  return bool_;
}

std::int64_t Value::as_integer() const {
  LAIRD_REQUIRE(kind_ == Kind::kInteger, "JSON value read as another kind");
  return integer_;
}

double Value::as_double() const {
  LAIRD_REQUIRE(is_number(), "JSON value read as another kind");
  return kind_ == Kind::kInteger ? static_cast<double>(integer_) : number_;
}

const std::string& Value::as_string() const {
  LAIRD_REQUIRE(kind_ == Kind::kString, "JSON value read as another kind");
  return string_;
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Value* Value::find(std::string_view key, Kind kind) const {
  const Value* value = find(key);
  return value != nullptr && value->is(kind) ? value : nullptr;
}

Value& Value::set(std::string key, Value value) {
  LAIRD_REQUIRE(kind_ == Kind::kObject, "member set on a JSON value that is no object");
  for (Member& member : members_) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  members_.emplace_back(std::move(key), std::move(value));
  return *this;
}

Value& Value::add(Value value) {
  LAIRD_REQUIRE(kind_ == Kind::kArray, "item added to a JSON value that is no array");
  items_.push_back(std::move(value));
  return *this;
}

}  // namespace laird::json
