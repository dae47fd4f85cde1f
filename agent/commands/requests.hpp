// What an operator can ask of a board: one table of verbs for the local socket and for signed
// commands, so that a request means the same whichever way it came.
//
// Pure: a verb and a JSON body go in; a question, a request for the core, or a reason to refuse
// comes out. Who sent it, and where the answer goes, is the business of the two ways in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "agent/core/state/event.hpp"
#include "agent/view/event_log.hpp"
#include "base/error.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"

namespace laird::agent {

// How a request reached the board.
enum class Way : std::uint8_t {
  kLocal,   // the socket: whoever may open its file may ask for anything that is not kSignedOnly
  kSigned,  // over the network: the operator's "may" lists the verb
};

// Questions. They change nothing, so they need no place in the journal.
struct PingQuery {};
struct TasksQuery {};
struct PowerQuery {};
struct StatusQuery {};
struct BudgetQuery {};
struct SettingsQuery {
  std::string key;  // one setting and what is below it; empty: all
};
struct EventsQuery {
  std::int64_t since_ms = 0;         // Unix time
  std::optional<EventPlace> before;  // only older ones
};
// Tasks that are over.
struct EndedQuery {
  std::int64_t since_ms = 0;            // Unix time
  std::optional<core::TaskKey> before;  // only those that ended before this one
};
struct ExplainQuery {
  std::string task;
};
struct WhyQuery {
  std::string task;
};
struct LogsQuery {
  std::string task;
  std::optional<std::int64_t> from;  // in bytes; none: the end of the log
};
struct ModelsQuery {};
// Makes the version before `from` current again: done before, it is refused and changes nothing.
struct RollbackQuery {
  std::string model;
  std::string from;
};
// A piece of a file of a promoted model, or of a task's folder; without a file, which there are.
struct PullQuery {
  std::string name;
  std::string file;
  std::string version;  // of the model, or of the file in a task's folder, as the list said
  std::int64_t from = 0;
};
// A piece of a file that an operator pushes; without one, how much of it is here.
struct PushQuery {
  std::string model;  // empty: data
  std::string file;
  std::int64_t bytes = 0;  // of the whole file, and so is the hash
  std::string sha256;
  std::int64_t from = 0;
  std::optional<std::string> piece;
};
struct BidQuery {
  core::TaskSpec spec;
};
using Query = std::variant<PingQuery, TasksQuery, PowerQuery, StatusQuery, BudgetQuery,
                           SettingsQuery, EventsQuery, ExplainQuery, BidQuery, WhyQuery, LogsQuery,
                           ModelsQuery, RollbackQuery, PullQuery, EndedQuery, PushQuery>;

// A change of the board's settings. It is judged against the settings in force, which are not known
// here: settings_changes.hpp does that.
struct SettingsRequest {
  json::Value body;
};

// Another version of the package. Root installs it (agent/upgrade); the agent hands the request on.
struct UpgradeRequest {
  std::string version;
};

using Request = std::variant<Query, core::OperatorRequest, SettingsRequest, UpgradeRequest>;

enum class WhoMay : std::uint8_t {
  kBothWays,
  kSignedOnly,
};

struct Verb {
  std::string_view name;
  WhoMay who = WhoMay::kBothWays;
  bool changes = false;  // false: it only asks
  const config::Schema* body = nullptr;
  // The body has passed the schema.
  Result<Request> (*parse)(const json::Value& body) = nullptr;
  std::string_view example;  // a body, as JSON
  std::string_view what;     // for help and for the page
};

// A verb of the socket's released vocabulary, and the one of the table that it stands for.
struct OldVerb {
  std::string_view name;
  std::string_view verb;
  // The body in the words of the table.
  Result<json::Value> (*translate)(const json::Value& body) = nullptr;
  std::string_view example;
};

[[nodiscard]] std::span<const Verb> verbs();
// Old verbs are accepted on the socket only: the rights of operators name the verbs of the table.
[[nodiscard]] std::span<const OldVerb> old_verbs();
// nullptr when there is no such verb.
[[nodiscard]] const Verb* find_verb(std::string_view name);

// Everything that is wrong with a verb or its body is kInvalid, in one text that names the remedy;
// a verb that may not come this way is kRefused.
[[nodiscard]] Result<Request> parse_request(Way way, std::string_view verb,
                                            const json::Value& body);

// The tables of docs/mqtt-api.md and docs/lairctl.md, as Markdown.
[[nodiscard]] std::string verbs_reference();
[[nodiscard]] std::string old_verbs_reference();

}  // namespace laird::agent
