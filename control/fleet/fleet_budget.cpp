#include "control/fleet/fleet_budget.hpp"

#include <algorithm>
#include <cstdio>

#include "agent/settings/fleet_budget_json.hpp"
#include "control/fleet/exit.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using core::FleetBudget;
using core::Resource;
using json::Value;

std::string watts(std::int64_t mw) {
  return mw == core::kUnlimited ? "not limited" : fixed(static_cast<double>(mw) / 1e3, 1, " W");
}

}  // namespace

Result<FleetBudget> budget_in_force(FleetClient& client, DurationNs timeout) {
  LAIRD_TRY(client.load_key());
  const auto& retained = client.view().budget();
  if (retained && client.budget_is_mine()) {
    if (auto budget = agent::parse_fleet_budget(retained->body)) return budget;
  }

  std::set<std::string> boards;
  for (const auto& [id, board] : client.view().boards()) {
    if (board.is_live()) boards.insert(id);
  }
  if (boards.empty()) {
    return fail(Code::kUnavailable, "no live board can say what budget is in force");
  }
  const auto replies = client.ask_all("get", Value::object().set("what", "plan"), boards, timeout);
  LAIRD_TRY(replies);
  Result<FleetBudget> best = fail(Code::kUnavailable, "no board told its budget");
  for (const auto& [board, reply] : *replies) {
    if (reply.code != mqtt::ReplyCode::kOk) {
      if (!best) best = fail(Code::kRefused, board + ": " + harmless(reply.text));
      continue;
    }
    // Revision 0 is what the board's own config file says. It cannot be published as it is.
    Value body = reply.data;
    const auto rev = number_at(body, "rev");
    if (rev && *rev == 0.0) body.set("rev", 1);
    auto budget = agent::parse_fleet_budget(body);
    if (!budget) continue;
    if (rev && *rev == 0.0) budget->rev = 0;
    if (!best || budget->rev > best->rev) best = std::move(budget);
  }
  // Another operator's budget may be newer than the one the boards have. Ours must be newer than
  // both.
  if (best && retained && retained->rev > 0 &&
      static_cast<std::uint64_t>(retained->rev) > best->rev) {
    best->rev = static_cast<std::uint64_t>(retained->rev);
  }
  return best;
}

FleetBudget with_power(FleetBudget budget, std::int64_t power_mw) {
  ++budget.rev;
  budget.total[Resource::kPower] = power_mw;
  budget.power_mw_for_now = core::kUnlimited;
  budget.power_for_now_until_wall = 0;
  return budget;
}

FleetBudget with_power_until(FleetBudget budget, std::int64_t power_mw,
                             std::int64_t until_unix_ms) {
  ++budget.rev;
  budget.power_mw_for_now = power_mw;
  budget.power_for_now_until_wall = until_unix_ms * kMillisecond;
  return budget;
}

void add_member(FleetBudget& budget, const std::string& id) {
  if (budget.member(id) != nullptr) return;
  budget.members.push_back({id, {}});
  std::sort(budget.members.begin(), budget.members.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

FleetBudget with_member(FleetBudget budget, const std::string& id, std::int64_t floor_mw) {
  ++budget.rev;
  add_member(budget, id);
  for (core::FleetMember& member : budget.members) {
    if (member.id == id) member.floor[Resource::kPower] = floor_mw;
  }
  return budget;
}

FleetBudget without_member(FleetBudget budget, const std::string& id) {
  ++budget.rev;
  std::erase_if(budget.members, [&](const core::FleetMember& member) { return member.id == id; });
  return budget;
}

FleetBudget without_power_cap(FleetBudget budget, bool budget_too) {
  ++budget.rev;
  budget.power_mw_for_now = core::kUnlimited;
  budget.power_for_now_until_wall = 0;
  if (budget_too) budget.total[Resource::kPower] = core::kUnlimited;
  return budget;
}

std::string power_text(const FleetBudget& budget, std::int64_t now_unix_ms) {
  const std::string lasting = watts(budget.total[Resource::kPower]);
  const bool for_now = budget.power_mw_for_now != core::kUnlimited &&
                       budget.power_for_now_until_wall / kMillisecond > now_unix_ms;
  if (!for_now) return "power " + lasting;
  return "power " + watts(budget.power_mw_for_now) + " until " +
         mqtt::time_text(budget.power_for_now_until_wall / kMillisecond) + ", then " + lasting;
}

int put_in_force(FleetClient& client, const FleetBudget& budget, DurationNs timeout) {
  // A budget that every board refuses must not be published: the broker would keep it and send it
  // to every board that connects.
  if (const Status ok = core::check_fleet_budget(budget); !ok) return complain(ok.error());
  if (const Status ok = client.publish_budget(agent::fleet_budget_json(budget), timeout); !ok) {
    return complain(ok.error());
  }
  const auto rev = static_cast<double>(budget.rev);
  const FleetView& view = client.view();
  const auto has_it = [&](const std::string& id) {
    const auto found = view.boards().find(id);
    return found != view.boards().end() && found->second.is_live() &&
           found->second.number("config_rev").value_or(-1.0) >= rev;
  };
  const auto is_live = [&](const std::string& id) {
    const auto found = view.boards().find(id);
    return found != view.boards().end() && found->second.is_live();
  };
  client.wait(after(timeout), [&] {
    return std::all_of(budget.members.begin(), budget.members.end(),
                       [&](const core::FleetMember& m) { return has_it(m.id) || !is_live(m.id); });
  });
  std::size_t have = 0;
  std::string others;
  for (const core::FleetMember& member : budget.members) {
    if (has_it(member.id)) {
      ++have;
      continue;
    }
    const auto found = view.boards().find(member.id);
    others += "; " + member.id +
              (found == view.boards().end() ? " has never been seen"
               : found->second.is_live()    ? " has not taken it yet"
                                            : " is " + found->second.state);
  }
  print("budget %llu: %s; in force on %zu of %zu%s\n", static_cast<unsigned long long>(budget.rev),
        power_text(budget, unix_ms_now()).c_str(), have, budget.members.size(), others.c_str());
  if (have == budget.members.size()) return 0;
  for (const EventView& event : client.view().events()) {
    const Value* kind = event.event.find("kind", json::Kind::kString);
    const Value* text = event.event.find("text", json::Kind::kString);
    if (kind == nullptr || text == nullptr || kind->as_string() != "refused-command") continue;
    say(event.board + " refused: " + harmless(text->as_string()));
  }
  say("the broker keeps the budget: the others take it when they are back");
  return have == 0 ? kTimedOut : kPartial;
}

}  // namespace laird::control
