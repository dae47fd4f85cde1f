// config: the settings of boards, looked at and changed over the network.
#include <cstdio>

#include "agent/settings/remote_settings.hpp"
#include "agent/settings/settings.hpp"
#include "agent/settings/trial.hpp"
#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/confirm.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kFileBytesMax = 1'000'000;

struct ConfigOptions {
  std::vector<std::string> nodes;
  std::vector<std::string> words;
  std::string key;
  std::string value;
  std::string file;
  std::string within = "120s";
};

// The boards that were named, or every live one.
Result<std::set<std::string>> targets(const FleetView& view, const Reach& reach,
                                      const ConfigOptions& options) {
  if (reach.all && !options.nodes.empty()) {
    return fail(Code::kInvalid, "name boards with --node or say --all, not both");
  }
  std::set<std::string> out(options.nodes.begin(), options.nodes.end());
  for (const std::string& board : out) {
    LAIRD_TRY(check_board(view, board));
  }
  if (reach.all) out = live_boards(view);
  if (out.empty()) {
    return fail(Code::kInvalid, reach.all ? "no board is live" : "which board? --node N, or --all");
  }
  return out;
}

std::string short_text(const Value& value) {
  if (value.is(Kind::kNull)) return "(not set)";
  return value.is(Kind::kString) ? value.as_string() : json::to_text(value);
}

// Prints what a board would change or has changed, and its problems with the request.
void show_details(const mqtt::Reply& reply) {
  if (const Value* list = reply.data.find("changes", Kind::kArray)) {
    for (const Value& change : list->items()) {
      const Value* key = change.find("key", Kind::kString);
      const Value* from = change.find("from");
      const Value* to = change.find("to");
      if (key == nullptr || from == nullptr || to == nullptr) continue;
      print("%s: %s: %s -> %s\n", reply.node.c_str(), harmless(key->as_string()).c_str(),
            harmless(short_text(*from)).c_str(), harmless(short_text(*to)).c_str());
    }
  }
  if (const Value* list = reply.data.find("problems", Kind::kArray)) {
    for (const Value& problem : list->items()) {
      const Value* key = problem.find("key", Kind::kString);
      const Value* what = problem.find("what", Kind::kString);
      if (key == nullptr || what == nullptr) continue;
      say(reply.node + ": " + harmless(key->as_string()) + ": " + harmless(what->as_string()));
    }
  }
}

int show_replies(const Replies& replies, const std::set<std::string>& asked, bool json) {
  if (!json) {
    for (const auto& [board, reply] : replies) show_details(reply);
  }
  if (asked.size() == 1 && replies.size() == 1 && !json) return show(replies.begin()->second);
  return show_all(replies, asked, json);
}

Result<Value> settings_from(const std::string& path) {
  const auto text = config::read_file(path, kFileBytesMax);
  LAIRD_TRY(text);
  json::ParseLimits limits;
  limits.comments = true;
  auto value = json::parse(*text, path, limits);
  LAIRD_TRY(value);
  if (!value->is(Kind::kObject)) return fail(Code::kInvalid, path + ": not an object of settings");
  return value;
}

// 2, true, ["a"] and "text" are read as JSON; 15W and everything else is a text as it stands.
Value value_of(const std::string& word) {
  auto value = json::parse(word, "value");
  return value ? std::move(*value) : Value::string(word);
}

// KEY VALUE, or any number of KEY=VALUE.
Result<Value> set_body(const ConfigOptions& options) {
  Value set = Value::object();
  std::vector<std::string> pairs = options.words;
  if (options.key.find('=') == std::string::npos) {
    if (options.value.empty() || !pairs.empty()) {
      return fail(Code::kInvalid, "give KEY VALUE, or KEY=VALUE as often as needed");
    }
    set.set(options.key, value_of(options.value));
    return Value::object().set("set", std::move(set));
  }
  if (!options.value.empty()) pairs.insert(pairs.begin(), options.value);
  pairs.insert(pairs.begin(), options.key);
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Code::kInvalid, "'" + pair + "' is not KEY=VALUE");
    }
    set.set(pair.substr(0, equals), value_of(pair.substr(equals + 1)));
  }
  return Value::object().set("set", std::move(set));
}

Value unset_body(const std::vector<std::string>& keys) {
  Value list = Value::array();
  for (const std::string& key : keys) list.add(key);
  return Value::object().set("unset", std::move(list));
}

int change(const Reach& reach, const ConfigOptions& options, Value body) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto within = config::parse_duration(options.within);
  if (!within) return complain({Code::kInvalid, "--confirm-within: " + within.error().context});
  if (*within < agent::kConfirmWithinMinS * kSecond ||
      *within > agent::kConfirmWithinMaxS * kSecond) {
    return complain({Code::kInvalid, "--confirm-within: from 5s to 1h"});
  }
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const auto boards = targets((*client)->view(), reach, options);
  if (!boards) return complain(boards.error());
  body.set("confirm_within_s", *within / kSecond);
  if (boards->size() > 1 &&
      !confirmed("Change the settings of " + std::to_string(boards->size()) + " boards?",
                 reach.yes)) {
    say("nothing was done");
    return kFailed;
  }
  // One board goes first. When it does not come back, the others are not touched.
  const std::string first = *boards->begin();
  const std::set<std::string> rest(std::next(boards->begin()), boards->end());
  auto all = ConfigChange(**client, where->timeout, *within).run(body, {first});
  if (!all) return complain(all.error());
  const bool held = all->count(first) != 0 && exit_code_of(all->at(first)) == 0;
  if (!held && !rest.empty()) {
    say("stopped at " + first + ": the other boards were not asked");
    return show_replies(*all, {first}, reach.json());
  }
  if (!rest.empty()) {
    auto others = ConfigChange(**client, where->timeout, *within).run(body, rest);
    if (!others) return complain(others.error());
    all->merge(*others);
  }
  return show_replies(*all, *boards, reach.json());
}

int diff(const Reach& reach, const ConfigOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  auto settings = settings_from(options.file);
  if (!settings) return complain(settings.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const auto boards = targets((*client)->view(), reach, options);
  if (!boards) return complain(boards.error());
  const Value body = Value::object().set("apply", std::move(*settings)).set("dry_run", true);
  const auto sent = (*client)->send_each("config", body, *boards, where->timeout);
  if (!sent) return complain(sent.error());
  return show_replies((*client)->replies_to(*sent), *boards, reach.json());
}

// The default of a setting, as on the reference page; empty when it has none.
std::string default_of(std::string_view key) {
  const config::Schema* schema = &agent::settings_schema();
  while (schema != nullptr) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    const std::string_view name = key.substr(0, dot);
    const auto field = std::find_if(schema->fields.begin(), schema->fields.end(),
                                    [&](const config::Field& f) { return f.name == name; });
    if (field == schema->fields.end()) return "";
    if (dot == key.size()) {
      return field->fallback == config::kOptional ? "" : std::string(field->fallback);
    }
    key.remove_prefix(dot + 1);
    schema = field->type == config::Type::kObject ? field->of : nullptr;
  }
  return "";
}

void add_rows(const mqtt::Reply& reply, const std::string& key, Table& table) {
  const Value* settings = reply.data.find("settings", Kind::kObject);
  const Value* over = reply.data.find("overlay", Kind::kObject);
  if (settings == nullptr || over == nullptr) return;
  const auto all = agent::changes(Value::object(), *settings);
  for (const agent::Change& setting : all) {
    const bool ours = agent::find_key(*over, setting.key) != nullptr;
    table.add({reply.node, harmless(setting.key), harmless(short_text(setting.to)),
               ours ? "fleet" : "file"});
  }
  if (!all.empty() || key.empty()) return;
  const std::string otherwise = default_of(key);
  table.add({reply.node, key, otherwise.empty() ? "(not set)" : otherwise, "default"});
}

int get(const Reach& reach, const ConfigOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  Reach wanted = reach;
  wanted.all = reach.all || options.nodes.empty();
  const auto boards = targets((*client)->view(), wanted, options);
  if (!boards) return complain(boards.error());
  Value body = Value::object().set("what", "config");
  if (!options.key.empty()) body.set("key", options.key);
  const auto sent = (*client)->send_each("get", body, *boards, where->timeout);
  if (!sent) return complain(sent.error());
  Replies replies = (*client)->replies_to(*sent);
  if (reach.json()) return show_all(replies, *boards, true);
  Table table({{"NODE"}, {"KEY"}, {"VALUE"}, {"FROM"}});
  std::size_t good = 0;
  int code = 0;
  for (const auto& [board, reply] : replies) {
    if (exit_code_of(reply) != 0) {
      code = show(reply);
      continue;
    }
    ++good;
    add_rows(reply, options.key, table);
  }
  print_text(table.text());
  if (boards->size() > 1 || replies.empty()) {
    say("answered " + std::to_string(replies.size()) + " of " + std::to_string(boards->size()));
  }
  if (good == boards->size()) return 0;
  if (good > 0) return kPartial;
  return replies.empty() ? kTimedOut : code;
}

void add_changing(cli::Command* command, Reach& reach, ConfigOptions& options, bool trial) {
  command->add_option("--node", options.nodes, "This board; once for each, or with commas between")
      ->delimiter(',');
  command->add_flag("--all", reach.all, "Every live board");
  if (trial) {
    command
        ->add_option("--confirm-within", options.within,
                     "A board that is not back and confirmed by then reverts by itself")
        ->show_default();
    command->add_flag("-y,--yes", reach.yes, "Do not ask");
  }
  add_output(command, reach, false);
  add_access(command, reach);
}

}  // namespace

void add_config(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<ConfigOptions>();
  cli::Command* config = app.add_subcommand(
      "config",
      "Look at and change the settings of boards. A change reverts by itself if the board does not "
      "come back with it.\nExample: lairctl config set power.cap 15W --node n-3");
  config->require_subcommand();

  cli::Command* get_command = config->add_subcommand(
      "get",
      "The settings of boards, and where each is from.\nExample: lairctl config get power.cap");
  get_command->add_option("key", options->key, "Only this setting, or what stands below it");
  add_changing(get_command, *reach, *options, false);
  get_command->callback([reach, options, &code] { code = get(*reach, *options); });

  cli::Command* set_command =
      config->add_subcommand("set",
                             "Change settings; the board restarts with them and its tasks go on.\n"
                             "Example: lairctl config set power.cap=15W slice=2s --node n-3");
  set_command->add_option("key", options->key, "KEY VALUE, or KEY=VALUE as often as needed")
      ->required();
  set_command->add_option("value", options->value, "15W, 2s, true, [\"a\",\"b\"]; null: not set");
  set_command->add_option("more", options->words, "Further KEY=VALUE");
  add_changing(set_command, *reach, *options, true);
  set_command->callback([reach, options, &code] {
    const auto body = set_body(*options);
    code = body ? change(*reach, *options, *body) : complain(body.error());
  });

  cli::Command* unset_command =
      config->add_subcommand("unset",
                             "Go back to what the board's own file says.\n"
                             "Example: lairctl config unset power.cap --node n-3");
  unset_command->add_option("key", options->words, "Settings")->required();
  add_changing(unset_command, *reach, *options, true);
  unset_command->callback(
      [reach, options, &code] { code = change(*reach, *options, unset_body(options->words)); });

  const auto with_file = [&options](cli::Command* command) {
    command
        ->add_option("-f,--file", options->file,
                     "Settings as in laird.json; only those that "
                     "are to differ from the board's own file")
        ->required();
    return command;
  };
  cli::Command* diff_command =
      with_file(config->add_subcommand("diff",
                                       "What `config apply` would change; nothing is changed.\n"
                                       "Example: lairctl config diff -f site.json --all"));
  add_changing(diff_command, *reach, *options, false);
  diff_command->callback([reach, options, &code] { code = diff(*reach, *options); });

  cli::Command* apply_command = with_file(config->add_subcommand(
      "apply",
      "Make these the settings that lie over the boards' own files; what was set before and is not "
      "in the file is taken back.\nExample: lairctl config apply -f site.json --all"));
  add_changing(apply_command, *reach, *options, true);
  apply_command->callback([reach, options, &code] {
    auto settings = settings_from(options->file);
    code = settings ? change(*reach, *options, Value::object().set("apply", std::move(*settings)))
                    : complain(settings.error());
  });
}

}  // namespace laird::control
