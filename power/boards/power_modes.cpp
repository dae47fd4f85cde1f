#include "power/boards/power_modes.hpp"

#include <algorithm>
#include <charconv>

#include "config/schema.hpp"

namespace laird::power {
namespace {

constexpr std::size_t kFileBytesMax = 256 * 1024;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The value of KEY= in "< POWER_MODEL ID=0 NAME=MAXN >", up to the next space.
std::string_view value_of(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(" \t>"));
}

bool number(std::string_view text, std::int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty() && out >= 0;
}

template <class Line>
void each_line(std::string_view text, Line line) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool is_of_shape(std::string_view line) {
  return line.starts_with("CPU_ONLINE") || line.find("TPC") != std::string_view::npos ||
         line.find("PG_MASK") != std::string_view::npos;
}

}  // namespace

ModeTable parse_mode_table(std::string_view text) {
  ModeTable out;
  bool in_mode = false;
  each_line(text, [&](std::string_view line) {
    if (line.starts_with("<")) {
      in_mode = false;
      ModeTable::Mode mode;
      if (line.find("POWER_MODEL") != std::string_view::npos &&
          number(value_of(line, "ID="), mode.id) && out.modes.size() < kPowerModesMax) {
        mode.name = value_of(line, "NAME=");
        out.modes.push_back(std::move(mode));
        in_mode = true;
      }
      std::int64_t id = 0;
      if (line.find("PM_CONFIG") != std::string_view::npos &&
          number(value_of(line, "DEFAULT="), id)) {
        out.default_id = id;
      }
      return;
    }
    if (in_mode && is_of_shape(line)) out.modes.back().shape += std::string(line) + "\n";
  });
  return out;
}

std::vector<std::vector<std::int64_t>> ModeTable::live_groups() const {
  std::vector<std::vector<std::int64_t>> out;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const auto same = [&](const Mode& mode) { return mode.shape == modes[i].shape; };
    const auto begin = modes.begin();
    if (std::any_of(begin, begin + static_cast<std::ptrdiff_t>(i), same)) continue;
    std::vector<std::int64_t> group;
    for (const Mode& mode : modes) {
      if (same(mode)) group.push_back(mode.id);
    }
    // A mode that says nothing of its cores says nothing of a reboot either.
    if (group.size() >= 2 && !modes[i].shape.empty()) out.push_back(std::move(group));
  }
  return out;
}

bool ModeTable::needs_reboot(std::int64_t from, std::int64_t to) const {
  const auto find = [this](std::int64_t id) -> const Mode* {
    for (const Mode& mode : modes) {
      if (mode.id == id) return &mode;
    }
    return nullptr;
  };
  const Mode* a = find(from);
  const Mode* b = find(to);
  return a != nullptr && b != nullptr && a->shape != b->shape;
}

ModeTable read_mode_table(const std::string& root) {
  const Result<std::string> text = config::read_file(root + "/etc/nvpmodel.conf", kFileBytesMax);
  return text ? parse_mode_table(*text) : ModeTable{};
}

std::vector<std::int64_t> read_live_modes(const std::string& root) {
  std::vector<std::int64_t> out;
  const Result<std::string> text = config::read_file(root + "/etc/laird/live_modes", 4096);
  if (!text) return out;
  each_line(*text, [&out](std::string_view line) {
    std::int64_t id = 0;
    if (number(line, id) && out.size() < kPowerModesMax) out.push_back(id);
  });
  return out;
}

}  // namespace laird::power
