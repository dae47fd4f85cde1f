// Answers to questions about a board. They are read from the state and change nothing.
#pragma once

#include <string>

#include "agent/agent.hpp"
#include "agent/commands/requests.hpp"
#include "agent/commands/settings_changes.hpp"
#include "agent/view/event_log.hpp"
#include "json/value.hpp"

namespace laird::agent {

// Where answers come from.
struct QuerySources {
  const Agent* agent = nullptr;
  const SettingsChanges* config = nullptr;
  const EventLog* events = nullptr;  // nullptr for a board in no fleet: it keeps none
};

struct QueryAnswer {
  std::string text;
  json::Value data;  // null: the text is all there is
};

[[nodiscard]] Result<QueryAnswer> answer_query(const Query& query, const QuerySources& sources);

}  // namespace laird::agent
