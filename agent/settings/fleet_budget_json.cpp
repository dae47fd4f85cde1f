#include "agent/settings/fleet_budget_json.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "config/schema.hpp"

namespace laird::agent {
namespace {

using core::Amounts;
using core::Resource;
using json::Kind;
using json::Value;

struct AmountName {
  const char* name;
  double scale;  // to the core's unit
};
constexpr EnumArray<Resource, AmountName, core::kResources> kAmounts{
    {{{"cpu_cores", 1e3}, {"gpus", 1e6}, {"power_w", 1e3}}}};

Result<std::int64_t> amount(const Value& object, const AmountName& what, std::int64_t otherwise,
                            const std::string& where) {
  const Value* value = object.find(what.name);
  if (value == nullptr || value->is(Kind::kNull)) return otherwise;
  const double given = value->is_number() ? value->as_double() : -1.0;
  const double scaled = given * what.scale;
  if (!(scaled >= 0.0) || scaled > static_cast<double>(core::kAmountMax)) {
    return fail(Code::kInvalid, where + "/" + what.name + ": expected a number, 0 or more");
  }
  return std::llround(scaled);
}

Result<Amounts> amounts(const Value& object, std::int64_t otherwise, const std::string& where) {
  Amounts out{};
  for (std::size_t r = 0; r < core::kResources; ++r) {
    const Result<std::int64_t> one = amount(object, kAmounts[r], otherwise, where);
    LAIRD_TRY(one);
    out[r] = *one;
  }
  return out;
}

Result<std::int64_t> integer(const Value& body, const char* name, std::int64_t min,
                             std::int64_t max) {
  const Value* value = body.find(name, Kind::kInteger);
  if (value == nullptr || value->as_integer() < min || value->as_integer() > max) {
    return fail(Code::kInvalid, std::string("/") + name + ": expected a whole number from " +
                                    std::to_string(min) + " to " + std::to_string(max));
  }
  return value->as_integer();
}

Value amounts_json(const Amounts& amounts) {
  Value out = Value::object();
  for (std::size_t r = 0; r < core::kResources; ++r) {
    if (amounts[r] == core::kUnlimited) continue;
    out.set(kAmounts[r].name, static_cast<double>(amounts[r]) / kAmounts[r].scale);
  }
  return out;
}

Status read_members(const Value& body, core::FleetBudget& budget) {
  const Value* founders = body.find("founders", Kind::kArray);
  const Value* members = body.find("members", Kind::kObject);
  if (founders == nullptr || members == nullptr) {
    return fail(Code::kInvalid, "a budget needs \"founders\", a list, and \"members\", an object");
  }
  if (founders->items().size() > core::kMembersMax ||
      members->members().size() > core::kMembersMax) {
    return fail(Code::kInvalid, "a fleet has at most " + std::to_string(core::kMembersMax) +
                                    " founders and members");
  }
  for (const Value& id : founders->items()) {
    if (!id.is(Kind::kString) || !config::is_name(id.as_string())) {
      return fail(Code::kInvalid, "/founders: expected names of boards");
    }
    budget.founders.push_back(id.as_string());
  }
  for (const auto& [id, floors] : members->members()) {
    if (!config::is_name(id) || !floors.is(Kind::kObject)) {
      return fail(Code::kInvalid, "/members/" + id + ": expected a board's name and its floors");
    }
    const Result<Amounts> floor = amounts(floors, 0, "/members/" + id);
    LAIRD_TRY(floor);
    budget.members.push_back({id, *floor});
  }
  std::sort(budget.founders.begin(), budget.founders.end());
  std::sort(budget.members.begin(), budget.members.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return {};
}

}  // namespace

Result<core::FleetBudget> parse_fleet_budget(const Value& body) {
  core::FleetBudget budget;
  const Result<std::int64_t> rev = integer(body, "rev", 1, 1'000'000'000'000);
  LAIRD_TRY(rev);
  const Result<std::int64_t> epoch = integer(body, "epoch", 1, 1'000'000'000);
  LAIRD_TRY(epoch);
  budget.rev = static_cast<std::uint64_t>(*rev);
  budget.founding_epoch = static_cast<std::uint32_t>(*epoch);
  LAIRD_TRY(read_members(body, budget));
  if (const Value* total = body.find("budget", Kind::kObject)) {
    const Result<Amounts> given = amounts(*total, core::kUnlimited, "/budget");
    LAIRD_TRY(given);
    budget.total = *given;
  }
  if (const Value* now = body.find("power_for_now", Kind::kObject)) {
    const AmountName& power = kAmounts[Resource::kPower];
    const Result<std::int64_t> mw = amount(*now, power, core::kUnlimited, "/power_for_now");
    LAIRD_TRY(mw);
    const Result<std::int64_t> until = integer(*now, "until_ms", 0, core::kTimeMax / kMillisecond);
    LAIRD_TRY(until);
    budget.power_mw_for_now = *mw;
    budget.power_for_now_until_wall = *until * kMillisecond;
  }
  LAIRD_TRY(core::check_fleet_budget(budget));
  return budget;
}

Value fleet_budget_json(const core::FleetBudget& budget) {
  Value founders = Value::array();
  for (const std::string& id : budget.founders) founders.add(id);
  Value members = Value::object();
  for (const core::FleetMember& m : budget.members) members.set(m.id, amounts_json(m.floor));
  Value out = Value::object()
                  .set("rev", budget.rev)
                  .set("epoch", budget.founding_epoch)
                  .set("founders", std::move(founders))
                  .set("members", std::move(members))
                  .set("budget", amounts_json(budget.total));
  if (budget.power_mw_for_now != core::kUnlimited) {
    out.set("power_for_now", Value::object()
                                 .set("power_w", static_cast<double>(budget.power_mw_for_now) / 1e3)
                                 .set("until_ms", budget.power_for_now_until_wall / kMillisecond));
  }
  return out;
}

}  // namespace laird::agent
