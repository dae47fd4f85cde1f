#include "consensus/titles/titles.hpp"

#include <set>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

// Boards 1 to 4 and the mail between them; the test plays the register.
struct Fleet {
  std::vector<Titles> books{5};
  std::vector<std::uint32_t> life{0, 1, 1, 1, 1};
  std::set<Account> dead;
  std::set<NodeId> cut;  // neither sends nor hears, and is fenced
  TitleMessages mail;

  Fleet() {
    for (NodeId n = 1; n <= 4; ++n) books[n].begin(self(n));
  }
  [[nodiscard]] Account self(NodeId n) const { return {n, life[n]}; }
  [[nodiscard]] RegisterView view(NodeId n) const {
    RegisterView out;
    out.self = self(n);
    out.fenced = cut.count(n) != 0 || dead.count(self(n)) != 0;
    for (NodeId i = 1; i <= 4; ++i) {
      if (dead.count(self(i)) == 0) out.living.push_back(self(i));
    }
    const std::set<Account>* of = &dead;
    out.is_dead = [of](const Account& a) { return of->count(a) != 0; };
    return out;
  }
  void tick(NodeId n) {
    if (cut.count(n) == 0) books[n].tick(view(n), mail);
  }
  // Delivers what is under way, and what comes of it.
  void deliver() {
    for (std::size_t i = 0; i < mail.size(); ++i) {
      const TitleMessage message = mail[i];
      if (cut.count(message.to.node) != 0 || cut.count(message.from.node) != 0) continue;
      books[message.to.node].take(view(message.to.node), message, mail);
    }
    mail.clear();
  }
  void settle() {
    for (int round = 0; round < 6; ++round) {
      for (NodeId n = 1; n <= 4; ++n) tick(n);
      deliver();
    }
  }
  // The register declares the board's account dead, and it comes back under the next.
  void reborn(NodeId n, bool with_journal) {
    dead.insert(self(n));
    ++life[n];
    if (!with_journal) books[n] = Titles();
    books[n].begin(self(n));
  }
  [[nodiscard]] std::string runners(const TitleId& id) const {
    std::string out;
    for (NodeId n = 1; n <= 4; ++n) {
      if (books[n].may_run(view(n), id)) out += std::to_string(n);
    }
    return out;
  }
  TitleId issued(NodeId n) {
    const auto id = books[n].issue(view(n), "task");
    TEST_ASSERT_TRUE(id.has_value());
    settle();
    return *id;
  }
  [[nodiscard]] NodeId backup_of(NodeId holder) const {
    return books[holder].held().front().backup.node;
  }
  // A board that is neither.
  [[nodiscard]] NodeId third(NodeId a, NodeId b) const {
    for (NodeId n = 1; n <= 4; ++n) {
      if (n != a && n != b) return n;
    }
    return 0;
  }
};

}  // namespace

TEST(a_new_title_is_run_by_its_board_and_kept_by_one_backup) {
  Fleet f;
  const TitleId id = f.issued(1);
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
  TEST_ASSERT_TRUE(f.books[1].held().front().backed);
  std::size_t copies = 0;
  for (NodeId n = 1; n <= 4; ++n) copies += f.books[n].copies();
  TEST_ASSERT_EQUAL(1, copies);
}

TEST(a_board_that_gives_a_title_away_does_not_run_it_from_then_on) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId to = f.third(1, f.backup_of(1));
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(to)).has_value());
  TEST_ASSERT_EQUAL_STRING("", f.runners(id).c_str());
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(to).c_str(), f.runners(id).c_str());
  TEST_ASSERT_EQUAL(0, f.books[1].held().size());
  TEST_ASSERT_EQUAL_STRING("task", f.books[to].held().front().body.c_str());
  TEST_ASSERT_TRUE(f.books[to].held().front().backed);
}

TEST(the_backup_knows_of_the_next_holder_before_that_has_the_title) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  const NodeId to = f.third(1, backup);
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(to)).has_value());
  f.tick(1);
  TEST_ASSERT_EQUAL(1, f.mail.size());
  TEST_ASSERT_TRUE(f.mail[0].word == TitleWord::kPoint);
  TEST_ASSERT_EQUAL(backup, f.mail[0].to.node);
  f.deliver();
  f.tick(1);
  TEST_ASSERT_TRUE(f.mail[0].word == TitleWord::kGive);
}

TEST(a_gift_that_comes_again_after_the_title_went_on_changes_nothing) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId to = f.third(1, f.backup_of(1));
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(to)).has_value());
  f.tick(1);
  f.deliver();
  f.tick(1);
  const TitleMessage gift = f.mail[0];
  f.settle();
  const NodeId next = f.third(to, f.backup_of(to));
  TEST_ASSERT_TRUE(f.books[to].give(f.view(to), id, f.self(next)).has_value());
  f.settle();
  f.mail = {gift, gift};
  f.deliver();
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(next).c_str(), f.runners(id).c_str());
}

TEST(a_silent_holder_keeps_its_title_until_the_register_calls_it_dead) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  f.cut = {1};
  f.settle();
  TEST_ASSERT_EQUAL_STRING("", f.runners(id).c_str());
  f.dead = {f.self(1)};
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(backup).c_str(), f.runners(id).c_str());
  TEST_ASSERT_TRUE(f.books[backup].held().front().backed);
}

TEST(a_holder_in_a_new_life_runs_on_only_after_its_backup_said_so) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  f.cut = {backup};
  f.reborn(1, true);
  f.settle();
  TEST_ASSERT_EQUAL_STRING("", f.runners(id).c_str());
  f.cut.clear();
  // Whichever comes first, the question or the reclaim, one board runs it.
  f.tick(1);
  f.deliver();
  f.settle();
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
}

TEST(a_holder_that_comes_back_after_the_reclaim_lets_go) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  f.cut = {1};
  f.dead = {f.self(1)};
  f.settle();
  f.cut.clear();
  f.reborn(1, true);
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(backup).c_str(), f.runners(id).c_str());
  TEST_ASSERT_EQUAL(0, f.books[1].held().size());
}

TEST(when_the_holder_dies_while_it_gives_the_next_one_is_asked_first) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  const NodeId to = f.third(1, backup);
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(to)).has_value());
  f.tick(1);
  f.deliver();
  f.tick(1);
  const TitleMessage gift = f.mail[0];
  f.mail.clear();
  f.cut = {1};
  f.dead = {f.self(1)};
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(backup).c_str(), f.runners(id).c_str());
  // The gift was only late: who has renounced does not take it.
  f.books[to].take(f.view(to), gift, f.mail);
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(backup).c_str(), f.runners(id).c_str());
}

TEST(when_holder_and_next_one_die_the_backup_takes_it) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  const NodeId to = f.third(1, backup);
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(to)).has_value());
  f.tick(1);
  f.deliver();
  f.cut = {to};
  f.dead = {f.self(to)};
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(backup).c_str(), f.runners(id).c_str());
  TEST_ASSERT_EQUAL_MESSAGE(0, f.books[1].held().size(), "the giver has left it to the backup");
}

TEST(a_backup_that_dies_is_replaced_and_its_old_copy_is_void) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  f.reborn(backup, true);
  TEST_ASSERT_FALSE(f.books[backup].backs(id));
  f.settle();
  TEST_ASSERT_TRUE(f.books[1].held().front().backed);
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
}

TEST(when_nobody_can_say_what_became_of_it_the_title_is_stranded_and_nobody_runs_it) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  f.reborn(backup, false);
  f.reborn(1, true);
  f.settle();
  TEST_ASSERT_EQUAL_STRING("", f.runners(id).c_str());
  TEST_ASSERT_TRUE(f.books[1].held().front().state == TitleState::kStranded);
}

TEST(holder_and_backup_that_both_reboot_with_their_journals_go_on) {
  Fleet f;
  const TitleId id = f.issued(1);
  f.reborn(f.backup_of(1), true);
  f.reborn(1, true);
  f.settle();
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
}

TEST(a_task_that_is_over_is_forgotten_by_holder_and_backup) {
  Fleet f;
  const TitleId id = f.issued(1);
  TEST_ASSERT_TRUE(f.books[1].end(id).has_value());
  f.settle();
  for (NodeId n = 1; n <= 4; ++n) TEST_ASSERT_FALSE(f.books[n].knows_of(id));
}

TEST(a_title_may_go_to_its_backup_and_its_giver_becomes_the_backup) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(backup)).has_value());
  TEST_ASSERT_EQUAL_STRING("", f.runners(id).c_str());
  f.settle();
  TEST_ASSERT_EQUAL_STRING(std::to_string(backup).c_str(), f.runners(id).c_str());
  TEST_ASSERT_EQUAL(1, f.backup_of(backup));
  TEST_ASSERT_TRUE(f.books[1].backs(id));
  // And it is a backup like any other.
  f.dead.insert(f.self(backup));
  f.settle();
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
}

TEST(a_gift_to_a_backup_that_dies_before_it_hears_of_it_comes_back) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  f.cut = {backup};
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(backup)).has_value());
  f.settle();
  TEST_ASSERT_EQUAL_STRING("", f.runners(id).c_str());
  f.reborn(backup, true);
  f.settle();
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
  f.cut.clear();
  f.settle();
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
}

TEST(a_backup_that_has_the_gift_and_dies_lets_go_when_its_giver_took_it_back) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(backup)).has_value());
  f.tick(1);
  // It takes the gift, and its acknowledgement is lost.
  f.books[backup].take(f.view(backup), f.mail[0], f.mail);
  f.mail.clear();
  TEST_ASSERT_EQUAL_STRING(std::to_string(backup).c_str(), f.runners(id).c_str());
  f.cut = {backup};
  f.dead.insert(f.self(backup));
  f.settle();
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
  f.reborn(backup, true);
  f.cut.clear();
  f.settle();
  TEST_ASSERT_EQUAL_STRING("1", f.runners(id).c_str());
  TEST_ASSERT_EQUAL(0, f.books[backup].held().size());
}

TEST(boards_that_would_not_run_it_are_no_backups_and_no_next_holders) {
  Fleet f;
  const auto id = f.books[1].issue(f.view(1), "task");
  const auto unwilling = [](const TitleMessage&) { return false; };
  for (int round = 0; round < 12; ++round) {
    f.tick(1);
    TitleMessages answers;
    for (const TitleMessage& m : f.mail) {
      // Board 3 alone is willing.
      f.books[m.to.node].take(f.view(m.to.node), m, answers,
                              m.to.node == 3 ? Willing{} : Willing{unwilling});
    }
    f.mail.clear();
    for (const TitleMessage& m : answers) f.books[1].take(f.view(1), m, f.mail);
  }
  TEST_ASSERT_TRUE(f.books[1].held().front().backed);
  TEST_ASSERT_EQUAL(3, f.backup_of(1));
  TEST_ASSERT_EQUAL(0, f.books[2].copies() + f.books[4].copies());
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), *id, f.self(2)).has_value());
  f.tick(1);
  f.deliver();
  f.tick(1);
  TitleMessages answers;
  for (const TitleMessage& m : f.mail) {
    f.books[m.to.node].take(f.view(m.to.node), m, answers, unwilling);
  }
  f.mail.clear();
  TEST_ASSERT_TRUE(answers.front().word == TitleWord::kGiveRefused);
  f.books[1].take(f.view(1), answers.front(), f.mail);
  TEST_ASSERT_EQUAL_STRING("1", f.runners(*id).c_str());
}

TEST(what_cannot_be_given_is_refused_with_the_reason) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId backup = f.backup_of(1);
  TEST_ASSERT_FALSE(f.books[1].give(f.view(1), id, f.self(1)).has_value());
  TEST_ASSERT_FALSE(f.books[1].give(f.view(1), id, {9, 1}).has_value());
  TEST_ASSERT_FALSE(f.books[2].give(f.view(2), id, f.self(3)).has_value());
  f.cut = {1};
  TEST_ASSERT_FALSE(f.books[1].give(f.view(1), id, f.self(f.third(1, backup))).has_value());
  TEST_ASSERT_FALSE(f.books[1].issue(f.view(1), "more").has_value());
}

TEST(what_is_written_is_read_back_and_what_is_cut_is_refused) {
  Fleet f;
  const TitleId id = f.issued(1);
  const NodeId to = f.third(1, f.backup_of(1));
  TEST_ASSERT_TRUE(f.books[1].give(f.view(1), id, f.self(to)).has_value());
  f.tick(1);
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  f.books[1].archive(writer);
  Titles back;
  Archive reader = Archive::reader(bytes);
  back.archive(reader);
  TEST_ASSERT_FALSE(reader.failed());
  TEST_ASSERT_TRUE(back.held().front().state == TitleState::kTelling);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut));
    Titles torn;
    Archive short_one = Archive::reader(part);
    torn.archive(short_one);
    TEST_ASSERT_TRUE(short_one.failed());
  }
}
