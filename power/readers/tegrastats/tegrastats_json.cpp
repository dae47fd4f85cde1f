#include <algorithm>
#include <charconv>

#include "json/value.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"

namespace laird::power {
namespace {

class JsonText {
 public:
  explicit JsonText(std::string& out) : out_(out) {}

  void open(char c) {
    separate();
    out_ += c;
    fresh_ = true;
  }
  void close(char c) {
    out_ += c;
    fresh_ = false;
  }
  JsonText& key(std::string_view name) {
    separate();
    out_ += '"';
    out_ += name;
    out_ += "\":";
    fresh_ = true;
    return *this;
  }
  void integer(std::int64_t v) {
    separate();
    char text[24];
    out_.append(text, std::to_chars(text, text + sizeof text, v).ptr);
  }
  void known(std::int32_t v) {
    if (v == kUnknownValue) {
      null();
    } else {
      integer(v);
    }
  }
  void milli(std::int32_t v) {
    separate();
    if (v < 0) out_ += '-';
    const std::int32_t positive = v < 0 ? -v : v;
    char text[24];
    out_.append(text, std::to_chars(text, text + sizeof text, positive / 1000).ptr);
    const std::int32_t part = positive % 1000;
    out_ += '.';
    out_ += static_cast<char>('0' + part / 100);
    out_ += static_cast<char>('0' + part / 10 % 10);
    out_ += static_cast<char>('0' + part % 10);
  }
  void null() {
    separate();
    out_ += "null";
  }
  void boolean(bool v) {
    separate();
    out_ += v ? "true" : "false";
  }
  // Names of known items are of [A-Za-z0-9_-] and need no escaping.
  void plain(std::string_view v) {
    separate();
    out_ += '"';
    out_ += v;
    out_ += '"';
  }
  // Anything at all, also bytes that are no UTF-8: those become U+FFFD.
  void any(std::string_view v) {
    separate();
    std::string clean;
    for (std::size_t i = 0; i < v.size();) {
      const std::size_t n = utf8_length(v.substr(i));
      clean += n == 0 ? "\xEF\xBF\xBD" : std::string(v.substr(i, n));
      i += std::max<std::size_t>(n, 1);
    }
    out_ += json::quoted(clean);
  }

 private:
  void separate() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  // Length of the well-formed UTF-8 sequence at the start of v; 0 when there is none.
  static std::size_t utf8_length(std::string_view v) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(v[i]); };
    if (byte(0) < 0x80) return 1;
    const std::size_t n = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
    if (byte(0) < 0xC2 || byte(0) > 0xF4 || v.size() < n) return 0;
    for (std::size_t i = 1; i < n; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return 0;
    }
    const bool overlong =
        (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
    const bool beyond = (byte(0) == 0xED && byte(1) > 0x9F) || (byte(0) == 0xF4 && byte(1) > 0x8F);
    return overlong || beyond ? 0 : n;
  }

  std::string& out_;
  bool fresh_ = true;
};

void write_time(std::string_view text, JsonText& json) {
  // MM-DD-YYYY HH:MM:SS in the line's own, unnamed zone.
  std::string iso;
  iso.append(text.substr(6, 4)).append("-").append(text.substr(0, 2)).append("-");
  iso.append(text.substr(3, 2)).append("T").append(text.substr(11, 8));
  json.plain(iso);
}

void write_total(const Line& line, const Board& board, JsonText& json) {
  const RuleTotal total = total_of(line, board);
  if (total.rule != nullptr) {
    json.key("total_mw").integer(total.mw);
    json.key("total_rule").plain(total.rule->text());
    json.key("scope").plain(name(total.rule->scope));
    return;
  }
  json.key("total_mw").null();
  json.key("total_rule").any(reading_of(line, board, 0, Source::kRecorded).total_rule);
  json.key("scope").plain(name(Scope::kUnknown));
}

void write_engine(const Item& item, JsonText& json) {
  json.open('{');
  json.key("name").plain(item.name);
  if (item.form == EngineForm::kOff) json.key("off").boolean(true);
  if (item.form != EngineForm::kOff && item.form != EngineForm::kValue &&
      item.form != EngineForm::kLimit) {
    json.key("load_percent").known(item.v[0]);
  }
  if (item.form == EngineForm::kValue || item.form == EngineForm::kLimit) {
    json.key(item.form == EngineForm::kLimit ? "limit" : "value").integer(item.v[1]);
  }
  if (item.form == EngineForm::kClock || item.form == EngineForm::kClockList) {
    json.key("mhz").open('[');
    for (std::uint8_t i = 1; i < item.count; ++i) json.integer(item.v[i]);
    json.close(']');
  }
  json.close('}');
}

void write_memory(const Item& item, JsonText& json) {
  json.open('{');
  json.key("name").plain(item.name);
  json.key("used").integer(item.v[0]);
  json.key("total").integer(item.v[1]);
  const char unit[] = {item.unit, 'B'};
  json.key("unit").plain(std::string_view(unit, 2));
  if (item.v[3] != kUnknownValue) {
    const char detail[] = {item.detail_unit, 'B'};
    if (item.name == "SWAP") {
      json.key("cached").integer(item.v[3]);
    } else {
      json.key("largest_free_blocks").known(item.v[2]);
      json.key("largest_free_block").integer(item.v[3]);
    }
    json.key("detail_unit").plain(std::string_view(detail, 2));
  }
  json.close('}');
}

void write_rail(const Item& item, JsonText& json) {
  static constexpr std::string_view kNames[] = {"now_mw", "mean_mw", "peak_mw"};
  json.open('{');
  json.key("name").plain(item.name);
  for (std::uint8_t i = 0; i < item.count; ++i) json.key(kNames[i]).integer(item.v[i]);
  json.close('}');
}

void write_temperature(const Item& item, JsonText& json) {
  json.open('{');
  json.key("name").plain(item.name);
  json.key("c");
  // A gated zone has no temperature.
  if (item.v[0] == kGatedMilliC) {
    json.null();
  } else {
    json.milli(item.v[0]);
  }
  if (item.count > 1) json.key("second_c").milli(item.v[1]);
  json.close('}');
}

template <class F>
void write_list(const Line& line, std::string_view key, ItemKind kind, JsonText& json, F write) {
  json.key(key).open('[');
  for (const Item& item : line.items()) {
    if (item.kind == kind) write(item, json);
  }
  json.close(']');
}

void write_cpu(const Line& line, JsonText& json) {
  json.key("cpu").open('[');
  std::int32_t shared = kUnknownValue;
  for (const Item& item : line.items()) {
    if (item.kind == ItemKind::kCpu) shared = item.v[0];
  }
  for (const Core& core : line.cores()) {
    if (core.off) {
      json.null();
      continue;
    }
    json.open('{');
    json.key("load_percent").known(core.load_percent);
    json.key("mhz").known(core.clock_mhz == kUnknownValue ? shared : core.clock_mhz);
    json.close('}');
  }
  json.close(']');
}

void write_gpu(const Line& line, JsonText& json) {
  const Item* gpu = line.gpu();
  json.key("gpu");
  if (gpu == nullptr) {
    json.null();
  } else {
    write_engine(*gpu, json);
  }
}

}  // namespace

void append_json(const Line& line, const Board& board, std::string& out) {
  JsonText json(out);
  json.open('{');
  json.key("time");
  if (line.has_time) {
    write_time(line.item_store[0].name, json);
  } else {
    json.null();
  }
  write_total(line, board, json);
  write_list(line, "rails", ItemKind::kRail, json, write_rail);
  write_list(line, "temperatures", ItemKind::kTemperature, json, write_temperature);
  write_cpu(line, json);
  write_gpu(line, json);
  write_list(line, "engines", ItemKind::kEngine, json, write_engine);
  write_list(line, "memory", ItemKind::kMemory, json, write_memory);
  for (const Item& item : line.items()) {
    if (item.kind != ItemKind::kMts) continue;
    json.key("mts").open('{');
    json.key("foreground_percent").integer(item.v[0]);
    json.key("background_percent").integer(item.v[1]);
    json.close('}');
    break;
  }
  write_list(line, "unknown", ItemKind::kUnknown, json,
             [](const Item& item, JsonText& text) { text.any(item.name); });
  if (line.dropped > 0) json.key("dropped_tokens").integer(line.dropped);
  if (!line.has_memory) json.key("foreign").boolean(true);
  json.close('}');
}

}  // namespace laird::power
