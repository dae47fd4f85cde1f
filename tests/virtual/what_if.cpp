// virtual_what_if: what-if of real journals: agents live in virtual time, and their journals are
// run again.
//
//   virtual_what_if calm 1 4        fleets of seeds 1 to 4 without a fault, as whole fleets
//   virtual_what_if faults 101 7    fleets under faults, each board by itself
//
// Prints what was found, and ends with 1 when it is not what docs/what-if.md promises.
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "agent/replay/replay.hpp"
#include "agent/whatif/compare.hpp"
#include "agent/whatif/fleet_rerun.hpp"
#include "agent/whatif/recorder.hpp"
#include "tests/virtual/fake_disk.hpp"
#include "tests/virtual/fleet_world.hpp"

namespace {

using namespace laird;

// Of the boards of faulty fleets, run again by themselves, so many are within the bounds.
constexpr double kGoodUnderFaults = 0.75;
constexpr double kSameEndUnderFaults = 0.95;
constexpr double kSameEndOfFleets = 0.95;

int failures = 0;

void expect(bool holds, const char* what, std::uint64_t seed) {
  if (holds) return;
  ++failures;
  std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(seed), what);
}

struct Lives {
  std::vector<whatif::Recording> boards;

  [[nodiscard]] std::vector<const whatif::Recording*> all() const {
    std::vector<const whatif::Recording*> out;
    for (const whatif::Recording& board : boards) out.push_back(&board);
    return out;
  }
  [[nodiscard]] whatif::Carrier carrier() {
    std::vector<whatif::Recording*> out;
    for (whatif::Recording& board : boards) out.push_back(&board);
    return whatif::Carrier(out);
  }
};

// A fleet lives, and its journals are read.
Lives lived(test::WorldOptions options) {
  const bool in_memory = ::access("/dev/shm", W_OK) == 0;
  options.folder = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string();
  options.folder += "/laird-what-if-XXXXXX";
  if (::mkdtemp(options.folder.data()) == nullptr) std::abort();
  Lives out;
  {
    test::FleetWorld world(options);
    expect(world.run(), "the fleet did not live as it should", options.seed);
  }
  for (std::size_t i = 1; i <= options.boards; ++i) {
    whatif::Recorder recorder(true);
    const std::string journal = options.folder + "/n-" + std::to_string(i) + "/state/journal";
    const auto replayed =
        lab::replay(journal, {},
                    [&](const core::Event& event, const core::State& state,
                        const core::Effects& effects) { recorder.see(event, state, effects); },
                    {[&](core::State& first) { recorder.begin(first); }, 0});
    expect(replayed.has_value(), "a journal cannot be read", options.seed);
    if (replayed) out.boards.push_back(recorder.finish(replayed->state));
  }
  std::error_code ignored;
  std::filesystem::remove_all(options.folder, ignored);
  return out;
}

struct Found {
  std::uint64_t boards = 0;
  std::uint64_t good = 0;
  std::uint64_t tasks = 0;
  std::uint64_t same_end = 0;

  void add(const whatif::Fidelity& f) {
    ++boards;
    good += f.good() ? 1 : 0;
    tasks += f.tasks;
    same_end += f.same_end;
  }
  void print(const char* what) const {
    std::printf(
        "%s: %llu of %llu tasks end as they did, %llu of %llu boards are within the bounds\n", what,
        static_cast<unsigned long long>(same_end), static_cast<unsigned long long>(tasks),
        static_cast<unsigned long long>(good), static_cast<unsigned long long>(boards));
  }
};

using Reruns = std::vector<whatif::BoardRerun>;

Reruns again(const Lives& lives, const whatif::Carrier& carrier, const whatif::Changes& changes,
             std::uint64_t seed) {
  auto out = whatif::run_fleet_again(lives.all(), carrier, changes, whatif::Beyond::kMedian);
  expect(out.has_value(), out ? "" : out.error().context.c_str(), seed);
  return out ? std::move(*out) : Reruns{};
}

const whatif::BoardRerun* board_of(const Reruns& reruns, const std::string& node) {
  for (const whatif::BoardRerun& board : reruns) {
    if (board.node == node) return &board;
  }
  return nullptr;
}

// The board with most tasks that came while its journal was written.
const whatif::Recording& busiest(const Lives& lives) {
  const whatif::Recording* out = &lives.boards.front();
  for (const whatif::Recording& board : lives.boards) {
    if (board.was.tasks.size() > out->was.tasks.size()) out = &board;
  }
  return *out;
}

void leave_a_board_out(const Lives& lives, const whatif::Carrier& carrier, std::uint64_t seed) {
  const whatif::Recording& gone = busiest(lives);
  whatif::Changes changes;
  changes.boards_without = {gone.node};
  const Reruns reruns = again(lives, carrier, changes, seed);
  expect(reruns.size() + 1 == lives.boards.size(), "one board less is not one less", seed);
  expect(board_of(reruns, gone.node) == nullptr, "the board that was left out is there", seed);
  // Its task goes on where it is moved to, in the journal's own words.
  const std::string task = gone.was.tasks.front().id.name;
  const std::string to = (gone.node == "n-1" ? lives.boards[1] : lives.boards[0]).node;
  changes.moved = {{task, to}};
  const Reruns moved = again(lives, carrier, changes, seed);
  const whatif::BoardRerun* board = board_of(moved, to);
  expect(board != nullptr && board->rerun.tally.find({task, 0}) != nullptr,
         "a task that was moved did not come", seed);
  expect(board != nullptr && board->moved_here.count({task, 0}) == 1,
         "it is not told from where it came", seed);
  changes.boards_without = {"nobody"};
  expect(!whatif::run_fleet_again(lives.all(), carrier, changes, whatif::Beyond::kMedian),
         "a board that is not there was left out", seed);
}

void add_a_board(const Lives& lives, const whatif::Carrier& carrier, std::uint64_t seed) {
  const whatif::Recording& like = busiest(lives);
  const std::string task = like.was.tasks.front().id.name;
  whatif::Changes changes;
  changes.boards_added = {{"n-new", like.node, {}}};
  changes.added = {{"twin", task, "n-new"}};
  bool had_share = false;
  std::size_t place = lives.boards.size();
  whatif::FleetWatch watch;
  watch.step = [&](std::size_t board, const core::Event&, const core::State& state,
                   const core::Effects&) {
    if (board == place && state.fleet.ledger && !state.fleet.on_floor(state.now)) had_share = true;
  };
  const auto reruns =
      whatif::run_fleet_again(lives.all(), carrier, changes, whatif::Beyond::kMedian, watch);
  expect(reruns.has_value(), reruns ? "" : reruns.error().context.c_str(), seed);
  if (!reruns) return;
  const whatif::BoardRerun* board = board_of(*reruns, "n-new");
  expect(board != nullptr && !board->recorded, "the added board is not there", seed);
  const whatif::TaskEnd* twin = board == nullptr ? nullptr : board->rerun.tally.find({"twin", 0});
  expect(twin != nullptr && twin->samples > 0, "its task did no work", seed);
  expect(had_share, "it never had a share of the budget", seed);
}

void lower_the_budget(const Lives& lives, const whatif::Carrier& carrier, std::uint64_t seed) {
  whatif::Changes changes;
  std::int64_t floors = 0;
  for (const core::FleetMember& m : lives.boards.front().budget.members) {
    floors += m.floor[core::Resource::kPower];
  }
  changes.budgets = {{0, floors + 500}};
  std::int64_t most = 0;
  std::vector<std::int64_t> caps(lives.boards.size());
  whatif::FleetWatch watch;
  watch.step = [&](std::size_t board, const core::Event&, const core::State& state,
                   const core::Effects&) {
    caps[board] = state.power.fleet_cap_mw.value_or(0);
    std::int64_t sum = 0;
    for (const std::int64_t cap : caps) sum += cap;
    most = std::max(most, sum);
  };
  const auto poor =
      whatif::run_fleet_again(lives.all(), carrier, changes, whatif::Beyond::kMedian, watch);
  expect(poor.has_value(), "a lower budget was refused", seed);
  expect(most > 0 && most <= floors + 500, "the boards' caps exceed the other budget", seed);
  changes.budgets = {{0, floors - 500}};
  expect(!whatif::run_fleet_again(lives.all(), carrier, changes, whatif::Beyond::kMedian),
         "a budget below the floors was taken", seed);
}

void ask_calm_fleets(std::uint64_t first, std::uint64_t count) {
  Found found;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    test::WorldOptions options;
    options.seed = seed;
    options.boards = 4;
    options.faults_for = kHour;
    options.calm = true;
    Lives lives = lived(options);
    std::vector<const whatif::Recording*> fewer = lives.all();
    fewer.pop_back();
    expect(whatif::apart_because(fewer).has_value(),
           "a fleet without one of its journals passes for a whole one", seed);
    const whatif::Carrier carrier = lives.carrier();
    expect(carrier.messages() > 500, "no messages were found", seed);
    expect(carrier.lost() * 20 < carrier.messages(), "messages of a sound network are missed",
           seed);
    for (const whatif::BoardRerun& board : again(lives, carrier, {}, seed)) {
      found.add(whatif::fidelity_of(lives.boards[*board.recorded].was, board.rerun.tally));
    }
    if (busiest(lives).was.tasks.empty()) continue;
    leave_a_board_out(lives, carrier, seed);
    add_a_board(lives, carrier, seed);
    lower_the_budget(lives, carrier, seed);
  }
  found.print("calm fleets, with their ledgers");
  expect(found.tasks > count, "there was next to no work", first);
  expect(static_cast<double>(found.same_end) >= kSameEndOfFleets * static_cast<double>(found.tasks),
         "too many tasks end otherwise with nothing changed", first);
}

void ask_boards_under_faults(std::uint64_t first, std::uint64_t count) {
  Found found;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    test::WorldOptions options;
    options.seed = seed;
    options.faults_for = 4 * kHour;
    const Lives lives = lived(options);
    for (const whatif::Recording& board : lives.boards) {
      if (board.was.tasks.empty()) continue;
      const auto same = whatif::run_again(board, {});
      expect(same.has_value(), "a board cannot be run again", seed);
      if (!same) continue;
      found.add(whatif::fidelity_of(board.was, same->tally));
    }
  }
  found.print("boards under faults, each by itself");
  expect(static_cast<double>(found.good) >= kGoodUnderFaults * static_cast<double>(found.boards),
         "too many boards are not within the bounds", first);
  expect(
      static_cast<double>(found.same_end) >= kSameEndUnderFaults * static_cast<double>(found.tasks),
      "too many tasks end otherwise with nothing changed", first);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc == 4 ? argv[1] : "";
  if (which != "calm" && which != "faults") {
    std::fprintf(stderr, "usage: virtual_what_if calm|faults FIRST_SEED COUNT\n");
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  test::FakeDisk::install();
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
  if (which == "calm") {
    ask_calm_fleets(first, count);
  } else {
    ask_boards_under_faults(first, count);
  }
  return failures == 0 ? 0 : 1;
}
