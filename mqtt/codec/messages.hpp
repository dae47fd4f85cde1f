// What people and programs read: status, info, report, events and replies, as JSON.
//
// "s" names the schema: "laird.status/1.0". A reader takes any minor version of the major it knows
// and ignores fields it does not know; another major is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "json/value.hpp"
#include "mqtt/codec/envelope.hpp"

namespace laird::mqtt {

inline constexpr std::int64_t kUnixMsMax = 253'402'300'799'999;  // the year 9999

// "2026-11-16T05:56:45.123Z"
[[nodiscard]] std::string time_text(std::int64_t unix_ms);
// The other way; nothing when it is not of that form.
[[nodiscard]] std::optional<std::int64_t> parse_time_ms(std::string_view text);

// An object whose "s" is `schema` with major version 1, within the limits of a payload.
inline constexpr std::size_t kMessageValuesMax = 10'000;
[[nodiscard]] Result<json::Value> parse_message(std::string_view payload, std::string_view schema,
                                                std::size_t values_max = kMessageValuesMax);

enum class NodeState : std::uint8_t { kReady, kDraining, kDrained, kAlert, kOffline, kLost };

[[nodiscard]] std::string_view name(NodeState state);

// `epoch` grows at each start of the agent: a will pairs with the birth it belongs to.
struct NodeStatus {
  NodeState state = NodeState::kReady;
  std::uint64_t epoch = 0;
  std::int64_t unix_ms = 0;
};

[[nodiscard]] std::string to_text(const NodeStatus& status);
[[nodiscard]] Result<NodeStatus> parse_status(std::string_view payload);

struct NodeInfo {
  std::string model;
  std::string version;
  std::vector<std::string> lanes;
  std::vector<std::string> trainers;
  std::int64_t memory_bytes = 0;
  std::string power_source;
  std::uint64_t ledger_epoch = 0;
  std::uint64_t crl_number = 0;  // of the list of revoked certificates in force; 0: none is
  std::uint64_t incarnation = 0;
};

[[nodiscard]] std::string to_text(const NodeInfo& info);

// One resource of the share ledger: parts of consensus::kWhole, and amounts in the unit of the
// resource: mW, thousandths of a core, millionths of a board's GPU; below 0: not limited, null.
struct Share {
  std::int64_t parts = 0;
  std::int64_t enforced = 0;
  std::int64_t floor = 0;
  std::int64_t budget = 0;
  std::int64_t demand = -1;  // what the board asks for, its floor included; below 0: not known
};

struct NodeReport {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;
  std::int64_t unix_ms = 0;
  std::uint64_t config_rev = 0;
  bool draining = false;
  bool fenced = false;
  std::int64_t fence_in_ms = 0;
  Share power_mw;
  Share cpu_milli;
  Share gpu_ppm;
  std::optional<std::int64_t> power_mw_now;  // nothing: no reading
  std::int64_t cap_mw = 0;                   // 0 and below: none
  std::int64_t energy_mj = 0;
  std::uint64_t tasks_queued = 0;
  std::uint64_t tasks_running = 0;    // throttled ones included
  std::uint64_t tasks_throttled = 0;  // of them
  std::uint64_t tasks_ended = 0;
  std::uint64_t link_dropped = 0;
  std::uint64_t link_connects = 0;
  std::int64_t agent_rss_kb = 0;
  std::int64_t agent_cpu_ms = 0;
};

// As an object, so that the caller can add what it knows besides.
[[nodiscard]] json::Value to_json(const NodeReport& report);
[[nodiscard]] std::string to_text(const NodeReport& report);

struct NodeEvent {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;
  std::int64_t unix_ms = 0;
  std::string kind;
  std::string text;
  json::Value more;         // an object whose members are added, or null
  bool historical = false;  // happened before the link was there
};

[[nodiscard]] std::string to_text(const NodeEvent& event);

struct Reply {
  std::string id;  // the command's, empty when it could not be read
  std::string node;
  ReplyCode code = ReplyCode::kOk;
  std::string text;
  json::Value data;  // null when there is none
};

[[nodiscard]] std::string to_text(const Reply& reply);
[[nodiscard]] Result<Reply> parse_reply(std::string_view payload);

// The list of revoked certificates, PEM: the authority has signed it, so no operator need.
[[nodiscard]] std::string revocations_text(std::string_view pem);
[[nodiscard]] Result<std::string> parse_revocations(std::string_view payload);

}  // namespace laird::mqtt
