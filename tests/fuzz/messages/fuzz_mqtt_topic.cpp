// Topics: what parses comes back to the same text. Filters: the matcher agrees with a plain one
// that works level by level.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mqtt/codec/topics.hpp"

namespace {

std::vector<std::string> levels_of(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '/') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

bool matches_plainly(std::string_view filter, std::string_view topic) {
  const auto wanted = levels_of(filter);
  const auto given = levels_of(topic);
  if (topic[0] == '$' && (wanted[0] == "+" || wanted[0] == "#")) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == "#") return true;
    if (i >= given.size()) return false;
    if (wanted[i] != "+" && wanted[i] != given[i]) return false;
    // "a/#" takes "a" as well.
    if (i + 1 == given.size() && i + 2 == wanted.size() && wanted[i + 1] == "#") return true;
  }
  return wanted.size() == given.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto topic = laird::mqtt::parse_topic(bytes);
  if (topic && laird::mqtt::to_text(*topic) != bytes) std::abort();
  if (topic && !laird::mqtt::is_valid_topic(bytes)) std::abort();
  const auto place = laird::mqtt::reply_topic_for(bytes, "lab", "n-1", size % 2 == 0);
  if (place && place->substr(0, 17) != "laird/v1/lab/res/") std::abort();

  const std::size_t cut = bytes.find('\n');
  if (cut == std::string_view::npos) return 0;
  const std::string_view filter = bytes.substr(0, cut);
  const std::string_view name = bytes.substr(cut + 1);
  const bool matched = laird::mqtt::matches(filter, name);
  const bool valid = laird::mqtt::is_valid_filter(filter) && laird::mqtt::is_valid_topic(name);
  if (matched != (valid && matches_plainly(filter, name))) std::abort();
  return 0;
}
