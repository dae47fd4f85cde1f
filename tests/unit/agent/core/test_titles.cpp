// Tasks that may move, on whole boards: the unchanged core with its ledger and its register, a
// network that loses and repeats, boards that are cut off, crash, reboot and lose their journals.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/step/step.hpp"
#include "agent/core/step/titles/title_body.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;

namespace {

constexpr int kLeaseTicks = 20;
// Incarnations follow the wall clock, which is right here: some time after 2020.
constexpr DurationNs kWallAhead = 1'700'000'000 * kSecond;
// What the register may take beyond a lease to call a board dead in this fleet, and what its backup
// takes then: docs/placement.md promises a lease and twenty ticks.
constexpr int kAgainTicksMax = kLeaseTicks + 20;

FleetBudget budget_of(std::size_t boards) {
  FleetBudget budget;
  budget.founding_epoch = 1;
  for (std::size_t i = 0; i < boards; ++i) {
    const std::string id = "n-" + std::to_string(i);
    budget.founders.push_back(id);
    budget.members.push_back({id, {}});
  }
  return budget;
}

CoreConfig config_of(const FleetBudget& budget, const std::string& node) {
  CoreConfig config = test::small_board();
  config.node = node;
  config.slice = 200 * kMillisecond;
  config.fleet.budget = budget;
  config.fleet.lease = kLeaseTicks * kSecond;
  return config;
}

TaskSpec movable(const std::string& name, DurationNs deadline = kDay) {
  TaskSpec spec = test::small_task(name, deadline, 1e-6);
  spec.movable = true;
  return spec;
}

class Boards {
 public:
  explicit Boards(std::size_t count, std::uint64_t seed = 1)
      : budget_(budget_of(count)), random{seed} {
    for (const FleetMember& m : budget_.members) {
      boards.push_back(std::make_unique<FakeBoard>(config_of(budget_, m.id)));
      down.push_back(false);
      cut.push_back(false);
    }
    for (auto& board : boards) {
      board->set_clock(kWallAhead);
      board->tell(FleetJoined{false});
    }
    run(5);
  }

  // A second at a time: what was sent arrives, each board lives on.
  void run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      deliver();
      for (std::size_t b = 0; b < boards.size(); ++b) {
        if (!down[b]) boards[b]->run_for(kSecond);
      }
      check();
      ++ticks;
    }
  }
  // Seconds until the condition holds; -1: not within so many.
  template <class Condition>
  int run_until(int most, Condition holds) {
    for (int i = 0; i <= most; ++i) {
      if (holds()) return i;
      run(1);
    }
    return -1;
  }

  void take_down(std::size_t b) {
    down[b] = true;
    went_down_[boards[b].get()] = ticks;
  }
  void bring_back(std::size_t b, bool machine_too, bool with_journal = true) {
    FakeBoard& board = *boards[b];
    board.run_for(0);
    const int seconds = ticks - went_down_[&board];
    if (!with_journal) {
      boards[b] = std::make_unique<FakeBoard>(config_of(budget_, board.config.node));
      boards[b]->skip(ticks * kSecond);
      boards[b]->set_clock(kWallAhead);
      boards[b]->tell(FleetJoined{true});
    } else {
      board.skip(seconds * kSecond);
      if (machine_too) ++board.machine_boot;
      board.restart();
      board.tell(FleetJoined{true});
    }
    down[b] = false;
  }

  [[nodiscard]] const Task* live(std::size_t b, const std::string& name) const {
    const Task* task = boards[b]->task(name);
    return task != nullptr && task->outcome == Outcome::kNone ? task : nullptr;
  }
  [[nodiscard]] bool works(std::size_t b, const std::string& name) const {
    const Task* task = down[b] ? nullptr : live(b, name);
    return task != nullptr &&
           (task->state == TaskState::kRunning || task->state == TaskState::kPreempting);
  }
  [[nodiscard]] const consensus::HeldTitle* title(std::size_t b, const std::string& name) const {
    const Task* task = live(b, name);
    const auto& titles = std::as_const(boards[b]->state.fleet.titles);
    return task == nullptr || !titles ? nullptr : titles->titles().holds(task->moving.title);
  }
  [[nodiscard]] bool backed(std::size_t b, const std::string& name) const {
    const consensus::HeldTitle* held = title(b, name);
    return held != nullptr && held->backed && held->state == consensus::TitleState::kHeld;
  }
  // The board that has it and is not on its way to another; -1: none.
  [[nodiscard]] int home(const std::string& name) const {
    for (std::size_t b = 0; b < boards.size(); ++b) {
      const consensus::HeldTitle* held = down[b] ? nullptr : title(b, name);
      if (held != nullptr && held->state == consensus::TitleState::kHeld)
        return static_cast<int>(b);
    }
    return -1;
  }
  [[nodiscard]] std::size_t backup_of(std::size_t b, const std::string& name) const {
    const consensus::NodeId node = title(b, name)->backup.node;
    for (std::size_t i = 0; i < boards.size(); ++i) {
      if (node_number(boards[i]->config.node) == node) return i;
    }
    TEST_FAIL_MESSAGE("its backup is no board");
    return 0;
  }
  std::string answer_of(std::size_t b, EventBody body) {
    const std::size_t before = boards[b]->answers.size();
    boards[b]->tell(std::move(body));
    TEST_ASSERT_EQUAL(before + 1, boards[b]->answers.size());
    return boards[b]->answers.back().text;
  }
  void start(std::size_t b, const std::string& name, test::FakeTrainer trainer = {}) {
    for (std::size_t i = 0; i < boards.size(); ++i) {
      // All boards train alike; only one is given the task.
      if (i != b) boards[i]->know(name, trainer);
    }
    boards[b]->submit(movable(name), trainer);
    watched.insert(name);
    TEST_ASSERT_TRUE(run_until(30, [&] { return backed(b, name) && works_lately(b, name); }) >= 0);
  }
  [[nodiscard]] bool works_lately(std::size_t b, const std::string& name) const {
    const Task* task = live(b, name);
    return !down[b] && task != nullptr && task->samples > 0 &&
           boards[b]->now() - task->heard_at < 2 * kSecond;
  }

  std::vector<std::unique_ptr<FakeBoard>> boards;
  std::vector<bool> down;
  std::vector<bool> cut;
  std::set<std::string> watched;
  int loss_percent = 0;
  int ticks = 0;
  int checked = 0;  // ticks at which some watched task was at work

 private:
  void check() {
    for (const std::string& name : watched) {
      int working = 0;
      int holding = 0;
      for (std::size_t b = 0; b < boards.size(); ++b) {
        working += works(b, name) ? 1 : 0;
        const consensus::HeldTitle* held = down[b] ? nullptr : title(b, name);
        const auto& ledger = std::as_const(boards[b]->state.fleet.ledger);
        holding += held != nullptr && held->state == consensus::TitleState::kHeld && ledger &&
                           held->as == ledger->account() && !ledger->fenced(boards[b]->now())
                       ? 1
                       : 0;
      }
      checked += working;
      TEST_ASSERT_TRUE_MESSAGE(working <= 1, ("two boards work on " + name).c_str());
      TEST_ASSERT_TRUE_MESSAGE(holding <= 1, ("two boards hold " + name).c_str());
    }
  }

  void deliver() {
    const std::size_t n = boards.size();
    std::vector<std::vector<PeerMessage>> inbox(n);
    std::vector<std::vector<PeerMessage>> titles(n);
    const auto put = [&](std::size_t from, const std::string& to, const std::string& bytes,
                         std::vector<std::vector<PeerMessage>>& into) {
      for (std::size_t b = 0; b < n; ++b) {
        if (boards[b]->config.node != to || cut[from] || cut[b]) continue;
        if (random.chance(loss_percent)) continue;
        into[b].push_back({boards[from]->config.node, bytes});
        if (random.chance(10)) into[b].push_back({boards[from]->config.node, bytes});
      }
    };
    for (std::size_t b = 0; b < n; ++b) {
      for (const SendToPeer& m : boards[b]->sent) put(b, m.to, m.bytes, inbox);
      for (const SendTitle& m : boards[b]->sent_titles) put(b, m.to, m.bytes, titles);
      boards[b]->sent.clear();
      boards[b]->sent_titles.clear();
    }
    for (std::size_t b = 0; b < n; ++b) {
      if (down[b]) continue;
      if (!inbox[b].empty()) boards[b]->tell(PeersHeard{std::move(inbox[b])});
      if (!titles[b].empty()) boards[b]->tell(TitlesHeard{std::move(titles[b])});
    }
  }

  FleetBudget budget_;
  std::map<const FakeBoard*, int> went_down_;

 public:
  test::Random random;
};

std::size_t third_of(const Boards& fleet, std::size_t a, std::size_t b) {
  for (std::size_t i = 0; i < fleet.boards.size(); ++i) {
    if (i != a && i != b && !fleet.down[i]) return i;
  }
  return 0;
}

}  // namespace

TEST(a_task_without_the_word_has_no_title_and_a_board_alone_runs_what_may_move_as_it_is) {
  Boards fleet(3);
  fleet.boards[0]->submit(test::small_task("stays", kDay, 1e-6));
  fleet.run(5);
  TEST_ASSERT_TRUE(fleet.title(0, "stays") == nullptr);
  TEST_ASSERT_EQUAL_INT(0, fleet.boards[0]->count("send-title"));
  FakeBoard alone(test::small_board());
  alone.submit(movable("lonely", kHour));
  alone.run_for(10 * kSecond);
  TEST_ASSERT_TRUE(alone.task("lonely")->samples > 0);
  TEST_ASSERT_FALSE(alone.task("lonely")->moving.titled());
}

TEST(a_moved_task_goes_on_from_its_checkpoint_and_leaves_nothing_behind) {
  for (const std::size_t boards : {2U, 3U, 5U}) {
    Boards fleet(boards);
    fleet.start(0, "walker");
    const std::size_t backup = fleet.backup_of(0, "walker");
    for (const std::size_t to : {third_of(fleet, 0, backup), backup}) {
      const std::size_t from = static_cast<std::size_t>(fleet.home("walker"));
      if (to == from) continue;
      const std::uint64_t done = fleet.live(from, "walker")->samples;
      TEST_ASSERT_EQUAL_STRING(
          ("on its way to n-" + std::to_string(to)).c_str(),
          fleet.answer_of(from, MoveRequested{1, "walker", "n-" + std::to_string(to)}).c_str());
      TEST_ASSERT_TRUE(fleet.run_until(20, [&] { return fleet.works_lately(to, "walker"); }) >= 0);
      TEST_ASSERT_TRUE(fleet.live(to, "walker")->samples >= done);
      // The other board may have begun before its acknowledgement is here.
      TEST_ASSERT_TRUE(fleet.run_until(5, [&] { return !fleet.live(from, "walker"); }) >= 0);
      TEST_ASSERT_TRUE(fleet.boards[from]->task("walker") == nullptr);
      TEST_ASSERT_TRUE(fleet.boards[from]->state.ended.back()->outcome == Outcome::kMoved);
      TEST_ASSERT_TRUE(fleet.run_until(10, [&] { return fleet.backed(to, "walker"); }) >= 0);
    }
  }
}

TEST(a_task_that_has_not_begun_moves_as_it_is_and_keeps_its_deadline) {
  Boards fleet(3);
  // As many as may start at once never get ready.
  test::FakeTrainer hangs;
  hangs.hang_on_start = true;
  for (int i = 0; i < 4; ++i) {
    fleet.boards[0]->submit(test::small_task("h" + std::to_string(i), kDay, 1e-6), hangs);
  }
  const TaskSpec waits = movable("waits", kHour);
  fleet.boards[0]->submit(waits);
  const TimeNs due = fleet.boards[0]->task("waits")->deadline_at;
  fleet.watched = {"waits"};
  TEST_ASSERT_TRUE(fleet.run_until(20, [&] { return fleet.backed(0, "waits"); }) >= 0);
  TEST_ASSERT_EQUAL(0, fleet.live(0, "waits")->attempt);
  static_cast<void>(fleet.answer_of(0, MoveRequested{1, "waits", "n-1"}));
  TEST_ASSERT_TRUE(fleet.run_until(20, [&] { return fleet.live(1, "waits") != nullptr; }) >= 0);
  TEST_ASSERT_EQUAL_INT64(due, fleet.live(1, "waits")->deadline_at);
  // The same submission again is known where the task is.
  fleet.boards[1]->tell(Submitted{9, waits});
  TEST_ASSERT_TRUE(fleet.boards[1]->answers.back().text.starts_with("known already"));
}

TEST(the_backup_goes_on_with_a_dead_boards_task_in_time_and_the_dead_board_leaves_it_there) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Boards fleet(4 + seed % 3, seed);
    fleet.start(0, "orphan");
    fleet.run(40);
    const std::uint64_t done = fleet.live(0, "orphan")->checkpoint_samples;
    TEST_ASSERT_TRUE(done > 0);
    const std::size_t backup = fleet.backup_of(0, "orphan");
    fleet.take_down(0);
    const int again =
        fleet.run_until(3 * kAgainTicksMax, [&] { return fleet.works_lately(backup, "orphan"); });
    TEST_ASSERT_TRUE_MESSAGE(again >= 0 && again <= kAgainTicksMax, std::to_string(again).c_str());
    TEST_ASSERT_TRUE(fleet.live(backup, "orphan")->samples > 0);
    const bool goes_on = std::any_of(
        fleet.boards[backup]->notices.begin(), fleet.boards[backup]->notices.end(),
        [](const Notice& n) {
          return n.kind == NoticeKind::kMove &&
                 n.text.find("taken over from n-0, which is gone; goes on at") != n.text.npos;
        });
    TEST_ASSERT_TRUE(goes_on);
    fleet.bring_back(0, seed % 2 == 0);
    TEST_ASSERT_TRUE(fleet.run_until(120, [&] { return fleet.live(0, "orphan") == nullptr; }) >= 0);
    TEST_ASSERT_TRUE(fleet.works_lately(backup, "orphan"));
  }
}

TEST(a_board_that_is_cut_off_stops_before_another_may_begin_and_goes_on_when_it_was_short) {
  Boards fleet(4);
  fleet.start(0, "split");
  fleet.cut[0] = true;
  TEST_ASSERT_TRUE(
      fleet.run_until(kLeaseTicks + 5, [&] { return !fleet.works_lately(0, "split"); }) >= 0);
  TEST_ASSERT_FALSE(fleet.works(1, "split") || fleet.works(2, "split") || fleet.works(3, "split"));
  const std::size_t backup = fleet.backup_of(0, "split");
  TEST_ASSERT_TRUE(
      fleet.run_until(kAgainTicksMax, [&] { return fleet.works_lately(backup, "split"); }) >= 0);
  fleet.cut[0] = false;
  TEST_ASSERT_TRUE(fleet.run_until(120, [&] { return fleet.live(0, "split") == nullptr; }) >= 0);

  Boards briefly(4);
  briefly.start(0, "blink");
  briefly.cut[0] = true;
  briefly.run(4);
  briefly.cut[0] = false;
  briefly.run(20);
  TEST_ASSERT_TRUE(briefly.works_lately(0, "blink"));
}

TEST(a_rebooted_board_asks_its_backup_before_it_goes_on) {
  Boards fleet(4);
  fleet.start(0, "asker");
  fleet.take_down(0);
  fleet.run(2);
  fleet.bring_back(0, true);
  fleet.boards[0]->run_for(0);
  TEST_ASSERT_FALSE(fleet.works(0, "asker"));
  TEST_ASSERT_TRUE(fleet.run_until(200, [&] {
    return fleet.home("asker") >= 0 &&
           fleet.works_lately(static_cast<std::size_t>(fleet.home("asker")), "asker");
  }) >= 0);
}

TEST(what_a_large_checkpoint_costs_is_said) {
  Boards fleet(3);
  test::FakeTrainer trainer;
  trainer.large_checkpoint = true;
  fleet.start(0, "heavy", trainer);
  static_cast<void>(fleet.answer_of(0, MoveRequested{1, "heavy", "n-1"}));
  TEST_ASSERT_TRUE(fleet.run_until(20, [&] { return fleet.live(1, "heavy") != nullptr; }) >= 0);
  TEST_ASSERT_EQUAL_STRING("came from n-0; begins anew: its checkpoint is too large to be copied",
                           fleet.live(1, "heavy")->moving.note.c_str());
  TEST_ASSERT_TRUE(fleet.run_until(20, [&] { return fleet.works_lately(1, "heavy"); }) >= 0);
}

TEST(a_move_that_cannot_be_is_refused_or_called_off_and_the_task_goes_on) {
  Boards fleet(3);
  fleet.start(0, "mover");
  fleet.boards[0]->submit(test::small_task("settled", kDay, 1e-6));
  const auto says = [&](const char* task, const char* to, const char* what) {
    const std::string text = fleet.answer_of(0, MoveRequested{1, task, to});
    TEST_ASSERT_TRUE_MESSAGE(text.find(what) != text.npos, text.c_str());
  };
  says("settled", "n-1", "it was submitted to this board and stays here");
  says("mover", "n-7", "no board 'n-7' in this fleet");
  says("mover", "n-0", "it is here already");
  says("nobody", "n-1", "no task 'nobody'");
  // A board that takes no tasks, and has one left.
  fleet.boards[1]->submit(test::small_task("busy", kDay, 1e-6));
  fleet.boards[1]->tell(DrainRequested{2, true});
  says("mover", "n-1", "on its way to n-1");
  TEST_ASSERT_TRUE(fleet.run_until(30, [&] {
    return fleet.live(0, "mover")->moving.stage == MoveStage::kNone;
  }) >= 0);
  TEST_ASSERT_EQUAL_STRING("not moved: n-1 did not take it",
                           fleet.live(0, "mover")->moving.note.c_str());
  TEST_ASSERT_TRUE(fleet.run_until(10, [&] { return fleet.works_lately(0, "mover"); }) >= 0);
  // And a board that is gone: the move is called off in time.
  fleet.boards[1]->tell(DrainRequested{3, false});
  fleet.boards[0]->tell(PauseRequested{4, "mover"});
  says("mover", "n-2", "it is paused; resume it first");
  fleet.boards[0]->tell(ResumeRequested{5, "mover"});
  TEST_ASSERT_TRUE(fleet.run_until(10, [&] { return fleet.works_lately(0, "mover"); }) >= 0);
}

TEST(a_task_that_ended_is_not_taken_over_and_a_board_may_leave_once_that_is_known) {
  Boards fleet(3);
  fleet.start(0, "over");
  static_cast<void>(fleet.answer_of(0, CancelRequested{1, "over"}));
  fleet.run(10);
  for (std::size_t b = 0; b < 3; ++b) {
    const auto& titles = std::as_const(fleet.boards[b]->state.fleet.titles);
    TEST_ASSERT_TRUE(!titles || titles->idle());
  }
  fleet.boards[0]->tell(DrainRequested{2, true});
  TEST_ASSERT_TRUE(fleet.run_until(60, [&] { return fleet.boards[0]->state.drained(); }) >= 0);
}

TEST(titles_are_read_back_with_the_state_and_a_journal_says_the_same) {
  Boards fleet(3);
  fleet.start(0, "kept");
  State& state = fleet.boards[0]->state;
  State back = test::read_back(state);
  TEST_ASSERT_EQUAL_UINT64(state.digest(), back.digest());
  TEST_ASSERT_TRUE(std::as_const(back.fleet.titles)->titles().held().size() == 1);
}

TEST(what_comes_with_a_title_is_checked) {
  TitleBody body;
  body.spec = movable("body");
  body.files = {{"checkpoint.bin", std::string(1000, 'c')}};
  const std::string good = encode_title_body(body);
  TEST_ASSERT_TRUE(decode_title_body(good).has_value());
  for (std::size_t cut = 0; cut < good.size(); cut += 7) {
    TEST_ASSERT_FALSE(decode_title_body(std::string_view(good).substr(0, cut)).has_value());
  }
  const auto refused = [](const TitleBody& bad) {
    return !decode_title_body(encode_title_body(bad)).has_value();
  };
  for (const char* name : {"../x", ".hidden", "", "a/b", "a b"}) {
    TitleBody bad = body;
    bad.files[0].name = name;
    TEST_ASSERT_TRUE(refused(bad));
  }
  TitleBody bad = body;
  bad.spec.movable = false;
  TEST_ASSERT_TRUE(refused(bad));
  bad = body;
  bad.spec.run_of = "night";
  TEST_ASSERT_TRUE(refused(bad));
  bad = body;
  bad.files.assign(2, {"a", std::string(kCheckpointCopyBytesMax / 2 + 1, 'x')});
  TEST_ASSERT_TRUE(refused(bad));
  std::string newer = good;
  newer[0] = static_cast<char>(kTitleBodyFormat + 1);
  TEST_ASSERT_FALSE(decode_title_body(newer).has_value());
  // With all that may be in it, it fits a message.
  body.spec.params = std::string(kParamsBytesMax, 'p');
  body.files = {{"c", std::string(kCheckpointCopyBytesMax, 'c')}};
  TEST_ASSERT_TRUE(encode_title_body(body).size() <= kTitleBodyBytesMax);
  TEST_ASSERT_FALSE(decode_title_body(encode_title_body(body))->files.empty());
}

TEST(faults_of_every_kind_never_make_two_boards_work_on_one_task) {
  int worked = 0;
  int moved = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Boards fleet(3 + seed % 4, seed);
    const std::size_t n = fleet.boards.size();
    for (int t = 0; t < 3; ++t)
      fleet.start(static_cast<std::size_t>(t) % n, "t" + std::to_string(t));
    fleet.loss_percent = 10;
    std::vector<int> heals(n, 0);
    for (int tick = 0; tick < 300; ++tick) {
      for (std::size_t b = 0; b < n; ++b) {
        if (heals[b] != tick) continue;
        fleet.cut[b] = false;
        const int kind = static_cast<int>(fleet.random.below(10));
        if (fleet.down[b]) fleet.bring_back(b, kind < 5, kind != 0);
      }
      const std::size_t b = fleet.random.below(static_cast<std::uint32_t>(n));
      const bool is_well = !fleet.down[b] && !fleet.cut[b];
      if (is_well && fleet.random.chance(4)) {
        heals[b] = tick + 1 + static_cast<int>(fleet.random.below(60));
        if (fleet.random.chance(50)) {
          fleet.take_down(b);
        } else {
          fleet.cut[b] = true;
        }
      } else if (is_well && fleet.random.chance(20)) {
        const std::string task = "t" + std::to_string(fleet.random.below(3));
        const std::string to =
            "n-" + std::to_string(fleet.random.below(static_cast<std::uint32_t>(n)));
        fleet.boards[b]->tell(MoveRequested{1, task, to});
      }
      fleet.run(1);
    }
    worked += fleet.checked;
    for (const auto& board : fleet.boards) moved += board->count("send-title");
  }
  TEST_ASSERT_TRUE_MESSAGE(worked > 25 * 300, std::to_string(worked).c_str());
  TEST_ASSERT_TRUE(moved > 1000);
}

TEST(a_task_on_its_way_is_neither_cancelled_nor_replaced_and_comes_back_when_nobody_hears) {
  Boards fleet(4);
  fleet.start(0, "under-way");
  static_cast<void>(fleet.answer_of(0, MoveRequested{1, "under-way", "n-1"}));
  TEST_ASSERT_TRUE(fleet.run_until(10, [&] {
    const consensus::HeldTitle* held = fleet.title(0, "under-way");
    return held != nullptr && held->state != consensus::TitleState::kHeld;
  }) >= 0);
  fleet.cut[0] = true;
  TaskSpec other = movable("under-way");
  other.seed = 99;
  for (const std::string& text : {fleet.answer_of(0, CancelRequested{2, "under-way"}),
                                  fleet.answer_of(0, Submitted{3, other, true})}) {
    TEST_ASSERT_TRUE_MESSAGE(text.find("may be on another board by now") != text.npos,
                             text.c_str());
  }
  fleet.cut[0] = false;
  TEST_ASSERT_TRUE(fleet.run_until(60, [&] { return fleet.works_lately(1, "under-way"); }) >= 0);
}
