#include "control/fleet/event_history.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;
using json::Value;

namespace {

Value event(int epoch, int seq, const char* ts) {
  return Value::object().set("epoch", epoch).set("seq", seq).set("ts", ts);
}

Value page(std::vector<Value> events, bool more) {
  Value list = Value::array();
  for (Value& e : events) list.add(std::move(e));
  return Value::object().set("events", std::move(list)).set("more", more);
}

std::string order(const EventHistory& history) {
  std::string out;
  for (const EventView& e : history.in_order()) {
    out += e.board + ":" + std::to_string(e.event.find("seq")->as_integer()) + " ";
  }
  return out;
}

}  // namespace

TEST(boards_are_merged_by_time_and_each_keeps_its_own_order) {
  EventHistory history;
  static_cast<void>(history.take("a", page({event(1, 1, "10:00"), event(1, 2, "10:05")}, false)));
  // The clock of b was set back; what it said later still comes later.
  static_cast<void>(history.take(
      "b", page({event(1, 1, "10:02"), event(1, 2, "09:00"), event(2, 1, "10:06")}, false)));
  TEST_ASSERT_EQUAL_STRING("a:1 b:1 b:2 a:2 b:1 ", order(history).c_str());
}

TEST(pages_go_on_from_the_oldest_and_end) {
  EventHistory history;
  const auto next = history.take("a", page({event(2, 5, "10:05"), event(2, 6, "10:06")}, true));
  TEST_ASSERT_EQUAL_STRING(R"({"epoch":2,"seq":5})", json::to_text(*next).c_str());
  TEST_ASSERT_FALSE(history.take("a", page({event(1, 9, "10:01")}, false)).has_value());
  TEST_ASSERT_EQUAL_STRING("a:9 a:5 a:6 ", order(history).c_str());
  // A board that repeats itself is not asked again.
  TEST_ASSERT_FALSE(history.take("a", page({event(2, 5, "10:05")}, true)).has_value());
  TEST_ASSERT_FALSE(history.take("a", page({}, true)).has_value());
  TEST_ASSERT_FALSE(history.take("a", Value()).has_value());
}

TEST(what_was_in_an_answer_is_not_new_when_it_comes_live) {
  EventHistory history;
  static_cast<void>(history.take("a", page({event(1, 1, "10:00")}, false)));
  TEST_ASSERT_FALSE(history.is_new({"a", event(1, 1, "10:00")}));
  TEST_ASSERT_TRUE(history.is_new({"a", event(1, 2, "10:00")}));
  TEST_ASSERT_FALSE(history.is_new({"a", event(1, 2, "10:00")}));
  TEST_ASSERT_TRUE(history.is_new({"b", event(1, 1, "10:00")}));
}

TEST(a_board_with_a_gap_is_asked_until_it_has_answered) {
  EventGaps gaps(1'000'000);
  gaps.closed("a", 1'000'000);
  TEST_ASSERT_EQUAL_UINT(0, gaps.to_ask({"a"}, 1'200'000).size());
  gaps.link_lost();
  // The board is not back yet: nothing is asked of it, and the gap stays.
  TEST_ASSERT_EQUAL_UINT(0, gaps.to_ask({}, 1'300'000).size());
  TEST_ASSERT_EQUAL_UINT(1, gaps.to_ask({"a"}, 1'301'000).count("a"));
  TEST_ASSERT_EQUAL_INT64(1'140'000, gaps.since_ms({"a"}));
  TEST_ASSERT_EQUAL_UINT(0, gaps.to_ask({"a"}, 1'302'000).size());
  TEST_ASSERT_EQUAL_UINT(1, gaps.to_ask({"a"}, 1'306'000).size());
  TEST_ASSERT_EQUAL_INT64(1'140'000, gaps.since_ms({"a"}));
  gaps.closed("a", 1'307'000);
  TEST_ASSERT_EQUAL_UINT(0, gaps.to_ask({"a"}, 1'400'000).size());
}

TEST(a_board_that_was_away_alone_or_is_new_has_a_gap_of_its_own) {
  EventGaps gaps(1'000'000);
  gaps.closed("a", 1'000'000);
  gaps.closed("b", 1'000'000);
  TEST_ASSERT_EQUAL_UINT(0, gaps.to_ask({"a"}, 1'100'000).size());
  TEST_ASSERT_EQUAL_UINT(1, gaps.to_ask({"a", "b"}, 1'200'000).count("b"));
  TEST_ASSERT_EQUAL_INT64(1'000'000, gaps.since_ms({"b"}));
  gaps.closed("b", 1'200'000);
  const auto asked = gaps.to_ask({"a", "b", "c"}, 1'300'000);
  TEST_ASSERT_EQUAL_UINT(1, asked.size());
  TEST_ASSERT_EQUAL_UINT(1, asked.count("c"));
  TEST_ASSERT_EQUAL_INT64(1'000'000, gaps.since_ms(asked));
}
