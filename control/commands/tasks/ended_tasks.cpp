#include "control/commands/tasks/ended_tasks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/natural_order.hpp"
#include "config/units.hpp"
#include "control/commands/board_pages.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

// More than a board keeps: bounds what one that misbehaves can make lairctl hold.
constexpr std::size_t kPerBoardMax = 1024;

struct Row {
  std::string board;  // empty: this machine's
  Value task;

  [[nodiscard]] std::string text(const char* key) const {
    const Value* found = task.find(key, Kind::kString);
    return found == nullptr ? std::string() : found->as_string();
  }
  [[nodiscard]] std::optional<double> number(const char* key) const {
    const Value* found = task.find(key);
    if (found == nullptr || !found->is_number()) return std::nullopt;
    return found->as_double();
  }
};

[[nodiscard]] Value body_of(std::int64_t since_ms) {
  return Value::object().set("what", "ended").set("since_ms", since_ms);
}

// Takes a page; returns the place to go on from when there are older ones.
[[nodiscard]] std::optional<Value> take(const std::string& board, const Value& data,
                                        std::set<std::int64_t>& known, std::vector<Row>& rows) {
  const Value* list = data.find("ended", Kind::kArray);
  const Value* more = data.find("more", Kind::kBool);
  if (list == nullptr) return std::nullopt;
  std::optional<std::int64_t> last;
  for (const Value& task : list->items()) {
    const Value* key = task.find("key", Kind::kInteger);
    if (key == nullptr || known.size() >= kPerBoardMax) continue;
    if (!known.insert(key->as_integer()).second) continue;
    rows.push_back({board, task});
    last = key->as_integer();
  }
  // A board that repeats its answer is not asked for ever.
  if (more == nullptr || !more->as_bool() || !last) return std::nullopt;
  return Value::object().set("key", *last);
}

[[nodiscard]] Result<std::vector<Row>> local_rows(const Where& where, std::int64_t since_ms) {
  std::vector<Row> rows;
  std::set<std::int64_t> known;
  std::optional<Value> before;
  for (int page = 0; page < kPagesMax; ++page) {
    Value request = local_request("get").set("what", "ended").set("since_ms", since_ms);
    if (before) request.set("before_task", *before);
    const auto answer = ask(where.socket, request, where.timeout);
    LAIRD_TRY(answer);
    before = take("", *answer, known, rows);
    if (!before) break;
  }
  return rows;
}

struct Answered {
  std::vector<Row> rows;
  std::set<std::string> boards;
};

[[nodiscard]] Result<Answered> fleet_rows(FleetClient& client, const std::set<std::string>& boards,
                                          std::int64_t since_ms, DurationNs timeout) {
  Answered out;
  std::map<std::string, std::set<std::int64_t>> known;
  auto asked = ask_pages(client, boards, body_of(since_ms), "before_task", timeout,
                         [&](const std::string& board, const Value& data) {
                           return take(board, data, known[board], out.rows);
                         });
  LAIRD_TRY(asked);
  out.boards = std::move(asked->told);
  return out;
}

[[nodiscard]] std::string margin_of(const Row& row) {
  const auto margin = row.number("margin_s");
  if (row.text("state") == "succeeded") return span_text(margin) + " early";
  const auto loss = row.number("loss");
  const auto target = row.number("target_loss");
  return loss && target ? "loss +" + short_number(*loss - *target, 3) : "no loss";
}

[[nodiscard]] std::string table_of(const std::vector<Row>& rows, bool with_board, bool wide) {
  std::vector<Column> columns = {{"TASK"}};
  if (with_board) columns.push_back({"BOARD"});
  columns.push_back({"END"});
  columns.push_back({"ENDED"});
  for (const char* head : {"TOOK", "MARGIN", "LOSS", "TARGET", "ENERGY"}) {
    columns.push_back({head, true});
  }
  if (wide) {
    for (const char* head : {"RAN", "SAMPLES", "WEIGHT"}) columns.push_back({head, true});
    columns.push_back({"TRAINER"});
  }
  columns.push_back({"WHY"});
  Table table(std::move(columns));
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.text("name")};
    if (with_board) cells.push_back(row.board);
    cells.push_back(row.text("state"));
    cells.push_back(row.text("ended").substr(0, 19));
    cells.push_back(span_text(row.number("took_s")));
    cells.push_back(margin_of(row));
    cells.push_back(short_number(row.number("loss")));
    cells.push_back(short_number(row.number("target_loss")));
    cells.push_back(fixed(row.number("energy_j"), 0, " J"));
    if (wide) {
      cells.push_back(span_text(row.number("busy_s")));
      cells.push_back(fixed(row.number("samples"), 0));
      cells.push_back(short_number(row.number("weight"), 3));
      cells.push_back(row.text("trainer"));
    }
    cells.push_back(row.text("why"));
    table.add(std::move(cells));
  }
  return table.text();
}

// A text that a spreadsheet would take for a formula has a ' in front.
[[nodiscard]] std::string csv_text(const std::string& text) {
  std::string out = "\"";
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) {
    out += '\'';
  }
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c == '\n' ? ' ' : c);
  return out + "\"";
}

[[nodiscard]] std::string csv_of(const std::vector<Row>& rows) {
  static constexpr const char* kTexts[] = {"name", "state", "ended", "trainer", "cause", "why"};
  static constexpr const char* kNumbers[] = {"took_s",  "margin_s", "loss",     "target_loss",
                                             "samples", "weight",   "energy_j", "busy_s"};
  std::string out = "board";
  for (const char* key : kTexts) out += std::string(",") + key;
  for (const char* key : kNumbers) out += std::string(",") + key;
  out += "\n";
  for (const Row& row : rows) {
    out += csv_text(row.board);
    for (const char* key : kTexts) out += "," + csv_text(row.text(key));
    for (const char* key : kNumbers) {
      const auto number = row.number(key);
      out += "," + (number ? short_number(number, 12) : std::string());
    }
    out += "\n";
  }
  return out;
}

void print_rows(std::vector<Row>& rows, const Reach& reach, bool with_board) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const std::string at_a = a.text("ended");
    const std::string at_b = b.text("ended");
    return at_a != at_b ? at_a > at_b : natural_less(a.board, b.board);
  });
  if (reach.json()) {
    Value all = Value::array();
    for (Row& row : rows) {
      if (with_board) row.task.set("node", row.board);
      all.add(std::move(row.task));
    }
    print_json(all);
  } else if (reach.output == "csv") {
    print_text(csv_of(rows));
  } else {
    print_text(table_of(rows, with_board, reach.wide()));
  }
}

}  // namespace

int show_ended(const Reach& reach, const EndedOptions& options) {
  if (reach.watch) {
    return complain({Code::kInvalid, "-w shows what changes; what is over does not. Leave it out"});
  }
  std::int64_t since_ms = 0;
  if (!options.since.empty()) {
    const auto since = config::parse_duration(options.since);
    if (!since) return complain({Code::kInvalid, "--since: " + since.error().context});
    since_ms = std::max<std::int64_t>(0, unix_ms_now() - *since / kMillisecond);
  }
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (where->local) {
    auto rows = local_rows(*where, since_ms);
    if (!rows) return complain(rows.error());
    print_rows(*rows, reach, false);
    return 0;
  }
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  if (!reach.node.empty()) {
    if (const Status ok = check_board(view, reach.node); !ok) return complain(ok.error());
  }
  std::set<std::string> boards;
  for (const auto& [id, board] : view.boards()) {
    if (reach.node.empty() || id == reach.node) boards.insert(id);
  }
  std::set<std::string> live = live_boards(view);
  std::erase_if(live, [&](const std::string& id) { return boards.count(id) == 0; });
  auto answered = fleet_rows(**client, live, since_ms, where->timeout);
  if (!answered) return complain(answered.error());
  print_rows(answered->rows, reach, true);
  if (boards.size() > 1 || answered->boards.size() < boards.size()) {
    say("answered " + std::to_string(answered->boards.size()) + " of " +
        std::to_string(boards.size()));
  }
  if (answered->boards.size() == boards.size()) return 0;
  return answered->boards.empty() ? kTimedOut : kPartial;
}

}  // namespace laird::control
