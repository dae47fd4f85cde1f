// models: what stands ready on the boards. models rollback: the version before, on one board.
#include <cstdio>

#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

std::string text_in(const Value& row, std::string_view key) {
  const Value* found = row.find(key, Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

std::optional<double> number_in(const Value& row, std::string_view key) {
  const Value* found = row.find(key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->as_double();
}

std::string size_text(const std::optional<double>& bytes) {
  if (!bytes) return "-";
  return *bytes < 1e6 ? fixed(*bytes * 1e-3, 1, " kB") : fixed(*bytes * 1e-6, 1, " MB");
}

std::string age_text(const std::optional<double>& since_ms) {
  if (!since_ms) return "-";
  return span_text((static_cast<double>(unix_ms_now()) - *since_ms) * 1e-3);
}

// A row for each model, with its board.
void add_rows(const std::string& board, const Value& answer, Value& all) {
  const Value* models = answer.find("models", Kind::kArray);
  if (models == nullptr) return;
  for (const Value& model : models->items()) {
    Value row = Value::object();
    if (!board.empty()) row.set("node", board);
    for (const auto& [key, value] : model.members()) row.set(key, value);
    all.add(std::move(row));
  }
}

void show_models(const Value& all, bool with_board, bool json) {
  if (json) return print_json(all);
  std::vector<Column> columns = {{"MODEL"}};
  if (with_board) columns.push_back({"NODE"});
  columns.insert(columns.end(), {{"VERSION"},
                                 {"AS"},
                                 {"ACCURACY", true},
                                 {"P50_US", true},
                                 {"P99_US", true},
                                 {"MJ/ROW", true},
                                 {"SIZE", true},
                                 {"AGE", true}});
  Table table(columns);
  std::map<std::string, std::string> unmetered;  // the models by why their energy is not known
  for (const Value& row : all.items()) {
    std::vector<std::string> cells = {harmless(text_in(row, "model"))};
    if (with_board) cells.push_back(harmless(text_in(row, "node")));
    const std::string problem = text_in(row, "problem");
    if (!problem.empty()) say(text_in(row, "model") + ": " + problem);
    const std::string no_energy = text_in(row, "no_energy");
    if (!no_energy.empty()) unmetered[no_energy] += " " + text_in(row, "model");
    cells.insert(
        cells.end(),
        {harmless(text_in(row, "version")), harmless(text_in(row, "choice")),
         short_number(number_in(row, "accuracy")), fixed(number_in(row, "latency_us_p50"), 0),
         fixed(number_in(row, "latency_us_p99"), 0),
         short_number(number_in(row, "energy_mj_per_row")), size_text(number_in(row, "bytes")),
         age_text(number_in(row, "promoted_ms"))});
    table.add(std::move(cells));
  }
  print_text(table.text());
  for (const auto& [why, models] : unmetered) say("no energy of a row (" + why + "):" + models);
}

int list_models(const Reach& reach) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  Value all = Value::array();
  if (where->local) {
    const auto answer = ask(where->socket, local_request("models"), where->timeout);
    if (!answer) return complain(answer.error());
    add_rows("", *answer, all);
    show_models(all, false, reach.json());
    return 0;
  }
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  std::set<std::string> boards = live_boards(view);
  if (!reach.node.empty()) {
    if (const Status ok = check_board(view, reach.node); !ok) return complain(ok.error());
    boards = {reach.node};
  }
  if (boards.empty()) return complain({Code::kUnavailable, "no board of the fleet is live"});
  const auto replies = (*client)->ask_each("models", Value::object(), boards, where->timeout);
  if (!replies) return complain(replies.error());
  int code = replies->size() == boards.size() ? 0 : kPartial;
  for (const auto& [board, reply] : *replies) {
    if (const int refused = exit_code_of(reply); refused != 0) {
      say(board + ": " + reply.text);
      code = boards.size() == 1 ? refused : kPartial;
      continue;
    }
    add_rows(board, reply.data, all);
  }
  show_models(all, true, reach.json());
  if (boards.size() > 1) {
    say("answered " + std::to_string(replies->size()) + " of " + std::to_string(boards.size()));
  }
  return code;
}

// The version that is current, so that the board can tell a repeated command from a second wish.
Result<std::string> current_version(const Value& answer, const std::string& model) {
  Value all = Value::array();
  add_rows("", answer, all);
  for (const Value& row : all.items()) {
    if (text_in(row, "model") == model) return text_in(row, "version");
  }
  return fail(Code::kNotFound, "no model '" + model + "' there; `lairctl models` lists them");
}

int roll_back(const Reach& reach, const std::string& model) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  const auto body_for = [&](const std::string& from) {
    return Value::object().set("model", model).set("from", from);
  };
  if (where->local) {
    const auto answer = ask(where->socket, local_request("models"), where->timeout);
    if (!answer) return complain(answer.error());
    const auto from = current_version(*answer, model);
    if (!from) return complain(from.error());
    const Value request = body_for(*from).set("op", "rollback");
    const auto done = ask(where->socket, request, where->timeout);
    if (!done) return complain(done.error());
    print("version %s is current\n", text_in(*done, "version").c_str());
    return 0;
  }
  if (reach.node.empty()) {
    return complain({Code::kInvalid, "which board? --node N"});
  }
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  if (const Status ok = check_board((*client)->view(), reach.node); !ok) {
    return complain(ok.error());
  }
  const auto listed = (*client)->ask(reach.node, "models", Value::object(), where->timeout);
  if (!listed) return complain(listed.error());
  if (exit_code_of(*listed) != 0) return show(*listed);
  const auto from = current_version(listed->data, model);
  if (!from) return complain(from.error());
  const auto reply = (*client)->ask(reach.node, "rollback", body_for(*from), where->timeout);
  if (!reply) return complain(reply.error());
  return show(*reply);
}

}  // namespace

void add_models(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto model = std::make_shared<std::string>();
  const auto rolled = std::make_shared<bool>(false);
  cli::Command* models = app.add_subcommand("models",
                                            "The promoted models of the fleet, or of this board.\n"
                                            "Examples: lairctl models --node n-07\n"
                                            "          lairctl models rollback night --node n-07");
  add_output(models, *reach, false);
  models->add_option("--node", reach->node, "Of this board only");
  add_access(models, *reach);
  cli::Command* back =
      models->add_subcommand("rollback", "Make the version before current again on one board");
  back->add_option("model", *model, "The model's name")->required();
  back->add_option("--node", reach->node, "The board");
  add_access(back, *reach);
  back->callback([reach, model, rolled, &code] {
    *rolled = true;
    code = roll_back(*reach, *model);
  });
  const auto promoted = std::make_shared<int>(-1);
  add_promote(*models, *promoted);
  models->callback([reach, rolled, promoted, &code] {
    if (*promoted >= 0) {
      code = *promoted;
    } else if (!*rolled) {
      code = list_models(*reach);
    }
  });
}

}  // namespace laird::control
