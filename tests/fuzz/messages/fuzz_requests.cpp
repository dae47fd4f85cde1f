// Whatever an operator sends is refused with a reason or is a request of a known kind, and it is
// the same request whichever way it came.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/commands/requests.hpp"

namespace {

using namespace laird;
using namespace laird::agent;

void check(const core::OperatorRequest& request) {
  if (const auto* cap = std::get_if<core::CapRequested>(&request)) {
    if (cap->cap_mw && (*cap->cap_mw < 1 || *cap->cap_mw > core::kCapMwMax)) std::abort();
    if (cap->for_ns < 0 || cap->for_ns > core::kCapForMax) std::abort();
  }
  if (const auto* cancel = std::get_if<core::CancelRequested>(&request)) {
    if (cancel->task.empty() || cancel->task.size() > core::kNameBytesMax) std::abort();
  }
  if (const auto* task = std::get_if<core::Submitted>(&request)) {
    if (task->spec.name.empty() || task->spec.params.size() > core::kParamsBytesMax) std::abort();
  }
  if (std::holds_alternative<core::BudgetChanged>(request)) std::abort();
  if (std::holds_alternative<core::ConfigRequested>(request)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first line is the verb, the rest its body.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string_view verb = bytes.substr(0, end);
  const auto body = json::parse(bytes.substr(std::min(end + 1, bytes.size())), "body");
  if (!body) return 0;
  const auto local = parse_request(Way::kLocal, verb, *body);
  const auto from_afar = parse_request(Way::kSigned, verb, *body);
  if (!local && local.error().context.empty()) std::abort();
  if (!from_afar && from_afar.error().context.empty()) std::abort();
  if (const Verb* known = find_verb(verb); known != nullptr && known->who == WhoMay::kBothWays) {
    if (local.has_value() != from_afar.has_value()) std::abort();
    if (local && local->index() != from_afar->index()) std::abort();
    if (local && known->changes != std::holds_alternative<core::OperatorRequest>(*local)) {
      std::abort();
    }
  } else if (known == nullptr && from_afar) {
    std::abort();
  }
  if (local) {
    if (std::holds_alternative<SettingsRequest>(*local)) std::abort();
    if (const auto* request = std::get_if<core::OperatorRequest>(&*local)) check(*request);
  }
  return 0;
}
