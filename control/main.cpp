#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/time.hpp"
#include "config/schema.hpp"
#include "config/units.hpp"
#include "control/commands.hpp"
#include "control/exit.hpp"
#include "control/local_client.hpp"
#include "lab/replay/replay.hpp"

namespace {

using laird::Code;
using laird::json::Kind;
using laird::json::Value;

using laird::control::complain;
using laird::control::kFailed;
using laird::control::kUsage;

struct Connection {
  std::string socket;
  std::string timeout = "10s";
  std::string output = "text";

  [[nodiscard]] laird::Result<Value> ask(const Value& request) const {
    const auto wait = laird::config::parse_duration(timeout);
    if (!wait) return tl::make_unexpected(wait.error());
    return laird::control::ask(socket, request, *wait);
  }
};

Value request(const char* op) { return Value::object().set("op", Value::string(op)); }

int show_text(const laird::Result<Value>& answer) {
  if (!answer) return complain(answer.error());
  const Value* text = answer->find("text", Kind::kString);
  std::printf("%s\n", text == nullptr ? "done" : text->as_string().c_str());
  return 0;
}

int submit(const Connection& to, const std::string& file) {
  const auto text = laird::config::read_file(file, 1000 * 1000);
  if (!text) return complain(text.error());
  laird::json::ParseLimits limits;
  limits.comments = true;
  auto task = laird::json::parse(*text, file, limits);
  if (!task) return complain(task.error());
  return show_text(to.ask(request("submit").set("task", std::move(*task))));
}

std::string cell(const Value& row, const char* key, const char* pattern) {
  const Value* value = row.find(key);
  if (value == nullptr || value->is(Kind::kNull)) return "-";
  if (value->is(Kind::kString)) return value->as_string();
  char text[40];
  std::snprintf(text, sizeof text, pattern, value->as_double());
  return text;
}

int get_tasks(const Connection& to) {
  const auto answer = to.ask(request("tasks"));
  if (!answer) return complain(answer.error());
  const Value* tasks = answer->find("tasks", Kind::kArray);
  if (tasks == nullptr) return complain({Code::kInvalid, "the agent's answer has no tasks"});
  if (to.output == "json") {
    std::printf("%s\n", laird::json::to_text(*tasks).c_str());
    return 0;
  }
  std::printf("%-24s %-4s %-10s %12s %10s %10s %12s %7s\n", "NAME", "LANE", "STATE", "SAMPLES",
              "LOSS", "TARGET", "DEADLINE_S", "SHARE");
  for (const Value& row : tasks->items()) {
    std::printf("%-24s %-4s %-10s %12s %10s %10s %12s %7s\n", cell(row, "name", "").c_str(),
                cell(row, "lane", "").c_str(), cell(row, "state", "").c_str(),
                cell(row, "samples", "%.0f").c_str(), cell(row, "loss", "%.5g").c_str(),
                cell(row, "target_loss", "%.5g").c_str(),
                cell(row, "deadline_in_s", "%.1f").c_str(), cell(row, "share", "%.3f").c_str());
  }
  return 0;
}

int get_power(const Connection& to) {
  const auto answer = to.ask(request("power"));
  if (!answer) return complain(answer.error());
  const Value* power = answer->find("power", Kind::kObject);
  const Value* text = power == nullptr ? nullptr : power->find("text", Kind::kString);
  if (text == nullptr) return complain({Code::kInvalid, "the agent's answer has no power"});
  if (to.output == "json") {
    std::printf("%s\n", laird::json::to_text(*power).c_str());
  } else {
    std::printf("%s\n", text->as_string().c_str());
  }
  return 0;
}

int replay(const std::string& path) {
  const bool tty = ::isatty(STDERR_FILENO) != 0;
  const auto result = laird::lab::replay(path, [tty](std::uint64_t events) {
    if (tty) std::fprintf(stderr, "\r%llu events", static_cast<unsigned long long>(events));
  });
  if (tty) std::fprintf(stderr, "\r");
  if (!result) return complain(result.error());
  std::fputs(laird::lab::report(*result).c_str(), stdout);
  return result->difference ? kFailed : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "lairctl: submit and steer tasks on this board, and replay its journal.\n"
      "Example: lairctl submit -f task.json"};
  app.set_version_flag("--version", "lairctl " LAIRD_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 124 timed out or no answer.");
  int code = 0;

  Connection to;
  const char* from_env = std::getenv("LAIRD_SOCKET");
  to.socket = from_env != nullptr ? from_env : "/var/lib/laird/laird.sock";
  const auto connected = [&to](CLI::App* command) {
    command->add_option("--socket", to.socket, "The agent's control socket (or LAIRD_SOCKET)")
        ->capture_default_str();
    command->add_option("--timeout", to.timeout, "How long to wait for the answer")
        ->capture_default_str();
    return command;
  };

  std::string file;
  CLI::App* submit_command = connected(app.add_subcommand(
      "submit", "Hand a task to this board's agent.\nExample: lairctl submit -f task.json"));
  submit_command->add_option("-f,--file", file, "The task, JSON with comments")->required();
  submit_command->callback([&] { code = submit(to, file); });

  CLI::App* get = app.add_subcommand("get", "List things.\nExample: lairctl get tasks -o json");
  get->require_subcommand(1);
  CLI::App* tasks = connected(get->add_subcommand("tasks", "The tasks of this board"));
  tasks->add_option("-o,--output", to.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  tasks->callback([&] { code = get_tasks(to); });

  const auto shows_power = [&](CLI::App* command) {
    connected(command)
        ->add_option("-o,--output", to.output, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    command->callback([&] { code = get_power(to); });
  };
  shows_power(get->add_subcommand("power", "Power now, the cap and what holds it"));

  CLI::App* cap = app.add_subcommand(
      "cap", "Hold this board to a mean power.\nExample: lairctl cap set 15W --for 1h");
  cap->require_subcommand(1);
  shows_power(cap->add_subcommand("get", "The cap in force, whose it is, and what holds it"));
  std::string watts;
  std::string duration;
  CLI::App* cap_set = connected(cap->add_subcommand(
      "set", "Set the operator's cap; the lowest of config, operator and fleet holds"));
  cap_set->add_option("power", watts, "With its unit: 15W, 7500mW")->required();
  cap_set->add_option("--for", duration, "Take it back by itself after this long: 90s, 1h");
  cap_set->callback([&] {
    Value ask = request("cap-set").set("cap", Value::string(watts));
    if (!duration.empty()) ask.set("for", Value::string(duration));
    code = show_text(to.ask(ask));
  });
  CLI::App* cap_clear = connected(cap->add_subcommand("clear", "Take the operator's cap back"));
  cap_clear->callback([&] { code = show_text(to.ask(request("cap-clear"))); });

  std::string task;
  const auto on_task = [&](const char* op, const char* help) {
    CLI::App* command = connected(app.add_subcommand(op, help));
    command->add_option("task", task, "The task's name")->required();
    command->callback(
        [&, op] { code = show_text(to.ask(request(op).set("task", Value::string(task)))); });
  };
  on_task("cancel", "End a task now.\nExample: lairctl cancel night-run");
  on_task("pause", "Checkpoint a task and free its memory until it is resumed");
  on_task("resume", "Let a paused task go on");
  on_task("explain", "Why a task has the share it has");

  std::string journal;
  CLI::App* replay_command =
      app.add_subcommand("replay",
                         "Step a journal again: identical, or the first difference.\n"
                         "Example: lairctl replay /var/lib/laird/journal");
  replay_command->add_option("journal", journal, "A journal file, or a folder of them")->required();
  replay_command->callback([&] { code = replay(journal); });

  laird::control::add_pki(app, code);
  laird::control::add_broker(app, code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kUsage;
  }
  return code;
}
