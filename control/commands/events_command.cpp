// get events, logs: what happened, from the boards' memory, and what happens from now on. With the
// name of a task, logs shows what its trainer printed (task_log.cpp).
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "config/units.hpp"
#include "control/commands/board_pages.hpp"
#include "control/commands/commands.hpp"
#include "control/commands/tasks/end_hook.hpp"
#include "control/commands/tasks/task_log.hpp"
#include "control/fleet/event_history.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"
#include "control/screen/rows.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr DurationNs kLookEvery = 500 * kMillisecond;
constexpr DurationNs kHookEvery = 50 * kMillisecond;
// How long boards that may have more to tell are waited for before what is new is shown again.
constexpr DurationNs kCatchUpMax = 3 * kSecond;

// What was before a view that stays open, and how long is waited for it.
constexpr std::int64_t kPastMs = 3'600'000;
constexpr DurationNs kPastMax = 3 * kSecond;

struct EventOptions {
  TaskLogOptions log;  // with a task, for `logs`
  std::string kind;
  std::string duration;
  std::string since;
  int count = 0;
  std::string exec;  // of `watch`: a program for each end of a task
  std::string exec_timeout;
};

// Shows the events that are wanted, and counts them.
class Printer {
 public:
  // `hook`: what is told of the ends of tasks, instead of people; may be null.
  Printer(const Reach& reach, const EventOptions& options, EndHook* hook = nullptr)
      : reach_(reach), options_(options), hook_(hook) {}

  [[nodiscard]] bool full() const { return options_.count > 0 && shown_ >= options_.count; }
  [[nodiscard]] bool wants(const EventView& event) const {
    const Value* kind = event.event.find("kind", Kind::kString);
    if (!reach_.node.empty() && event.board != reach_.node) return false;
    if (hook_ != nullptr) return EndHook::is_end(event);
    return options_.kind.empty() || (kind != nullptr && kind->as_string() == options_.kind);
  }
  void show(const EventView& event) {
    ++shown_;
    if (hook_ != nullptr) {
      hook_->take(event);
    } else if (reach_.json()) {
      print_json(event_json(event));
    } else {
      print("%s\n", harmless(event_line(event)).c_str());
    }
    std::fflush(stdout);
  }

 private:
  const Reach& reach_;
  const EventOptions& options_;
  EndHook* hook_;
  int shown_ = 0;
};

// Asks the boards for what happened since then.
Result<BoardsAsked> fetch(FleetClient& client, const std::set<std::string>& boards,
                          std::int64_t since_ms, DurationNs timeout, EventHistory& history) {
  const Value body = Value::object().set("what", "events").set("since_ms", since_ms);
  return ask_pages(
      client, boards, body, "before", timeout,
      [&](const std::string& board, const Value& data) { return history.take(board, data); });
}

// Asks the boards with a gap for what happened meanwhile. False when nothing can be asked at all.
bool catch_up(FleetClient& client, DurationNs timeout, EventGaps& gaps, Printer& printer,
              EventHistory& history) {
  const std::set<std::string> boards = gaps.to_ask(live_boards(client.view()), unix_ms_now());
  if (boards.empty()) return true;
  EventHistory missed;
  const auto answers =
      fetch(client, boards, gaps.since_ms(boards), std::min(timeout, kCatchUpMax), missed);
  if (!answers) return false;
  for (const std::string& board : answers->told) gaps.closed(board, unix_ms_now());
  // A board that refuses has said so once; it would say so again.
  for (const std::string& board : answers->refused) gaps.closed(board, unix_ms_now());
  for (const EventView& event : missed.in_order()) {
    if (printer.full()) break;
    if (printer.wants(event) && history.is_new(event)) printer.show(event);
  }
  return true;
}

int follow(FleetClient& client, Printer& printer, EventHistory& history, EventGaps& gaps,
           SteadyTime until, DurationNs timeout, EndHook* hook) {
  auto& events = client.view().events();
  std::uint64_t connects = client.connects();
  // Without a key nobody can be asked: then what comes live is all there is.
  bool asks = client.load_key().has_value();
  for (;;) {
    if (client.connects() != connects) {
      connects = client.connects();
      gaps.link_lost();
    }
    if (asks && client.connected()) asks = catch_up(client, timeout, gaps, printer, history);
    while (!events.empty() && !printer.full()) {
      const EventView event = std::move(events.front());
      events.pop_front();
      if (printer.wants(event) && history.is_new(event)) printer.show(event);
    }
    if (hook != nullptr) hook->go_on();
    if (std::ferror(stdout) != 0 || printer.full()) return 0;
    if (std::chrono::steady_clock::now() >= until) return 0;
    const bool is_telling = hook != nullptr && hook->busy();
    client.wait(std::min(until, after(is_telling ? kHookEvery : kLookEvery)),
                [&] { return !events.empty(); });
  }
}

// Prints all events as one array, like other lists; only the last ones when a number was given.
void print_array(const std::vector<EventView>& events) {
  Value all = Value::array();
  for (const EventView& event : events) all.add(event_json(event));
  print_json(all);
}

int show_history(FleetClient& client, const Reach& reach, const EventOptions& options,
                 DurationNs since, DurationNs timeout, Printer& printer, EventHistory& history,
                 EventGaps& gaps) {
  std::set<std::string> boards;
  for (const auto& [id, board] : client.view().boards()) {
    if (reach.node.empty() || id == reach.node) boards.insert(id);
  }
  std::set<std::string> live = live_boards(client.view());
  std::erase_if(live, [&](const std::string& id) { return boards.count(id) == 0; });
  const auto answers = fetch(client, live, unix_ms_now() - since / kMillisecond, timeout, history);
  if (!answers) return complain(answers.error());
  const std::set<std::string>& answered = answers->told;
  for (const std::string& board : answered) gaps.closed(board, unix_ms_now());
  std::vector<EventView> events = history.in_order();
  std::erase_if(events, [&](const EventView& event) { return !printer.wants(event); });
  const auto count = static_cast<std::size_t>(options.count);
  if (count > 0 && events.size() > count) {
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(count));
  }
  if (reach.json() && !reach.watch) {
    print_array(events);
  } else {
    for (const EventView& event : events) printer.show(event);
  }
  if (boards.size() > 1 || answered.size() < boards.size()) {
    say("answered " + std::to_string(answered.size()) + " of " + std::to_string(boards.size()));
  }
  if (answered.size() == boards.size()) return 0;
  return answered.empty() ? kTimedOut : kPartial;
}

Result<DurationNs> duration_of(const std::string& text, const char* flag) {
  auto out = config::parse_duration(text);
  if (!out) return fail(Code::kInvalid, std::string(flag) + ": " + out.error().context);
  return out;
}

Result<SteadyTime> end_of(const EventOptions& options) {
  if (options.duration.empty()) return SteadyTime::max();
  const auto wait = duration_of(options.duration, "--for");
  LAIRD_TRY(wait);
  return after(*wait);
}

// `live` is for `logs`, which follows what happens and shows no history unless --since asks for it.
int show_events(Reach reach, const EventOptions& options, bool live, EndHook* hook = nullptr) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  reach.watch = reach.watch || live || !options.duration.empty();
  const auto until = end_of(options);
  if (!until) return complain(until.error());
  const auto since = duration_of(options.since.empty() ? "1h" : options.since, "--since");
  if (!since) return complain(since.error());
  // It subscribes before it asks, so that nothing is missed. An event that comes both ways is shown
  // once.
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  if (!reach.node.empty()) {
    if (const Status ok = check_board((*client)->view(), reach.node); !ok) {
      return complain(ok.error());
    }
  }
  Printer printer(reach, options, hook);
  EventHistory history;
  EventGaps gaps(unix_ms_now());
  int code = 0;
  if (live && options.since.empty()) {
    for (const std::string& board : live_boards((*client)->view())) {
      gaps.closed(board, unix_ms_now());
    }
  } else {
    code = show_history(**client, reach, options, *since, where->timeout, printer, history, gaps);
  }
  if (!reach.watch || (code != 0 && code != kPartial && code != kTimedOut)) return code;
  if (live && options.duration.empty() && ::isatty(STDOUT_FILENO) != 0) {
    say("listening from now on (Ctrl-C ends it); --since 10m shows what was before");
  }
  return follow(**client, printer, history, gaps, *until, where->timeout, hook);
}

int watch(const Reach& reach, const EventOptions& options) {
  const auto most =
      duration_of(options.exec_timeout.empty() ? "1m" : options.exec_timeout, "--exec-timeout");
  if (!most) return complain(most.error());
  if (const Status ok = EndHook::check_program(options.exec); !ok) return complain(ok.error());
  EndHook hook(options.exec, *most);
  const int code = show_events(reach, options, true, &hook);
  hook.finish();
  return code;
}

int show_logs(const Reach& reach, EventOptions options) {
  if (options.log.task.empty()) return show_events(reach, options, true);
  const auto until = end_of(options);
  if (!until) return complain(until.error());
  options.log.until = *until;
  return show_task_log(reach, options.log);
}

void add_watch(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<EventOptions>();
  cli::Command* command = app.add_subcommand(
      "watch",
      "Run a program once for each task that ends, also over restarts of the broker. It gets the\n"
      "event as JSON on standard input, and LAIRD_NODE, LAIRD_TASK, LAIRD_STATE, LAIRD_REASON.\n"
      "Example: lairctl watch --exec /usr/local/bin/tell-the-team");
  command->add_option("--exec", options->exec, "The program, by its path; no shell")->required();
  command->add_option("--exec-timeout", options->exec_timeout,
                      "One that takes longer is killed (default 1m)");
  command->add_option("--node", reach->node, "Ends on this board only");
  command->add_option("--since", options->since,
                      "Begin with those of the last 10m, from the boards' memory");
  command->add_option("--for", options->duration, "Watch for so long, then end: 8h");
  command->add_option("-n,--count", options->count, "End after so many")->check(cli::positive());
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = watch(*reach, *options); });
}

}  // namespace

void bring_past_events(FleetClient& client, std::size_t most) {
  if (!client.load_key()) return;
  const Value body = Value::object().set("what", "events").set("since_ms", unix_ms_now() - kPastMs);
  const auto replies = client.ask_all("get", body, live_boards(client.view()), kPastMax);
  if (!replies) return;
  EventHistory history;
  for (const auto& [board, reply] : *replies) static_cast<void>(history.take(board, reply.data));
  std::deque<EventView>& events = client.view().events();
  for (const EventView& live : events) static_cast<void>(history.is_new(live));
  std::vector<EventView> all = history.in_order();
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
  if (!all.empty()) events.assign(all.begin(), all.end());
}

void add_events(cli::Command& get, cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<EventOptions>();
  const auto add = [&](cli::Command* command, bool live) {
    add_output(command, *reach, false);
    if (!live) command->add_flag("-w,--watch", reach->watch, "Go on with what happens next");
    command->add_option("--node", reach->node, "Of this board only");
    command->add_option(
        "--kind", options->kind,
        "Only this kind: task, deadline-miss, config, refused-command, fenced, ...");
    command->add_option("--since", options->since,
                        live ? "What happened in the last 10m first, from the boards' memory"
                             : "How far back: 10m, 2h (default 1h); boards keep the last 512");
    command->add_option("--for", options->duration, "Follow for so long, then end: 30s");
    command
        ->add_option("-n,--count", options->count,
                     live ? "End after so many" : "Only the last so many")
        ->check(cli::positive());
    add_access(command, *reach);
    command->callback([reach, options, live, &code] {
      code = live ? show_logs(*reach, *options) : show_events(*reach, *options, false);
    });
  };
  add(get.add_subcommand("events",
                         "What happened, of all boards, by time.\n"
                         "Example: lairctl get events --since 10m -w"),
      false);
  add_watch(app, code);
  cli::Command* logs = app.add_subcommand(
      "logs",
      "What a task's trainer printed; without a task, what happens in the fleet, as it happens.\n"
      "Examples: lairctl logs night-run -f\n"
      "          lairctl logs --node n-3 --kind deadline-miss");
  logs->add_option("task", options->log.task, "The task whose trainer's output is wanted");
  logs->add_flag("-f,--follow", options->log.follow, "Go on with what the trainer prints next");
  logs->add_flag("--all", options->log.all, "All that the board has kept of it, not only the end");
  add(logs, true);
}

}  // namespace laird::control
