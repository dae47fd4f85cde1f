// What a board does with titles between its ledger and the wire, and what it believes of whom.
#include "consensus/titles/desk.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

Sight sight_of(NodeId self, const Register* kept = nullptr) {
  Sight out;
  out.self = {self, 1};
  out.fenced = false;
  out.kept = kept;
  for (NodeId n = 1; n <= 4; ++n) {
    if (n != self) out.near.push_back({{n, 1}, false});
  }
  out.keepers = {1, 2, 3};
  return out;
}

Register with(std::vector<Entry> entries, std::vector<Grave> buried = {}) {
  Register out;
  out.version = 7;
  out.keepers = {{1, 1}};
  out.entries = std::move(entries);
  out.buried = std::move(buried);
  return out;
}

Entry entry(NodeId node, std::uint32_t incarnation, bool dead = false) {
  Entry out;
  out.account = {node, incarnation};
  out.dead = dead;
  return out;
}

// What `from` sends is taken by `to`; says how many of them were refused.
int carry(TitlePackets& packets, NodeId from, TitleDesk& to, const Sight& sight,
          TitlePackets& answers) {
  int refused = 0;
  for (const TitlePacket& p : packets) {
    if (p.to == sight.self.node && !to.take(sight, from, p.bytes, {}, answers)) ++refused;
  }
  packets.clear();
  return refused;
}

}  // namespace

TEST(a_register_says_which_accounts_are_dead_for_ever) {
  const Register value = with({entry(1, 3), entry(2, 5, true)}, {{{4, 9}, 0}});
  TEST_ASSERT_TRUE((word_of(value, 1) == NodeWord{1, 2, 3}));
  TEST_ASSERT_TRUE((word_of(value, 2) == NodeWord{2, 5, 0}));
  TEST_ASSERT_TRUE((word_of(value, 4) == NodeWord{4, 9, 0}));
  TEST_ASSERT_TRUE((word_of(value, 8) == NodeWord{8, 0, 0}));
  Census census;
  census.look_at(value);
  TEST_ASSERT_TRUE(census.is_dead({1, 2}) && !census.is_dead({1, 3}));
  TEST_ASSERT_TRUE(census.is_dead({2, 5}) && census.is_dead({4, 9}) && !census.is_dead({8, 1}));
  TEST_ASSERT_TRUE((census.living(1) == Account{1, 3}));
  TEST_ASSERT_FALSE(census.living(2).valid());
  // An older register takes nothing back.
  census.look_at(with({entry(2, 5)}));
  TEST_ASSERT_TRUE(census.is_dead({2, 5}));
  TEST_ASSERT_FALSE(census.living(2).valid());
}

TEST(one_keepers_word_alone_kills_nobody) {
  Census census;
  census.hear(1, {9, 4, 0}, 2);
  TEST_ASSERT_FALSE(census.is_dead({9, 4}));
  census.hear(1, {9, 4, 0}, 2);  // however often it says so
  TEST_ASSERT_FALSE(census.is_dead({9, 4}));
  census.hear(2, {9, 3, 4}, 2);
  TEST_ASSERT_TRUE(census.is_dead({9, 3}));
  TEST_ASSERT_FALSE(census.is_dead({9, 4}));
  TEST_ASSERT_FALSE(census.living(9).valid());
  census.hear(3, {9, 3, 4}, 2);
  TEST_ASSERT_TRUE((census.living(9) == Account{9, 4}));
}

TEST(a_board_that_keeps_no_register_asks_those_that_do) {
  TitleDesk desk;
  Sight own = sight_of(4);
  const auto id = [&] {
    desk.follow(own);
    return desk.titles().issue(desk.view(own), "body");
  }();
  TEST_ASSERT_TRUE(id.has_value());
  TitlePackets out;
  desk.tick(own, {}, out);  // names a backup
  const NodeId backup = desk.titles().held().front().backup.node;
  TEST_ASSERT_TRUE(backup != 0);
  own.tick = kAskTicks;
  out.clear();
  desk.tick(own, {}, out);
  const Register value = with({entry(backup, 2)});
  int answered = 0;
  for (const NodeId keeper : {NodeId{1}, NodeId{2}}) {
    TitleDesk other;
    TitlePackets answers;
    const Sight there = sight_of(keeper, &value);
    for (const TitlePacket& p : out) {
      if (p.to != keeper) continue;
      TEST_ASSERT_TRUE(other.take(there, 4, p.bytes, {}, answers).has_value());
    }
    for (const TitlePacket& p : answers) {
      if (p.to != 4) continue;
      ++answered;
      static_cast<void>(desk.take(own, keeper, p.bytes, {}, out));
    }
  }
  TEST_ASSERT_TRUE(answered >= 2);
  TEST_ASSERT_TRUE(desk.census().is_dead({backup, 1}));
}

TEST(nobody_speaks_for_another_board_and_what_does_not_decode_changes_nothing) {
  TitleDesk giver;
  const Sight from = sight_of(1);
  giver.follow(from);
  TEST_ASSERT_TRUE(giver.titles().issue(giver.view(from), "body").has_value());
  TitlePackets out;
  giver.tick(from, {}, out);
  TEST_ASSERT_FALSE(out.empty());
  const NodeId backup = giver.titles().held().front().backup.node;
  const Sight to = sight_of(backup);
  const std::string copy = out.front().bytes;
  TitleDesk desk;
  TitlePackets answers;
  TEST_ASSERT_FALSE(desk.take(to, backup == 3 ? 2 : 3, copy, {}, answers).has_value());
  TEST_ASSERT_EQUAL(0, desk.titles().copies());
  for (std::size_t cut = 0; cut < copy.size(); ++cut) {
    TEST_ASSERT_FALSE(desk.take(to, 1, copy.substr(0, cut), {}, answers).has_value());
  }
  std::string other = copy;
  other[0] = static_cast<char>((kTitleWireVersion + 1) << 4);
  TEST_ASSERT_FALSE(desk.take(to, 1, other, {}, answers).has_value());
  TEST_ASSERT_TRUE(answers.empty());
  TEST_ASSERT_EQUAL(0, carry(out, 1, desk, to, answers));
  TEST_ASSERT_EQUAL(1, desk.titles().copies());
  // An answer about accounts counts only of a keeper of the register.
  std::string word(1, static_cast<char>(kTitleWireVersion << 4 | 2));
  word += std::string("\1\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0", 16);
  TEST_ASSERT_FALSE(desk.take(to, 4, word, {}, answers).has_value());
  TEST_ASSERT_TRUE(desk.take(to, backup == 2 ? 3 : 2, word, {}, answers).has_value());
}

TEST(long_bodies_are_sent_again_seldom) {
  TitleDesk desk;
  Sight own = sight_of(1);
  desk.follow(own);
  TEST_ASSERT_TRUE(desk.titles().issue(desk.view(own), std::string(1000, 'b')).has_value());
  int copies = 0;
  for (std::uint64_t tick = 0; tick < 15; ++tick) {
    TitlePackets out;
    own.tick = tick * kAskTicks + 1;  // no questions
    desk.tick(own, {}, out);
    copies += static_cast<int>(out.size());
  }
  TEST_ASSERT_EQUAL(3, copies);
}
