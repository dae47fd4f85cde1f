#include "control/fleet/plan.hpp"

#include <algorithm>
#include <cstdio>

#include "agent/settings/fleet_budget_json.hpp"
#include "control/fleet/exit.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using core::FleetPlan;
using core::Resource;
using json::Value;

constexpr auto kPower = static_cast<std::size_t>(Resource::kPower);

std::string watts(std::int64_t mw) {
  return mw == core::kUnlimited ? "not limited" : fixed(static_cast<double>(mw) / 1e3, 1, " W");
}

}  // namespace

Result<FleetPlan> plan_in_force(FleetClient& client, DurationNs timeout) {
  if (const Status ok = client.load_key(); !ok) return tl::make_unexpected(ok.error());
  const auto& retained = client.view().plan();
  if (retained && client.plan_is_mine()) {
    if (auto plan = shell::parse_plan(retained->body)) return plan;
  }

  std::set<std::string> boards;
  for (const auto& [id, board] : client.view().boards()) {
    if (board.is_live()) boards.insert(id);
  }
  if (boards.empty()) {
    return fail(Code::kUnavailable, "no live board can say what plan is in force");
  }
  const auto replies =
      client.ask_all("get", Value::object().set("what", Value::string("plan")), boards, timeout);
  if (!replies) return tl::make_unexpected(replies.error());
  Result<FleetPlan> best = fail(Code::kUnavailable, "no board told its plan");
  for (const auto& [board, reply] : *replies) {
    if (reply.code != mqtt::ReplyCode::kOk) {
      if (!best) best = fail(Code::kRefused, board + ": " + harmless(reply.text));
      continue;
    }
    // Revision 0 is the board's own config file: in form it is no plan that may be published.
    Value body = reply.data;
    const auto rev = number_at(body, "rev");
    if (rev && *rev == 0.0) body.set("rev", Value::integer(1));
    auto plan = shell::parse_plan(body);
    if (!plan) continue;
    if (rev && *rev == 0.0) plan->rev = 0;
    if (!best || plan->rev > best->rev) best = std::move(plan);
  }
  // Somebody else's plan may be newer than what the boards have; ours must be newer still.
  if (best && retained && retained->rev > 0 &&
      static_cast<std::uint64_t>(retained->rev) > best->rev) {
    best->rev = static_cast<std::uint64_t>(retained->rev);
  }
  return best;
}

FleetPlan with_power(FleetPlan plan, std::int64_t power_mw) {
  ++plan.rev;
  plan.budget[kPower] = power_mw;
  plan.power_mw_for_now = core::kUnlimited;
  plan.power_for_now_until_wall = 0;
  return plan;
}

FleetPlan with_power_until(FleetPlan plan, std::int64_t power_mw, std::int64_t until_unix_ms) {
  ++plan.rev;
  plan.power_mw_for_now = power_mw;
  plan.power_for_now_until_wall = until_unix_ms * kMillisecond;
  return plan;
}

void add_member(FleetPlan& plan, const std::string& id) {
  if (plan.member(id) != nullptr) return;
  plan.members.push_back({id, {}});
  std::sort(plan.members.begin(), plan.members.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

FleetPlan with_member(FleetPlan plan, const std::string& id, std::int64_t floor_mw) {
  ++plan.rev;
  add_member(plan, id);
  for (core::FleetMember& member : plan.members) {
    if (member.id == id) member.floor[kPower] = floor_mw;
  }
  return plan;
}

FleetPlan without_member(FleetPlan plan, const std::string& id) {
  ++plan.rev;
  std::erase_if(plan.members, [&](const core::FleetMember& member) { return member.id == id; });
  return plan;
}

FleetPlan without_power_cap(FleetPlan plan, bool budget_too) {
  ++plan.rev;
  plan.power_mw_for_now = core::kUnlimited;
  plan.power_for_now_until_wall = 0;
  if (budget_too) plan.budget[kPower] = core::kUnlimited;
  return plan;
}

std::string power_text(const FleetPlan& plan, std::int64_t now_unix_ms) {
  const std::string lasting = watts(plan.budget[kPower]);
  const bool for_now = plan.power_mw_for_now != core::kUnlimited &&
                       plan.power_for_now_until_wall / kMillisecond > now_unix_ms;
  if (!for_now) return "power " + lasting;
  return "power " + watts(plan.power_mw_for_now) + " until " +
         mqtt::time_text(plan.power_for_now_until_wall / kMillisecond) + ", then " + lasting;
}

int put_in_force(FleetClient& client, const FleetPlan& plan, DurationNs timeout) {
  // The broker would keep a plan that every board refuses, and tell it to each that comes.
  if (const Status ok = core::check_plan(plan); !ok) return complain(ok.error());
  if (const Status ok = client.publish_plan(shell::plan_json(plan), timeout); !ok) {
    return complain(ok.error());
  }
  const auto rev = static_cast<double>(plan.rev);
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
    return std::all_of(plan.members.begin(), plan.members.end(),
                       [&](const core::FleetMember& m) { return has_it(m.id) || !is_live(m.id); });
  });
  std::size_t have = 0;
  std::string others;
  for (const core::FleetMember& member : plan.members) {
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
  std::printf("plan %llu: %s; in force on %zu of %zu%s\n",
              static_cast<unsigned long long>(plan.rev), power_text(plan, unix_ms_now()).c_str(),
              have, plan.members.size(), others.c_str());
  if (have == plan.members.size()) return 0;
  for (const EventView& event : client.view().events()) {
    const Value* kind = event.event.find("kind", json::Kind::kString);
    const Value* text = event.event.find("text", json::Kind::kString);
    if (kind == nullptr || text == nullptr || kind->as_string() != "refused-command") continue;
    say(event.board + " refused: " + harmless(text->as_string()));
  }
  say("the broker keeps the plan: the others take it when they are back");
  return have == 0 ? kTimedOut : kPartial;
}

}  // namespace laird::control
