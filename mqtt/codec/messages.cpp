#include "mqtt/codec/messages.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/require.hpp"
#include "mqtt/codec/board_facts.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::mqtt {
namespace {

using json::Kind;
using json::Value;

constexpr std::array<std::pair<NodeState, std::string_view>, 6> kStateNames = {{
    {NodeState::kReady, "ready"},
    {NodeState::kDraining, "draining"},
    {NodeState::kDrained, "drained"},
    {NodeState::kAlert, "alert"},
    {NodeState::kOffline, "offline"},
    {NodeState::kLost, "lost"},
}};

constexpr std::size_t kFewValues = 64;

// Counters stay far below 2^63; a JSON number of ours is an int64.
Value count(std::uint64_t n) {
  return Value::integer(static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX)));
}

Value thousandths(std::int64_t n) { return Value::number(static_cast<double>(n) / 1000.0); }

void put_two(std::string& out, std::int64_t n) {
  out += static_cast<char>('0' + n / 10 % 10);
  out += static_cast<char>('0' + n % 10);
}

struct Date {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
};

// The proleptic Gregorian calendar, years counted from March so that the leap day comes last.
Date date_of(std::int64_t days_since_1970) {
  const std::int64_t days = days_since_1970 + 719'468;  // since 0000-03-01
  const std::int64_t era = days / 146'097;              // of 400 years
  const std::int64_t day_of_era = days % 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;  // 0 is March
  Date out;
  out.day = day_of_year - (153 * month + 2) / 5 + 1;
  out.month = month < 10 ? month + 3 : month - 9;
  out.year = era * 400 + year_of_era + (out.month <= 2 ? 1 : 0);
  return out;
}

Value share(const Share& from, std::string_view unit, bool in_thousands) {
  const auto amount = [in_thousands](std::int64_t n) {
    if (n < 0) return Value();  // not limited
    return in_thousands ? thousandths(n) : Value::integer(n);
  };
  const std::string suffix = "_" + std::string(unit);
  Value out = Value::object();
  out.set("parts", from.parts);
  out.set("enforced" + suffix, amount(from.enforced));
  out.set("floor" + suffix, amount(from.floor));
  out.set("budget" + suffix, amount(from.budget));
  out.set("demand" + suffix, amount(from.demand));
  return out;
}

Value headed(std::string_view schema) {
  return Value::object().set("s", std::string(schema) + "/1.0");
}

Value texts(const std::vector<std::string>& from) {
  Value out = Value::array();
  for (const std::string& text : from) out.add(text);
  return out;
}

}  // namespace

std::string time_text(std::int64_t unix_ms) {
  const std::int64_t ms = std::clamp<std::int64_t>(unix_ms, 0, kUnixMsMax);
  const Date date = date_of(ms / 86'400'000);
  const std::int64_t of_day = ms % 86'400'000;
  std::string out;
  put_two(out, date.year / 100);
  put_two(out, date.year % 100);
  out += '-';
  put_two(out, date.month);
  out += '-';
  put_two(out, date.day);
  out += 'T';
  put_two(out, of_day / 3'600'000);
  out += ':';
  put_two(out, of_day / 60'000 % 60);
  out += ':';
  put_two(out, of_day / 1'000 % 60);
  out += '.';
  out += static_cast<char>('0' + of_day % 1'000 / 100);
  put_two(out, of_day % 100);
  out += 'Z';
  return out;
}

std::optional<std::int64_t> parse_time_ms(std::string_view text) {
  // 2026-11-16T05:56:45.123Z
  if (text.size() != 24 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text[19] != '.' || text[23] != 'Z') {
    return std::nullopt;
  }
  const auto part = [text](std::size_t at, std::size_t digits, std::int64_t& into) {
    const char* begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + digits, into);
    return error == std::errc() && end == begin + digits && into >= 0;
  };
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  std::int64_t ms = 0;
  if (!part(0, 4, year) || !part(5, 2, month) || !part(8, 2, day) || !part(11, 2, hour) ||
      !part(14, 2, minute) || !part(17, 2, second) || !part(20, 3, ms) || month < 1 || month > 12 ||
      day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  // Years counted from March, so that the leap day comes last.
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t m = month <= 2 ? month + 9 : month - 3;
  const std::int64_t days =
      y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719'468;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000 + ms;
}

Result<Value> parse_message(std::string_view payload, std::string_view schema,
                            std::size_t values_max) {
  if (payload.size() > kPayloadBytesMax) {
    return fail(Code::kInvalid, "the message has " + std::to_string(payload.size()) +
                                    " bytes; at most " + std::to_string(kPayloadBytesMax) +
                                    " are taken");
  }
  json::ParseLimits limits;
  limits.bytes_max = kPayloadBytesMax;
  limits.depth_max = 16;
  limits.values_max = values_max;
  auto value = json::parse(payload, "message", limits);
  if (!value) return value;
  const Value* s = value->find("s", Kind::kString);
  const std::string wanted = std::string(schema) + "/1.";
  if (s == nullptr) {
    return fail(Code::kInvalid, "the message has no schema: \"s\":\"" + wanted + "0\"");
  }
  const std::string& given = s->as_string();
  const bool known = given.size() > wanted.size() && given.size() <= wanted.size() + 4 &&
                     given.compare(0, wanted.size(), wanted) == 0 &&
                     given.find_first_not_of("0123456789", wanted.size()) == std::string::npos;
  if (!known) {
    return fail(Code::kInvalid, "the message's schema is " + json::quoted(given.substr(0, 60)) +
                                    ", understood is " + wanted + "x");
  }
  return value;
}

std::string_view name(NodeState state) {
  for (const auto& [known, text] : kStateNames) {
    if (known == state) return text;
  }
  LAIRD_REQUIRE(false, "every state has a name");
  return {};
}

std::string to_text(const NodeStatus& status) {
  Value out = headed("laird.status");
  out.set("state", name(status.state));
  out.set("epoch", count(status.epoch));
  out.set("ts", time_text(status.unix_ms));
  return json::to_text(out);
}

Result<NodeStatus> parse_status(std::string_view payload) {
  const auto value = parse_message(payload, "laird.status");
  LAIRD_TRY(value);
  const Value* state = value->find("state", Kind::kString);
  const Value* epoch = value->find("epoch", Kind::kInteger);
  if (state == nullptr || epoch == nullptr || epoch->as_integer() < 0) {
    return fail(Code::kInvalid, "a status has a \"state\" and an \"epoch\"");
  }
  for (const auto& [known, text] : kStateNames) {
    if (text != state->as_string()) continue;
    NodeStatus out;
    out.state = known;
    out.epoch = static_cast<std::uint64_t>(epoch->as_integer());
    return out;
  }
  return fail(Code::kInvalid, "an unknown \"state\" in a status");
}

Value to_json(const NodeInfo& info) {
  Value out = headed("laird.info");
  out.set("model", info.model);
  out.set("version", info.version);
  out.set("lanes", texts(info.lanes));
  out.set("trainers", texts(info.trainers));
  out.set("memory_bytes", info.memory_bytes);
  out.set("power_source", info.power_source);
  out.set("ledger_epoch", count(info.ledger_epoch));
  out.set("crl_number", count(info.crl_number));
  out.set("incarnation", count(info.incarnation));
  return out;
}

std::string to_text(const NodeInfo& info) { return json::to_text(to_json(info)); }

Value to_json(const NodeReport& report) {
  Value out = headed("laird.report");
  out.set("epoch", count(report.epoch));
  out.set("seq", count(report.seq));
  out.set("ts", time_text(report.unix_ms));
  out.set("config_rev", count(report.config_rev));
  out.set("draining", report.draining);
  out.set("fenced", report.fenced);
  out.set("fence_in_s", thousandths(report.fence_in_ms));
  Value shares = Value::object();
  shares.set("power", share(report.power_mw, "w", true));
  shares.set("cpu", share(report.cpu_milli, "milli", false));
  shares.set("gpu", share(report.gpu_ppm, "ppm", false));
  out.set("shares", std::move(shares));
  out.set("power_w", report.power_mw_now ? thousandths(*report.power_mw_now) : Value());
  out.set("cap_w", report.cap_mw <= 0 ? Value() : thousandths(report.cap_mw));
  out.set("energy_j", thousandths(report.energy_mj));
  Value tasks = Value::object();
  tasks.set("queued", count(report.tasks_queued));
  tasks.set("running", count(report.tasks_running));
  tasks.set("throttled", count(report.tasks_throttled));
  tasks.set("ended", count(report.tasks_ended));
  out.set("tasks", std::move(tasks));
  Value link = Value::object();
  link.set("dropped", count(report.link_dropped));
  link.set("connects", count(report.link_connects));
  out.set("link", std::move(link));
  Value agent = Value::object();
  agent.set("rss_kb", report.agent_rss_kb);
  agent.set("cpu_s", thousandths(report.agent_cpu_ms));
  out.set("agent", std::move(agent));
  return out;
}

std::string to_text(const NodeReport& report) { return json::to_text(to_json(report)); }

std::string to_text(const NodeEvent& event) {
  Value out = headed("laird.event");
  out.set("epoch", count(event.epoch));
  out.set("seq", count(event.seq));
  out.set("ts", time_text(event.unix_ms));
  out.set("kind", event.kind);
  out.set("text", event.text);
  if (event.historical) out.set("hist", true);
  for (const Value::Member& member : event.more.members()) {
    if (out.find(member.first) == nullptr) out.set(member.first, member.second);
  }
  return json::to_text(out);
}

std::string to_text(const Reply& reply) {
  Value out = headed("laird.reply");
  out.set("id", reply.id);
  out.set("node", reply.node);
  out.set("ok", reply.code == ReplyCode::kOk);
  out.set("code", name(reply.code));
  out.set("text", reply.text);
  out.set("data", reply.data);
  return json::to_text(out);
}

Result<Reply> parse_reply(std::string_view payload) {
  const auto value = parse_message(payload, "laird.reply");
  LAIRD_TRY(value);
  const Value* id = value->find("id", Kind::kString);
  const Value* node = value->find("node", Kind::kString);
  const Value* code = value->find("code", Kind::kString);
  const Value* text = value->find("text", Kind::kString);
  if (id == nullptr || node == nullptr || code == nullptr || text == nullptr) {
    return fail(Code::kInvalid, "a reply has \"id\", \"node\", \"code\" and \"text\"");
  }
  const auto known = reply_code(code->as_string());
  LAIRD_TRY(known);
  Reply out;
  out.id = id->as_string();
  out.node = node->as_string();
  out.code = *known;
  out.text = text->as_string();
  if (const Value* data = value->find("data")) out.data = *data;
  return out;
}

std::string revocations_text(std::string_view pem) {
  return json::to_text(headed("laird.crl").set("crl", pem));
}

Result<std::string> parse_revocations(std::string_view payload) {
  const auto value = parse_message(payload, "laird.crl", kFewValues);
  LAIRD_TRY(value);
  const Value* list = value->find("crl", Kind::kString);
  if (list == nullptr) return fail(Code::kInvalid, "the message has no text \"crl\"");
  return list->as_string();
}

}  // namespace laird::mqtt
