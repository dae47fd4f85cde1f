#include "control/whatif/answer.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "agent/replay/replay.hpp"
#include "agent/whatif/recorder.hpp"
#include "control/report/side_by_side.hpp"
#include "report/story/teller.hpp"

namespace laird::control {
namespace {

// Journals that begin this near to each other begin together.
constexpr DurationNs kTogether = 5 * kSecond;

// `begin_wall`: what came before is not told of.
[[nodiscard]] Result<RecordedBoard> read_board(const std::string& path, bool with_story,
                                               bool with_messages, TimeNs begin_at,
                                               const Tick& tick) {
  RecordedBoard out;
  out.path = path;
  whatif::Recorder recorder(with_messages);
  story::Teller teller;
  const Result<lab::ReplayResult> result = lab::replay(
      path, [&](std::uint64_t events) { tick(path, events); },
      [&](const core::Event& event, const core::State& state, const core::Effects& effects) {
        recorder.see(event, state, effects);
        if (with_story) teller.see(event, state, effects);
      },
      {[&](core::State& first) { recorder.begin(first); }, begin_at});
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
  return out;
}

[[nodiscard]] std::vector<const whatif::Recording*> recordings_of(
    const std::vector<RecordedBoard>& boards) {
  std::vector<const whatif::Recording*> out;
  for (const RecordedBoard& board : boards) out.push_back(&board.recording);
  return out;
}

// A fleet's boards run again from the moment on from which all of their journals tell.
[[nodiscard]] Status begin_together(RecordedBoards& all, bool with_story, const Tick& tick) {
  const TimeNs begin = whatif::begin_of(recordings_of(all.boards));
  for (RecordedBoard& board : all.boards) {
    const whatif::Recording& r = board.recording;
    if (r.wall_at(r.from) + kTogether >= begin) continue;
    auto later = read_board(board.path, with_story, true, r.agent_at(begin), tick);
    LAIRD_TRY(later);
    board = std::move(*later);
  }
  return {};
}

void join(RecordedBoards& all) {
  std::vector<whatif::Recording*> recordings;
  for (RecordedBoard& board : all.boards) recordings.push_back(&board.recording);
  all.carrier.emplace(recordings);
}

[[nodiscard]] Status run_unchanged(RecordedBoards& all, const Tick& tick) {
  auto same = answers_for(all, {}, false, tick);
  LAIRD_TRY(same);
  for (std::size_t i = 0; i < all.boards.size(); ++i) {
    RecordedBoard& board = all.boards[i];
    board.same = std::move((*same)[i].median);
    board.fidelity = whatif::fidelity_of(board.recording.was, board.same.tally);
  }
  return {};
}

// The boards of one answer, each with its teller where a page is wanted.
struct Told {
  std::vector<story::Teller> tellers;
  std::vector<std::optional<story::BoardStory>> stories;

  [[nodiscard]] whatif::FleetWatch watch(const Tick& tick, bool with_story) {
    whatif::FleetWatch out;
    out.progress = [&tick](std::uint64_t events) { tick("what if of the fleet", events); };
    if (!with_story) return out;
    out.step = [this](std::size_t board, const core::Event& event, const core::State& state,
                      const core::Effects& effects) {
      if (board >= tellers.size()) tellers.resize(board + 1);
      tellers[board].see(event, state, effects);
    };
    out.end = [this](std::size_t board, const core::State& state) {
      if (board >= tellers.size()) tellers.resize(board + 1);
      stories.resize(std::max(stories.size(), board + 1));
      stories[board] = tellers[board].finish(state);
    };
    return out;
  }
};

[[nodiscard]] Result<std::vector<BoardAnswer>> of_fleet(const RecordedBoards& all,
                                                        const whatif::Changes& changes,
                                                        bool with_story, const Tick& tick) {
  const auto recordings = recordings_of(all.boards);
  Told told;
  auto median = whatif::run_fleet_again(recordings, *all.carrier, changes, whatif::Beyond::kMedian,
                                        told.watch(tick, with_story));
  LAIRD_TRY(median);
  std::vector<BoardAnswer> out(all.boards.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].node = all.boards[i].recording.node;
    out[i].recorded = i;
    out[i].left_out = true;
  }
  std::vector<std::size_t> place;  // in `out`, of each board that ran
  bool beyond = false;
  for (std::size_t i = 0; i < median->size(); ++i) {
    whatif::BoardRerun& board = (*median)[i];
    place.push_back(board.recorded.value_or(out.size()));
    if (!board.recorded) out.emplace_back();
    BoardAnswer& answer = out[place.back()];
    answer.node = board.node;
    answer.left_out = false;
    answer.moved_here = std::move(board.moved_here);
    answer.median = std::move(board.rerun);
    beyond = beyond || !answer.median.beyond.empty();
    if (i < told.stories.size()) answer.story = std::move(told.stories[i]);
  }
  if (!beyond) return out;
  for (const auto& [which, end] : {std::pair{whatif::Beyond::kLow, &BoardAnswer::low},
                                   std::pair{whatif::Beyond::kHigh, &BoardAnswer::high}}) {
    Told nothing;
    auto other = whatif::run_fleet_again(recordings, *all.carrier, changes, which,
                                         nothing.watch(tick, false));
    LAIRD_TRY(other);
    for (std::size_t i = 0; i < other->size(); ++i)
      out[place[i]].*end = std::move((*other)[i].rerun);
  }
  return out;
}

[[nodiscard]] Result<BoardAnswer> of_board(const RecordedBoard& board,
                                           const whatif::Changes& changes, bool with_story) {
  BoardAnswer out;
  out.node = board.recording.node;
  story::Teller teller;
  whatif::RerunWatch watch;
  whatif::RerunEnd end;
  if (with_story) {
    watch = [&](const core::Event& event, const core::State& state, const core::Effects& effects) {
      teller.see(event, state, effects);
    };
    end = [&](const core::State& state) { out.story = teller.finish(state); };
  }
  auto median = whatif::run_again(board.recording, changes, whatif::Beyond::kMedian, watch, end);
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

}  // namespace

Result<RecordedBoards> read_boards(const std::vector<std::string>& paths, ReadWishes wishes,
                                   const Tick& tick, std::vector<Error>& left_out) {
  RecordedBoards out;
  const bool as_fleet = wishes.as_fleet && paths.size() > 1;
  std::vector<std::optional<Result<RecordedBoard>>> read(paths.size());
  side_by_side(paths.size(), [&](std::size_t i) {
    read[i] = read_board(paths[i], wishes.story, as_fleet, 0, tick);
  });
  for (std::optional<Result<RecordedBoard>>& one : read) {
    Result<RecordedBoard>& board = *one;
    if (!board) {
      left_out.push_back(board.error());
      continue;
    }
    out.boards.push_back(std::move(*board));
  }
  if (out.boards.empty()) return out;
  if (wishes.as_fleet) {
    const std::optional<std::string> apart = whatif::apart_because(recordings_of(out.boards));
    if (apart) {
      out.apart = *apart;
    } else {
      LAIRD_TRY(begin_together(out, wishes.story, tick));
      join(out);
    }
  }
  LAIRD_TRY(run_unchanged(out, tick));
  return out;
}

Result<std::vector<BoardAnswer>> answers_for(const RecordedBoards& all,
                                             const whatif::Changes& changes, bool with_story,
                                             const Tick& tick) {
  if (all.carrier) return of_fleet(all, changes, with_story, tick);
  if (const char* word = changes.of_a_fleet()) {
    return fail(Code::kInvalid, std::string("--what-if ") + word +
                                    " is for the journals of a whole fleet; here " + all.apart);
  }
  LAIRD_TRY(changes.fit(recordings_of(all.boards)));
  std::vector<std::optional<Result<BoardAnswer>>> answers(all.boards.size());
  std::atomic<std::uint64_t> events{0};
  side_by_side(all.boards.size(), [&](std::size_t i) {
    const RecordedBoard& board = all.boards[i];
    tick("what if on " + board.recording.node, events);
    answers[i] = of_board(board, changes.of_board(board.recording), with_story);
    if (*answers[i]) events += (*answers[i])->median.events;
  });
  std::vector<BoardAnswer> out;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Result<BoardAnswer>& answer = *answers[i];
    LAIRD_TRY(answer);
    answer->recorded = i;
    out.push_back(std::move(*answer));
  }
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
