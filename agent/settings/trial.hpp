// Commit-confirm for the remote settings: a change is on trial until an operator confirms it over
// the link it has brought back. Otherwise the board goes back to what it had, by itself.
//
// A trial lives for one start of the agent. The start that uses it first notes so on disk, and
// whatever ends that start before the confirmation (a crash, a power cut, a stop) makes the next
// one revert: no clock and no counting of failures is needed. Pure; settings_store.hpp keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::agent {

inline constexpr std::int64_t kConfirmWithinMinS = 5;
inline constexpr std::int64_t kConfirmWithinMaxS = 3600;
inline constexpr std::int64_t kConfirmWithinS = 120;

struct Trial {
  json::Value before;  // the settings to go back to
  std::int64_t within_s = kConfirmWithinS;
  bool begun = false;  // a start of the agent has used it
};

struct RemoteSettings {
  std::uint64_t rev = 0;  // grows with every change
  json::Value settings = json::Value::object();
  std::string by;  // who changed it last
  std::string id;  // by which command
  std::optional<Trial> trial;
  std::string reverted_id;  // the last change that did not hold, and why
  std::string reverted_why;
  std::string news;  // for the journal and the fleet, not told yet
};

[[nodiscard]] RemoteSettings proposed(const RemoteSettings& now, json::Value settings,
                                      std::string by, std::string id, std::int64_t within_s);
// What a start of the agent makes of what it finds.
[[nodiscard]] RemoteSettings at_start(RemoteSettings found);
[[nodiscard]] RemoteSettings reverted(const RemoteSettings& now, const std::string& why);
// kExists: it was confirmed before. kRefused says why it does not hold, or that it is too early.
[[nodiscard]] Result<RemoteSettings> confirmed(const RemoteSettings& now, const std::string& id,
                                               const std::string& by);

[[nodiscard]] json::Value to_json(const RemoteSettings& remote);
[[nodiscard]] Result<RemoteSettings> remote_settings_from(const json::Value& value);

}  // namespace laird::agent
