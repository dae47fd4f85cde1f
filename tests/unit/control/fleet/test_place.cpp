#include "control/fleet/place.hpp"
#include "json/value.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

using Bids = Replies;

void bid(Bids& bids, const std::string& board, double probability, double energy_j) {
  mqtt::Reply reply;
  reply.node = board;
  reply.data = json::Value::object()
                   .set("admits", true)
                   .set("probability", probability)
                   .set("energy_j", energy_j < 0 ? json::Value() : json::Value::number(energy_j));
  bids[board] = reply;
}

std::string order(const Bids& bids) {
  std::string out;
  for (const Offer& offer : ranked(bids)) out += offer.board + " ";
  return out;
}

}  // namespace

TEST(among_those_that_meet_the_deadline_least_energy_wins_and_unknown_comes_last) {
  Bids bids;
  bid(bids, "a", 0.99, 900.0);
  bid(bids, "b", 0.81, 300.0);
  bid(bids, "c", 0.95, -1.0);
  bid(bids, "d", 0.79, 1.0);
  TEST_ASSERT_EQUAL_STRING("b a c d ", order(bids).c_str());
}

TEST(when_none_meets_it_the_likeliest_wins) {
  Bids bids;
  bid(bids, "a", 0.3, 1.0);
  bid(bids, "b", 0.5, 900.0);
  bid(bids, "c", 0.5, 800.0);
  TEST_ASSERT_EQUAL_STRING("c b a ", order(bids).c_str());
}

TEST(refusals_and_nonsense_come_last_and_keep_their_reason) {
  Bids bids;
  bid(bids, "b", 0.1, 1.0);
  mqtt::Reply refusal;
  refusal.node = "a";
  refusal.data = json::Value::object().set("admits", false).set("why", "no memory");
  bids["a"] = refusal;
  mqtt::Reply nonsense;
  nonsense.node = "c";
  nonsense.text = "odd";
  bids["c"] = nonsense;
  const auto offers = ranked(bids);
  TEST_ASSERT_EQUAL_STRING("b a c ", order(bids).c_str());
  TEST_ASSERT_EQUAL_STRING("no memory", offers[1].why.c_str());
  TEST_ASSERT_FALSE(offers[2].admits);
  TEST_ASSERT_EQUAL_STRING("odd", offers[2].why.c_str());
}

TEST(a_refused_reply_admits_nothing_whatever_its_data_says) {
  Bids bids;
  bid(bids, "a", 1.0, 1.0);
  bids["a"].code = mqtt::ReplyCode::kUnauthorised;
  TEST_ASSERT_FALSE(ranked(bids).front().admits);
}
