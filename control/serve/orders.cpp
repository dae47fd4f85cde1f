#include "control/serve/orders.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "config/schema.hpp"
#include "config/units.hpp"
#include "json/value.hpp"

namespace laird::control::serve {
namespace {

using json::Kind;
using json::Value;

// The text of a key. Absent keys are empty.
Result<std::string> text_of(const Value& order, const char* key) {
  const Value* value = order.find(key);
  if (value == nullptr) return std::string();
  if (!value->is(Kind::kString)) {
    return fail(Code::kInvalid, std::string(key) + ": a text is wanted");
  }
  return value->as_string();
}

// Names hold nothing that could be taken for an option.
Result<std::string> name_of(const Value& order, const char* key, bool needed) {
  auto name = text_of(order, key);
  LAIRD_TRY(name);
  if (name->empty() && !needed) return name;
  if (!config::is_name(*name)) {
    return fail(Code::kInvalid, std::string(key) +
                                    ": a name is 1 to 32 of a-z, 0-9 and -, and "
                                    "does not start with -");
  }
  return name;
}

Result<Order> task_order(const Value& order, const std::string& verb) {
  const auto board = name_of(order, "board", true);
  LAIRD_TRY(board);
  const auto task = name_of(order, "task", true);
  LAIRD_TRY(task);
  Order out{{verb, *task, "--node", *board}, {}};
  if (verb == "cancel") out.arguments.emplace_back("--yes");
  return out;
}

Result<Order> board_order(const Value& order, const std::string& verb) {
  const auto board = name_of(order, "board", true);
  LAIRD_TRY(board);
  return Order{{verb, *board, "--yes"}, {}};
}

Result<Order> cap_order(const Value& order) {
  const auto board = name_of(order, "board", false);
  LAIRD_TRY(board);
  const auto power = text_of(order, "power");
  LAIRD_TRY(power);
  const auto duration = text_of(order, "for");
  LAIRD_TRY(duration);
  Order out;
  if (*power == "clear") {
    out.arguments = {"cap", "clear"};
  } else {
    const auto watts = config::parse_power(*power);
    if (!watts) return fail(Code::kInvalid, "power: " + watts.error().context);
    out.arguments = {"cap", "set", *power};
    if (!duration->empty()) {
      const auto time = config::parse_duration(*duration);
      if (!time) return fail(Code::kInvalid, "for: " + time.error().context);
      out.arguments.insert(out.arguments.end(), {"--for", *duration});
    }
  }
  if (!board->empty()) out.arguments.insert(out.arguments.end(), {"--node", *board});
  return out;
}

Result<Order> submit_order(const Value& order) {
  const auto board = name_of(order, "board", false);
  LAIRD_TRY(board);
  auto task = text_of(order, "task");
  LAIRD_TRY(task);
  if (task->empty()) return fail(Code::kInvalid, "task: the task itself is missing");
  Order out{{"submit", "-f", "-"}, std::move(*task)};
  if (board->empty()) {
    out.arguments.emplace_back("--any");
  } else {
    out.arguments.insert(out.arguments.end(), {"--node", *board});
  }
  return out;
}

}  // namespace

Result<Order> parse_order(std::string_view body) {
  json::ParseLimits limits;
  limits.bytes_max = kOrderBytesMax;
  limits.depth_max = 2;
  limits.values_max = 16;
  const auto order = json::parse(body, "the order", limits);
  LAIRD_TRY(order);
  static constexpr std::array<std::string_view, 5> kKeys = {"verb", "board", "task", "power",
                                                            "for"};
  for (const Value::Member& member : order->members()) {
    if (std::find(kKeys.begin(), kKeys.end(), member.first) == kKeys.end()) {
      return fail(Code::kInvalid, "an order has no '" + member.first + "'");
    }
  }
  const auto verb = text_of(*order, "verb");
  LAIRD_TRY(verb);
  if (*verb == "cancel" || *verb == "pause" || *verb == "resume") return task_order(*order, *verb);
  if (*verb == "drain" || *verb == "undrain") return board_order(*order, *verb);
  if (*verb == "cap") return cap_order(*order);
  if (*verb == "submit") return submit_order(*order);
  return fail(Code::kInvalid,
              "verb: one of cancel, pause, resume, drain, undrain, cap, submit is wanted");
}

}  // namespace laird::control::serve
