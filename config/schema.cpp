#include "config/schema.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>

#include "base/require.hpp"
#include "config/nearest.hpp"
#include "config/units.hpp"

namespace laird::config {
namespace {

using json::Kind;
using json::Value;

struct Place {
  std::string_view source;
  std::string path;
  std::vector<Problem>* problems;

  void report(const Value& at, std::string what) const {
    problems->push_back(
        Problem{std::string(source), at.line(), path.empty() ? "/" : path, std::move(what)});
  }
  [[nodiscard]] Place child(std::string_view name) const {
    return Place{source, path + "/" + std::string(name), problems};
  }
};

std::string number_text(double v) {
  if (v == std::floor(v) && std::fabs(v) < 1e15) {
    return std::to_string(static_cast<std::int64_t>(v));
  }
  return json::to_text(Value::number(v));
}

std::string amount_text(const Field& field, double v) {
  const auto whole = static_cast<std::int64_t>(v);
  switch (field.type) {
    case Type::kDuration: return format_duration(whole);
    case Type::kSize: return format_size(whole);
    case Type::kPower: return format_power(whole);
    default: return number_text(v) + (field.unit.empty() ? "" : " " + std::string(field.unit));
  }
}

void check_range(const Field& field, double v, const Value& at, const Place& place,
                 std::string_view noun) {
  const bool bounded_above = field.max < std::numeric_limits<double>::max();
  if (v >= field.min && v <= field.max) return;
  std::string what = std::string(noun) + " " + amount_text(field, v) + " is out of range; give ";
  what += bounded_above ? amount_text(field, field.min) + " to " + amount_text(field, field.max)
                        : "at least " + amount_text(field, field.min);
  place.report(at, std::move(what));
}

bool expect(const Value& value, Kind kind, const Place& place, std::string_view example) {
  if (value.is(kind)) return true;
  place.report(value, "expected " + std::string(json::name(kind)) + ", found " +
                          std::string(json::name(value.kind())) +
                          (example.empty() ? "" : "; write " + std::string(example)));
  return false;
}

Value quantity(const Field& field, const Value& value, const Place& place) {
  std::string_view example = "\"90s\"";
  if (field.type == Type::kSize) example = "\"512MB\"";
  if (field.type == Type::kPower) example = "\"15W\"";
  if (!expect(value, Kind::kString, place, "it with a unit, like " + std::string(example))) {
    return Value::integer(0);
  }
  Result<std::int64_t> amount = field.type == Type::kDuration ? parse_duration(value.as_string())
                                : field.type == Type::kSize   ? parse_size(value.as_string())
                                                              : parse_power(value.as_string());
  if (!amount) {
    place.report(value, amount.error().context);
    return Value::integer(0);
  }
  check_range(field, static_cast<double>(*amount), value, place, "the value");
  return Value::integer(*amount);
}

Value normalise_field(const Field& field, const Value& value, const Place& place);

Value normalise_object(const Schema& schema, const Value& value, const Place& place) {
  Value out = Value::object();
  out.set_line(value.line());
  if (!expect(value, Kind::kObject, place, "")) return out;
  std::vector<std::string_view> known;
  for (const Field& field : schema.fields) known.push_back(field.name);
  for (const Value::Member& member : value.members()) {
    const std::string& key = member.first;
    if (key == "comment" || key.starts_with("$")) continue;
    bool found = false;
    for (const std::string_view name : known) found = found || name == key;
    if (found) continue;
    const std::string_view meant = nearest(key, known);
    std::string what = "unknown key in " + std::string(schema.name);
    if (!meant.empty()) {
      what += "; did you mean \"" + std::string(meant) + "\"?";
    } else {
      what += "; known keys:";
      for (const std::string_view name : known) what += " " + std::string(name);
    }
    place.child(key).report(member.second, std::move(what));
  }
  for (const Field& field : schema.fields) {
    const Place at = place.child(field.name);
    if (const Value* given = value.find(field.name)) {
      out.set(std::string(field.name), normalise_field(field, *given, at));
      continue;
    }
    if (field.fallback == kOptional) continue;
    if (field.fallback.empty()) {
      at.report(value, "missing; " + std::string(field.why));
      continue;
    }
    Result<Value> fallback = json::parse(field.fallback, "default");
    LAIRD_REQUIRE(fallback.has_value(), "a schema's default is not JSON");
    fallback->set_line(value.line());
    out.set(std::string(field.name), normalise_field(field, *fallback, at));
  }
  return out;
}

Value normalise_list(const Field& field, const Value& value, const Place& place) {
  Value out = Value::array();
  if (!expect(value, Kind::kArray, place, "")) return out;
  check_range(field, static_cast<double>(value.items().size()), value, place,
              "the number of items");
  std::size_t index = 0;
  for (const Value& item : value.items()) {
    const Place at = place.child(std::to_string(index++));
    if (field.of != nullptr) {
      out.add(normalise_object(*field.of, item, at));
    } else if (expect(item, Kind::kString, at, "")) {
      out.add(item);
    }
  }
  return out;
}

Value normalise_integers(const Field& field, const Value& value, const Place& place) {
  constexpr std::size_t kItemsMax = 64;
  Value out = Value::array();
  if (!expect(value, Kind::kArray, place, "a list of whole numbers, like [1, 2]")) return out;
  if (value.items().size() > kItemsMax) {
    place.report(value, "more than " + std::to_string(kItemsMax) + " items");
    return out;
  }
  std::size_t index = 0;
  for (const Value& item : value.items()) {
    const Place at = place.child(std::to_string(index++));
    if (!expect(item, Kind::kInteger, at, "")) continue;
    check_range(field, item.as_double(), item, at, "the value");
    out.add(item);
  }
  return out;
}

Value normalise_map(const Field& field, const Value& value, const Place& place) {
  Value out = Value::object();
  if (!expect(value, Kind::kObject, place, "")) return out;
  check_range(field, static_cast<double>(value.members().size()), value, place,
              "the number of entries");
  for (const Value::Member& member : value.members()) {
    if (member.first == "comment" || member.first.starts_with("$")) continue;
    const Place at = place.child(member.first);
    if (field.of == nullptr) {
      out.set(member.first, member.second);
      continue;
    }
    if (!is_name(member.first)) {
      at.report(member.second, "a name is 1 to 32 of a-z, 0-9 and -, not starting with -");
    }
    out.set(member.first, normalise_object(*field.of, member.second, at));
  }
  return out;
}

Value normalise_text(const Field& field, const Value& value, const Place& place) {
  if (!expect(value, Kind::kString, place, "")) return Value::string("");
  const std::string& text = value.as_string();
  if (field.type == Type::kName && !is_name(text)) {
    place.report(value, json::quoted(text.substr(0, 40)) +
                            " is no name: use 1 to 32 of a-z, 0-9 and -, not starting with -");
  }
  if (field.type == Type::kText) {
    check_range(field, static_cast<double>(text.size()), value, place, "the length");
  }
  if (field.type == Type::kChoice) {
    bool found = false;
    std::string all;
    for (const std::string_view choice : field.choices) {
      found = found || choice == text;
      all += (all.empty() ? "" : ", ") + json::quoted(choice);
    }
    if (!found) {
      const std::string_view meant = nearest(text, field.choices);
      place.report(value, json::quoted(text.substr(0, 40)) + " is not one of " + all +
                              (meant.empty() ? "" : "; did you mean " + json::quoted(meant) + "?"));
    }
  }
  return value;
}

Value normalise_field(const Field& field, const Value& value, const Place& place) {
  switch (field.type) {
    case Type::kBool:
      return expect(value, Kind::kBool, place, "true or false") ? value : Value::boolean(false);
    case Type::kInteger:
      if (!expect(value, Kind::kInteger, place, "")) return Value::integer(0);
      check_range(field, value.as_double(), value, place, "the value");
      return value;
    case Type::kNumber:
      if (!value.is_number()) {
        expect(value, Kind::kNumber, place, "");
        return Value::number(0);
      }
      if (!std::isfinite(value.as_double())) place.report(value, "the number is too large");
      check_range(field, value.as_double(), value, place, "the value");
      return Value::number(value.as_double());
    case Type::kText:
    case Type::kName:
    case Type::kChoice: return normalise_text(field, value, place);
    case Type::kDuration:
    case Type::kSize:
    case Type::kPower: return quantity(field, value, place);
    case Type::kObject: return normalise_object(*field.of, value, place);
    case Type::kList: return normalise_list(field, value, place);
    case Type::kIntegers: return normalise_integers(field, value, place);
    case Type::kMap: return normalise_map(field, value, place);
    case Type::kAny: return value;
  }
  return value;
}

}  // namespace

std::string Problem::text() const {
  std::string out = source;
  if (line > 0) out += ":" + std::to_string(line);
  return out + ": " + path + ": " + what;
}

Value normalise(const Schema& schema, const Value& value, std::string_view source,
                std::vector<Problem>& problems) {
  return normalise_object(schema, value, Place{source, "", &problems});
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 32 || text.front() == '-') return false;
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) return fail_errno(errno, "cannot open " + path);
  std::string out;
  char block[16 * 1024];
  for (;;) {
    const std::size_t n = std::fread(block, 1, sizeof block, file.get());
    out.append(block, n);
    if (out.size() > bytes_max) {
      return fail(Code::kInvalid, path + " is larger than " + std::to_string(bytes_max) + " bytes");
    }
    if (n < sizeof block) break;
  }
  if (std::ferror(file.get()) != 0) return fail_errno(errno, "cannot read " + path);
  return out;
}

Status write_file(const std::string& path, std::string_view text) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                       &std::fclose);
  if (file == nullptr) return fail_errno(errno, "cannot open " + path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (std::fclose(file.release()) != 0 || !written) {
    return fail_errno(errno, "cannot write " + path);
  }
  return {};
}

}  // namespace laird::config
