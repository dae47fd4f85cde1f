#include "lab/fleet/recording.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>

#include "lab/fleet/verdict.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/topics.hpp"
#include "os/line_splitter.hpp"

namespace laird::lab {
namespace {

using json::Kind;
using json::Value;
using mqtt::TopicKind;

constexpr std::size_t kLineBytesMax = 256 * 1024;

double number(const Value& object, std::string_view key, double otherwise) {
  const Value* value = object.find(key);
  return value != nullptr && value->is_number() ? value->as_double() : otherwise;
}

std::string text(const Value& object, std::string_view key) {
  const Value* value = object.find(key, Kind::kString);
  return value == nullptr ? "" : value->as_string();
}

class Reader {
 public:
  explicit Reader(FleetRecording& out) : out_(out) {}

  void line(std::string_view line) {
    const std::size_t space = line.find(' ');
    const std::size_t second = space == std::string_view::npos ? space : line.find(' ', space + 1);
    double unix_s = 0.0;
    if (second == std::string_view::npos ||
        std::from_chars(line.data(), line.data() + space, unix_s).ec != std::errc{} ||
        !(unix_s > 0.0 && unix_s < 1e11)) {
      ++out_.unreadable;
      return;
    }
    const auto topic = mqtt::parse_topic(line.substr(space + 1, second - space - 1));
    const std::string_view payload = line.substr(second + 1);
    if (!topic) {
      ++out_.unreadable;
      return;
    }
    now_us_ = static_cast<std::int64_t>(unix_s * 1e6);
    if (out_.messages++ == 0) out_.first_unix_us = now_us_;
    out_.last_unix_us = std::max(out_.last_unix_us, now_us_);
    // What boards say to each other is binary, and is not needed here.
    if (payload.empty() && topic->kind == TopicKind::kTask) left(*topic);
    if (payload.empty() || topic->kind == TopicKind::kCoop) return;
    const auto body = json::parse(payload, "message");
    if (!body || !body->is(Kind::kObject)) {
      ++out_.unreadable;
      return;
    }
    take(*topic, *body, payload);
  }

 private:
  [[nodiscard]] double at() const { return out_.seconds(now_us_); }

  void take(const mqtt::Topic& topic, const Value& body, std::string_view payload) {
    switch (topic.kind) {
      case TopicKind::kStatus: change(out_.nodes[topic.node].states, text(body, "state")); return;
      case TopicKind::kInfo:
        out_.nodes[topic.node].model = text(body, "model");
        out_.nodes[topic.node].power_source = text(body, "power_source");
        return;
      case TopicKind::kReport: report(out_.nodes[topic.node], body); return;
      case TopicKind::kTask: task(topic, body); return;
      case TopicKind::kTelemetry: telemetry(topic, body); return;
      case TopicKind::kEvent:
        out_.events.push_back({at(), topic.node, topic.name, text(body, "text")});
        return;
      case TopicKind::kFleetConfig: budget(payload); return;
      default: return;
    }
  }

  void change(std::vector<StateChange>& states, std::string state) {
    if (!states.empty() && states.back().state == state) return;
    states.push_back({at(), std::move(state)});
  }

  void budget(std::int64_t mw) {
    if (!out_.budgets.empty() && out_.budgets.back().mw == mw) return;
    out_.budgets.push_back({now_us_, mw});
  }

  // An agent that died uses nothing any more; what it did between its last change told and its
  // death is not known, and is not held against the fleet. One that was only out of reach tells
  // later itself what it used meanwhile.
  void hear(FleetNode& node, const Value& body) {
    const double epoch = number(body, "epoch", 0.0);
    if (node.epoch != 0.0 && epoch != node.epoch && !node.shares.empty()) {
      node.shares.push_back({node.shares.back().unix_us + 1, 0, node.floor_mw});
    }
    node.epoch = epoch;
    node.heard_unix_us = now_us_;
  }

  // Counts only what a living agent says itself: its last will comes late, and from the broker.
  void live(FleetNode& node, const Value& body) {
    const double epoch = number(body, "epoch", 0.0);
    if (epoch == 0.0) return;
    if (node.lives.empty() || node.lives.back().epoch < epoch) {
      node.lives.push_back({epoch, at(), at()});
    }
    if (node.lives.back().epoch == epoch) node.lives.back().to_s = at();
  }

  void report(FleetNode& node, const Value& body) {
    live(node, body);
    const Value* shares = body.find("shares", Kind::kObject);
    const Value* power = shares == nullptr ? nullptr : shares->find("power", Kind::kObject);
    if (power == nullptr) return;
    node.floor_mw = static_cast<std::int64_t>(number(*power, "floor_w", 0.0) * 1e3);
    if (const double asked = number(*power, "demand_w", -1.0); asked >= 0.0) {
      node.asked_w.push_back({at(), asked});
    }
    // The first budget of all comes from the boards' own files.
    if (out_.budgets.empty())
      budget(static_cast<std::int64_t>(number(*power, "budget_w", 0) * 1e3));
  }

  void budget(std::string_view payload) {
    const auto envelope = mqtt::parse_envelope(payload);
    if (!envelope) return;
    const auto command = mqtt::parse_signed_text(envelope->signed_text);
    if (!command) return;
    const Value* given = command->body.find("budget", Kind::kObject);
    if (given != nullptr) budget(static_cast<std::int64_t>(number(*given, "power_w", 0.0) * 1e3));
  }

  // A board that takes back its word on a task that had not ended does not have it any more.
  void left(const mqtt::Topic& topic) {
    for (RecordedTask& t : out_.tasks) {
      const bool is_it = t.node == topic.node && t.name == topic.name;
      if (is_it && !t.states.empty() && !is_end(t.states.back().state)) change(t.states, "moved");
    }
  }

  void task(const mqtt::Topic& topic, const Value& body) {
    RecordedTask* found = nullptr;
    for (RecordedTask& t : out_.tasks) {
      if (t.node == topic.node && t.name == topic.name) found = &t;
    }
    if (found == nullptr) {
      found = &out_.tasks.emplace_back();
      found->node = topic.node;
      found->name = topic.name;
      found->target = number(body, "target_loss", 0.0);
      found->deadline_at_s = at() + number(body, "deadline_in_s", 0.0);
    }
    change(found->states, text(body, "state"));
    found->energy_j = number(body, "energy_j", found->energy_j);
    if (const Value* loss = body.find("loss"); loss != nullptr && loss->is_number()) {
      found->loss.push_back({at(), loss->as_double()});
    }
    found->samples.push_back({at(), number(body, "samples", 0.0)});
    found->busy_s.push_back({at(), number(body, "busy_s", 0.0)});
    if (const Value* forecast = body.find("forecast", Kind::kObject)) {
      const double loss = number(*forecast, "loss", 0.0);
      found->forecasts.push_back({at(), loss, number(*forecast, "low", loss),
                                  number(*forecast, "high", loss),
                                  number(*forecast, "probability", 0.0)});
    }
  }

  void telemetry(const mqtt::Topic& topic, const Value& body) {
    FleetNode& node = out_.nodes[topic.node];
    live(node, body);
    if (topic.name == "power") {
      // An agent that has just started has no mean yet, and one reading is no substitute.
      const bool has_mean = body.find("power_mean_w") != nullptr;
      const double watts = number(body, has_mean ? "power_mean_w" : "power_w", -1.0);
      if (watts >= 0.0) node.power_w.push_back({at(), watts});
      const Value* throttled = body.find("throttled", Kind::kBool);
      if (throttled != nullptr) node.throttled.push_back({at(), throttled->as_bool() ? 1.0 : 0.0});
      return;
    }
    const Value* points = body.find("points", Kind::kArray);
    if (topic.name != "shares" || points == nullptr) return;
    hear(node, body);
    for (const Value& p : points->items()) {
      const auto& v = p.items();
      if (v.size() != 3 || !v[0].is(Kind::kInteger) || !v[1].is(Kind::kInteger) ||
          !v[2].is(Kind::kInteger)) {
        ++out_.unreadable;
        continue;
      }
      // Messages repeat the points of the last half minute.
      const std::int64_t at_us = v[0].as_integer();
      if (!told_.emplace(topic.node, at_us).second) continue;
      node.shares.push_back({at_us, v[1].as_integer(), v[2].as_integer()});
    }
  }

  FleetRecording& out_;
  std::int64_t now_us_ = 0;
  std::set<std::pair<std::string, std::int64_t>> told_;
};

}  // namespace

Result<FleetRecording> read_recording(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(Code::kNotFound, "cannot read " + path);
  FleetRecording out;
  Reader reader(out);
  LineSplitter lines(kLineBytesMax, Overlong::kSkip);
  const auto take = [&reader](std::string_view line) { reader.line(line); };
  std::string block(64 * 1024, '\0');
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    lines.feed(std::string_view(block).substr(0, static_cast<std::size_t>(in.gcount())), take);
  }
  lines.finish(take);
  out.unreadable += lines.overlong();
  if (out.messages == 0) {
    return fail(Code::kInvalid,
                path + ": no message in it; record with mosquitto_sub -F '%U %t %p'");
  }
  return out;
}

}  // namespace laird::lab
