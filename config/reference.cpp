#include <algorithm>

#include "config/schema.hpp"
#include "config/units.hpp"

namespace laird::config {
namespace {

std::string amount(const Field& field, double v) {
  // Bounds of plain numbers may be beyond any integer.
  if (field.type == Type::kNumber) return json::to_text(json::Value::number(v));
  const auto whole = static_cast<std::int64_t>(v);
  switch (field.type) {
    case Type::kDuration: return format_duration(whole);
    case Type::kSize: return format_size(whole);
    case Type::kPower: return format_power(whole);
    default: return std::to_string(whole);
  }
}

std::string type_text(const Field& field) {
  const std::string of(field.of == nullptr ? "" : field.of->name);
  switch (field.type) {
    case Type::kBool: return "true/false";
    case Type::kInteger: return "integer";
    case Type::kNumber: return "number";
    case Type::kText: return "text";
    case Type::kName: return "name";
    case Type::kDuration: return "duration";
    case Type::kSize: return "size";
    case Type::kPower: return "power";
    case Type::kChoice: {
      std::string out;
      for (const std::string_view choice : field.choices) {
        out += (out.empty() ? "`" : " `") + std::string(choice) + "`";
      }
      return out;
    }
    case Type::kObject: return of;
    case Type::kList: return of.empty() ? "list of texts" : "list of " + of;
    case Type::kIntegers: return "list of integers";
    case Type::kMap: return of.empty() ? "object" : "name to " + of;
    case Type::kAny: return "any";
  }
  return "";
}

std::string range_text(const Field& field) {
  const bool above = field.max < std::numeric_limits<double>::max();
  if (field.min == 0.0 && !above) return "";
  std::string out = above ? amount(field, field.min) + " to " + amount(field, field.max)
                          : "at least " + amount(field, field.min);
  switch (field.type) {
    case Type::kText: out += " characters"; break;
    case Type::kIntegers: out += " each"; break;
    case Type::kList:
    case Type::kMap: out += " entries"; break;
    default:
      if (!field.unit.empty()) out += " " + std::string(field.unit);
  }
  return out;
}

void collect(const Schema& schema, std::vector<const Schema*>& all) {
  if (std::find(all.begin(), all.end(), &schema) != all.end()) return;
  all.push_back(&schema);
  for (const Field& field : schema.fields) {
    if (field.of != nullptr) collect(*field.of, all);
  }
}

}  // namespace

std::string reference(const Schema& schema) {
  std::vector<const Schema*> all;
  collect(schema, all);
  std::string out;
  for (const Schema* part : all) {
    out += "### " + std::string(part->name) + "\n\n" + std::string(part->what) + "\n\n";
    out += "| key | type | default | range | why |\n|---|---|---|---|---|\n";
    for (const Field& field : part->fields) {
      std::string fallback = "required";
      if (field.fallback == kOptional) {
        fallback = "none";
      } else if (!field.fallback.empty()) {
        fallback = "`" + std::string(field.fallback) + "`";
      }
      out += "| `" + std::string(field.name) + "` | " + type_text(field) + " | " + fallback +
             " | " + range_text(field) + " | " + std::string(field.why) + " |\n";
    }
    out += "\n";
  }
  return out;
}

}  // namespace laird::config
