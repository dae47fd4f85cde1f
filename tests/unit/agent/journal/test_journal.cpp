#include "agent/journal/journal.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "agent/core/step/step.hpp"
#include "agent/journal/file_names.hpp"
#include "agent/journal/reader.hpp"
#include "agent/journal/sqlite/database.hpp"
#include "agent/replay/replay.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using journal::Journal;
using journal::Limits;
using journal::Reader;
using journal::Recovery;
namespace fs = std::filesystem;

namespace {

constexpr TimeNs kDayOne = 20'000 * kDay;

// A fake board whose every event goes through a real journal.
struct Recorded {
  Recorded(const std::string& folder, const Limits& limits, TimeNs wall)
      : board(test::small_board()), wall_ns(wall) {
    Recovery recovery;
    auto opened = Journal::open(folder, limits, wall_ns, "test", recovery);
    TEST_ASSERT_TRUE_MESSAGE(opened.has_value(), opened ? "" : opened.error().context.c_str());
    log = std::move(*opened);
    // The board booted before it was recorded: begin the journal from its state.
    TEST_ASSERT_TRUE(log->close(board.state).has_value());
    board.after_step = [this](const Event& event, const Effects& commands) {
      Event copy = event;
      Effects answers = commands;
      const std::uint64_t seq = log->append(copy);
      log->record(seq, answers, board.state.digest());
      TEST_ASSERT_TRUE(log->commit(false).has_value());
      TEST_ASSERT_TRUE(log->keep_up(board.state, wall_ns).has_value());
    };
  }
  void live(DurationNs time) {
    for (int i = 0; i < 5; ++i) {
      board.submit(test::small_task("t" + std::to_string(++tasks), kMinute, 0.3));
      board.run_for(time / 5);
    }
    TEST_ASSERT_TRUE(log->commit(true).has_value());  // the answers still held, too
  }
  test::FakeBoard board;
  std::unique_ptr<Journal> log;
  TimeNs wall_ns;
  int tasks = 0;
};

std::string copy_cut(const std::string& from, const std::string& to, std::uintmax_t bytes) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  fs::resize_file(to, bytes);
  return to;
}

}  // namespace

TEST(a_file_that_was_only_begun_is_nothing_to_replay) {
  const test::TemporaryFolder folder;
  {
    Recorded run(folder.path(), {}, kDayOne);
    run.live(10 * kSecond);
  }
  const std::string next = folder.path() + "/journal-000099-20241004.db";
  std::ofstream(next).close();  // nothing in it at all
  TEST_ASSERT_TRUE(journal::is_only_begun(next));
  for (const char* sql : {"CREATE TABLE meta(key TEXT PRIMARY KEY, value)",
                          "CREATE TABLE snapshot(seq INTEGER PRIMARY KEY, body BLOB NOT NULL)"}) {
    const auto db = journal::Database::open(next, journal::OpenMode::kWrite);
    TEST_ASSERT_TRUE(db.has_value());
    TEST_ASSERT_TRUE((*db)->run(sql).has_value());
    const auto result = lab::replay(folder.path(), {});
    TEST_ASSERT_TRUE_MESSAGE(result.has_value(), sql);
    TEST_ASSERT_TRUE(!result->difference && result->damage.empty());
  }
  std::ofstream(next) << std::string(5000, 'x');
  TEST_ASSERT_FALSE(journal::is_only_begun(next));
  TEST_ASSERT_FALSE(lab::replay(folder.path(), {}).has_value());
}

TEST(what_was_recorded_replays_identically) {
  const test::TemporaryFolder folder;
  Recorded run(folder.path(), {}, kDayOne);
  run.live(30 * kSecond);
  const auto result = lab::replay(folder.path(), {});
  TEST_ASSERT_TRUE(result.has_value());
  TEST_ASSERT_TRUE_MESSAGE(!result->difference, lab::report(*result).c_str());
  TEST_ASSERT_TRUE(result->events > 100);
  TEST_ASSERT_EQUAL_UINT64(0, result->unverified);
  TEST_ASSERT_EQUAL_HEX64(run.board.state.digest(), result->state_hash);
}

TEST(opening_again_brings_back_the_state) {
  const test::TemporaryFolder folder;
  std::uint64_t digest = 0;
  std::uint64_t next = 0;
  {
    Recorded run(folder.path(), {}, kDayOne);
    run.live(20 * kSecond);
    digest = run.board.state.digest();
    next = run.log->next_seq();
  }
  Recovery recovery;
  const auto again = Journal::open(folder.path(), {}, kDayOne, "test", recovery);
  TEST_ASSERT_TRUE(again.has_value());
  TEST_ASSERT_EQUAL_HEX64(digest, recovery.state.digest());
  TEST_ASSERT_EQUAL_UINT64(next, (*again)->next_seq());
  TEST_ASSERT_EQUAL_UINT64(0, recovery.notes.size());
  TEST_ASSERT_EQUAL_UINT64(1, journal::files_in(folder.path()).size());
}

TEST(a_changed_answer_is_shown_as_the_first_difference) {
  const test::TemporaryFolder folder;
  {
    Recorded run(folder.path(), {}, kDayOne);
    run.live(5 * kSecond);
    Effects other;
    other.push_back({KillTrainer{{77, 1}}});
    run.log->record(3, other, 1);
    TEST_ASSERT_TRUE(run.log->commit(true).has_value());
  }
  const auto result = lab::replay(folder.path(), {});
  TEST_ASSERT_TRUE(result.has_value());
  TEST_ASSERT_TRUE(result->difference.has_value());
  TEST_ASSERT_EQUAL_UINT64(3, result->difference->seq);
  TEST_ASSERT_TRUE(lab::report(*result).find("recorded: kill-trainer task=77") !=
                   std::string::npos);
}

TEST(files_turn_over_by_day_and_size_and_old_ones_go) {
  const test::TemporaryFolder folder;
  Limits limits;
  limits.events_per_snapshot = 50;
  limits.file_bytes_max = 450'000;
  limits.total_bytes_max = 1'200'000;
  Recorded run(folder.path(), limits, kDayOne);
  for (int day = 0; day < 6; ++day) {
    run.live(10 * kSecond);
    run.wall_ns += kDay;
  }
  run.live(10 * kSecond);
  const auto files = journal::files_in(folder.path());
  TEST_ASSERT_TRUE(files.size() >= 2);
  std::uintmax_t total = 0;
  for (const std::string& file : files) total += fs::file_size(file);
  TEST_ASSERT_TRUE(total < 2'100'000);
  const auto result = lab::replay(folder.path(), {});
  TEST_ASSERT_TRUE(result.has_value());
  TEST_ASSERT_TRUE_MESSAGE(!result->difference, lab::report(*result).c_str());
}

TEST(a_file_cut_at_any_byte_is_read_up_to_the_cut) {
  const test::TemporaryFolder folder;
  std::uint64_t events = 0;
  {
    Recorded run(folder.path() + "/j", {}, kDayOne);
    run.live(20 * kSecond);
    events = run.log->next_seq() - 1;
  }
  const std::string whole = journal::files_in(folder.path() + "/j").front();
  const std::uintmax_t size = fs::file_size(whole);
  std::uint64_t last = 0;
  for (std::uintmax_t cut = 97; cut < size; cut += 97 * 5) {
    const std::string path = copy_cut(whole, folder.path() + "/cut.db", cut);
    const auto result = lab::replay(path, {});
    if (!result) {
      TEST_ASSERT_TRUE(result.error().code == Code::kCorrupt);
      TEST_ASSERT_EQUAL_UINT64(0, last);
      continue;
    }
    TEST_ASSERT_TRUE_MESSAGE(!result->difference, lab::report(*result).c_str());
    TEST_ASSERT_EQUAL_UINT64(1, result->damage.size());
    TEST_ASSERT_TRUE(result->events <= events);
    last = std::max(last, result->events);
  }
  TEST_ASSERT_TRUE(last > events / 2);
}

TEST(an_agent_goes_on_from_a_cut_file_and_sets_it_aside) {
  const test::TemporaryFolder folder;
  {
    Recorded run(folder.path(), {}, kDayOne);
    run.live(20 * kSecond);
  }
  const std::string file = journal::files_in(folder.path()).front();
  fs::resize_file(file, fs::file_size(file) * 3 / 4);
  Recovery recovery;
  const auto again = Journal::open(folder.path(), {}, kDayOne, "test", recovery);
  TEST_ASSERT_TRUE(again.has_value());
  TEST_ASSERT_TRUE(recovery.notes.size() >= 1);
  TEST_ASSERT_TRUE(recovery.state.next_key > 1);
  TEST_ASSERT_TRUE(fs::exists(file + ".damaged"));
  TEST_ASSERT_EQUAL_UINT64(1, journal::files_in(folder.path()).size());
  TEST_ASSERT_TRUE((*again)->path() != file);
}

TEST(garbage_in_place_of_a_journal_is_set_aside_and_said) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() + "/journal-000007-20240101.db") << std::string(5000, 'x');
  Recovery recovery;
  const auto opened = Journal::open(folder.path(), {}, kDayOne, "test", recovery);
  TEST_ASSERT_TRUE(opened.has_value());
  TEST_ASSERT_EQUAL_UINT64(1, recovery.notes.size());
  TEST_ASSERT_TRUE(recovery.notes[0].find("holds nothing that can be read") != std::string::npos);
  TEST_ASSERT_TRUE(fs::exists(folder.path() + "/journal-000007-20240101.db.damaged"));
}

TEST(a_journal_of_another_format_is_refused_and_left_alone) {
  const test::TemporaryFolder folder;
  std::string path;
  {
    Recorded run(folder.path(), {}, kDayOne);
    path = run.log->path();
  }
  const std::string command =
      "python3 -c \"import sqlite3;c=sqlite3.connect('" + path +
      "');c.execute('update meta set value=99 where key=\\'format\\'');c.commit()\"";
  if (std::system(command.c_str()) != 0)
    TEST_IGNORE_MESSAGE("skipped: no python3 to edit the file");
  Recovery recovery;
  const auto opened = Journal::open(folder.path(), {}, kDayOne, "test", recovery);
  TEST_ASSERT_FALSE(opened.has_value());
  TEST_ASSERT_TRUE(opened.error().context.find("format 99") != std::string::npos);
  TEST_ASSERT_TRUE(fs::exists(path));
}

TEST(an_upgraded_agent_goes_on_with_the_journal_of_the_release_before) {
  // Recorded by that release: six tasks, a clean stop, a start and a kill.
  const test::TemporaryFolder folder;
  const std::string old = folder.path() + "/journal-000003-20241004.db";
  fs::copy_file(std::string(LAIRD_SOURCE_DIR) + "/tests/unit/agent/journal/formats/format_1.db",
                old);
  fs::permissions(old, fs::perms::owner_read | fs::perms::owner_write);
  Recovery recovery;
  std::string fresh;
  {
    auto log = Journal::open(folder.path(), {}, kDayOne, "test", recovery);
    TEST_ASSERT_TRUE_MESSAGE(log.has_value(), log ? "" : log.error().context.c_str());
    TEST_ASSERT_EQUAL_UINT64(6, recovery.state.live.size());
    TEST_ASSERT_TRUE(recovery.events_replayed > 40);
    TEST_ASSERT_EQUAL_UINT64(1, recovery.notes.size());
    TEST_ASSERT_TRUE(recovery.notes[0].find("an older release (format 1)") != std::string::npos);
    const Task* svm = recovery.state.find_named("boots-svm");
    TEST_ASSERT_TRUE(svm != nullptr && svm->checkpoint_samples > 0);
    fresh = (*log)->path();
    TEST_ASSERT_TRUE(fresh != old);
  }
  // What it goes on in is of this release's format, and joins up; the old file is left as it was.
  const std::uint64_t state = recovery.state.digest();
  auto again = Journal::open(folder.path(), {}, kDayOne, "test", recovery);
  TEST_ASSERT_TRUE(again.has_value());
  TEST_ASSERT_EQUAL_STRING(fresh.c_str(), (*again)->path().c_str());
  TEST_ASSERT_EQUAL_HEX64(state, recovery.state.digest());
  TEST_ASSERT_TRUE(fs::exists(old));
  const auto alone = lab::replay(old, {});
  TEST_ASSERT_FALSE(alone.has_value());
  TEST_ASSERT_TRUE(alone.error().context.find("older release") != std::string::npos);
  const auto both = lab::replay(folder.path(), {});
  TEST_ASSERT_TRUE(both.has_value() && both->older.size() == 1);
  TEST_ASSERT_TRUE(lab::report(*both).find("left out: " + old) == 0);
}

namespace {

// Journals recorded by earlier releases on a board of a fleet of three: a task, a clean stop, a
// start and a kill.
void goes_on_with_a_new_account(const std::string& format) {
  const test::TemporaryFolder folder;
  const std::string old = folder.path() + "/journal-000001-20261117.db";
  fs::copy_file(
      std::string(LAIRD_SOURCE_DIR) + "/tests/unit/agent/journal/formats/format_" + format + ".db",
      old);
  fs::permissions(old, fs::perms::owner_read | fs::perms::owner_write);
  Recovery recovery;
  auto log = Journal::open(folder.path(), {}, kDayOne, "n-1", recovery);
  TEST_ASSERT_TRUE_MESSAGE(log.has_value(), log ? "" : log.error().context.c_str());
  TEST_ASSERT_EQUAL_UINT64(1, recovery.notes.size());
  TEST_ASSERT_TRUE(recovery.notes[0].find("an older release (format " + format + ")") !=
                   std::string::npos);
  State& state = recovery.state;
  TEST_ASSERT_TRUE(state.find_named("kept") != nullptr);
  TEST_ASSERT_TRUE(state.fleet.ledger != nullptr && state.fleet.ledger->entered());
  TEST_ASSERT_EQUAL_UINT64(2, state.fleet.ledger->edges().size());
  TEST_ASSERT_EQUAL_UINT64(3, state.fleet.ledger->registered().keepers.size());
  const std::uint32_t before = state.fleet.ledger->account().incarnation;
  Booted booted;
  booted.config = state.config;
  booted.wall_ns = state.now + kSecond;
  booted.machine_boot = state.fleet.machine_boot;
  booted.program = 7;
  Effects commands;
  step(state, Event{state.now + kSecond, booted}, commands);
  TEST_ASSERT_GREATER_THAN_UINT32(before, state.fleet.ledger->account().incarnation);
  TEST_ASSERT_EQUAL_INT64(0, state.fleet.ledger->holding()[2]);
}

}  // namespace

TEST(an_upgraded_agent_reads_the_ledger_it_finds_and_begins_a_new_account) {
  goes_on_with_a_new_account("2");
  goes_on_with_a_new_account("3");
}

namespace {

const Answer& answer_in(const Effects& effects) {
  for (const Effect& effect : effects) {
    if (const auto* answer = std::get_if<Answer>(&effect.body)) return *answer;
  }
  TEST_FAIL_MESSAGE("nobody answers");
  return std::get<Answer>(effects.front().body);
}

void assert_known(State& state, const TaskSpec& spec) {
  Effects effects;
  step(state, {state.now, Submitted{1, spec}}, effects);
  const Answer& answer = answer_in(effects);
  TEST_ASSERT_TRUE_MESSAGE(answer.ok && answer.text.starts_with("known already: "),
                           answer.text.c_str());
}

// Journals of a board that did six tasks and was stopped in order; their submissions.
std::vector<TaskSpec> submissions_in(const std::string& path, std::uint64_t events) {
  std::vector<TaskSpec> out;
  const auto reader = Reader::open(path);
  TEST_ASSERT_TRUE(reader.has_value());
  std::uint64_t seen = 0;
  for (; const auto record = (*reader)->next(); ++seen) {
    const auto* submitted = std::get_if<Submitted>(&record->event.body);
    if (submitted != nullptr) out.push_back(submitted->spec);
  }
  TEST_ASSERT_EQUAL_STRING("", (*reader)->damage().c_str());
  TEST_ASSERT_EQUAL_UINT64(events, seen);
  return out;
}

State goes_on_with_six_tasks(const std::string& format, std::uint64_t events) {
  const test::TemporaryFolder folder;
  const std::string old = folder.path() + "/journal-000001-20261118.db";
  fs::copy_file(
      std::string(LAIRD_SOURCE_DIR) + "/tests/unit/agent/journal/formats/format_" + format + ".db",
      old);
  fs::permissions(old, fs::perms::owner_read | fs::perms::owner_write);
  const std::vector<TaskSpec> specs = submissions_in(old, events);
  TEST_ASSERT_EQUAL_UINT64(6, specs.size());
  Recovery recovery;
  const auto log = Journal::open(folder.path(), {}, kDayOne, "demo", recovery);
  TEST_ASSERT_TRUE_MESSAGE(log.has_value(), log ? "" : log.error().context.c_str());
  TEST_ASSERT_EQUAL_UINT64(1, recovery.notes.size());
  TEST_ASSERT_TRUE(recovery.notes[0].find("an older release (format " + format + ")") !=
                   std::string::npos);
  State& state = recovery.state;
  TEST_ASSERT_EQUAL_UINT64(6, state.ended.size());
  TEST_ASSERT_TRUE(state.find_named("boots-svm")->outcome == Outcome::kSucceeded);
  TEST_ASSERT_TRUE(state.find_named("softmax-perfect")->outcome == Outcome::kMissed);
  Recovery again;
  TEST_ASSERT_TRUE(Journal::open(folder.path(), {}, kDayOne, "demo", again).has_value());
  TEST_ASSERT_EQUAL_HEX64(state.digest(), again.state.digest());
  // A config that names them at every start says nothing new.
  for (const TaskSpec& spec : specs) assert_known(state, spec);
  return std::move(state);
}

}  // namespace

TEST(an_upgraded_agent_knows_the_tasks_it_finds) {
  static_cast<void>(goes_on_with_six_tasks("4", 333));
  static_cast<void>(goes_on_with_six_tasks("6", 1531));
  State state = goes_on_with_six_tasks("5", 489);
  // One of them as it would be had its deadline been moved: what was submitted is known by its
  // digest, here by the tables of docs/journal-format.md for format 5.
  Task& edited = state.ended.front().change();
  TEST_ASSERT_EQUAL_STRING("boots-svm", edited.spec.name.c_str());
  const TaskSpec submitted = edited.spec;
  edited.spec.deadline_after += kHour;
  edited.submitted_digest = 0x67c9'87a2'bfa1'd9d3;
  assert_known(state, submitted);
}

TEST(a_failed_batch_leaves_no_trace) {
  const test::TemporaryFolder folder;
  Recorded run(folder.path(), {}, kDayOne);
  run.live(2 * kSecond);
  const std::uint64_t next = run.log->next_seq();
  Event event{run.board.now(), Ticked{}};
  run.log->append(event);
  // Without a commit, as when the disk is full: a reader sees only what was committed.
  auto reader = Reader::open(run.log->path());
  TEST_ASSERT_TRUE(reader.has_value());
  std::uint64_t seen = 0;
  while (auto record = (*reader)->next()) seen = record->seq;
  TEST_ASSERT_EQUAL_UINT64(next - 1, seen);
}

namespace {

// Of the file that is being written, its log included.
std::uintmax_t bytes_of(const Journal& log) {
  std::error_code error;
  const std::uintmax_t file = fs::file_size(log.path(), error);
  const std::uintmax_t wal = fs::file_size(log.path() + "-wal", error);
  return file + (error ? 0 : wal);
}

}  // namespace

TEST(a_file_keeps_its_size_however_many_events_it_takes_to_a_snapshot) {
  const test::TemporaryFolder folder;
  Limits limits;
  limits.file_bytes_max = 150'000;
  Recorded run(folder.path(), limits, kDayOne);
  std::uintmax_t largest = 0;
  const auto record = run.board.after_step;
  run.board.after_step = [&](const Event& event, const Effects& commands) {
    record(event, commands);
    largest = std::max(largest, bytes_of(*run.log));
  };
  run.live(kMinute);
  TEST_ASSERT_TRUE(journal::files_in(folder.path()).size() >= 3);
  TEST_ASSERT_TRUE(run.log->next_seq() < limits.events_per_snapshot);
  TEST_ASSERT_TRUE(largest <= 150'000);
  const auto result = lab::replay(folder.path(), {});
  TEST_ASSERT_TRUE(result.has_value());
  TEST_ASSERT_TRUE_MESSAGE(!result->difference, lab::report(*result).c_str());
  TEST_ASSERT_EQUAL_UINT64(0, result->unverified);
}

TEST(a_state_larger_than_the_limit_does_not_begin_a_file_for_every_event) {
  const test::TemporaryFolder folder;
  Limits limits;
  limits.file_bytes_max = 1000;
  Recorded run(folder.path(), limits, kDayOne);
  run.live(20 * kSecond);
  TEST_ASSERT_TRUE(journal::files_in(folder.path()).size() * 5 < run.log->next_seq());
}

TEST(a_crash_costs_only_the_last_answers_and_no_event) {
  const test::TemporaryFolder folder;
  const test::TemporaryFolder left;
  Recorded run(folder.path(), {}, kDayOne);
  run.live(20 * kSecond);
  run.board.run_for(10 * kSecond);  // without a durable commit at its end
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    fs::copy_file(entry.path(), left.path() + "/" + entry.path().filename().string());
  }
  const auto result = lab::replay(left.path(), {});
  TEST_ASSERT_TRUE(result.has_value());
  TEST_ASSERT_TRUE_MESSAGE(!result->difference, lab::report(*result).c_str());
  TEST_ASSERT_EQUAL_HEX64(run.board.state.digest(), result->state_hash);
  TEST_ASSERT_TRUE(result->unverified < 16);
}
