// submit: to this board, to one board of the fleet, to the board that suits the task best, or to
// many that train one model together.
//
// Two boards never run one task. A task is offered to one board at a time. The next board is asked
// only when the one before has refused, or when its command has expired by every clock within the
// allowed skew and the board has said after that that it does not have the task. When a board stays
// silent, no other is asked: the command ends as partial and names the board to look at.
// A board's "accepted" is followed up: if it then does not have the task, it is told to cancel it,
// and only after its answer the next board is asked.
#include <algorithm>
#include <cstdio>

#include "agent/settings/settings.hpp"
#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/commands/tasks/task_values.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/place.hpp"
#include "control/fleet/reach.hpp"
#include "control/plan/fleet_facts.hpp"
#include "control/plan/offer_order.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kTaskFileMax = 1'000'000;
// How long a board that accepted a task has to begin with it before it is asked.
constexpr DurationNs kFollowUpAfter = 5 * kSecond;

struct SubmitOptions {
  std::string file;
  std::string deadline;
  bool any = false;
  bool dry_run = false;
  bool together = false;  // a co-training task: for many boards
  bool replace = false;
  std::vector<std::string> set;    // "params.lr=0.01"
  std::vector<std::string> sweep;  // "params.lr=0.1,0.01"
};

Result<std::string> read_all(const std::string& file) {
  if (file != "-") return config::read_file(file, kTaskFileMax);
  std::string out;
  char block[8192];
  std::size_t n = 0;
  while ((n = std::fread(block, 1, sizeof block, stdin)) > 0) {
    out.append(block, n);
    if (out.size() > kTaskFileMax) return fail(Code::kInvalid, "the task is longer than 1 MB");
  }
  return out;
}

// The task is checked here too, so that all problems are shown at once with their lines and no
// board is asked for nothing.
Result<std::vector<Variant>> read_tasks(const SubmitOptions& options) {
  const auto text = read_all(options.file);
  LAIRD_TRY(text);
  json::ParseLimits limits;
  limits.comments = true;
  const std::string source = options.file == "-" ? "standard input" : options.file;
  auto task = json::parse(*text, source, limits);
  LAIRD_TRY(task);
  if (!options.deadline.empty()) task->set("deadline", options.deadline);
  if (options.together && task->is(Kind::kObject)) task->set("fleet", true);
  // A task that the fleet is to place is the fleet's to move, unless its author says otherwise.
  const bool stays = task->find("movable") != nullptr || task->find("every") != nullptr ||
                     task->find("fleet") != nullptr;
  if (options.any && task->is(Kind::kObject) && !stays) task->set("movable", true);
  for (const std::string& one : options.set) LAIRD_TRY(set_by_path(*task, one));
  Result<std::vector<Variant>> tasks = swept(*task, options.sweep);
  LAIRD_TRY(tasks);
  std::vector<config::Problem> problems;
  for (const Variant& one : *tasks) {
    static_cast<void>(agent::parse_task(one.task, source, problems));
    if (!problems.empty()) break;  // the others have the same
  }
  if (problems.empty()) return tasks;
  std::string all;
  for (const auto& problem : problems) all += (all.empty() ? "" : "\n") + problem.text();
  return fail(Code::kInvalid, all);
}

Value body_of(const Value& task, const SubmitOptions& options) {
  Value out = Value::object().set("task", task);
  if (options.replace) out.set("replace", true);
  return out;
}

std::string name_of(const Value& task) { return task.find("name")->as_string(); }

std::vector<Offer> shown(const Replies& bids, bool json) {
  std::vector<Offer> offers = ranked(bids);
  if (json) {
    Value all = Value::array();
    for (const Offer& offer : offers) {
      Value row = bids.at(offer.board).data;
      if (!row.is(Kind::kObject)) row = Value::object().set("admits", false);
      all.add(row.set("node", offer.board));
    }
    print_json(all);
    return offers;
  }
  Table table({{"NODE"},
               {"ADMITS"},
               {"LIKELY", true},
               {"READY_IN", true},
               {"ENERGY_J", true},
               {"BECAUSE"}});
  for (const Offer& offer : offers) {
    if (offer.admits) {
      table.add({offer.board, "yes", percent(offer.probability), span_text(offer.finish_in_s),
                 fixed(offer.energy_j, 1), harmless(offer.basis)});
    } else {
      table.add({offer.board, "no", "-", "-", "-", harmless(offer.why)});
    }
  }
  print_text(table.text());
  return offers;
}

// Where the planner would have the task, by what the boards publish.
OfferOrder order_of(FleetClient& client, const Value& task, const std::set<std::string>& boards) {
  std::vector<config::Problem> problems;  // none: it was checked when it was read
  const core::TaskSpec spec = agent::parse_task(task, "the task", problems);
  OfferOrder out = offer_order(fleet_facts(client.view(), client.access().fleet),
                               placement::task_fact(spec, unix_ms_now() * kMillisecond), boards);
  if (!out.unplanned.empty()) say("not planned: " + out.unplanned + "; the boards' bids decide");
  return out;
}

std::string because(const placement::NewPlace& place) {
  std::string out = "done in " + span_text(static_cast<double>(place.done_in_s));
  if (!place.in_time) out += ", too late,";
  if (place.energy_j > 0) out += ", " + std::to_string(place.energy_j) + " J";
  return out + " by " + std::string(placement::name(place.time_by)) + "; speed " +
         std::string(placement::name(place.speed_by));
}

class Placement {
 public:
  Placement(FleetClient& client, const Value& task, DurationNs timeout)
      : client_(client), task_(task), name_(name_of(task)), timeout_(timeout) {}

  int run() {
    const auto boards = live_boards(client_.view());
    if (boards.empty()) return complain({Code::kUnavailable, "no board of the fleet is live"});
    // When a board has a task of that name, the task goes to that board: it answers the same task
    // as it did the first time, and refuses another task of that name.
    std::string known;
    if (const auto stop = find_name(boards, known)) return *stop;
    if (!known.empty()) {
      say("'" + name_ + "' is on " + known + " already; asking that board");
      return submit_to(known).value_or(kRefused);
    }
    const OfferOrder order = order_of(client_, task_, boards);
    for (const placement::NewPlaces::Not& no : order.cannot) {
      say(harmless(no.board) + " cannot take it: " + harmless(no.why));
    }
    for (const placement::NewPlace& place : order.places) {
      say("offering it to " + place.board + ": " + because(place));
      if (const auto done = submit_to(place.board)) return *done;
    }
    bool offered = !order.places.empty();
    if (const auto done = offer_by_bids(order.bidders, offered)) return *done;
    return complain({Code::kRefused, offered ? "every board that could take the task refused it"
                                             : "no board can take the task"});
  }

 private:
  // Asks the boards for bids and offers the task to those that admit it, the best first. Nothing:
  // none of them has it. `offered` becomes true if any was asked to take it.
  std::optional<int> offer_by_bids(const std::set<std::string>& boards, bool& offered) {
    if (boards.empty()) return std::nullopt;
    const Value body = Value::object().set("task", task_);
    const auto bids = client_.ask_each("bid", body, boards, timeout_);
    if (!bids) return complain(bids.error());
    say("answered " + std::to_string(bids->size()) + " of " + std::to_string(boards.size()));
    for (const Offer& offer : ranked(*bids)) {
      if (!offer.admits) {
        say(offer.board + " cannot take it: " + harmless(offer.why));
        continue;
      }
      offered = true;
      say("offering it to " + offer.board + ": met with " + percent(offer.probability) +
          (offer.energy_j ? ", " + fixed(offer.energy_j, 1, " J") : ", energy not known yet"));
      if (const auto done = submit_to(offer.board)) return done;
    }
    if (bids->empty() && !offered) return complain({Code::kUnavailable, "no board answered"});
    return std::nullopt;
  }

  // Which board has a task of that name. Retained topics are up to a second old, so the live boards
  // are asked; for the others the retained topics must do.
  std::optional<int> find_name(const std::set<std::string>& boards, std::string& known) {
    const auto replies = client_.ask_all("explain", named(), boards, timeout_);
    if (!replies) return complain(replies.error());
    std::string silent;
    for (const std::string& board : boards) {
      const auto found = replies->find(board);
      if (found == replies->end()) {
        silent += (silent.empty() ? "" : ", ") + board;
      } else if (found->second.code == mqtt::ReplyCode::kOk) {
        known = board;
      }
    }
    if (!known.empty()) return std::nullopt;
    if (!silent.empty()) {
      say(silent + " did not answer, so nobody can say whether a task '" + name_ +
          "' is there already; try again, or name a board with --node");
      return kPartial;
    }
    if (const auto told = board_of_task(client_.view(), name_)) {
      if (boards.count(*told) == 0) {
        return complain({Code::kExists, *told + ", which is away, has a task '" + name_ +
                                            "'; it goes on when the board is back"});
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Value named() const { return Value::object().set("task", name_); }

  // Returns nothing when the board certainly does not have the task: then the next may be asked.
  std::optional<int> submit_to(const std::string& board) {
    const auto sent = client_.send(board, "submit", Value::object().set("task", task_), timeout_);
    if (!sent) return complain(sent.error());
    const auto answered = [&] { return client_.replies(sent->id).count(board) != 0; };
    if (!client_.wait(after(timeout_), answered)) {
      const auto left =
          std::chrono::duration<double>(sent->dead_at - std::chrono::steady_clock::now());
      say(board +
          " has not answered; until the submission has expired it may still take the task, "
          "so no other board is asked: waiting " +
          span_text(left.count() + 1.0));
      client_.wait(sent->dead_at, answered);
    }
    // "Done before" means that the first reply was lost. It does not say what that reply was.
    if (answered() && client_.replies(sent->id).at(board).code != mqtt::ReplyCode::kReplayed) {
      const mqtt::Reply& reply = client_.replies(sent->id).at(board);
      const int code = exit_code_of(reply);
      if (code == 0) return follow_up(reply);
      say(board + " refused it: " + harmless(reply.text));
      if (reply.code == mqtt::ReplyCode::kExists) return code;
      return std::nullopt;
    }
    return look_at(board);
  }

  // Whether the board's topics say that it has begun with the task.
  [[nodiscard]] bool has_begun(const std::string& board) {
    const auto found = client_.view().tasks().find({board, name_});
    return found != client_.view().tasks().end() && found->second.text("state") != "queued";
  }

  std::optional<int> follow_up(const mqtt::Reply& accepted) {
    const std::string board = accepted.node;
    if (client_.wait(after(kFollowUpAfter), [&] { return has_begun(board); })) {
      return show(accepted);
    }
    const auto told = client_.ask(board, "explain", named(), timeout_);
    if (told && told->code == mqtt::ReplyCode::kOk) {
      say(board + " has it and has not begun: " + harmless(told->text));
      return show(accepted);
    }
    if (!told || told->code != mqtt::ReplyCode::kNotFound) {
      say(board +
          " accepted it and does not say what became of it, so no other board was asked; "
          "look with `lairctl get tasks --node " +
          board + "`");
      return kPartial;
    }
    say(board + " accepted it and does not have it; cancelling it there");
    const auto cancelled = client_.ask(board, "cancel", named(), timeout_);
    const bool gone = cancelled && (cancelled->code == mqtt::ReplyCode::kOk ||
                                    cancelled->code == mqtt::ReplyCode::kNotFound);
    if (gone) return std::nullopt;
    say(board + " did not confirm that, so no other board was asked");
    return kPartial;
  }

  // The command has expired, so the board's answer to this cannot become wrong any more.
  std::optional<int> look_at(const std::string& board) {
    const auto told = client_.ask(board, "explain", named(), timeout_);
    if (told && told->code == mqtt::ReplyCode::kOk) return has_it(board);
    if (told && told->code == mqtt::ReplyCode::kNotFound) {
      say(board + " does not have it, and cannot get it any more");
      return std::nullopt;
    }
    if (client_.view().tasks().count({board, name_}) != 0) return has_it(board);
    say(board + " is silent: it may or may not have taken '" + name_ +
        "' before it fell silent, so no other board was asked.\n"
        "         When it is back, `lairctl get tasks --node " +
        board + "` tells; until then do not submit it elsewhere.");
    return kPartial;
  }

  int has_it(const std::string& board) {
    print("%s: accepted\n", board.c_str());
    return 0;
  }

  FleetClient& client_;
  const Value& task_;
  std::string name_;
  DurationNs timeout_;
};

int dry_run(FleetClient& client, const Value& task, const Reach& reach, const Where& where) {
  Result<Replies> bids{};
  const Value body = Value::object().set("task", task);
  const auto boards = live_boards(client.view());
  if (reach.node.empty()) {
    bids = client.ask_all("bid", body, boards, where.timeout);
    if (bids) {
      say("answered " + std::to_string(bids->size()) + " of " + std::to_string(boards.size()));
    }
  } else {
    const auto one = client.ask(reach.node, "bid", body, where.timeout);
    if (!one) return complain(one.error());
    bids = Replies{{reach.node, *one}};
  }
  if (!bids) return complain(bids.error());
  const auto offers = shown(*bids, reach.json());
  if (offers.empty()) return kTimedOut;
  if (!offers.front().admits) {
    say("no board can take the task");
    return kRefused;
  }
  if (!reach.node.empty()) return 0;
  const OfferOrder order = order_of(client, task, boards);
  for (const placement::NewPlace& place : order.places) {
    const auto bid = bids->find(place.board);
    if (bid == bids->end() || !offer_of(bid->second).admits) continue;
    say("it would go to " + place.board + ": " + because(place));
    return 0;
  }
  for (const Offer& offer : offers) {
    if (!offer.admits || order.bidders.count(offer.board) == 0) continue;
    say("it would go to " + offer.board + ": met with " + percent(offer.probability));
    return 0;
  }
  say("no board can take the task");
  return kRefused;
}

std::set<std::string> split(const std::string& names) {
  std::set<std::string> out;
  std::size_t from = 0;
  while (from <= names.size()) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    if (comma > from) out.insert(names.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

// Hands in a task that all the boards train together.
int submit_together(FleetClient& client, const Value& body, const Reach& reach,
                    const Where& where) {
  std::set<std::string> boards = reach.all ? live_boards(client.view()) : split(reach.node);
  if (boards.empty()) return complain({Code::kUnavailable, "no board of the fleet is live"});
  for (const std::string& board : boards) {
    if (const Status ok = check_board(client.view(), board); !ok) return complain(ok.error());
  }
  const auto replies = client.ask_each("submit", body, boards, where.timeout);
  if (!replies) return complain(replies.error());
  const auto accepted = std::count_if(replies->begin(), replies->end(), [](const auto& reply) {
    return exit_code_of(reply.second) == 0;
  });
  const int code = show_all(*replies, boards, reach.json());
  say("accepted by " + std::to_string(accepted) + " of " + std::to_string(boards.size()));
  return code;
}

int submit_one(const Value& task, const Reach& reach, const Where& where,
               const SubmitOptions& options) {
  if (where.local) {
    if (options.dry_run) {
      return complain(
          {Code::kInvalid, "--dry-run asks boards over the fleet's broker; here `laird check " +
                               options.file + "` looks at the file"});
    }
    const Value request = body_of(task, options).set("op", "submit");
    return show_text(ask(where.socket, request, where.timeout));
  }
  const auto client = FleetClient::open(where.fleet, Listen::kStates, where.timeout);
  if (!client) return complain(client.error());
  if (options.together) {
    return submit_together(**client, body_of(task, options), reach, where);
  }
  const FleetView& view = (*client)->view();
  std::string node = reach.node;
  if (node.empty() && !options.any && !options.dry_run) {
    if (view.boards().size() != 1) {
      return complain({Code::kInvalid, "which board? --node N, or --any for the one that suits"});
    }
    node = view.boards().begin()->first;
  }
  if (!node.empty()) {
    if (const Status ok = check_board(view, node); !ok) return complain(ok.error());
  }
  if (options.dry_run) return dry_run(**client, task, reach, where);
  if (options.any) return Placement(**client, task, where.timeout).run();
  const auto reply = (*client)->ask(node, "submit", body_of(task, options), where.timeout);
  if (!reply) {
    if (reply.error().code == Code::kUnavailable) {
      say("it may have taken the task all the same: look with `lairctl get tasks --node " + node +
          "` before you submit it elsewhere");
    }
    return complain(reply.error());
  }
  return show(*reply);
}

int submit(const Reach& reach, SubmitOptions options) {
  const auto where = reach.where(options.any);
  if (!where) return complain(where.error());
  if (options.replace && options.any) {
    return complain(
        {Code::kInvalid, "--replace is for the board that has the task; name it with --node"});
  }
  if (options.any + !reach.node.empty() + reach.all > 1) {
    return complain({Code::kInvalid, "--any, --all and --node exclude each other"});
  }
  options.together = reach.all || reach.node.find(',') != std::string::npos;
  if (options.together && options.dry_run) {
    return complain({Code::kInvalid, "--dry-run is for a task that goes to one board"});
  }
  const auto tasks = read_tasks(options);
  if (!tasks) return complain(tasks.error());
  int code = 0;
  for (const Variant& variant : *tasks) {
    if (!variant.words.empty()) say(name_of(variant.task) + ": " + variant.words);
    const int one = submit_one(variant.task, reach, *where, options);
    if (one != 0) code = code == 0 && tasks->size() == 1 ? one : kPartial;
  }
  return code;
}

}  // namespace

void add_submit(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<SubmitOptions>();
  cli::Command* command = app.add_subcommand(
      "submit",
      "Hand in a task: to this board, to one of the fleet, or to the one that suits it best.\n"
      "Examples: lairctl submit -f task.json --any --deadline 2h\n"
      "          lairctl submit -f task.json --all");
  command->add_option("-f,--file", options->file, "The task, JSON with comments; - for input")
      ->required();
  command->add_option("--deadline", options->deadline,
                      "Instead of the file's: 2h, or 2027-01-31T18:00:00Z");
  command->add_option("--node", reach->node,
                      "This board of the fleet; several, with commas between, train one model");
  command->add_flag("--all", reach->all,
                    "Every live board: one model, trained on all their data (a co-training task)");
  command->add_flag("--any", options->any,
                    "The board where it is done first without making others late; never two");
  command->add_flag("--dry-run", options->dry_run,
                    "Only ask: who would take it, by when, with what likelihood and energy");
  command->add_flag("--replace", options->replace,
                    "Take the name of the task that has it; one that is not over is cancelled");
  command->add_option("--set", options->set, "Instead of the file's, as params.lr=0.01")
      ->take_all();
  command
      ->add_option("--sweep", options->sweep,
                   "A task for each value, as params.lr=0.1,0.01; NAME-1, NAME-2 and so on")
      ->take_all();
  add_output(command, *reach, false);
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = submit(*reach, *options); });
}

}  // namespace laird::control
