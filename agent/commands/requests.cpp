#include "agent/commands/requests.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "agent/commands/request_bodies.hpp"
#include "agent/settings/settings.hpp"
#include "config/nearest.hpp"
#include "config/units.hpp"
#include "mqtt/codec/base64.hpp"

namespace laird::agent {

using namespace request_bodies;

namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kVerbShownMax = 40;

// From bodies to requests.

std::string all_of(const std::vector<config::Problem>& problems) {
  std::string out;
  for (const config::Problem& p : problems) {
    out +=
        (out.empty() ? "" : "; ") + p.path.substr(p.path.starts_with('/') ? 1 : 0) + ": " + p.what;
  }
  return out;
}

template <class Event>
Result<Request> on_task(const Value& body) {
  return Request(core::OperatorRequest(Event{0, body.find("task")->as_string()}));
}

Result<core::TaskSpec> task_in(const Value& body) {
  const Value& given = *body.find("task");
  if (!given.is(Kind::kObject)) {
    return fail(Code::kInvalid,
                "task: expected an object, found " + std::string(json::name(given.kind())));
  }
  std::vector<config::Problem> problems;
  core::TaskSpec spec = parse_task(given, "task", problems);
  if (!problems.empty()) return fail(Code::kInvalid, all_of(problems));
  return spec;
}

Result<Request> submit(const Value& body) {
  Result<core::TaskSpec> spec = task_in(body);
  LAIRD_TRY(spec);
  const bool replace = body.find("replace", Kind::kBool)->as_bool();
  return Request(core::OperatorRequest(core::Submitted{0, std::move(*spec), replace}));
}

Result<Request> bid(const Value& body) {
  Result<core::TaskSpec> spec = task_in(body);
  LAIRD_TRY(spec);
  return Request(Query(BidQuery{std::move(*spec)}));
}

Result<Request> move_task(const Value& body) {
  return Request(core::OperatorRequest(
      core::MoveRequested{0, body.find("task")->as_string(), body.find("to")->as_string()}));
}

template <bool kDrain>
Result<Request> drain(const Value&) {
  return Request(core::OperatorRequest(core::DrainRequested{0, kDrain}));
}

// A member that is there and not null.
const Value* given_in(const Value& body, std::string_view key) {
  const Value* found = body.find(key);
  return found == nullptr || found->is(Kind::kNull) ? nullptr : found;
}

// The quantity that is written as a number under one key or as a text with a unit under another;
// nothing when it is under neither.
Result<std::optional<std::int64_t>> quantity(const Value& body, std::string_view number_key,
                                             double scale, std::string_view text_key,
                                             Result<std::int64_t> (*parse)(std::string_view),
                                             double min, double max, const char* wanted) {
  const Value* number = given_in(body, number_key);
  const Value* text = given_in(body, text_key);
  if (number != nullptr && text != nullptr) {
    return fail(Code::kInvalid, std::string(number_key) + " and " + std::string(text_key) +
                                    ": they mean the same; give one of them");
  }
  if (number == nullptr && text == nullptr) return std::optional<std::int64_t>();
  const std::string place(number != nullptr ? number_key : text_key);
  double amount = 0.0;
  if (number != nullptr) {
    amount = number->is_number() ? number->as_double() * scale : 0.0;
  } else if (text->is(Kind::kString)) {
    const Result<std::int64_t> parsed = parse(text->as_string());
    if (!parsed) return fail(Code::kInvalid, place + ": " + parsed.error().context);
    amount = static_cast<double>(*parsed);
  }
  if (!(amount >= min) || amount > max) return fail(Code::kInvalid, place + ": " + wanted);
  return std::optional<std::int64_t>(static_cast<std::int64_t>(amount));
}

// Without a power, the operator's cap is taken back.
Result<Request> cap(const Value& body) {
  const auto cap_mw = quantity(
      body, "power_w", 1e3, "cap", &config::parse_power, 1.0, static_cast<double>(core::kCapMwMax),
      "expected a power above 0 and up to 10 kW, such as \"power_w\": 15 or \"cap\": \"15W\"; null "
      "takes the cap back");
  LAIRD_TRY(cap_mw);
  const auto for_ns =
      quantity(body, "for_s", 1e9, "for", &config::parse_duration, 1e9,
               static_cast<double>(core::kCapForMax),
               "expected from 1 s to 366 days, such as \"for_s\": 3600 or \"for\": \"1h\"");
  LAIRD_TRY(for_ns);
  return Request(core::OperatorRequest(core::CapRequested{0, *cap_mw, for_ns->value_or(0)}));
}

Result<Request> config_change(const Value& body) { return Request(SettingsRequest{body}); }

// As Debian's policy has versions, without what would be an epoch: it becomes an argument of apt.
Result<Request> upgrade(const Value& body) {
  const std::string& version = body.find("version")->as_string();
  const bool plain = version.front() >= '0' && version.front() <= '9' &&
                     version.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+~-") ==
                         std::string::npos;
  if (!plain) return fail(Code::kInvalid, "version: '" + version + "' is no version of a package");
  return Request(UpgradeRequest{version});
}

Result<Request> explain(const Value& body) {
  return Request(Query(ExplainQuery{body.find("task")->as_string()}));
}

Result<Request> why(const Value& body) {
  return Request(Query(WhyQuery{body.find("task")->as_string()}));
}

Result<Request> logs(const Value& body) {
  LogsQuery out{body.find("task")->as_string(), {}};
  if (const Value* from = body.find("from")) out.from = from->as_integer();
  return Request(Query(std::move(out)));
}

// "+2h" and "-2h" move the deadline; "2h" counts from now.
Status read_deadline(const std::string& text, core::EditRequested& out) {
  const bool moves = text.starts_with('+') || text.starts_with('-');
  if (const Result<DurationNs> by = config::parse_duration(moves ? text.substr(1) : text)) {
    if (*by <= 0 || *by > core::kDeadlineMax) {
      return fail(Code::kInvalid, "deadline: give more than nothing and up to 366d");
    }
    (moves ? out.deadline_add : out.deadline_after) = text.starts_with('-') ? -*by : *by;
    return {};
  }
  const Result<TimeNs> at = parse_wall_time(text);
  if (!at) return fail(Code::kInvalid, "deadline: " + at.error().context + "; \"+2h\" adds");
  out.deadline_wall = *at;
  return {};
}

Result<Request> edit(const Value& body) {
  core::EditRequested out;
  out.task = body.find("task")->as_string();
  const Value* deadline = body.find("deadline", Kind::kString);
  const Value* weight = body.find("weight");
  const Value* every = body.find("every", Kind::kString);
  if (deadline == nullptr && weight == nullptr && every == nullptr) {
    return fail(Code::kInvalid, "nothing to change; give \"deadline\", \"weight\" or \"every\"");
  }
  if (every != nullptr) {
    const Result<core::WeeklyWindow> window = core::parse_weekly_window(every->as_string());
    if (!window) return fail(Code::kInvalid, "every: " + window.error().context);
    out.window = *window;
  }
  if (deadline != nullptr) LAIRD_TRY(read_deadline(deadline->as_string(), out));
  if (weight != nullptr) {
    out.weight_milli = static_cast<std::uint32_t>(std::lround(weight->as_double() * 1000.0));
  }
  return Request(core::OperatorRequest(std::move(out)));
}

Result<Request> models(const Value&) { return Request(Query(ModelsQuery{})); }

Result<Request> rollback(const Value& body) {
  return Request(
      Query(RollbackQuery{body.find("model")->as_string(), body.find("from")->as_string()}));
}

Result<Request> pull(const Value& body) {
  PullQuery out;
  out.name = body.find("name")->as_string();
  if (const Value* file = body.find("file")) out.file = file->as_string();
  if (const Value* version = body.find("version")) out.version = version->as_string();
  if (const Value* from = body.find("from")) out.from = from->as_integer();
  if (!out.file.empty() && out.version.empty()) {
    return fail(Code::kInvalid, "version: missing; ask for the list of files first");
  }
  return Request(Query(std::move(out)));
}

Result<Request> push(const Value& body) {
  PushQuery out;
  if (const Value* model = body.find("model")) out.model = model->as_string();
  out.file = body.find("file")->as_string();
  out.bytes = body.find("bytes")->as_integer();
  out.sha256 = body.find("sha256")->as_string();
  if (const Value* from = body.find("from")) out.from = from->as_integer();
  if (const Value* piece = body.find("bytes64")) {
    Result<std::string> bytes = mqtt::from_base64(piece->as_string());
    if (!bytes) return fail(Code::kInvalid, "bytes64: " + bytes.error().context);
    out.piece = std::move(*bytes);
  }
  return Request(Query(std::move(out)));
}

Result<Request> ping(const Value&) { return Request(Query(PingQuery{})); }

Result<Request> events(const Value& body) {
  EventsQuery out;
  if (const Value* since = body.find("since_ms")) out.since_ms = since->as_integer();
  if (const Value* before = body.find("before")) {
    out.before = EventPlace{static_cast<std::uint64_t>(before->find("epoch")->as_integer()),
                            static_cast<std::uint64_t>(before->find("seq")->as_integer())};
  }
  return Request(Query(out));
}

Result<Request> ended(const Value& body) {
  EndedQuery out;
  if (const Value* since = body.find("since_ms")) out.since_ms = since->as_integer();
  if (const Value* before = body.find("before_task")) {
    const std::int64_t key = before->find("key")->as_integer();
    if (key < 1 || key > INT64_C(0xffffffff)) {
      return fail(Code::kInvalid, "before_task/key: give the key of a task in an earlier answer");
    }
    out.before = static_cast<core::TaskKey>(key);
  }
  return Request(Query(out));
}

Result<Request> get(const Value& body) {
  const std::string& what = body.find("what")->as_string();
  if (what == "tasks") return Request(Query(TasksQuery{}));
  if (what == "plan") return Request(Query(BudgetQuery{}));
  if (what == "power") return Request(Query(PowerQuery{}));
  if (what == "status") return Request(Query(StatusQuery{}));
  if (what == "events") return events(body);
  if (what == "ended") return ended(body);
  const Value* key = body.find("key");
  return Request(Query(SettingsQuery{key == nullptr ? "" : key->as_string()}));
}

constexpr WhoMay kBoth = WhoMay::kBothWays;
constexpr Verb kVerbs[] = {
    {"ping", kBoth, false, &kNothing, &ping, "{}", "is anybody there"},
    {"submit", kBoth, true, &kSubmit, &submit, R"({"task":{...}})",
     "a task as in [configuration](configuration.md): name, trainer, deadline, target_loss, ...; "
     "with `\"replace\":true` it takes the name of the task that has it, which is cancelled if it "
     "is not over, and begins afresh"},
    {"cancel", kBoth, true, &kTaskName, &on_task<core::CancelRequested>, R"({"task":"<name>"})",
     "ends the task"},
    {"pause", kBoth, true, &kTaskName, &on_task<core::PauseRequested>, R"({"task":"<name>"})",
     "writes a checkpoint of the task and frees its memory until it is resumed"},
    {"resume", kBoth, true, &kTaskName, &on_task<core::ResumeRequested>, R"({"task":"<name>"})",
     "lets a paused task go on"},
    {"edit", kBoth, true, &kEdit, &edit, R"({"task":"<name>","deadline":"+2h","weight":3})",
     "another deadline (`+2h` later, `2h` from now, or a time) or weight for a task that is not "
     "over; `every`: other windows for one that recurs"},
    {"move", kBoth, true, &kMove, &move_task, R"({"task":"<name>","to":"<board>"})",
     "hands a task that may move over to that board, at a checkpoint; an event `move` says how"},
    {"rm", kBoth, true, &kTaskName, &on_task<core::RemoveRequested>, R"({"task":"<name>"})",
     "puts a task away that is over: nobody is shown it any more, and its name is free"},
    {"explain", kBoth, false, &kTaskName, &explain, R"({"task":"<name>"})",
     "why the task has the share it has, in words"},
    {"why", kBoth, false, &kTaskName, &why, R"({"task":"<name>"})",
     "what the task's whole time went to, the cause, and what would have saved it "
     "([schema](schema/why.json))"},
    {"logs", kBoth, false, &kLogs, &logs, R"({"task":"<name>","from":0})",
     "what the task's trainer printed: a page of at most 24 KiB as Base64 in `bytes64`, of the log "
     "from `from` to before `next`; without `from`, the end of the log. If `from` of the answer is "
     "lower than was asked for, the log was full and began anew"},
    {"models", kBoth, false, &kNothing, &models, "{}",
     "the [promoted models](models.md) of the board: name, version, choice, accuracy, latency, "
     "size, age"},
    {"rollback", kBoth, true, &kRollback, &rollback, R"({"model":"<name>","from":"000003"})",
     "makes the version before the current one current again; refused if another is current than "
     "`from`"},
    {"pull", kBoth, false, &kPull, &pull,
     R"({"name":"<name>","file":"model.onnx","version":"000003","from":0})",
     "without `file`: the files of the model, or of the task's folder, with sizes, hashes where "
     "they are known, and their `version`. With one: a piece of at most 24 KiB as Base64 in "
     "`bytes64` with its `sha256`, or `wait_ms` when the board has given out enough for now; "
     "refused when the file is no longer of that version"},
    {"push", kBoth, true, &kPush, &push,
     R"({"model":"<name>","file":"model.onnx","bytes":70000,"sha256":"<64 digits>","from":0,)"
     R"("bytes64":"..."})",
     "a file for the board's folder of pushed files ([models](models.md#onto-a-board)), or with "
     "`model` for a model's folder there. Without `bytes64`: how much of it has come, `have`, or "
     "`done`. With: the piece at `from`, and the same answer, or `wait_ms` when the piece is to be "
     "sent again later. The file is in its place once all of it has come and has its hash"},
    {"bid", kBoth, false, &kTask, &bid, R"({"task":{...}})",
     "would the board admit the task, and with what probability, by when and at what energy would "
     "it be done; nothing is reserved"},
    {"get", kBoth, false, &kGet, &get, R"({"what":"tasks"})",
     "the `tasks`; the `plan` in force; `power` now and the cap; the agent's `status`; `config`, "
     "the "
     "board's settings, all or below a `\"key\"`; `events`, see [below](#events-that-were); "
     "`ended`, see [below](#tasks-that-are-over)"},
    {"drain", kBoth, true, &kNothing, &drain<true>, "{}",
     "takes no new tasks, and hands over all shares when none is left"},
    {"undrain", kBoth, true, &kNothing, &drain<false>, "{}", "takes tasks again"},
    {"cap", kBoth, true, &kCap, &cap, R"({"power_w":12.5,"for_s":3600})",
     "the operator's cap for the board, also as `{\"cap\":\"12.5W\",\"for\":\"1h\"}`; `null` takes "
     "it "
     "back; without a duration it stays"},
    {"upgrade", WhoMay::kSignedOnly, true, &kUpgrade, &upgrade, R"({"version":"0.2.0"})",
     "hands a signed request for another version of the package on to root, which tries it and "
     "goes "
     "back if it is not well; the same again, once the board is back, "
     "[confirms it](operations.md#upgrades)"},
    {"config", WhoMay::kSignedOnly, true, &kConfig, &config_change, R"({"set":{"slice":"2s"}})",
     "changes the board's own [settings](schema/config.json), see [below](#settings)"},
};

// The verbs of the socket from before it shared the table with signed commands.

Result<Value> cap_set(const Value& body) {
  if (given_in(body, "cap") == nullptr && given_in(body, "power_w") == nullptr) {
    return fail(Code::kInvalid, "cap: missing; give a text like \"15W\"");
  }
  return body;
}

Result<Value> cap_clear(const Value& body) {
  for (const auto& [key, value] : body.members()) {
    return fail(Code::kInvalid, key + ": unknown key; cap-clear takes none");
  }
  return Value::object().set("power_w", Value());
}

template <const std::string_view& kName>
Result<Value> get_what(const Value& body) {
  Value out = body;
  return out.set("what", kName);
}

constexpr std::string_view kTasks = "tasks";
constexpr std::string_view kPower = "power";
constexpr std::string_view kStatus = "status";
constexpr OldVerb kOldVerbs[] = {
    {"cap-set", "cap", &cap_set, R"({"cap":"15W","for":"1h"})"},
    {"cap-clear", "cap", &cap_clear, "{}"},
    {"tasks", "get", &get_what<kTasks>, "{}"},
    {"power", "get", &get_what<kPower>, "{}"},
    {"status", "get", &get_what<kStatus>, "{}"},
};

const OldVerb* find_old(std::string_view name) {
  for (const OldVerb& old : kOldVerbs) {
    if (old.name == name) return &old;
  }
  return nullptr;
}

Error no_such_verb(std::string_view name) {
  std::vector<std::string_view> known;
  std::string all;
  for (const Verb& verb : kVerbs) {
    known.push_back(verb.name);
    all += (all.empty() ? "" : ", ") + std::string(verb.name);
  }
  const OldVerb* old = find_old(name);
  const std::string_view meant = old != nullptr ? old->verb : config::nearest(name, known);
  return {Code::kInvalid,
          "no command '" + std::string(name.substr(0, kVerbShownMax)) + "'" +
              (meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?") +
              "; there are " + all};
}

Error with_verb(std::string_view verb, Error error) {
  error.context = std::string(verb) + ": " + error.context;
  return error;
}

Result<Request> parse_with(const Verb& verb, const Value& body) {
  std::vector<config::Problem> problems;
  const Value checked = config::normalise(*verb.body, body, verb.name, problems);
  if (!problems.empty()) return fail(Code::kInvalid, all_of(problems));
  return verb.parse(checked);
}

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }
std::span<const OldVerb> old_verbs() { return kOldVerbs; }

const Verb* find_verb(std::string_view name) {
  for (const Verb& verb : kVerbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

Result<Request> parse_request(Way way, std::string_view name, const Value& body) {
  if (!body.is(Kind::kObject)) return fail(Code::kInvalid, "the body of a command is an object");
  if (const OldVerb* old = way == Way::kLocal ? find_old(name) : nullptr) {
    const Result<Value> translated = old->translate(body);
    if (!translated) return tl::make_unexpected(with_verb(name, translated.error()));
    return parse_request(way, old->verb, *translated);
  }
  const Verb* verb = find_verb(name);
  if (verb == nullptr) return tl::make_unexpected(no_such_verb(name));
  if (verb->who == WhoMay::kSignedOnly && way == Way::kLocal) {
    return fail(Code::kRefused,
                std::string(name) +
                    " comes as a signed command only, so that the board knows whose "
                    "change it is and can revert it; use lairctl with the fleet");
  }
  Result<Request> out = parse_with(*verb, body);
  if (!out) return tl::make_unexpected(with_verb(name, out.error()));
  return out;
}

std::string verbs_reference() {
  std::string out = "| verb | body | what |\n|---|---|---|\n";
  for (const Verb& verb : kVerbs) {
    out += "| `" + std::string(verb.name) + "` | `" + std::string(verb.example) + "` | " +
           std::string(verb.what) + (verb.who == kBoth ? "" : "; signed only") + " |\n";
  }
  return out;
}

std::string old_verbs_reference() {
  std::string out = "| also accepted | with | stands for |\n|---|---|---|\n";
  for (const OldVerb& old : kOldVerbs) {
    out += "| `" + std::string(old.name) + "` | `" + std::string(old.example) + "` | `" +
           std::string(old.verb) + "` |\n";
  }
  return out;
}

}  // namespace laird::agent
