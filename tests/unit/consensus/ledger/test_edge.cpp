#include "consensus/ledger/edge.hpp"

#include "consensus/quantizer.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

struct Pair {
  Edge a = open_edge();
  Edge b = open_edge();

  static Edge open_edge() {
    Edge e;
    e.limit = e.peer_limit = kWhole;
    return e;
  }
};

EdgeBody said(Edge& e, TimeNs now = 1, Prices prices = {}) {
  EdgeBody body;
  e.speak(prices, now, body);
  return body;
}

}  // namespace

TEST(grants_arrive_once_whatever_is_lost_repeated_or_reordered) {
  Pair p;
  p.a.sent[0] = 100;
  const EdgeBody first = said(p.a);
  p.a.sent[0] = 250;
  const EdgeBody second = said(p.a);
  p.a.sent[0] = 300;
  const EdgeBody third = said(p.a);
  TEST_ASSERT_TRUE(p.b.hear(third, 5));
  TEST_ASSERT_EQUAL_INT64(300, p.b.heard[0]);
  p.b.hear(first, 6);
  p.b.hear(second, 6);
  p.b.hear(third, 7);
  TEST_ASSERT_EQUAL_INT64(300, p.b.heard[0]);
  TEST_ASSERT_EQUAL_UINT32(3, p.b.seq_heard);
  TEST_ASSERT_EQUAL_INT64(5, p.b.heard_at);
}

TEST(differences_decode_against_what_was_acknowledged) {
  Pair p;
  p.a.sent = {100, 7, 0};
  TEST_ASSERT_TRUE(p.b.hear(said(p.a), 2));
  TEST_ASSERT_TRUE(p.a.hear(said(p.b), 3));
  TEST_ASSERT_EQUAL_UINT32(1, p.a.seq_acked);
  p.a.sent = {164, 7, 8};
  const EdgeBody body = said(p.a);
  TEST_ASSERT_FALSE(body.sent_absolute);
  TEST_ASSERT_EQUAL_INT64(64, body.sent[0]);
  TEST_ASSERT_TRUE(p.b.hear(body, 4));
  TEST_ASSERT_EQUAL_INT64(164, p.b.heard[0]);
  TEST_ASSERT_EQUAL_INT64(7, p.b.heard[1]);
  TEST_ASSERT_EQUAL_INT64(8, p.b.heard[2]);
}

TEST(prices_travel_as_one_byte_differences_both_ends_agree_on) {
  Pair p;
  TEST_ASSERT_TRUE(p.b.hear(said(p.a, 1, {1'000'000'000, 0, 0}), 2));
  const EdgeBody answer = said(p.b, 2, {1'400'000'000, 0, 0});
  TEST_ASSERT_FALSE(answer.price_absolute);
  TEST_ASSERT_TRUE(p.a.hear(answer, 3));
  const std::int64_t exact = 1'000'000'000 + price_difference(price_code(400'000'000));
  TEST_ASSERT_EQUAL_INT64(exact, p.a.price[0]);
  TEST_ASSERT_EQUAL_INT64(exact, p.b.sent_at(p.b.seq)->price[0]);
}

TEST(freshness_is_the_time_of_sending_not_of_the_answer) {
  Pair p;
  const EdgeBody first = said(p.a, 10);
  said(p.a, 20);
  TEST_ASSERT_TRUE(p.b.hear(first, 30));
  TEST_ASSERT_TRUE(p.a.hear(said(p.b, 40), 50));
  TEST_ASSERT_EQUAL_INT64(10, p.a.fresh_at);
}

TEST(refuses_what_no_honest_peer_can_have_sent) {
  Pair p;
  EdgeBody too_much;
  too_much.seq = 1;
  too_much.sent_absolute = true;
  too_much.sent[0] = kWhole + 1;
  TEST_ASSERT_FALSE(p.b.hear(too_much, 1));
  EdgeBody future;
  future.seq = 1;
  future.ack = 9;
  TEST_ASSERT_FALSE(p.b.hear(future, 1));
  p.a.sent[0] = 500;
  TEST_ASSERT_TRUE(p.b.hear(said(p.a), 1));
  EdgeBody less;
  less.seq = 7;
  less.sent_absolute = true;
  less.sent[0] = 400;
  TEST_ASSERT_FALSE(p.b.hear(less, 1));
  TEST_ASSERT_EQUAL_INT64(500, p.b.heard[0]);
}
