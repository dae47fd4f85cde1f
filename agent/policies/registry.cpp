#include <array>

#include "agent/policies/baselines.hpp"
#include "agent/policies/foresight.hpp"
#include "agent/policies/halving.hpp"
#include "agent/policies/laira.hpp"
#include "agent/policies/lara.hpp"
#include "agent/policies/peers.hpp"
#include "agent/policies/policy.hpp"
#include "agent/policies/uara.hpp"
#include "base/require.hpp"

namespace laird::policies {
namespace {

template <class P>
std::unique_ptr<Policy> make() {
  return std::make_unique<P>();
}

template <const LairaForm& form>
std::unique_ptr<Policy> make_laira() {
  return std::make_unique<Laira>(form);
}

template <std::size_t form>
std::unique_ptr<Policy> make_uara() {
  auto inner = make_policy(kUaraForms[form].inner);
  LAIRD_REQUIRE(inner.has_value(), "what UARA wraps is in the registry");
  return std::make_unique<Uara>(kUaraForms[form], std::move(*inner));
}

struct Entry {
  std::string_view name;
  std::unique_ptr<Policy> (*make)();
};

constexpr std::array kEntries = {
    Entry{"asha", &make<Asha>},
    Entry{"edf-admission", &make<EdfAdmission>},
    Entry{"foresight", &make<Foresight>},
    Entry{"laira", &make_laira<kLaira>},
    Entry{"laira-no-pd", &make_laira<kLairaNoPd>},
    Entry{"laira-no-ucb", &make_laira<kLairaNoUcb>},
    Entry{"lara", &make<Lara>},
    Entry{"median-stopping", &make<MedianStopping>},
    Entry{"round-robin", &make<RoundRobin>},
    Entry{"shortest-task-first", &make<ShortestTaskFirst>},
    Entry{"sta", &make_laira<kSta>},
    Entry{"successive-halving", &make<SuccessiveHalving>},
    Entry{kUaraForms[0].name, &make_uara<0>},
    Entry{kUaraForms[1].name, &make_uara<1>},
    Entry{kUaraForms[2].name, &make_uara<2>},
    Entry{kUaraForms[3].name, &make_uara<3>},
    Entry{kUaraForms[4].name, &make_uara<4>},
    Entry{kUaraForms[5].name, &make_uara<5>},
    Entry{kUaraForms[6].name, &make_uara<6>},
    Entry{"uniform", &make<Uniform>},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kEntries.size()> names;
  for (std::size_t i = 0; i < kEntries.size(); ++i) names[i] = kEntries[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> policy_names() { return kNames; }

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.make();
  }
  std::string known;
  for (const std::string_view n : kNames) known += " " + std::string(n);
  return fail(Code::kNotFound, "no policy '" + std::string(name) + "'; there are:" + known);
}

}  // namespace laird::policies
