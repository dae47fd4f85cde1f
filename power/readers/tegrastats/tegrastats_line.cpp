#include "power/readers/tegrastats/tegrastats_line.hpp"

#include <cstring>

namespace laird::power {
namespace {

enum : std::uint8_t { kName = 1, kDigit = 2, kBlank = 4 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = kName | kDigit;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = kName;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = kName;
  table['_'] = kName;
  table['-'] = kName;  // zones such as x86-pkg@
  table[' '] = table['\t'] = table['\r'] = table['\n'] = kBlank;
  return table;
}

constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

inline bool is(char c, std::uint8_t kind) {
  return (kClasses[static_cast<std::uint8_t>(c)] & kind) != 0;
}

// The end of the text is never dereferenced: `peek` gives a blank there, which ends every token.
class Cursor {
 public:
  Cursor(const char* p, const char* end) : p_(p), end_(end) {}

  [[nodiscard]] char peek() const { return p_ < end_ ? *p_ : ' '; }
  [[nodiscard]] bool done() const { return p_ >= end_; }
  [[nodiscard]] const char* at() const { return p_; }
  [[nodiscard]] bool at_boundary() const { return is(peek(), kBlank); }
  void advance() { ++p_; }
  void jump(const char* to) { p_ = to; }

  void skip_blanks() {
    while (p_ < end_ && is(*p_, kBlank)) ++p_;
  }
  void skip_name() {
    while (p_ < end_ && is(*p_, kName)) ++p_;
  }
  void skip_word() {
    while (p_ < end_ && !is(*p_, kBlank)) ++p_;
  }
  bool eat(char c) {
    if (p_ >= end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  bool eat(std::string_view word) {
    if (static_cast<std::size_t>(end_ - p_) < word.size()) return false;
    if (std::memcmp(p_, word.data(), word.size()) != 0) return false;
    p_ += word.size();
    return true;
  }
  // 1 to 9 digits, so the value fits whatever it is multiplied by later.
  bool number(std::int32_t& out) {
    const char* start = p_;
    std::int32_t value = 0;
    while (p_ < end_ && is(*p_, kDigit)) {
      if (p_ - start == 9) return false;
      value = value * 10 + (*p_ - '0');
      ++p_;
    }
    out = value;
    return p_ != start;
  }

 private:
  const char* p_;
  const char* end_;
};

bool fixed_number(Cursor& c, int digits, int low, int high, int& out) {
  out = 0;
  for (int i = 0; i < digits; ++i) {
    const char d = c.peek();
    if (!is(d, kDigit)) return false;
    out = out * 10 + (d - '0');
    c.advance();
  }
  return out >= low && out <= high;
}

// Days since 1970-01-01 in the Gregorian calendar, counted from years that start in March so the
// leap day comes last.
std::int64_t days_of(int year, int month, int day) {
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t m = month <= 2 ? month + 9 : month - 3;
  return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719'469;
}

class Parser {
 public:
  Parser(std::string_view text, Line& line)
      : c_(text.data(), text.data() + text.size()), line_(line) {
    line_.item_count = 0;
    line_.core_count = 0;
    line_.rail_count = 0;
    line_.dropped = 0;
    line_.has_memory = false;
    line_.has_time = false;
  }

  void run() {
    c_.skip_blanks();
    if (is(c_.peek(), kDigit)) time();
    for (;;) {
      c_.skip_blanks();
      if (c_.done()) return;
      const char* word = c_.at();
      c_.skip_name();
      name_ = std::string_view(word, static_cast<std::size_t>(c_.at() - word));
      item_ = next_item();
      item_->name = name_;
      if (!name_.empty() && known()) {
        keep();
        continue;
      }
      c_.jump(word);
      c_.skip_word();
      item_->kind = ItemKind::kUnknown;
      item_->name = std::string_view(word, static_cast<std::size_t>(c_.at() - word));
      item_->count = 0;
      keep();
    }
  }

 private:
  Item* next_item() {
    return line_.item_count < Line::kItemsMax ? &line_.item_store[line_.item_count] : &spare_;
  }
  void keep() {
    if (line_.item_count < Line::kItemsMax) {
      if (item_->kind == ItemKind::kRail && line_.rail_count < Line::kRailsMax) {
        line_.rail_store[line_.rail_count++] = static_cast<std::uint8_t>(line_.item_count);
      }
      ++line_.item_count;
    } else {
      ++line_.dropped;
    }
  }

  void time() {
    const char* start = c_.at();
    int month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0;
    const bool ok =
        fixed_number(c_, 2, 1, 12, month) && c_.eat('-') && fixed_number(c_, 2, 1, 31, day) &&
        c_.eat('-') && fixed_number(c_, 4, 1970, 9999, year) && c_.eat(' ') &&
        fixed_number(c_, 2, 0, 23, hour) && c_.eat(':') && fixed_number(c_, 2, 0, 59, minute) &&
        c_.eat(':') && fixed_number(c_, 2, 0, 60, second) && c_.at_boundary();
    if (!ok) {
      c_.jump(start);
      return;
    }
    line_.has_time = true;
    line_.time_s = days_of(year, month, day) * 86'400 + hour * 3600 + minute * 60 + second;
    item_ = next_item();
    item_->kind = ItemKind::kTime;
    item_->name = std::string_view(start, static_cast<std::size_t>(c_.at() - start));
    item_->count = 0;
    keep();
  }

  // The name is read; what follows decides. False leaves the word to be kept as unknown.
  bool known() {
    if (c_.peek() == '@') return temperature();
    if (!c_.at_boundary()) return false;
    c_.skip_blanks();
    if (c_.done()) return false;
    const char first = c_.peek();
    if (is(first, kDigit)) {
      if (name_ == "RAM" || name_ == "SWAP" || name_ == "IRAM") return memory();
      return number_first();
    }
    if (first == '@') return is_engine_name() && clocks(kUnknownValue);
    if (first == '[') return (name_ == "CPU" || name_ == "cpu") && cpu();
    if (first == 'o') return is_engine_name() && off();
    if (first == 'f') return name_ == "MTS" && mts();
    if (first == 'l') return name_ == "EDP" && limit();
    return false;
  }

  // Engines are written in capitals; this keeps "Nov 16" of a foreign line from being one.
  [[nodiscard]] bool is_engine_name() const {
    return name_.size() >= 2 && name_[0] >= 'A' && name_[0] <= 'Z' &&
           !(name_[1] >= 'a' && name_[1] <= 'z');
  }

  bool engine(EngineForm form, std::uint8_t count) {
    item_->kind = ItemKind::kEngine;
    item_->form = form;
    item_->count = count;
    return c_.at_boundary();
  }

  bool off() {
    if (!c_.eat("off")) return false;
    item_->v[0] = kUnknownValue;
    return engine(EngineForm::kOff, 0);
  }

  bool limit() {
    if (!c_.eat("limit")) return false;
    c_.skip_blanks();
    item_->v[0] = kUnknownValue;
    return c_.number(item_->v[1]) && engine(EngineForm::kLimit, 2);
  }

  bool clocks(std::int32_t load) {
    item_->v[0] = load;
    if (!c_.eat('@')) return false;
    if (!c_.eat('[')) return c_.number(item_->v[1]) && engine(EngineForm::kClock, 2);
    std::uint8_t count = 1;
    do {
      if (count == Item::kValuesMax || !c_.number(item_->v[count])) return false;
      ++count;
    } while (c_.eat(','));
    return c_.eat(']') && engine(EngineForm::kClockList, count);
  }

  bool number_first() {
    std::int32_t first = 0;
    if (!c_.number(first)) return false;
    switch (c_.peek()) {
      case '%':
        c_.advance();
        if (!is_engine_name()) return false;
        if (c_.peek() == '@') return clocks(first);
        item_->v[0] = first;
        return engine(EngineForm::kLoad, 1);
      case 'm':
      case '/': return rail(first);
      default: break;
    }
    if (!is_engine_name()) return false;
    item_->v[0] = kUnknownValue;
    item_->v[1] = first;
    return engine(EngineForm::kValue, 2);
  }

  bool rail(std::int32_t first) {
    item_->kind = ItemKind::kRail;
    item_->unit_mw = c_.eat("mW");
    item_->v[0] = first;
    std::uint8_t count = 1;
    while (count < 3 && c_.eat('/')) {
      if (!c_.number(item_->v[count])) return false;
      if (c_.eat("mW") != item_->unit_mw) return false;
      ++count;
    }
    item_->count = count;
    // A lone number is a rail only when it says milliwatts.
    return c_.at_boundary() && (count > 1 || item_->unit_mw);
  }

  bool celsius(std::int32_t& out) {
    const bool negative = c_.eat('-');
    std::int32_t whole = 0;
    if (!c_.number(whole) || whole > 1'000'000) return false;
    std::int32_t milli = whole * 1000;
    if (c_.eat('.')) {
      std::int32_t scale = 100;
      if (!is(c_.peek(), kDigit)) return false;
      while (is(c_.peek(), kDigit)) {
        milli += (c_.peek() - '0') * scale;
        scale /= 10;
        c_.advance();
      }
    }
    out = negative ? -milli : milli;
    return c_.eat('C');
  }

  bool temperature() {
    c_.advance();
    item_->kind = ItemKind::kTemperature;
    item_->count = 1;
    if (!celsius(item_->v[0])) return false;
    if (c_.eat('/')) {
      if (!celsius(item_->v[1])) return false;
      item_->count = 2;
    }
    return c_.at_boundary();
  }

  bool byte_unit(char& unit) {
    unit = c_.peek();
    if (unit != 'M' && unit != 'k' && unit != 'G') return false;
    c_.advance();
    return c_.eat('B');
  }

  bool memory() {
    item_->kind = ItemKind::kMemory;
    item_->v[2] = kUnknownValue;
    item_->v[3] = kUnknownValue;
    item_->count = 4;
    if (!c_.number(item_->v[0]) || !c_.eat('/') || !c_.number(item_->v[1])) return false;
    if (!byte_unit(item_->unit)) return false;
    const char* after = c_.at();
    if (name_ == "RAM") line_.has_memory = true;
    c_.skip_blanks();
    if (c_.eat('(')) {
      if (memory_detail()) return true;
      item_->v[2] = kUnknownValue;
      item_->v[3] = kUnknownValue;
    }
    c_.jump(after);
    return c_.at_boundary();
  }

  bool memory_detail() {
    if (c_.eat("cached ")) {
      return c_.number(item_->v[3]) && byte_unit(item_->detail_unit) && c_.eat(')') &&
             c_.at_boundary();
    }
    if (!c_.eat("lfb ")) return false;
    if (!c_.number(item_->v[3])) return false;
    if (c_.eat('x')) {
      item_->v[2] = item_->v[3];
      if (!c_.number(item_->v[3])) return false;
    }
    return byte_unit(item_->detail_unit) && c_.eat(')') && c_.at_boundary();
  }

  bool cpu() {
    if (line_.core_count > 0) return false;  // a second list would overwrite the first
    c_.advance();
    item_->kind = ItemKind::kCpu;
    item_->count = 1;
    item_->v[0] = kUnknownValue;
    std::uint32_t count = 0;
    do {
      if (count == Line::kCoresMax) return false;
      Core& core = line_.core_store[count++];
      core = Core{};
      if (c_.eat("off")) {
        core.off = true;
        continue;
      }
      if (!c_.number(core.load_percent) || !c_.eat('%')) return false;
      if (c_.eat('@') && !c_.number(core.clock_mhz)) return false;
    } while (c_.eat(','));
    if (!c_.eat(']')) return false;
    if (c_.eat('@') && !c_.number(item_->v[0])) return false;
    if (!c_.at_boundary()) return false;
    line_.core_count = count;
    return true;
  }

  bool mts() {
    item_->kind = ItemKind::kMts;
    item_->count = 2;
    if (!c_.eat("fg ") || !c_.number(item_->v[0]) || !c_.eat('%')) return false;
    c_.skip_blanks();
    return c_.eat("bg ") && c_.number(item_->v[1]) && c_.eat('%') && c_.at_boundary();
  }

  Cursor c_;
  Line& line_;
  Item* item_ = nullptr;
  Item spare_;
  std::string_view name_;
};

}  // namespace

void parse_line(std::string_view text, Line& line) { Parser(text, line).run(); }

const Item* Line::rail(std::string_view name) const {
  for (std::uint32_t i = 0; i < rail_count; ++i) {
    const Item& item = item_store[rail_store[i]];
    if (item.name == name) return &item;
  }
  return nullptr;
}

const Item* Line::engine(std::string_view name) const {
  for (const Item& item : items()) {
    if (item.kind == ItemKind::kEngine && item.name == name) return &item;
  }
  return nullptr;
}

const Item* Line::gpu() const {
  const Item* found = engine("GR3D_FREQ");
  return found != nullptr ? found : engine("GR3D");
}

const Item* Line::memory(std::string_view name) const {
  for (const Item& item : items()) {
    if (item.kind == ItemKind::kMemory && item.name == name) return &item;
  }
  return nullptr;
}

}  // namespace laird::power
