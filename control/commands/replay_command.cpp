#include <unistd.h>

#include <cstdio>
#include <memory>

#include "agent/core/step/step.hpp"
#include "agent/replay/replay.hpp"
#include "cli/command.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/screen/output.hpp"
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

int replay(const std::string& path, const std::string& task) {
  const bool tty = ::isatty(STDERR_FILENO) != 0;
  Explainer explainer(task);
  const auto result = lab::replay(
      path,
      [tty](std::uint64_t events) {
        if (tty) std::fprintf(stderr, "\r%llu events", static_cast<unsigned long long>(events));
      },
      [&explainer](const core::Event&, const core::State& state) { explainer.see(state); });
  if (tty) std::fprintf(stderr, "\r");
  if (!result) return complain(result.error());
  if (explainer.in_vain()) {
    return complain({Code::kNotFound, "no decision about a task '" + task + "' is in " + path});
  }
  print_text(lab::report(*result));
  if (result->difference) return kFailed;
  return result->lost_events ? kPartial : 0;
}

}  // namespace

void add_replay(cli::Command& app, int& code) {
  const auto journal = std::make_shared<std::string>();
  const auto task = std::make_shared<std::string>();
  cli::Command* command =
      app.add_subcommand("replay",
                         "Step a journal again: identical, or the first difference.\n"
                         "Example: lairctl replay /var/lib/laird/journal --explain night-run");
  command->add_option("journal", *journal, "A journal file, or a folder of them")->required();
  command->add_option("--explain", *task,
                      "Also tell the numbers behind each decision about a task");
  command->callback([journal, task, &code] { code = replay(*journal, *task); });
}

}  // namespace laird::control
