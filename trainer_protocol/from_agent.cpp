#include "trainer_protocol/from_agent.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mqtt/codec/base64.hpp"

namespace laird::trainer_protocol {
namespace {

using json::Kind;
using json::Value;

tl::unexpected<Error> bad(const std::string& what) { return fail(Code::kInvalid, what); }

constexpr auto kCountMax = static_cast<std::int64_t>(kSamplesMax);

Result<std::uint64_t> count_of(const Value& message, std::string_view key, std::int64_t min) {
  const Value* v = message.find(key, Kind::kInteger);
  if (v == nullptr || v->as_integer() < min || v->as_integer() > kCountMax) {
    return bad("\"" + std::string(key) + "\" must be a whole number from " + std::to_string(min) +
               " to 2^53");
  }
  return static_cast<std::uint64_t>(v->as_integer());
}

// More than it may use is never given; without a number there is one.
int threads_of(const Value& message) {
  const Value* threads = message.find("threads", Kind::kInteger);
  constexpr std::int64_t kThreadsMax = 1024;
  if (threads == nullptr || threads->as_integer() < 1) return 1;
  return static_cast<int>(std::min(threads->as_integer(), kThreadsMax));
}

Result<FromAgent> parse_start(const Value& message) {
  const Value* version = message.find("v", Kind::kInteger);
  if (version == nullptr || version->as_integer() != kVersion) {
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
  const Value* warm = message.find("warm", Kind::kString);
  return FromAgent(Start{task->as_string(), folder->as_string(), *params, *report_every,
                         static_cast<std::uint64_t>(seed->as_integer()), threads_of(message),
                         warm == nullptr ? std::string() : warm->as_string()});
}

Result<FromAgent> parse_peers(const Value& message) {
  Peers out;
  const Value* self = message.find("me", Kind::kString);
  if (self == nullptr) return bad("peers: \"me\" must be a string");
  out.self = self->as_string();
  const Result<std::uint64_t> life = count_of(message, "life", 1);
  if (!life) return bad("peers: " + life.error().context);
  out.life = *life;
  const Value* peers = message.find("peers", Kind::kArray);
  if (peers == nullptr || peers->items().size() > kGroupPeersMax) {
    return bad("peers: \"peers\" must be a list of at most " + std::to_string(kGroupPeersMax));
  }
  for (const Value& peer : peers->items()) {
    const Value* node = peer.find("node", Kind::kString);
    const Value* state = peer.find("state", Kind::kString);
    const auto known = state == nullptr ? std::end(kPeerStates)
                                        : std::find(std::begin(kPeerStates), std::end(kPeerStates),
                                                    state->as_string());
    if (node == nullptr || known == std::end(kPeerStates)) {
      return bad("peers: each has a \"node\" and a \"state\": at-work, away, done or left");
    }
    out.peers.push_back(
        {node->as_string(), static_cast<PeerState>(known - std::begin(kPeerStates))});
  }
  return FromAgent(std::move(out));
}

Result<FromAgent> parse_peer(const Value& message) {
  const Value* from = message.find("from", Kind::kString);
  const Value* data = message.find("data", Kind::kString);
  if (from == nullptr || data == nullptr) return bad("peer: needs \"from\" and \"data\"");
  Result<std::string> bytes = mqtt::from_base64(data->as_string());
  if (!bytes) return bad("peer: " + bytes.error().context);
  return FromAgent(Peer{from->as_string(), std::move(*bytes)});
}

Result<FromAgent> parse_metered(const Value& message) {
  Metered out;
  if (const Value* problem = message.find("problem", Kind::kString)) {
    out.problem = problem->as_string();
    return FromAgent(std::move(out));
  }
  const Value* energy = message.find("above_idle_j");
  const Value* time = message.find("metered_s");
  const Result<std::uint64_t> readings = count_of(message, "readings", 0);
  if (energy == nullptr || !energy->is_number() || time == nullptr || !time->is_number() ||
      !readings) {
    return bad("metered: neither numbers nor a problem");
  }
  out.above_idle_j = energy->as_double();
  out.metered_s = time->as_double();
  out.readings = *readings;
  return FromAgent(std::move(out));
}

}  // namespace

std::string line_of(const Start& start) {
  Value message = Value::object();
  message.set("type", "start");
  message.set("v", kVersion);
  message.set("task", start.task);
  message.set("dir", start.folder);
  message.set("params", start.params);
  message.set("report_every", start.report_every);
  message.set("seed", static_cast<std::int64_t>(start.seed));
  message.set("threads", start.threads);
  if (!start.warm.empty()) message.set("warm", start.warm);
  return json::to_text(message) + "\n";
}

std::string line_of(Run run) {
  return "{\"type\":\"run\",\"until\":" + std::to_string(run.until) + "}\n";
}

std::string line_of(Pause) { return "{\"type\":\"pause\"}\n"; }
std::string line_of(Checkpoint) { return "{\"type\":\"checkpoint\"}\n"; }
std::string line_of(Stop) { return "{\"type\":\"stop\"}\n"; }

std::string line_of(const Export& request) {
  return json::to_text(Value::object().set("type", "export").set("path", request.path)) + "\n";
}

std::string line_of(const Metered& metered) {
  Value message = Value::object().set("type", "metered");
  if (!metered.problem.empty())
    return json::to_text(message.set("problem", metered.problem)) + "\n";
  return json::to_text(message.set("above_idle_j", metered.above_idle_j)
                           .set("metered_s", metered.metered_s)
                           .set("readings", static_cast<std::int64_t>(metered.readings))) +
         "\n";
}

std::string line_of(const Peers& peers) {
  Value list = Value::array();
  for (const auto& [node, state] : peers.peers) {
    list.add(Value::object()
                 .set("node", node)
                 .set("state", kPeerStates[static_cast<std::size_t>(state)]));
  }
  return json::to_text(Value::object()
                           .set("type", "peers")
                           .set("me", peers.self)
                           .set("life", peers.life)
                           .set("peers", std::move(list))) +
         "\n";
}

std::string peer_line(std::string_view from, std::string_view bytes) {
  // Neither a node's name nor base64 has anything to escape.
  return "{\"type\":\"peer\",\"from\":\"" + std::string(from) + "\",\"data\":\"" +
         mqtt::to_base64(bytes) + "\"}\n";
}

Result<FromAgent> parse_from_agent(std::string_view line) {
  json::ParseLimits limits;
  limits.bytes_max = kLineFromAgentMax;
  limits.depth_max = 16;
  limits.values_max = 4096;
  Result<Value> message = json::parse(line, "line", limits);
  LAIRD_TRY(message);
  const Value* type = message->find("type", Kind::kString);
  if (type == nullptr) return bad("not an object with a string \"type\"");
  const std::string& name = type->as_string();
  if (name == "start") return parse_start(*message);
  if (name == "run") {
    const Result<std::uint64_t> until = count_of(*message, "until", 0);
    if (!until) return bad("run: " + until.error().context);
    return FromAgent(Run{*until});
  }
  if (name == "pause") return FromAgent(Pause{});
  if (name == "checkpoint") return FromAgent(Checkpoint{});
  if (name == "stop") return FromAgent(Stop{});
  if (name == "export") {
    const Value* path = message->find("path", Kind::kString);
    if (path == nullptr || !path->as_string().starts_with('/')) {
      return bad("export: \"path\" must be an absolute path");
    }
    return FromAgent(Export{path->as_string()});
  }
  if (name == "metered") return parse_metered(*message);
  if (name == "peers") return parse_peers(*message);
  if (name == "peer") return parse_peer(*message);
  return fail(Code::kNotFound, "unknown type " + json::quoted(name.substr(0, 40)));
}

}  // namespace laird::trainer_protocol
