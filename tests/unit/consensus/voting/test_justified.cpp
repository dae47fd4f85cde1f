#include "consensus/voting/justified.hpp"

#include <map>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

Register founding() {
  return founding_register(NeighbourGraph({0, 1, 2, 3}), {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
}

// What a voter has heard: nothing at first.
struct Heard {
  std::map<Account, RequestBody> requests;
  std::vector<Account> may_die;

  [[nodiscard]] bool allows(const Register& to, const Register& from = founding()) const {
    Evidence evidence;
    evidence.request = [this](const Account& a) -> const RequestBody* {
      const auto at = requests.find(a);
      return at == requests.end() ? nullptr : &at->second;
    };
    evidence.may_be_dead = [this](const Register&, const Entry& e) {
      return std::find(may_die.begin(), may_die.end(), e.account) != may_die.end();
    };
    return unjustified(from, to, evidence) == nullptr;
  }
};

const Closing kClosing{{3, 1}, 0, {70, 0, 0}, {30, 0, 0}};

Register closed_by_0() {
  RegisterEdit edit(founding());
  edit.close({0, 1}, kClosing);
  return edit.finish({1, 1});
}

}  // namespace

TEST(an_edge_is_closed_only_with_the_numbers_its_end_has_told_this_voter) {
  Heard heard;
  TEST_ASSERT_FALSE(heard.allows(closed_by_0()));
  heard.requests[{0, 1}].closings = {{{3, 1}, 0, {71, 0, 0}, {30, 0, 0}}};
  TEST_ASSERT_FALSE(heard.allows(closed_by_0()));
  heard.requests[{0, 1}].closings = {kClosing};
  TEST_ASSERT_TRUE(heard.allows(closed_by_0()));
}

TEST(no_share_moves_without_a_closing) {
  Register moved = closed_by_0();
  Heard heard;
  heard.requests[{0, 1}].closings = {kClosing};
  moved.entries[1].base[1] -= 5;
  moved.entries[2].base[1] += 5;
  TEST_ASSERT_TRUE(makes_the_whole(moved));
  TEST_ASSERT_FALSE(heard.allows(moved));
  Register more = closed_by_0();
  more.entries[0].base[0] += 5;
  TEST_ASSERT_FALSE(makes_the_whole(more));
  TEST_ASSERT_FALSE(heard.allows(more));
}

TEST(an_edge_is_closed_only_within_the_limits_of_its_ends) {
  const Parts limit = founding().entries[0].ties[2].limit;
  for (const Parts net : {limit, limit + 1, -limit, -limit - 1}) {
    Closing closing = kClosing;
    closing.heard[0] = closing.sent[0] = 2 * kWhole;
    closing.heard[0] += net;
    RegisterEdit edit(founding());
    const bool fits = net <= limit && -net <= limit;
    TEST_ASSERT_EQUAL_INT(fits, edit.close({0, 1}, closing));
    Register next = edit.finish({1, 1});
    if (!fits) {
      // A proposer that closes it all the same finds no vote.
      next = closed_by_0();
      next.entries[0].base[0] += net - (kClosing.heard[0] - kClosing.sent[0]);
      next.entries[3].base[0] -= net - (kClosing.heard[0] - kClosing.sent[0]);
    }
    Heard heard;
    heard.requests[{0, 1}].closings = {closing};
    TEST_ASSERT_EQUAL_INT(fits, heard.allows(next));
  }
}

TEST(versions_grow_by_one_and_only_a_keeper_proposes) {
  Heard heard;
  heard.requests[{0, 1}].closings = {kClosing};
  Register skipped = closed_by_0();
  skipped.version += 1;
  TEST_ASSERT_FALSE(heard.allows(skipped));
  Register stranger = closed_by_0();
  stranger.owner = {9, 1};
  TEST_ASSERT_FALSE(heard.allows(stranger));
}

TEST(a_death_by_silence_follows_the_rule_as_the_voter_counts_it) {
  RegisterEdit edit(founding());
  edit.declare_dead({2, 1}, false);
  edit.seat_keepers({});
  const Register dead = edit.finish({1, 1});
  Heard heard;
  TEST_ASSERT_FALSE(heard.allows(dead));
  heard.may_die = {{2, 1}};
  TEST_ASSERT_TRUE(heard.allows(dead));
  RegisterEdit certain(founding());
  certain.declare_dead({2, 1}, true);
  certain.seat_keepers({});
  TEST_ASSERT_FALSE(heard.allows(certain.finish({1, 1})));
}

TEST(a_newcomer_enters_by_its_own_word_holds_nothing_and_ends_its_earlier_account) {
  RegisterEdit edit(founding());
  edit.enroll({2, 9}, {0, 1});
  edit.seat_keepers({});
  const Register entered = edit.finish({1, 1});
  Heard heard;
  TEST_ASSERT_FALSE(heard.allows(entered));
  heard.requests[{2, 9}] = {};
  TEST_ASSERT_TRUE(heard.allows(entered));
  // Who leaves enters only to end an earlier account of its board.
  heard.requests[{2, 9}].leave = true;
  TEST_ASSERT_TRUE(heard.allows(entered));
  RegisterEdit another(founding());
  another.enroll({7, 1}, {0, 1});
  another.seat_keepers({});
  const Register seventh = another.finish({1, 1});
  heard.requests[{7, 1}] = {};
  TEST_ASSERT_TRUE(heard.allows(seventh));
  heard.requests[{7, 1}].leave = true;
  TEST_ASSERT_FALSE(heard.allows(seventh));
  Register rich = entered;
  rich.find(Account{2, 9})->base[0] += 7;
  rich.find(Account{0, 1})->base[0] -= 7;
  TEST_ASSERT_FALSE(heard.allows(rich));
}

TEST(a_quorum_and_a_departure_need_the_word_of_their_account) {
  RegisterEdit edit(founding());
  edit.set_quorum({3, 1}, 1, 1);
  const Register lowered = edit.finish({1, 1});
  Heard heard;
  TEST_ASSERT_FALSE(heard.allows(lowered));
  heard.requests[{3, 1}].quorum_revision = 1;
  heard.requests[{3, 1}].quorum = 1;
  TEST_ASSERT_TRUE(heard.allows(lowered));

  Register lonely = founding();
  for (Entry& e : lonely.entries) e.ties.clear();
  RegisterEdit departure(lonely);
  departure.declare_dead({3, 1}, true);
  departure.settle({1, 1});
  departure.seat_keepers({});
  const Register gone = departure.finish({1, 1});
  TEST_ASSERT_FALSE(Heard{}.allows(gone, lonely));
  Heard leaving;
  leaving.requests[{3, 1}].leave = true;
  TEST_ASSERT_TRUE(leaving.allows(gone, lonely));
}

TEST(living_keepers_stay_and_the_seats_are_as_many_as_the_rule_says) {
  Heard heard;
  heard.requests[{0, 1}].closings = {kClosing};
  Register alone = closed_by_0();
  alone.keepers = {{1, 1}};
  TEST_ASSERT_FALSE(heard.allows(alone));
  Register doubled = closed_by_0();
  doubled.keepers = {{0, 1}, {1, 1}, {1, 1}, {3, 1}};
  TEST_ASSERT_FALSE(heard.allows(doubled));
}

TEST(edges_are_opened_between_the_living_with_numbers_that_grow_by_one) {
  Register untied = founding();
  for (Entry& e : untied.entries) e.ties.clear();
  RegisterEdit edit(untied);
  edit.open({0, 1}, {2, 1});
  const Register opened = edit.finish({1, 1});
  TEST_ASSERT_TRUE(Heard{}.allows(opened, untied));
  Register skipped = opened;
  skipped.edges_opened = 2;
  for (Entry& e : skipped.entries) {
    for (Tie& t : e.ties) t.edge_number = 2;
  }
  TEST_ASSERT_FALSE(Heard{}.allows(skipped, untied));
}
