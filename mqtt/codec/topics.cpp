#include "mqtt/codec/topics.hpp"

#include <array>
#include <cstddef>

#include "config/schema.hpp"
#include "json/value.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::mqtt {
namespace {

struct Levels {
  std::array<std::string_view, kTopicLevelsMax> at;
  std::size_t count = 0;
};

// Fewer levels than there are when there are too many: no topic of ours has as many.
Levels split(std::string_view text) {
  Levels out;
  while (out.count < kTopicLevelsMax) {
    const std::size_t slash = text.find('/');
    out.at[out.count++] = text.substr(0, slash);
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
  }
  return out;
}

std::string_view leaf_of(TopicKind kind) {
  switch (kind) {
    case TopicKind::kStatus: return "status";
    case TopicKind::kInfo: return "info";
    case TopicKind::kReport: return "report";
    case TopicKind::kCotrain: return "cotrain";
    case TopicKind::kTask: return "task";
    case TopicKind::kCoop: return "coop";
    case TopicKind::kTelemetry: return "tele";
    case TopicKind::kEvent: return "evt";
    default: return "";
  }
}

constexpr std::array kPlainLeaves = {TopicKind::kStatus, TopicKind::kInfo, TopicKind::kReport,
                                     TopicKind::kCotrain};
constexpr std::array kNamedLeaves = {TopicKind::kTask, TopicKind::kCoop, TopicKind::kTelemetry,
                                     TopicKind::kEvent};

bool set_node_kind(const Levels& levels, Topic& out) {
  if (!is_node_id(out.node)) return false;
  if (levels.count == 6) {
    for (const TopicKind kind : kPlainLeaves) {
      if (levels.at[5] == leaf_of(kind)) return out.kind = kind, true;
    }
    return false;
  }
  if (levels.count != 7 || !config::is_name(levels.at[6])) return false;
  out.name = levels.at[6];
  for (const TopicKind kind : kNamedLeaves) {
    if (levels.at[5] == leaf_of(kind)) return out.kind = kind, true;
  }
  return false;
}

bool set_control_kind(const Levels& levels, Topic& out) {
  if (!config::is_name(out.node)) return false;
  if (levels.count == 6 && levels.at[5] == "config") {
    out.kind = out.node == kEveryone ? TopicKind::kFleetConfig : TopicKind::kNodeConfig;
    return true;
  }
  if (levels.count == 6 && levels.at[5] == "crl" && out.node == kEveryone) {
    out.kind = TopicKind::kRevocations;
    return true;
  }
  if (levels.count != 7 || levels.at[5] != "cmd" || !config::is_name(levels.at[6])) return false;
  out.kind = TopicKind::kCommand;
  out.name = levels.at[6];
  return true;
}

bool set_reply_kind(const Levels& levels, Topic& out) {
  if (levels.count != 6 || !config::is_name(levels.at[4]) || !is_node_id(levels.at[5])) {
    return false;
  }
  out.kind = TopicKind::kReply;
  out.name = levels.at[4];
  out.node = levels.at[5];
  return true;
}

std::string stem(std::string_view fleet, std::string_view branch) {
  std::string out(kTopicRoot);
  out.append(fleet).append("/").append(branch);
  return out;
}

std::string shown(std::string_view topic) { return json::quoted(std::string(topic.substr(0, 80))); }

// No level of a topic or filter may hold these; the client libraries count on it.
bool has_forbidden_bytes(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

}  // namespace

std::string_view name(TopicKind kind) {
  switch (kind) {
    case TopicKind::kCommand: return "cmd";
    case TopicKind::kFleetConfig: return "fleet config";
    case TopicKind::kNodeConfig: return "node config";
    case TopicKind::kRevocations: return "crl";
    case TopicKind::kReply: return "reply";
    default: return leaf_of(kind);
  }
}

bool is_node_id(std::string_view text) { return config::is_name(text) && text != kEveryone; }

Result<Topic> parse_topic(std::string_view text) {
  if (text.size() > kTopicBytesMax) return fail(Code::kInvalid, "the topic is too long");
  if (text.substr(0, kTopicRoot.size()) != kTopicRoot) {
    return fail(Code::kInvalid, "the topic " + shown(text) + " does not start with laird/v1/");
  }
  const Levels levels = split(text);
  // laird v1 <fleet> <branch> <id> ...
  if (levels.count >= 6 && config::is_name(levels.at[2])) {
    Topic out;
    out.fleet = levels.at[2];
    out.node = levels.at[4];
    const std::string_view branch = levels.at[3];
    if ((branch == "node" && set_node_kind(levels, out)) ||
        (branch == "ctl" && set_control_kind(levels, out)) ||
        (branch == "res" && set_reply_kind(levels, out))) {
      return out;
    }
  }
  return fail(Code::kInvalid, "the topic " + shown(text) + " is not one of laird's");
}

std::string to_text(const Topic& topic) {
  switch (topic.kind) {
    case TopicKind::kCommand: return command_topic(topic.fleet, topic.node, topic.name);
    case TopicKind::kFleetConfig:
    case TopicKind::kNodeConfig: return config_topic(topic.fleet, topic.node);
    case TopicKind::kRevocations: return revocations_topic(topic.fleet);
    case TopicKind::kReply: return reply_topic(topic.fleet, topic.name, topic.node);
    default: return node_topic(topic.fleet, topic.node, topic.kind, topic.name);
  }
}

std::string node_topic(std::string_view fleet, std::string_view node, TopicKind kind,
                       std::string_view name) {
  std::string out = stem(fleet, "node/");
  out.append(node).append("/").append(leaf_of(kind));
  if (!name.empty()) out.append("/").append(name);
  return out;
}

std::string command_topic(std::string_view fleet, std::string_view to, std::string_view verb) {
  return stem(fleet, "ctl/").append(to).append("/cmd/").append(verb);
}

std::string config_topic(std::string_view fleet, std::string_view to) {
  return stem(fleet, "ctl/").append(to).append("/config");
}

std::string revocations_topic(std::string_view fleet) {
  return stem(fleet, "ctl/").append(kEveryone).append("/crl");
}

std::string reply_topic(std::string_view fleet, std::string_view client, std::string_view node) {
  return reply_stem(fleet, client).append("/").append(node);
}

std::string reply_stem(std::string_view fleet, std::string_view client) {
  return stem(fleet, "res/").append(client);
}

Result<std::string> reply_topic_for(std::string_view response_topic, std::string_view fleet,
                                    std::string_view node, bool broadcast) {
  std::string place(response_topic);
  if (broadcast) place.append("/").append(node);
  const auto topic = parse_topic(place);
  if (!topic || topic->kind != TopicKind::kReply || topic->fleet != fleet || topic->node != node) {
    return fail(Code::kRefused, "the response topic " + shown(response_topic) + " must be " +
                                    reply_stem(fleet, "<client>") +
                                    (broadcast ? "" : "/" + std::string(node)));
  }
  return place;
}

bool is_valid_topic(std::string_view topic) {
  return !topic.empty() && topic.size() <= kTopicBytesMax &&
         topic.find_first_of("+#") == std::string_view::npos && !has_forbidden_bytes(topic);
}

bool is_valid_filter(std::string_view filter) {
  if (filter.empty() || filter.size() > kTopicBytesMax || has_forbidden_bytes(filter)) return false;
  for (std::size_t i = 0; i < filter.size(); ++i) {
    const char c = filter[i];
    if (c != '+' && c != '#') continue;
    const bool level_starts = i == 0 || filter[i - 1] == '/';
    const bool level_ends = i + 1 == filter.size() || (c == '+' && filter[i + 1] == '/');
    if (!level_starts || !level_ends) return false;
  }
  return true;
}

bool matches(std::string_view filter, std::string_view topic) {
  if (!is_valid_filter(filter) || !is_valid_topic(topic)) return false;
  if (topic.front() == '$' && (filter.front() == '+' || filter.front() == '#')) return false;
  while (true) {
    if (filter == "#") return true;
    const std::size_t filter_end = filter.find('/');
    const std::size_t topic_end = topic.find('/');
    const std::string_view wanted = filter.substr(0, filter_end);
    if (wanted != "+" && wanted != topic.substr(0, topic_end)) return false;
    if (topic_end == std::string_view::npos) {
      // "a/#" takes "a" as well.
      return filter_end == std::string_view::npos || filter.substr(filter_end) == "/#";
    }
    if (filter_end == std::string_view::npos) return false;
    filter.remove_prefix(filter_end + 1);
    topic.remove_prefix(topic_end + 1);
  }
}

}  // namespace laird::mqtt
