// models promote: a pushed model is made to stand ready on boards, each of which builds and
// verifies engines of its own. models roll-out: the same, but on one board first, and on the others
// one after another when it has stood there for a while and nothing spoke against it.
//
// The boards know nothing of one another in this, and nobody leads them: it is this command that
// waits. Ended in the middle, it goes on when it is given again: a board on which this very model
// is current is passed over.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/commands/models/targets.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr std::chrono::milliseconds kLookEvery{1000};
// What a board's promotion may take if the operator says nothing else.
constexpr const char* kWithin = "1h";

struct Options {
  TargetOptions to;
  std::string model;
  std::string within = kWithin;
  std::string after = "1h";
  std::string canary;
  std::string memory = "1GB";
};

std::string text_in(const Value& row, std::string_view key) {
  const Value* found = row.find(key, Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

// The row of that name in a list that an answer holds.
Value row_in(const Value& answer, std::string_view list, std::string_view key,
             const std::string& name) {
  const Value* rows = answer.find(list, Kind::kArray);
  if (rows == nullptr) return {};
  for (const Value& row : rows->items()) {
    if (text_in(row, key) == name) return row;
  }
  return {};
}

// The task that takes the pushed model over. It trains nothing; its promotion does the work.
Value task_of(const Options& options) {
  const Value promote =
      Value::object().set("deadline", options.within).set("memory", options.memory);
  return Value::object()
      .set("name", options.model)
      .set("trainer", "laird-adopt")
      .set("deadline", options.within)
      .set("target_loss", 1.0)
      .set("memory", options.memory)
      .set("params", Value::object().set("model", options.model))
      .set("promote", promote);
}

class Rollout {
 public:
  Rollout(const Target& board, const Options& options, DurationNs within)
      : board_(board), options_(options), within_(within) {}

  // The row of the model as it stands on the board afterwards.
  Result<Value> promote() {
    const Result<Value> before = current();
    LAIRD_TRY(before);
    LAIRD_TRY(hand_in());
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(within_);
    while (std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kLookEvery);
      const Result<Value> now = current();
      if (now && text_in(*now, "version") != text_in(*before, "version")) return now;
      if (const std::string problem = trouble(); !problem.empty()) {
        return fail(Code::kRefused, problem);
      }
    }
    return fail(Code::kUnavailable, "the model does not stand there after " + options_.within +
                                        "; look with `lairctl get tasks --node " + board_.name +
                                        "`");
  }

  // What stands there now; an empty row if nothing does.
  Result<Value> current() {
    const Result<Value> answer = board_.ask("models", Value::object());
    LAIRD_TRY(answer);
    return row_in(*answer, "models", "model", options_.model);
  }

  // Of the model's file on the board; empty if the board has none.
  std::string hash() {
    const Result<Value> files = board_.ask("pull", Value::object().set("name", options_.model));
    if (!files || text_in(*files, "kind") != "model") return "";
    return text_in(row_in(*files, "files", "file", "model.onnx"), "sha256");
  }

 private:
  Status hand_in() {
    const Result<Value> tasks = board_.ask("get", Value::object().set("what", "tasks"));
    LAIRD_TRY(tasks);
    const Value known = row_in(*tasks, "tasks", "name", options_.model);
    const bool ours = text_in(known, "trainer") == "laird-adopt";
    if (known.is(Kind::kObject) && !ours) {
      return fail(Code::kRefused, "a task '" + options_.model +
                                      "' is there, which trains; push the model under another "
                                      "name");
    }
    if (ours) {
      // An end that was told before is not the end of this one.
      static_cast<void>(board_.ask("rm", Value::object().set("task", options_.model + "-promote")));
    }
    const Result<Value> done =
        board_.ask("submit", Value::object().set("task", task_of(options_)).set("replace", ours));
    LAIRD_TRY(done);
    return {};
  }

  // How it ended, if it ended badly.
  std::string trouble() {
    const Result<Value> tasks = board_.ask("get", Value::object().set("what", "tasks"));
    if (!tasks) return "";
    for (const std::string& name : {options_.model, options_.model + "-promote"}) {
      const Value row = row_in(*tasks, "tasks", "name", name);
      const std::string state = text_in(row, "state");
      if (state == "failed" || state == "missed" || state == "cancelled" || state == "exhausted") {
        return name + " " + state + ": " + text_in(row, "reason");
      }
    }
    return "";
  }

  const Target& board_;
  const Options& options_;
  DurationNs within_;
};

// Engines were tried, and none is as good as the model. A board without TensorRT disagrees with
// nobody, and neither does a model without rows to check it by.
std::string disagreement(const Value& row) {
  const std::string reason = text_in(row, "reason");
  const bool was_tried = !reason.starts_with("no TensorRT") && !reason.starts_with("no rows") &&
                         !reason.starts_with("no engine was asked for");
  if (text_in(row, "choice") != "onnx" || !was_tried) return "";
  return "no engine was good enough: " + reason;
}

std::string told(const Value& row) {
  const Value* p99 = row.find("latency_us_p99");
  std::string out = "version " + text_in(row, "version") + ", " + text_in(row, "choice");
  if (p99 != nullptr && p99->is_number() && p99->as_double() > 0.0) {
    out += ", p99 " + fixed(p99->as_double(), 0, " us");
  }
  return out;
}

// At once: what comes next may take hours.
void tell(const Target& board, const std::string& what) {
  print_text(harmless(board.shown() + ": " + what) + "\n");
  std::fflush(stdout);
}

int promote_on(const Targets& targets, const Options& options, DurationNs within) {
  int code = 0;
  std::size_t done = 0;
  for (const Target& board : targets.boards) {
    const Result<Value> row = Rollout(board, options, within).promote();
    if (!row) {
      code = complain({row.error().code, board.shown() + ": " + row.error().context});
      continue;
    }
    ++done;
    tell(board, told(*row));
  }
  return code != 0 && done > 0 ? kPartial : code;
}

// The canary first, then by name.
void put_first(std::vector<Target>& boards, const std::string& canary) {
  std::stable_partition(boards.begin(), boards.end(),
                        [&](const Target& board) { return board.name == canary; });
}

// Whether it still stands there as it was promoted, asked again and again for so long.
Status watch(const Target& board, const Options& options, const Value& promoted, DurationNs within,
             DurationNs after) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(after);
  Rollout look(board, options, within);
  for (;;) {
    const bool last = std::chrono::steady_clock::now() >= until;
    const Result<Value> now = look.current();
    if (now && text_in(*now, "version") != text_in(promoted, "version")) {
      return fail(Code::kRefused, "version " + text_in(promoted, "version") +
                                      " is not current any more: somebody rolled it back or "
                                      "promoted another");
    }
    if (last && !now) return fail(Code::kUnavailable, "it does not answer");
    if (last) return {};
    std::this_thread::sleep_for(kLookEvery);
  }
}

int stop(const Target& board, const std::string& why, const std::vector<Target>& left) {
  std::string names;
  for (const Target& other : left) names += (names.empty() ? "" : ", ") + other.shown();
  const int code = complain({Code::kRefused, board.shown() + ": " + why});
  say("the roll-out stops here" + (names.empty() ? "" : "; not touched: " + names));
  return code;
}

int roll_out(Targets& targets, const Options& options, DurationNs within, DurationNs after) {
  put_first(targets.boards, options.canary.empty() ? targets.boards.front().name : options.canary);
  std::string wanted;
  for (std::size_t i = 0; i < targets.boards.size(); ++i) {
    const Target& board = targets.boards[i];
    const std::vector<Target> left(targets.boards.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   targets.boards.end());
    Rollout there(board, options, within);
    if (i > 0 && !wanted.empty() && there.hash() == wanted) {
      tell(board, "has it already");
      continue;
    }
    const Result<Value> row = there.promote();
    if (!row) return stop(board, row.error().context, left);
    tell(board, told(*row));
    if (const std::string why = disagreement(*row); !why.empty()) return stop(board, why, left);
    if (i > 0) continue;
    wanted = there.hash();
    if (left.empty()) return 0;
    say(board.shown() + " has it first; the others follow after " + options.after);
    if (const Status well = watch(board, options, *row, within, after); !well) {
      return stop(board, well.error().context, left);
    }
  }
  return 0;
}

int begin(const Options& options, bool one_first) {
  const Result<DurationNs> within = config::parse_duration(options.within);
  if (!within) return complain({Code::kInvalid, "--within: " + within.error().context});
  const Result<DurationNs> after = config::parse_duration(options.after);
  if (!after) return complain({Code::kInvalid, "--after: " + after.error().context});
  auto targets = open_targets(options.to);
  if (!targets) return complain(targets.error());
  if (!one_first) return promote_on(*targets, options, *within);
  const auto& boards = targets->boards;
  if (!options.canary.empty() &&
      std::none_of(boards.begin(), boards.end(),
                   [&](const Target& board) { return board.name == options.canary; })) {
    return complain({Code::kInvalid, "--canary: " + options.canary + " is not among the boards"});
  }
  return roll_out(*targets, options, *within, *after);
}

}  // namespace

void add_promote(cli::Command& models, int& code) {
  const auto options = std::make_shared<Options>();
  const auto add_common = [&](cli::Command& command) {
    command.add_option("model", options->model, "The model's name, as it was pushed")->required();
    command.add_option("--within", options->within,
                       "What a board's promotion may take (default 1h)");
    command.add_option("--memory", options->memory,
                       "What a board's promotion may use (default 1GB)");
    add_targets(command, options->to);
  };
  cli::Command* promote = models.add_subcommand(
      "promote", "Make a pushed model stand ready on boards: each builds and verifies its engine");
  add_common(*promote);
  promote->callback([options, &code] { code = begin(*options, false); });
  cli::Command* roll = models.add_subcommand(
      "roll-out",
      "The same on one board first, then on the others one by one if nothing spoke against it.\n"
      "Example: lairctl models roll-out faces --kind orin-nano-8gb --after 2h");
  add_common(*roll);
  roll->add_option("--canary", options->canary, "The board that is first (default: by name)");
  roll->add_option("--after", options->after, "How long it stands there alone (default 1h)");
  roll->callback([options, &code] { code = begin(*options, true); });
}

}  // namespace laird::control
