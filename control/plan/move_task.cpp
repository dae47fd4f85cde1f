#include "control/plan/move_task.hpp"

#include <algorithm>

#include "control/fleet/exit.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;

// Its trainer writes a checkpoint and leaves, the boards tell each other, and say so.
constexpr DurationNs kMoveWithin = 3 * kMinute;

enum class Stand { kOnItsWay, kThere, kStayed };

Stand stand_of(const FleetView& view, const Move& move) {
  const auto there = view.tasks().find({move.to, move.task});
  if (there != view.tasks().end() && !there->second.is_ended()) return Stand::kThere;
  const auto here = view.tasks().find({move.from, move.task});
  const bool waits = here != view.tasks().end() && !here->second.text("moving_to").empty();
  if (here == view.tasks().end() || waits || here->second.is_ended()) return Stand::kOnItsWay;
  return Stand::kStayed;
}

std::string note_of(const FleetView& view, const std::string& board, const std::string& task) {
  const auto found = view.tasks().find({board, task});
  return found == view.tasks().end() ? std::string() : found->second.text("moved");
}

}  // namespace

int move_task(FleetClient& client, const Move& move, DurationNs timeout) {
  const FleetView& view = client.view();
  const auto asked = client.ask(move.from, "move",
                                Value::object().set("task", move.task).set("to", move.to), timeout);
  if (!asked) return complain(asked.error());
  if (exit_code_of(*asked) != 0) return show(*asked);
  say(move.task + ": " + harmless(asked->text));
  // Its topic says that it is on its way a moment after the answer.
  static_cast<void>(
      client.wait(after(timeout), [&] { return stand_of(view, move) != Stand::kStayed; }));
  const bool over =
      client.wait(after(kMoveWithin), [&] { return stand_of(view, move) != Stand::kOnItsWay; });
  const Stand stand = stand_of(view, move);
  if (over && stand == Stand::kThere) {
    const std::string note = note_of(view, move.to, move.task);
    print("%s: on %s now%s\n", move.task.c_str(), move.to.c_str(),
          note.empty() ? "" : (" (" + harmless(note) + ")").c_str());
    return 0;
  }
  if (over) {
    const std::string note = note_of(view, move.from, move.task);
    say(move.task + " stays on " + move.from + (note.empty() ? "" : ": " + harmless(note)));
    return kRefused;
  }
  say(move.task + " is still on its way to " + move.to + "; `lairctl explain " + move.task +
      "` says what it waits for");
  return kPartial;
}

int carry_out(FleetClient& client, const std::vector<Move>& moves, DurationNs timeout) {
  if (moves.empty()) {
    print("nothing to move: every task that may move and has not begun is where the plan has it\n");
    return 0;
  }
  std::size_t done = 0;
  int worst = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const Move& move = moves[i];
    say("move " + std::to_string(i + 1) + " of " + std::to_string(moves.size()) + ": " + move.task +
        " from " + move.from + " to " + move.to);
    const int code = move_task(client, move, timeout);
    done += code == 0 ? 1 : 0;
    worst = std::max(worst, code);
  }
  print("%zu of %zu moves done\n", done, moves.size());
  return done == moves.size() ? 0 : done > 0 ? kPartial : worst;
}

}  // namespace laird::control
