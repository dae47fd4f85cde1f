#include "control/provision/waves.hpp"

#include <algorithm>

namespace laird::control {
namespace {

constexpr std::size_t kWavesMax = 32;

// The boards of one step: "3", "5%", "all".
Result<std::size_t> step_of(const std::string& word, std::size_t boards) {
  if (word == "all") return boards;
  const bool part = word.ends_with("%");
  const std::string digits = part ? word.substr(0, word.size() - 1) : word;
  const bool plain = !digits.empty() && digits.size() <= 6 &&
                     digits.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t number = plain ? std::stoul(digits) : 0;
  if (number == 0 || (part && number > 100)) {
    return fail(Code::kInvalid, "--waves: '" + word +
                                    "' is no wave; write counts, parts and all, "
                                    "growing: 1,5%,25%,all");
  }
  return std::min(boards, part ? (boards * number + 99) / 100 : number);
}

}  // namespace

Result<std::vector<std::size_t>> waves_of(const std::string& text, std::size_t boards) {
  std::vector<std::size_t> out;
  std::size_t words = 0;
  for (std::size_t at = 0; at <= text.size() && words < kWavesMax; ++words) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto step = step_of(text.substr(at, comma - at), boards);
    LAIRD_TRY(step);
    if (*step > (out.empty() ? 0 : out.back())) out.push_back(*step);
    at = comma + 1;
  }
  if (boards > (out.empty() ? 0 : out.back())) out.push_back(boards);
  return out;
}

}  // namespace laird::control
