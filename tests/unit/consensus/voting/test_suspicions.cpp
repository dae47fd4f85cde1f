#include "consensus/voting/suspicions.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr TimeNs kStart = kDay;
constexpr DurationNs kSilence = 42 * kSecond;
constexpr Account kSelf{0, 1};
constexpr Account kPeer{1, 1};
constexpr Account kReporter{2, 1};
constexpr Account kOther{3, 1};

// Four accounts, all of them each other's neighbours.
Register four() {
  return founding_register(NeighbourGraph({0, 1, 2, 3}), {kSelf, kPeer, kReporter, kOther});
}

Suspicions of_self(const Register& decided) {
  Suspicions s;
  s.configure(kSecond, kSilence);
  s.begin(kSelf);
  s.on_new_version(decided, kStart);
  return s;
}

RequestBody answer_to(std::uint32_t probe) {
  RequestBody body;
  body.echo = probe;
  return body;
}

std::vector<NodeId> probed_at(Suspicions& s, TimeNs now) {
  std::vector<NodeId> nodes;
  s.probe(now, [&](NodeId node) { nodes.push_back(node); });
  return nodes;
}

}  // namespace

TEST(a_suspected_account_is_probed_and_unresponsive_after_its_time) {
  const Register decided = four();
  Suspicions s = of_self(decided);
  TEST_ASSERT_FALSE(s.any());
  TEST_ASSERT_TRUE(s.suspect(kPeer, kReporter, decided, kStart));
  TEST_ASSERT_FALSE(s.suspect(kPeer, kReporter, decided, kStart));
  TEST_ASSERT_TRUE(s.any());
  TEST_ASSERT_EQUAL_UINT64(1, probed_at(s, kStart).size());
  TEST_ASSERT_FALSE(s.is_unresponsive(kPeer, kStart + kUnresponsiveTicks * kSecond - 1));
  TEST_ASSERT_TRUE(s.is_unresponsive(kPeer, kStart + kUnresponsiveTicks * kSecond));
  TEST_ASSERT_TRUE(s.never_answered(kPeer, kStart + kUnresponsiveTicks * kSecond));
}

TEST(nobody_suspects_itself_or_the_dead) {
  const Register decided = four();
  Suspicions s = of_self(decided);
  TEST_ASSERT_FALSE(s.suspect(kSelf, kReporter, decided, kStart));
  TEST_ASSERT_FALSE(s.suspect({9, 1}, kReporter, decided, kStart));
  TEST_ASSERT_FALSE(s.any());
}

TEST(only_an_answer_to_a_recent_probe_clears_a_suspected_account) {
  const Register decided = four();
  Suspicions s = of_self(decided);
  s.suspect(kPeer, kReporter, decided, kStart);
  const TimeNs late = kStart + kUnresponsiveTicks * kSecond;
  s.note_contact(kPeer, false, late);  // a packet that may have been under way for long
  TEST_ASSERT_TRUE(s.is_unresponsive(kPeer, late));
  TEST_ASSERT_FALSE(s.heard_or_probe(kPeer, late));
  s.note_contact(kPeer, true, late);
  TEST_ASSERT_FALSE(s.is_unresponsive(kPeer, late));
  TEST_ASSERT_TRUE(s.heard_or_probe(kPeer, late));
  TEST_ASSERT_FALSE(s.never_answered(kPeer, late + kUnresponsiveTicks * kSecond));
  TEST_ASSERT_TRUE(s.is_unresponsive(kPeer, late + kUnresponsiveTicks * kSecond));
}

TEST(an_answer_counts_for_ten_ticks_and_no_request_answers_without_a_probe) {
  const Suspicions s = of_self(four());
  const std::uint32_t asked = s.probe_number(kStart);
  TEST_ASSERT_TRUE(s.answers(answer_to(asked), kStart));
  TEST_ASSERT_TRUE(s.answers(answer_to(asked), kStart + (kAnswerTicks - 1) * kSecond));
  TEST_ASSERT_FALSE(s.answers(answer_to(asked), kStart + kAnswerTicks * kSecond));
  TEST_ASSERT_FALSE(s.answers(answer_to(asked + 1), kStart));  // not asked yet
  TEST_ASSERT_FALSE(s.answers(answer_to(0), kStart));
  TEST_ASSERT_FALSE(s.answers(answer_to(kProbeNumbers + 1), kStart));
}

TEST(a_keeper_loses_its_turn_when_two_neighbours_suspect_it_or_one_for_long) {
  const Register decided = four();
  Suspicions s = of_self(decided);
  const TimeNs late = kStart + kUnresponsiveTicks * kSecond;
  s.suspect(kPeer, kReporter, decided, kStart);
  TEST_ASSERT_FALSE(s.loses_turn(kPeer, decided, late));
  TEST_ASSERT_TRUE(s.loses_turn(kPeer, decided, kStart + kLongUnresponsiveTicks * kSecond));
  s.suspect(kPeer, kOther, decided, kStart);
  TEST_ASSERT_FALSE(s.loses_turn(kPeer, decided, late - 1));
  TEST_ASSERT_TRUE(s.loses_turn(kPeer, decided, late));
  TEST_ASSERT_TRUE(s.loses_turn({9, 1}, decided, kStart));  // not in the register
}

TEST(an_account_wanted_for_an_edge_is_probed_until_it_is_heard) {
  const Register decided = four();
  Suspicions s = of_self(decided);
  TEST_ASSERT_FALSE(s.heard_or_probe(kPeer, kStart));
  TEST_ASSERT_TRUE(s.note_contact(kPeer, false, kStart));  // news: the edge can be opened now
  TEST_ASSERT_TRUE(s.heard_or_probe(kPeer, kStart + kHeardLatelyTicks * kSecond - 1));
  TEST_ASSERT_FALSE(s.heard_or_probe(kPeer, kStart + kHeardLatelyTicks * kSecond));
  TEST_ASSERT_EQUAL_UINT32(kPeer.node, probed_at(s, kStart + 9 * kSecond).at(0));
  TEST_ASSERT_TRUE(probed_at(s, kStart + 9 * kSecond).empty());
  TEST_ASSERT_FALSE(s.heard_or_probe({}, kStart));  // nobody cannot be probed
  TEST_ASSERT_TRUE(probed_at(s, kStart).empty());
}

// Invariant I5 rests on this count.
TEST(a_dead_neighbour_supports_an_account_until_its_acknowledgements_expire) {
  Register decided = four();
  const Entry peer = *decided.find(kPeer);
  Suspicions s = of_self(decided);
  TEST_ASSERT_EQUAL_UINT64(3, s.supporters(decided, peer, kStart));
  decided.find(kOther)->dead = true;  // by silence only: it may be at work
  TEST_ASSERT_EQUAL_UINT64(3, s.supporters(decided, peer, kStart + kHour));
  decided.find(kOther)->confirmed_dead = true;
  s.on_new_version(decided, kStart);
  TEST_ASSERT_EQUAL_UINT64(3, s.supporters(decided, peer, kStart + kSilence + kSecond));
  TEST_ASSERT_EQUAL_UINT64(2, s.supporters(decided, peer, kStart + kSilence + kSecond + 1));
}

TEST(whoever_speaks_under_a_later_incarnation_confirms_the_death_of_the_earlier) {
  Register decided = four();
  Suspicions s = of_self(decided);
  s.note_successor({kOther.node, 2}, decided, kStart);
  decided.find(kOther)->dead = decided.find(kOther)->confirmed_dead = true;
  // The register has entered it only now; the keeper has known it since the successor spoke.
  s.on_new_version(decided, kStart + kSilence);
  TEST_ASSERT_EQUAL_UINT64(
      2, s.supporters(decided, *decided.find(kPeer), kStart + kSilence + 2 * kSecond));
}

TEST(an_account_that_will_lack_a_quorum_is_suspected_before_it_does) {
  Register decided = four();
  // The account itself needs two fresh edges; one of the answers may be a liar's.
  for (const Tie& t : decided.find(kPeer)->ties) {
    decided.find(t.peer)->dead = decided.find(t.peer)->confirmed_dead = true;
  }
  Suspicions s = of_self(decided);
  TEST_ASSERT_EQUAL_UINT8(2, decided.find(kPeer)->quorum);
  TEST_ASSERT_TRUE(s.review(decided, decided, {}, kStart));
  TEST_ASSERT_TRUE(s.is_unresponsive(kPeer, kStart + kUnresponsiveTicks * kSecond));
  TEST_ASSERT_FALSE(s.review(decided, decided, {}, kStart + kSecond));
}

TEST(a_suspicion_ends_when_the_account_answers_and_nobody_reports_it_any_more) {
  const Register decided = four();
  Suspicions s = of_self(decided);
  s.suspect(kPeer, kReporter, decided, kStart);
  const TimeNs later = kStart + (kRequestTicks + 1) * kSecond;
  s.review(decided, decided, {}, later);
  TEST_ASSERT_TRUE(s.any());  // it has not answered
  s.note_alive(kPeer, later);
  s.review(decided, decided, {kPeer}, later);
  TEST_ASSERT_TRUE(s.any());  // a request closes an edge to it
  s.review(decided, decided, {}, later);
  TEST_ASSERT_FALSE(s.any());
}

TEST(a_version_waits_for_the_probe_and_then_for_the_neighbours_that_will_close) {
  const Register decided = four();
  Suspicions s = of_self(decided);
  s.suspect(kPeer, kReporter, decided, kStart);
  const TimeNs late = kStart + kUnresponsiveTicks * kSecond;
  TEST_ASSERT_FALSE(s.worth_waiting(decided, {}, kStart));
  TEST_ASSERT_TRUE(s.worth_waiting(decided, {kPeer}, kStart));  // the probe may still be answered
  TEST_ASSERT_TRUE(s.worth_waiting(decided, {}, late));         // the closings will come
  // Silent for much longer and not closed upon: only this keeper does not hear it.
  TEST_ASSERT_FALSE(s.worth_waiting(decided, {}, late + kSilence));
  Register closed = decided;
  closed.find(kPeer)->ties.clear();
  TEST_ASSERT_FALSE(s.worth_waiting(closed, {kPeer}, late));  // everybody has closed
}
