#include "control/screen/undrawn.hpp"

#include <algorithm>

#include "control/screen/output.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kNamedMax = 4;
constexpr double kHeldMinW = 0.1;  // less is noise of the meter

// Whether more of the fleet's power would help the task.
bool waits_for_share(const TaskView& task) {
  if (task.is_ended() || task.text("state") != "throttled") return false;
  const json::Value* by = at_path(task.task, "throttled/by");
  return by != nullptr && by->is(json::Kind::kString) && by->as_string() == "fleet";
}

// The first few with commas, and how many more.
template <class List, class Name>
std::string listed(const List& list, const Name& name) {
  std::string out;
  for (std::size_t i = 0; i < std::min(list.size(), kNamedMax); ++i) {
    out += (i == 0 ? "" : ", ") + name(list[i]);
  }
  if (list.size() > kNamedMax) out += " and " + std::to_string(list.size() - kNamedMax) + " more";
  return out;
}

}  // namespace

std::optional<Undrawn> undrawn_of(const FleetView& view) {
  const FleetSums sums = sums_of(view);
  if (!sums.budget_w || !sums.power_w) return std::nullopt;
  Undrawn out;
  out.budget_w = *sums.budget_w;
  out.watts = out.budget_w - *sums.power_w;
  out.nobodys_w = std::max(0.0, out.budget_w - sums.enforced_w);
  if (out.watts <= kUndrawnMin * out.budget_w) return std::nullopt;
  for (const auto& [key, task] : view.tasks()) {
    if (waits_for_share(task)) {
      out.throttled.push_back("'" + harmless(task.text("name")) + "' on " + task.board);
    }
  }
  if (out.throttled.empty()) return std::nullopt;
  for (const auto& [id, board] : view.boards()) {
    const auto held =
        board.number(board.is_live() ? "shares/power/enforced_w" : "shares/power/floor_w");
    const double drawn = board.is_live() ? board.number("power_w").value_or(0.0) : 0.0;
    if (held && *held - drawn >= kHeldMinW) out.holders.emplace_back(id, *held - drawn);
  }
  std::stable_sort(out.holders.begin(), out.holders.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

std::string what_text(const Undrawn& undrawn) {
  return fixed(undrawn.watts, 1, " W") + " of " + fixed(undrawn.budget_w, 1, " W") +
         " is drawn by nobody while " +
         listed(undrawn.throttled, [](const std::string& task) { return task; }) +
         (undrawn.throttled.size() == 1 ? " is" : " are") + " throttled";
}

std::string holders_text(const Undrawn& undrawn) {
  std::string out;
  if (undrawn.nobodys_w >= kHeldMinW) {
    out = fixed(undrawn.nobodys_w, 1, " W") + " is given to no board";
  }
  if (undrawn.holders.empty()) return out;
  return out + (out.empty() ? "" : "; ") + "held by " +
         listed(undrawn.holders, [](const auto& holder) {
           return holder.first + " (" + fixed(holder.second, 1, " W") + ")";
         });
}

std::string text_of(const Undrawn& undrawn) {
  return what_text(undrawn) + ":\n  " + holders_text(undrawn);
}

json::Value json_of(const Undrawn& undrawn) {
  using json::Value;
  Value holders = Value::array();
  for (const auto& [id, watts] : undrawn.holders) {
    holders.add(Value::object().set("node", id).set("undrawn_w", watts));
  }
  Value tasks = Value::array();
  for (const std::string& task : undrawn.throttled) tasks.add(task);
  return Value::object()
      .set("undrawn_w", undrawn.watts)
      .set("holders", std::move(holders))
      .set("throttled", std::move(tasks))
      .set("given_to_none_w", undrawn.nobodys_w)
      .set("text", what_text(undrawn) + ": " + holders_text(undrawn));
}

}  // namespace laird::control
