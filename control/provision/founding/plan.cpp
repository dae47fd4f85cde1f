#include "control/provision/founding/plan.hpp"

#include <algorithm>

#include "config/schema.hpp"
#include "config/units.hpp"
#include "control/provision/secure_files.hpp"
#include "mqtt/codec/topics.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::control {
namespace {

using core::Resource;
using json::Kind;
using json::Value;

constexpr std::size_t kFileBytesMax = 1 << 20;

std::string file_of(const std::string& pki) { return pki + "/fleet.json"; }

tl::unexpected<Error> wrong(const std::string& path, const std::string& what) {
  return fail(Code::kCorrupt, path + ": " + what + "; lairctl fleet create writes it");
}

Result<std::int64_t> power_of(const Value& from, const char* key, const std::string& path) {
  const Value* text = from.find(key, Kind::kString);
  if (text == nullptr) return wrong(path, std::string("no ") + key);
  const auto mw = config::parse_power(text->as_string());
  if (!mw) return wrong(path, std::string(key) + ": " + mw.error().context);
  return *mw;
}

}  // namespace

std::string FoundingPlan::broker_url() const {
  const std::string host = hosts.empty() ? "" : hosts.front();
  const bool bare_v6 = host.find(':') != std::string::npos;
  return "mqtts://" + (bare_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

core::FleetBudget FoundingPlan::budget() const {
  core::FleetBudget out;
  out.founding_epoch = 1;
  for (const PlannedBoard& board : boards) {
    out.founders.push_back(board.id);
    core::FleetMember member{board.id, {}};
    member.floor[Resource::kPower] = board.floor_mw;
    out.members.push_back(std::move(member));
  }
  out.total[Resource::kPower] = budget_mw;
  return out;
}

Result<std::int64_t> floor_for(const std::string& id, const std::string& type,
                               std::optional<std::int64_t> floor_mw) {
  if (type.empty()) {
    if (floor_mw) return *floor_mw;
    return fail(Code::kInvalid, "which module is " + id + "? write " + id +
                                    "=orin-nano-8gb, or another name that `laird board` shows, or "
                                    "give --floor: at least what the board draws idle");
  }
  const auto board = power::find_board(type, "");
  LAIRD_TRY(board);
  const std::int64_t idle = board->model.idle_mw;
  if (!floor_mw) return std::max(idle, board->power_mw_min);
  if (*floor_mw >= idle) return *floor_mw;
  return fail(Code::kRefused, "a floor of " + config::format_power(*floor_mw) + " for " + id +
                                  " cannot be kept: " + board->title + " draws " +
                                  config::format_power(idle) +
                                  " idle by its board file; give at least that");
}

Result<PlannedBoard> plan_board(const std::string& text, std::optional<std::int64_t> floor_mw) {
  PlannedBoard out;
  const std::size_t equals = text.find('=');
  out.id = text.substr(0, equals);
  if (equals != std::string::npos) out.type = text.substr(equals + 1);
  if (!mqtt::is_node_id(out.id)) {
    return fail(Code::kInvalid, "'" + out.id + "' is no board's name: 1 to 32 of a-z, 0-9 and -");
  }
  const auto floor = floor_for(out.id, out.type, floor_mw);
  LAIRD_TRY(floor);
  out.floor_mw = *floor;
  return out;
}

Status check_plan(const FoundingPlan& plan) {
  if (!config::is_name(plan.fleet)) {
    return fail(Code::kInvalid, "'" + plan.fleet + "' is no fleet's name: 1 to 32 of a-z, 0-9, -");
  }
  if (plan.hosts.empty()) {
    return fail(Code::kInvalid,
                "by which name or address is the broker reached? --host broker.local");
  }
  if (plan.boards.empty()) return {};
  std::int64_t floors = 0;
  for (const PlannedBoard& board : plan.boards) floors += board.floor_mw;
  if (plan.budget_mw != core::kUnlimited && floors > plan.budget_mw) {
    return fail(Code::kRefused, "the floors of " + std::to_string(plan.boards.size()) +
                                    " boards add up to " + config::format_power(floors) +
                                    ", more than the budget of " +
                                    config::format_power(plan.budget_mw));
  }
  return core::check_fleet_budget(plan.budget());
}

std::string plan_text(const FoundingPlan& plan) {
  Value hosts = Value::array();
  for (const std::string& host : plan.hosts) hosts.add(host);
  Value boards = Value::object();
  for (const PlannedBoard& board : plan.boards) {
    Value one = Value::object();
    if (!board.type.empty()) one.set("type", board.type);
    one.set("floor", config::format_power(board.floor_mw));
    boards.set(board.id, std::move(one));
  }
  Value out = Value::object()
                  .set("s", "laird.founding/1.0")
                  .set("fleet", plan.fleet)
                  .set("hosts", std::move(hosts))
                  .set("port", plan.port)
                  .set("operator", plan.op);
  if (plan.budget_mw != core::kUnlimited) out.set("budget", config::format_power(plan.budget_mw));
  return json::to_pretty_text(out.set("boards", std::move(boards))) + "\n";
}

Result<FoundingPlan> parse_plan(std::string_view text, const std::string& path) {
  json::ParseLimits limits;
  limits.bytes_max = kFileBytesMax;
  const auto value = json::parse(text, path, limits);
  LAIRD_TRY(value);
  const Value* fleet = value->find("fleet", Kind::kString);
  const Value* hosts = value->find("hosts", Kind::kArray);
  const Value* port = value->find("port", Kind::kInteger);
  const Value* op = value->find("operator", Kind::kString);
  const Value* boards = value->find("boards", Kind::kObject);
  if (fleet == nullptr || hosts == nullptr || port == nullptr || op == nullptr ||
      boards == nullptr || port->as_integer() < 1 || port->as_integer() > 65'535) {
    return wrong(path, "it has fleet, hosts, port, operator and boards");
  }
  FoundingPlan out;
  out.fleet = fleet->as_string();
  out.port = static_cast<std::uint16_t>(port->as_integer());
  out.op = op->as_string();
  for (const Value& host : hosts->items()) {
    if (!host.is(Kind::kString)) return wrong(path, "a host is a text");
    out.hosts.push_back(host.as_string());
  }
  if (value->find("budget") != nullptr) {
    const auto mw = power_of(*value, "budget", path);
    LAIRD_TRY(mw);
    out.budget_mw = *mw;
  }
  for (const auto& [id, board] : boards->members()) {
    const Value* type = board.find("type", Kind::kString);
    const auto floor = power_of(board, "floor", path);
    LAIRD_TRY(floor);
    out.boards.push_back({id, type == nullptr ? "" : type->as_string(), *floor});
  }
  std::sort(out.boards.begin(), out.boards.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const Status good = check_plan(out);
  if (!good) return wrong(path, good.error().context);
  return out;
}

Result<FoundingPlan> read_plan(const std::string& pki) {
  const auto text = config::read_file(file_of(pki), kFileBytesMax);
  LAIRD_TRY(text);
  return parse_plan(*text, file_of(pki));
}

Status write_plan(const std::string& pki, const FoundingPlan& plan) {
  return write_file(file_of(pki), plan_text(plan), kSecretMode, IfThere::kReplace);
}

}  // namespace laird::control
