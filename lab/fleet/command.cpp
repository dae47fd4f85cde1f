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
  double settled_since_s = 0.0;  // Unix time
  bool json = false;
};

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
                    .set("excess_parts", Value::integer(std::max<std::int64_t>(
                                             0, verdict.most_parts - verdict.whole_parts)))
                    .set("most_share", Value::number(static_cast<double>(verdict.most_parts) /
                                                     static_cast<double>(verdict.whole_parts)))
                    .set("most_over_budget_w",
                         Value::number(static_cast<double>(verdict.most_over_mw) * 1e-3))
                    .set("cut_settled_s", Value::number(verdict.cut_settled_s))
                    .set("tasks", count(verdict.tasks))
                    .set("tasks_ended", count(verdict.tasks_ended))
                    .set("tasks_succeeded", count(verdict.tasks_succeeded))
                    .set("tasks_ended_twice", count(verdict.tasks_ended_twice));
    if (wishes.settled_since_s > 0.0) {
      const auto settled =
          settled_after_s(*recording, static_cast<std::int64_t>(wishes.settled_since_s * 1e6));
      out.set("settled_after_s", settled ? Value::number(*settled) : Value());
    }
    std::printf("%s\n", json::to_text(out).c_str());
  } else {
    std::fputs(fleet_text(*recording, verdict).c_str(), stdout);
  }
  return verdict.shares_kept() && verdict.budget_kept() && verdict.tasks_ended_twice == 0 ? 0 : 1;
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
  command->add_flag("--json", wishes->json, "The verdict as JSON");
  command->callback([wishes, &code] { code.value = run(*wishes); });
}

}  // namespace laird::lab
