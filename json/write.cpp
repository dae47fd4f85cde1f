#include <algorithm>
#include <charconv>
#include <cmath>

#include "json/value.hpp"

namespace laird::json {
namespace {

// Most messages are shorter.
constexpr std::size_t kTextUsual = 512;

void write_number(double v, std::string& out) {
  if (!std::isfinite(v)) {
    out += "null";
    return;
  }
  char text[40];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, v);
  const std::string_view digits(text, static_cast<std::size_t>(end.ptr - text));
  out += digits;
  // Keeps a number a number: 2.0 must not come back as the integer 2.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void write_quoted(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  // What needs no escape is copied in one piece.
  const auto is_plain = [](char c) {
    const unsigned char u = static_cast<unsigned char>(c);
    return u >= 0x20 && u != 0x7f && c != '"' && c != '\\';
  };
  out += '"';
  while (true) {
    const auto plain = std::find_if_not(text.begin(), text.end(), is_plain) - text.begin();
    out.append(text.substr(0, static_cast<std::size_t>(plain)));
    text.remove_prefix(static_cast<std::size_t>(plain));
    if (text.empty()) break;
    const char c = text.front();
    const unsigned char u = static_cast<unsigned char>(c);
    text.remove_prefix(1);
    switch (c) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      default: break;
    }
    out += "\\u00";
    out += kHex[u >> 4];
    out += kHex[u & 15];
  }
  out += '"';
}

// indent < 0: all on one line.
void write(const Value& value, int indent, int depth, std::string& out) {
  const auto new_line = [&](int at) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(at), ' ');
  };
  switch (value.kind()) {
    case Kind::kNull: out += "null"; return;
    case Kind::kBool: out += value.as_bool() ? "true" : "false"; return;
    case Kind::kInteger: out += std::to_string(value.as_integer()); return;
    case Kind::kNumber: write_number(value.as_double(), out); return;
    case Kind::kString: write_quoted(value.as_string(), out); return;
    case Kind::kArray: {
      out += '[';
      bool first = true;
      for (const Value& item : value.items()) {
        if (!first) out += ',';
        first = false;
        new_line(depth + 1);
        write(item, indent, depth + 1, out);
      }
      if (!first) new_line(depth);
      out += ']';
      return;
    }
    case Kind::kObject: {
      out += '{';
      bool first = true;
      for (const Value::Member& member : value.members()) {
        if (!first) out += ',';
        first = false;
        new_line(depth + 1);
        write_quoted(member.first, out);
        out += indent < 0 ? ":" : ": ";
        write(member.second, indent, depth + 1, out);
      }
      if (!first) new_line(depth);
      out += '}';
      return;
    }
  }
}

}  // namespace

std::string to_text(const Value& value) {
  std::string out;
  out.reserve(kTextUsual);
  write(value, -1, 0, out);
  return out;
}

std::string to_pretty_text(const Value& value) {
  std::string out;
  write(value, 2, 0, out);
  out += '\n';
  return out;
}

std::string quoted(std::string_view text) {
  std::string out;
  write_quoted(text, out);
  return out;
}

}  // namespace laird::json
