#include <memory>
#include <optional>

#include "agent/core/step/step.hpp"
#include "agent/replay/replay.hpp"
#include "agent/why/why.hpp"
#include "cli/command.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/report/files.hpp"
#include "control/report/progress.hpp"
#include "control/screen/output.hpp"
#include "control/whatif/whatif_command.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::control {
namespace {

// Prints what the policy decided about one task each time that it decided anew, and how the task
// ended.
class Explainer {
 public:
  explicit Explainer(std::string task) : task_(std::move(task)) {}

  void see(const core::State& state) {
    if (task_.empty()) return;
    // The last task of a board ends without a decision after it.
    const core::Task* task = state.find_named(task_);
    const bool over = task != nullptr && task->state == core::TaskState::kEnded;
    if (state.counters.decisions == decisions_ && over == over_) return;
    decisions_ = state.counters.decisions;
    over_ = over;
    const Result<std::string> words = core::explain(state, task_);
    if (!words) return;
    known_ = true;
    if (*words == last_) return;
    last_ = *words;
    const std::int64_t wall_ms = (state.now + state.wall_minus_agent) / kMillisecond;
    print("%s  %s\n", mqtt::time_text(wall_ms).c_str(), harmless(*words).c_str());
  }
  [[nodiscard]] bool in_vain() const { return !task_.empty() && !known_; }

 private:
  std::string task_;
  std::string last_;
  std::uint64_t decisions_ = 0;
  bool over_ = false;
  bool known_ = false;
};

// Keeps a task when it ends: the state forgets the oldest of those that have ended.
class EndWatch {
 public:
  explicit EndWatch(std::string task) : task_(std::move(task)) {}

  void see(const core::State& state) {
    for (auto ended = state.ended.rbegin(); ended != state.ended.rend(); ++ended) {
      const core::Task& task = *ended;
      if (task.key == newest_) break;
      if (task.spec.name == task_) kept_ = task;
    }
    newest_ = state.ended.empty() ? 0 : state.ended.back()->key;
  }
  // The task in its last state, live or ended; nullptr: the journal has none of that name.
  [[nodiscard]] const core::Task* last(const core::State& state) const {
    const core::Task* found = state.find_named(task_);
    return found != nullptr ? found : kept_ ? &*kept_ : nullptr;
  }

 private:
  std::string task_;
  core::TaskKey newest_ = 0;
  std::optional<core::Task> kept_;
};

struct Wishes {
  WhatIfWishes what_if;
  std::string journal;
  std::string explain;  // names of tasks
  std::string why;
  bool json = false;
};

Status show_why(const Wishes& wishes, const EndWatch& watch, const core::State& state) {
  const core::Task* task = watch.last(state);
  if (task == nullptr) {
    return fail(Code::kNotFound, "no task '" + wishes.why + "' is in " + wishes.journal);
  }
  const why::Finding finding = why::finding_of(state, *task, state.now);
  if (wishes.json) {
    print_json(why::json_of(finding), true);
  } else {
    print_text(why::text_of(finding) + "\n");
  }
  return {};
}

// The journal of one board, by any of the names that lairctl report takes.
Result<std::string> journal_of(const std::string& named) {
  const auto found = journals_of(named);
  LAIRD_TRY(found);
  if (found->size() == 1) return found->front();
  return fail(Code::kInvalid, named + " holds the journals of " + std::to_string(found->size()) +
                                  " boards; name one of them, such as " + found->front());
}

int replay(const Wishes& wishes) {
  const auto journal = journal_of(wishes.journal);
  if (!journal) return complain(journal.error());
  Progress progress;
  Explainer explainer(wishes.explain);
  EndWatch ends(wishes.why);
  const auto result = lab::replay(
      *journal, [&](std::uint64_t events) { progress.see(wishes.journal, events); },
      [&](const core::Event&, const core::State& state, const core::Effects&) {
        explainer.see(state);
        if (!wishes.why.empty()) ends.see(state);
      });
  progress.clear();
  if (!result) return complain(result.error());
  if (explainer.in_vain()) {
    return complain({Code::kNotFound,
                     "no decision about a task '" + wishes.explain + "' is in " + wishes.journal});
  }
  // A journal that cannot be stepped to its end tells nothing of what came after.
  if (!wishes.why.empty() && !result->difference) {
    const Status ok = show_why(wishes, ends, result->state);
    if (!ok) return complain(ok.error());
  }
  const std::string report = lab::report(*result);
  if (wishes.json) {
    say(report);
  } else {
    print_text(report);
  }
  if (result->difference) return kFailed;
  return result->lost_events ? kPartial : 0;
}

// Which of the command's two trades is meant.
int chosen(Wishes& wishes) {
  WhatIfWishes& other = wishes.what_if;
  if (other.changes.empty() && other.policies.empty()) {
    if (other.page.empty()) return replay(wishes);
    return complain({Code::kInvalid, "-o is for --what-if; lairctl report makes a journal's page"});
  }
  if (!wishes.explain.empty() || !wishes.why.empty()) {
    return complain({Code::kInvalid,
                     "--explain and --why tell what happened, --what-if what did "
                     "not; ask one of them at a time"});
  }
  other.journal = wishes.journal;
  other.json = wishes.json;
  return what_if(other);
}

}  // namespace

void add_replay(cli::Command& app, int& code) {
  const auto wishes = std::make_shared<Wishes>();
  cli::Command* command = app.add_subcommand(
      "replay",
      "Step a journal again: identical, or the first difference.\n"
      "With --what-if: the same with other settings, as it was and as it would have been.\n"
      "Example: lairctl replay /var/lib/laird/journal --why night-run");
  command
      ->add_option("journal", wishes->journal,
                   "A journal file, a folder of them, or a state folder; with --what-if also the\n"
                   "folder of a fleet's state folders")
      ->required();
  command->add_option("--explain", wishes->explain,
                      "Also tell the numbers behind each decision about a task");
  command->add_option("--why", wishes->why,
                      "Also tell why a task met or missed its deadline, as lairctl why does");
  command->add_flag("--json", wishes->json,
                    "With --why or --what-if: as JSON, the rest on standard error");
  command
      ->add_option("--what-if", wishes->what_if.changes,
                   "Run the journal again with this changed, and compare: policy=NAME slice=2s\n"
                   "cap=12W cap=8W@10m cap=none budget=30W lanes=gpu,cpu:2 board=NAME speed=1.5\n"
                   "deadline:TASK=2h (or +30m) target:TASK=0.3 weight:TASK=3 without=TASK\n"
                   "with=NEW:TASK nothing; of a whole fleet also without-board=BOARD\n"
                   "with-board=NEW:BOARD move:TASK=BOARD fleet. May be given again and again")
      ->take_all();
  command->add_option("--policies", wishes->what_if.policies,
                      "Compare policies on what really happened: all, or names with commas");
  command->add_option("-o,--out", wishes->what_if.page,
                      "With --what-if: write a page with both timelines here");
  command->callback([wishes, &code] { code = chosen(*wishes); });
}

}  // namespace laird::control
