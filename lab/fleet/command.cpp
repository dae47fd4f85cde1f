#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "lab/commands.hpp"
#include "lab/fleet/page.hpp"

namespace laird::lab {
namespace {

struct Wishes {
  std::string recording;
  std::string page;
  std::string journals;
  double settled_since_s = 0.0;           // Unix time
  std::vector<std::string> marks;         // "UNIX_SECONDS=TEXT"
  std::vector<std::string> out_of_reach;  // names of tasks
  bool tasks = false;
  bool json = false;
};

// Adds to the recording what only the person or program that made it knows.
Status add_known(const Wishes& wishes, FleetRecording& recording) {
  for (const std::string& mark : wishes.marks) {
    const std::size_t split = mark.find('=');
    double unix_s = 0.0;
    const char* end = mark.data() + std::min(split, mark.size());
    const auto read = std::from_chars(mark.data(), end, unix_s);
    if (split == std::string::npos || read.ec != std::errc{} || read.ptr != end ||
        !(unix_s > 0.0 && unix_s < 1e11)) {
      return fail(Code::kInvalid, "--mark " + mark + ": write Unix seconds, = and a text");
    }
    recording.marks.push_back(
        {recording.seconds(static_cast<std::int64_t>(unix_s * 1e6)), mark.substr(split + 1)});
  }
  std::stable_sort(recording.marks.begin(), recording.marks.end(),
                   [](const FleetMark& a, const FleetMark& b) { return a.at_s < b.at_s; });
  for (const std::string& name : wishes.out_of_reach) {
    bool found = false;
    for (RecordedTask& task : recording.tasks) {
      if (task.name != name) continue;
      found = task.out_of_reach = true;
    }
    if (!found) return fail(Code::kNotFound, "--out-of-reach " + name + ": no such task");
  }
  return {};
}

int run(const Wishes& wishes) {
  Result<FleetRecording> recording = read_recording(wishes.recording);
  if (!recording) {
    std::fprintf(stderr, "laird-lab: %s\n", recording.error().text().c_str());
    return recording.error().code == Code::kNotFound ? 3 : 1;
  }
  if (!wishes.journals.empty()) {
    if (const Status ok = take_from_journals(wishes.journals, *recording); !ok) {
      std::fprintf(stderr, "laird-lab: %s\n", ok.error().text().c_str());
      return 1;
    }
  }
  if (const Status ok = add_known(wishes, *recording); !ok) {
    std::fprintf(stderr, "laird-lab: %s\n", ok.error().text().c_str());
    return ok.error().code == Code::kNotFound ? 3 : 2;
  }
  const FleetVerdict verdict = judge(*recording);
  if (!wishes.page.empty()) {
    if (const Status ok = config::write_file(wishes.page, fleet_page(*recording, verdict)); !ok) {
      std::fprintf(stderr, "laird-lab: %s\n", ok.error().text().c_str());
      return 1;
    }
  }
  if (wishes.json) {
    using json::Value;
    const auto count = [](std::uint64_t n) { return Value::integer(static_cast<std::int64_t>(n)); };
    Value out = Value::object()
                    .set("nodes", count(recording->nodes.size()))
                    .set("messages", count(recording->messages))
                    .set("instants", count(verdict.instants))
                    .set("excess_parts",
                         std::max<std::int64_t>(0, verdict.most_parts - verdict.whole_parts))
                    .set("most_share", static_cast<double>(verdict.most_parts) /
                                           static_cast<double>(verdict.whole_parts))
                    .set("most_over_budget_w", static_cast<double>(verdict.most_over_mw) * 1e-3)
                    .set("drawn_most_w", verdict.drawn_most_w)
                    .set("drawn_budget_w", verdict.drawn_budget_w)
                    .set("throttled_s", count(verdict.throttled_seconds))
                    .set("drawn_throttled_part", verdict.drawn_throttled_part)
                    .set("cut_settled_s", verdict.cut_settled_s)
                    .set("tasks", count(verdict.tasks))
                    .set("tasks_ended", count(verdict.tasks_ended))
                    .set("tasks_succeeded", count(verdict.tasks_succeeded))
                    .set("tasks_ended_twice", count(verdict.tasks_ended_twice))
                    .set("tasks_out_of_reach", count(verdict.tasks_out_of_reach));
    if (wishes.settled_since_s > 0.0) {
      const auto settled =
          settled_after_s(*recording, static_cast<std::int64_t>(wishes.settled_since_s * 1e6));
      out.set("settled_after_s", settled ? Value::number(*settled) : Value());
    }
    std::printf("%s\n", json::to_text(out).c_str());
  } else {
    if (wishes.tasks) std::printf("%s\n", tasks_table_text(*recording).c_str());
    std::fputs(fleet_text(*recording, verdict).c_str(), stdout);
  }
  return verdict.shares_kept() && verdict.budget_kept() && verdict.drawn_kept() &&
                 verdict.tasks_ended_twice == 0
             ? 0
             : 1;
}

}  // namespace

void add_fleet(cli::Command& app, ExitCode& code) {
  const auto wishes = std::make_shared<Wishes>();
  cli::Command* command = app.add_subcommand(
      "fleet",
      "Check a recorded fleet from outside: shares within the budget, every task ended once.\n"
      "Example: mosquitto_sub -t 'laird/v1/lab/node/#' -F '%U %t %p' > rec; laird-lab fleet rec");
  command->add_option("recording", wishes->recording, "Lines of time, topic and payload")
      ->required();
  command->add_option("--page", wishes->page, "Write a page with the plots here");
  command->add_option("--journals", wishes->journals,
                      "A folder of the boards' state folders: shares and tasks as their journals\n"
                      "have them");
  command->add_option("--settled-since", wishes->settled_since_s,
                      "With --journals and --json: how long after this Unix time, in seconds, the\n"
                      "shares were at the optimum that the boards' demands have in common");
  command
      ->add_option("--mark", wishes->marks,
                   "UNIX_SECONDS=TEXT: something done to the fleet, for the page; repeatable")
      ->take_all();
  command
      ->add_option("--out-of-reach", wishes->out_of_reach,
                   "A task that was not meant to reach its target; repeatable")
      ->take_all();
  command->add_flag("--tasks", wishes->tasks, "List the tasks and their ends first");
  command->add_flag("--json", wishes->json, "The verdict as JSON");
  command->callback([wishes, &code] { code.value = run(*wishes); });
}

}  // namespace laird::lab
