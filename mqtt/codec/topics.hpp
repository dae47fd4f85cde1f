// The topic tree: laird/v1/<fleet>/..., each subtree with exactly one writer (docs/mqtt-api.md).
//
// Built and parsed here only, so that what an agent writes is what its peers accept. Every variable
// level is a name of config/schema.hpp: 1 to 32 of a-z, 0-9 and -, not starting with -.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird::mqtt {

inline constexpr std::string_view kTopicRoot = "laird/v1/";
inline constexpr std::string_view kEveryone = "all";  // no node may be called so

enum class TopicKind : std::uint8_t {
  kStatus,       // node/<node>/status
  kInfo,         // node/<node>/info
  kReport,       // node/<node>/report
  kCotrain,      // node/<node>/cotrain
  kTask,         // node/<node>/task/<name>
  kCoop,         // node/<node>/coop/<name>: from <node> to the peer <name>
  kTelemetry,    // node/<node>/tele/<name>
  kEvent,        // node/<node>/evt/<name>
  kCommand,      // ctl/<node>/cmd/<name>; <node> may be "all"
  kFleetConfig,  // ctl/all/config
  kNodeConfig,   // ctl/<node>/config
  kRevocations,  // ctl/all/crl: the list of revoked certificates
  kReply,        // res/<name>/<node>: from <node> to the client <name>
};

[[nodiscard]] std::string_view name(TopicKind kind);

struct Topic {
  TopicKind kind = TopicKind::kStatus;
  std::string fleet;
  std::string node;  // whose subtree it is; "all" in ctl/all/...
  std::string name;  // the last level where there is one, see TopicKind
  bool operator==(const Topic&) const = default;
};

// A name that may stand for a board: "all" is taken.
[[nodiscard]] bool is_node_id(std::string_view text);

// Refuses whatever is not one of the topics above, to the letter.
[[nodiscard]] Result<Topic> parse_topic(std::string_view text);
// The inverse. The parts must be names; that is the caller's duty (they come from a checked config
// or from parse_topic).
[[nodiscard]] std::string to_text(const Topic& topic);

// A topic of a board: node_topic("lab", "n-1", TopicKind::kTask, "night-run").
[[nodiscard]] std::string node_topic(std::string_view fleet, std::string_view node, TopicKind kind,
                                     std::string_view name = {});
[[nodiscard]] std::string command_topic(std::string_view fleet, std::string_view to,
                                        std::string_view verb);
[[nodiscard]] std::string revocations_topic(std::string_view fleet);
[[nodiscard]] std::string config_topic(std::string_view fleet, std::string_view to);
// What a client gives as response topic: for one board its own topic, for all of them the stem that
// each board completes with /<its id>.
[[nodiscard]] std::string reply_topic(std::string_view fleet, std::string_view client,
                                      std::string_view node);
[[nodiscard]] std::string reply_stem(std::string_view fleet, std::string_view client);

// Where `node` may answer a command that came with `response_topic`; refuses any other place, since
// a client could otherwise make a board write where it must not. `broadcast`: addressed to all.
[[nodiscard]] Result<std::string> reply_topic_for(std::string_view response_topic,
                                                  std::string_view fleet, std::string_view node,
                                                  bool broadcast);

// MQTT 5 section 4.7: + for one level, # for the rest, no wildcard first against a topic of $.
[[nodiscard]] bool is_valid_filter(std::string_view filter);
[[nodiscard]] bool is_valid_topic(std::string_view topic);
[[nodiscard]] bool matches(std::string_view filter, std::string_view topic);

}  // namespace laird::mqtt
