#include "trainers/protocol.hpp"

#include "base/require.hpp"
#include "mqtt/codec/base64.hpp"

namespace laird::trainers {
namespace {

using json::Kind;
using json::Value;

tl::unexpected<Error> bad(const std::string& what) { return fail(Code::kInvalid, what); }

// A count that every double and every JSON reader holds exactly.
constexpr std::int64_t kCountMax = std::int64_t{1} << 53;

Result<std::uint64_t> count_of(const Value& message, std::string_view key, std::int64_t min) {
  const Value* v = message.find(key, Kind::kInteger);
  if (v == nullptr || v->as_integer() < min || v->as_integer() > kCountMax) {
    return bad("\"" + std::string(key) + "\" must be a whole number from " + std::to_string(min) +
               " to 2^53");
  }
  return static_cast<std::uint64_t>(v->as_integer());
}

Result<Message> parse_start(const Value& message) {
  const Value* version = message.find("v", Kind::kInteger);
  if (version == nullptr || version->as_integer() != kProtocolVersion) {
    return bad("start: \"v\" must be 1, the version of the trainer protocol this trainer speaks");
  }
  const Value* task = message.find("task", Kind::kString);
  const Value* folder = message.find("dir", Kind::kString);
  const Value* params = message.find("params", Kind::kObject);
  if (task == nullptr) return bad("start: \"task\" must be a string");
  if (folder == nullptr || !folder->as_string().starts_with('/')) {
    return bad("start: \"dir\" must be an absolute path");
  }
  if (params == nullptr) return bad("start: \"params\" must be an object");
  const Result<std::uint64_t> report_every = count_of(message, "report_every", 1);
  if (!report_every) return bad("start: " + report_every.error().context);
  const Value* seed = message.find("seed", Kind::kInteger);
  if (seed == nullptr) return bad("start: \"seed\" must be a whole number");
  return Message(from_agent::Start{task->as_string(), folder->as_string(), *params, *report_every,
                                   static_cast<std::uint64_t>(seed->as_integer())});
}

constexpr std::size_t kNeighboursMax = 64;

Result<Message> parse_peers(const Value& message) {
  from_agent::Peers out;
  const Value* self = message.find("me", Kind::kString);
  if (self == nullptr) return bad("peers: \"me\" must be a string");
  out.neighbours.self = self->as_string();
  const Result<std::uint64_t> life = count_of(message, "life", 1);
  if (!life) return bad("peers: " + life.error().context);
  out.neighbours.life = *life;
  const Value* done = message.find("done", Kind::kBool);
  out.neighbours.others_done = done != nullptr && done->as_bool();
  const Value* peers = message.find("peers", Kind::kArray);
  if (peers == nullptr || peers->items().size() > kNeighboursMax) {
    return bad("peers: \"peers\" must be a list of at most " + std::to_string(kNeighboursMax));
  }
  for (const Value& peer : peers->items()) {
    const Value* node = peer.find("node", Kind::kString);
    const Value* weight = peer.find("weight");
    if (node == nullptr || weight == nullptr || !weight->is_number() ||
        !(weight->as_double() > 0.0) || weight->as_double() > 1.0) {
      return bad("peers: each has a \"node\" and a \"weight\" above 0 and up to 1");
    }
    out.neighbours.peers.push_back({node->as_string(), weight->as_double()});
  }
  return Message(std::move(out));
}

Result<Message> parse_peer(const Value& message) {
  const Value* from = message.find("from", Kind::kString);
  const Value* data = message.find("data", Kind::kString);
  if (from == nullptr || data == nullptr) return bad("peer: needs \"from\" and \"data\"");
  Result<std::string> bytes = mqtt::from_base64(data->as_string());
  if (!bytes) return bad("peer: " + bytes.error().context);
  return Message(from_agent::Peer{from->as_string(), std::move(*bytes)});
}

Value typed(std::string_view type) {
  Value v = Value::object();
  v.set("type", Value::string(std::string(type)));
  return v;
}

Value count(std::uint64_t n) { return Value::integer(static_cast<std::int64_t>(n)); }

Value number_or_null(std::optional<double> v) { return v ? Value::number(*v) : Value(); }

std::string line_of(const Value& v) { return json::to_text(v) + "\n"; }

}  // namespace

Result<Message> parse_message(std::string_view line) {
  json::ParseLimits limits;
  limits.bytes_max = kLineFromAgentMax;
  limits.depth_max = 16;
  limits.values_max = 4096;
  Result<Value> message = json::parse(line, "line", limits);
  if (!message) return tl::make_unexpected(message.error());
  const Value* type = message->find("type", Kind::kString);
  if (type == nullptr) return bad("not an object with a string \"type\"");
  const std::string& name = type->as_string();
  if (name == "start") return parse_start(*message);
  if (name == "run") {
    const Result<std::uint64_t> until = count_of(*message, "until", 0);
    if (!until) return bad("run: " + until.error().context);
    return Message(from_agent::Run{*until});
  }
  if (name == "pause") return Message(from_agent::Pause{});
  if (name == "checkpoint") return Message(from_agent::Checkpoint{});
  if (name == "stop") return Message(from_agent::Stop{});
  if (name == "peers") return parse_peers(*message);
  if (name == "peer") return parse_peer(*message);
  return fail(Code::kNotFound, "unknown type " + json::quoted(name.substr(0, 40)));
}

std::string ready_line(std::uint64_t samples, std::optional<double> loss, bool resumed,
                       std::optional<std::uint64_t> planned) {
  Value v = typed("ready");
  v.set("v", Value::integer(kProtocolVersion));
  v.set("samples", count(samples));
  v.set("loss", number_or_null(loss));
  v.set("resumed", Value::boolean(resumed));
  v.set("planned_samples", planned ? count(*planned) : Value());
  return line_of(v);
}

std::string progress_line(std::uint64_t samples, double loss) {
  return line_of(typed("progress").set("samples", count(samples)).set("loss", Value::number(loss)));
}

std::string checkpointed_line(std::uint64_t samples, std::optional<double> loss) {
  return line_of(
      typed("checkpointed").set("samples", count(samples)).set("loss", number_or_null(loss)));
}

std::string done_line(std::uint64_t samples, double loss) {
  return line_of(typed("done").set("samples", count(samples)).set("loss", Value::number(loss)));
}

std::string yield_line(DurationNs for_ns) {
  return line_of(typed("yield").set("for_ms", Value::integer(for_ns / kMillisecond)));
}

std::string share_line(const Share& share) {
  // Neither base64 nor a node's name has anything to escape.
  std::string out = "{\"type\":\"share\",\"to\":\"";
  out += share.to.empty() ? "*" : share.to;
  out += "\",\"data\":\"" + mqtt::to_base64(share.bytes) + "\"}\n";
  LAIRD_REQUIRE(out.size() <= kShareLineMax, "a share fits a line");
  return out;
}

std::string error_line(std::string message) {
  for (;;) {
    std::string line = line_of(typed("error").set("message", Value::string(message)));
    if (line.size() <= kLineToAgentMax) return line;
    // Escapes make a line longer than its text, so cut by steps; never inside a UTF-8 character.
    message.resize(message.size() - message.size() / 8 - 1);
    while (!message.empty() && (static_cast<unsigned char>(message.back()) & 0x80U) != 0) {
      message.pop_back();
    }
    message += "...";
  }
}

}  // namespace laird::trainers
