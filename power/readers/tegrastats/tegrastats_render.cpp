#include <string>

#include "power/readers/tegrastats/tegrastats_line.hpp"

namespace laird::power {
namespace {

void add(std::string& out, std::int32_t v) { out += std::to_string(v); }

void add_celsius(std::string& out, std::int32_t milli) {
  if (milli < 0) out += '-';
  const std::int32_t positive = milli < 0 ? -milli : milli;
  add(out, positive / 1000);
  const std::int32_t part = positive % 1000;
  if (part != 0) {
    std::string digits = std::to_string(1000 + part).substr(1);
    while (digits.back() == '0') digits.pop_back();
    out += '.' + digits;
  }
  out += 'C';
}

void add_memory(std::string& out, const Item& item) {
  const auto unit = [&](char u) {
    out += u;
    out += 'B';
  };
  add(out, item.v[0]);
  out += '/';
  add(out, item.v[1]);
  unit(item.unit);
  if (item.v[3] == kUnknownValue) return;
  // IRAM alone is written without a blank.
  out += item.name == "IRAM" ? "(" : " (";
  out += item.name == "SWAP" ? "cached " : "lfb ";
  if (item.v[2] != kUnknownValue) {
    add(out, item.v[2]);
    out += 'x';
  }
  add(out, item.v[3]);
  unit(item.detail_unit);
  out += ')';
}

void add_cpu(std::string& out, const Line& line, const Item& item) {
  out += '[';
  bool first = true;
  for (const Core& core : line.cores()) {
    if (!first) out += ',';
    first = false;
    if (core.off) {
      out += "off";
      continue;
    }
    add(out, core.load_percent);
    out += '%';
    if (core.clock_mhz == kUnknownValue) continue;
    out += '@';
    add(out, core.clock_mhz);
  }
  out += ']';
  if (item.v[0] == kUnknownValue) return;
  out += '@';
  add(out, item.v[0]);
}

void add_engine(std::string& out, const Item& item) {
  if (item.v[0] != kUnknownValue) {
    add(out, item.v[0]);
    out += '%';
  }
  switch (item.form) {
    case EngineForm::kOff: out += "off"; return;
    case EngineForm::kLoad: return;
    case EngineForm::kValue: add(out, item.v[1]); return;
    case EngineForm::kLimit:
      out += "limit ";
      add(out, item.v[1]);
      return;
    case EngineForm::kClock:
      out += '@';
      add(out, item.v[1]);
      return;
    case EngineForm::kClockList:
      out += "@[";
      for (std::uint8_t i = 1; i < item.count; ++i) {
        if (i > 1) out += ',';
        add(out, item.v[i]);
      }
      out += ']';
      return;
  }
}

}  // namespace

std::string render(const Line& line) {
  std::string out;
  for (const Item& item : line.items()) {
    if (!out.empty()) out += ' ';
    out += item.name;
    switch (item.kind) {
      case ItemKind::kTime:
      case ItemKind::kUnknown: break;
      case ItemKind::kMemory:
        out += ' ';
        add_memory(out, item);
        break;
      case ItemKind::kCpu:
        out += ' ';
        add_cpu(out, line, item);
        break;
      case ItemKind::kEngine:
        out += ' ';
        add_engine(out, item);
        break;
      case ItemKind::kMts:
        out += " fg " + std::to_string(item.v[0]) + "% bg " + std::to_string(item.v[1]) + '%';
        break;
      case ItemKind::kTemperature:
        out += '@';
        for (std::uint8_t i = 0; i < item.count; ++i) {
          if (i > 0) out += '/';
          add_celsius(out, item.v[i]);
        }
        break;
      case ItemKind::kRail:
        out += ' ';
        for (std::uint8_t i = 0; i < item.count; ++i) {
          if (i > 0) out += '/';
          add(out, item.v[i]);
          if (item.unit_mw) out += "mW";
        }
        break;
    }
  }
  return out;
}

}  // namespace laird::power
