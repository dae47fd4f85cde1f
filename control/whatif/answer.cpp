#include "control/whatif/answer.hpp"

#include <utility>

#include "agent/replay/replay.hpp"
#include "agent/whatif/recorder.hpp"
#include "report/story/teller.hpp"

namespace laird::control {
namespace {

[[nodiscard]] Result<whatif::Rerun> told(const whatif::Recording& recording,
                                         const whatif::Changes& changes,
                                         std::optional<story::BoardStory>& out) {
  story::Teller teller;
  return whatif::run_again(
      recording, changes, whatif::Beyond::kMedian,
      [&](const core::Event& event, const core::State& state, const core::Effects& effects) {
        teller.see(event, state, effects);
      },
      [&](const core::State& state) { out = teller.finish(state); });
}

}  // namespace

Result<RecordedBoard> read_board(const std::string& path, bool with_story, const Tick& tick) {
  RecordedBoard out;
  out.path = path;
  whatif::Recorder recorder;
  story::Teller teller;
  const Result<lab::ReplayResult> result = lab::replay(
      path, [&](std::uint64_t events) { tick(path, events); },
      [&](const core::Event& event, const core::State& state, const core::Effects& effects) {
        recorder.see(event, state, effects);
        if (with_story) teller.see(event, state, effects);
      },
      [&](core::State& first) { recorder.begin(first); });
  LAIRD_TRY(result);
  if (result->events == 0) return fail(Code::kNotFound, path + " holds no events");
  for (const std::string& file : result->older) {
    out.notes.push_back("left out: " + file + " is of an older release");
  }
  for (const std::string& damage : result->damage) out.notes.push_back("damaged: " + damage);
  if (result->difference) {
    return fail(Code::kCorrupt, path + " does not replay: what it tells is not what happened; " +
                                    "lairctl replay " + path + " shows the difference");
  }
  out.whole = !result->lost_events && result->older.empty();
  out.recording = recorder.finish(result->state);
  if (with_story) out.story = teller.finish(result->state);
  auto same = whatif::run_again(out.recording, {});
  LAIRD_TRY(same);
  out.same = std::move(*same);
  out.fidelity = whatif::fidelity_of(out.recording.was, out.same.tally);
  return out;
}

Result<BoardAnswer> answer_for(const RecordedBoard& board, const whatif::Changes& changes,
                               bool with_story) {
  BoardAnswer out;
  auto median = with_story ? told(board.recording, changes, out.story)
                           : whatif::run_again(board.recording, changes);
  LAIRD_TRY(median);
  out.median = std::move(*median);
  if (out.median.beyond.empty()) return out;
  auto low = whatif::run_again(board.recording, changes, whatif::Beyond::kLow);
  LAIRD_TRY(low);
  auto high = whatif::run_again(board.recording, changes, whatif::Beyond::kHigh);
  LAIRD_TRY(high);
  out.low = std::move(*low);
  out.high = std::move(*high);
  return out;
}

void Sums::add(const whatif::Tally& tally) {
  tasks += tally.tasks.size();
  succeeded += tally.succeeded();
  energy_j += tally.energy_j;
  metered = metered || tally.metered;
  switches += tally.switches;
}

}  // namespace laird::control
