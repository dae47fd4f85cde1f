#include <string>

#include "mqtt/client/outbox.hpp"
#include "tests/harness/unit.hpp"

using laird::kSecond;
using laird::mqtt::Class;
using laird::mqtt::Outbox;
using laird::mqtt::OutboxLimits;
using laird::mqtt::Outgoing;

namespace {

Outgoing message(Class kind, std::string topic, std::string payload = "x") {
  Outgoing out;
  out.kind = kind;
  out.topic = std::move(topic);
  out.payload = std::move(payload);
  return out;
}

std::string popped(Outbox& box, laird::TimeNs now = 0) {
  const auto out = box.pop(now);
  return out ? out->topic + "=" + out->payload : "-";
}

}  // namespace

TEST(what_somebody_waits_for_goes_first) {
  Outbox box({});
  box.push(message(Class::kTelemetry, "t"), 0);
  box.push(message(Class::kEvent, "e"), 0);
  box.push(message(Class::kState, "s"), 0);
  box.push(message(Class::kPeer, "p"), 0);
  box.push(message(Class::kReply, "r"), 0);
  for (const char* wanted : {"r=x", "p=x", "s=x", "e=x", "t=x", "-"}) {
    TEST_ASSERT_EQUAL_STRING(wanted, popped(box).c_str());
  }
  TEST_ASSERT_TRUE(box.empty());
  TEST_ASSERT_EQUAL_UINT64(0, box.dropped());
}

TEST(a_full_ring_drops_its_oldest_and_no_other_class) {
  OutboxLimits limits;
  limits.telemetry_max = 2;
  limits.event_max = 3;
  Outbox box(limits);
  for (const char* n : {"1", "2", "3", "4"}) {
    box.push(message(Class::kTelemetry, "t", n), 0);
    box.push(message(Class::kEvent, "e", n), 0);
  }
  TEST_ASSERT_EQUAL_UINT64(2, box.dropped(Class::kTelemetry));
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kEvent));
  for (const char* wanted : {"e=2", "e=3", "e=4", "t=3", "t=4", "-"}) {
    TEST_ASSERT_EQUAL_STRING(wanted, popped(box).c_str());
  }
}

TEST(events_push_out_telemetry_and_peers_but_never_the_other_way) {
  OutboxLimits limits;
  limits.ring_bytes_max = 4'000;
  Outbox box(limits);
  const std::string kilobyte(1'000, 'x');
  box.push(message(Class::kTelemetry, "t", kilobyte), 0);
  box.push(message(Class::kPeer, "p", kilobyte), 0);
  box.push(message(Class::kEvent, "e1", kilobyte), 0);
  TEST_ASSERT_EQUAL_UINT64(0, box.dropped());
  box.push(message(Class::kEvent, "e2", kilobyte), 0);
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kTelemetry));
  box.push(message(Class::kEvent, "e3", kilobyte), 0);
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kPeer));
  box.push(message(Class::kTelemetry, "t", kilobyte), 0);
  TEST_ASSERT_EQUAL_UINT64(2, box.dropped(Class::kTelemetry));
  TEST_ASSERT_EQUAL_UINT64(0, box.dropped(Class::kEvent));
  box.push(message(Class::kEvent, "e4", kilobyte), 0);
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kEvent));
  TEST_ASSERT_EQUAL_STRING("e2", box.pop(0)->topic.c_str());
}

TEST(of_a_state_only_the_newest_is_sent_and_again_on_each_connect) {
  Outbox box({});
  box.push(message(Class::kState, "a", "old"), 0);
  box.push(message(Class::kState, "b"), 0);
  box.push(message(Class::kState, "a", "new"), 0);
  for (const char* wanted : {"a=new", "b=x", "-"}) {
    TEST_ASSERT_EQUAL_STRING(wanted, popped(box).c_str());
  }
  box.resend_states();
  for (const char* wanted : {"a=new", "b=x", "-"}) {
    TEST_ASSERT_EQUAL_STRING(wanted, popped(box).c_str());
  }
  TEST_ASSERT_EQUAL_UINT64(0, box.dropped());
}

TEST(a_cleared_state_is_forgotten_once_the_broker_has_it) {
  Outbox box({});
  box.push(message(Class::kState, "a"), 0);
  box.push(message(Class::kState, "a", ""), 0);
  auto sent = box.pop(0);
  box.resend_states();
  TEST_ASSERT_EQUAL_STRING("a=", popped(box).c_str());
  box.delivered(*sent);
  box.resend_states();
  TEST_ASSERT_EQUAL_STRING("-", popped(box).c_str());
}

TEST(a_late_acknowledgement_of_clearing_keeps_a_newer_text) {
  Outbox box({});
  box.push(message(Class::kState, "a", ""), 0);
  const auto cleared = box.pop(0);
  box.push(message(Class::kState, "a", "new"), 0);
  TEST_ASSERT_EQUAL_STRING("a=new", popped(box).c_str());
  box.delivered(*cleared);
  box.resend_states();
  TEST_ASSERT_EQUAL_STRING("a=new", popped(box).c_str());
}

TEST(what_expired_is_not_sent_and_the_rest_knows_how_long_it_has) {
  Outbox box({});
  Outgoing stale = message(Class::kPeer, "p", "stale");
  stale.expiry_s = 2;
  box.push(stale, 10 * kSecond);
  Outgoing fresh = message(Class::kPeer, "p", "fresh");
  fresh.expiry_s = 10;
  box.push(fresh, 10 * kSecond);
  const auto out = box.pop(13 * kSecond);
  TEST_ASSERT_EQUAL_STRING("fresh", out->payload.c_str());
  TEST_ASSERT_EQUAL_UINT32(7, out->expiry_s);
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kPeer));
}

TEST(what_came_back_goes_first_unless_there_is_no_room) {
  OutboxLimits limits;
  limits.event_max = 2;
  Outbox box(limits);
  box.push(message(Class::kEvent, "e", "1"), 0);
  box.push(message(Class::kEvent, "e", "2"), 0);
  auto first = box.pop(0);
  box.put_back(*first, 0);
  TEST_ASSERT_EQUAL_STRING("e=1", popped(box).c_str());
  box.push(message(Class::kEvent, "e", "3"), 0);
  box.put_back(*first, 0);
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kEvent));
  TEST_ASSERT_EQUAL_STRING("e=2", popped(box).c_str());
}

TEST(too_long_or_without_a_topic_is_dropped_and_counted) {
  Outbox box({});
  box.push(message(Class::kEvent, "e", std::string(65'537, 'x')), 0);
  box.push(message(Class::kEvent, ""), 0);
  box.push(message(Class::kState, "a/+"), 0);
  TEST_ASSERT_EQUAL_UINT64(2, box.dropped(Class::kEvent));
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kState));
  TEST_ASSERT_TRUE(box.empty());
}

TEST(states_are_bounded_by_number_and_by_bytes) {
  OutboxLimits limits;
  limits.state_max = 2;
  limits.state_bytes_max = 2'000;
  Outbox box(limits);
  box.push(message(Class::kState, "a"), 0);
  box.push(message(Class::kState, "b"), 0);
  box.push(message(Class::kState, "c"), 0);
  TEST_ASSERT_EQUAL_UINT64(1, box.dropped(Class::kState));
  box.push(message(Class::kState, "b", std::string(3'000, 'x')), 0);
  TEST_ASSERT_EQUAL_UINT64(2, box.dropped(Class::kState));
  for (int i = 0; i < 1'000; ++i) box.push(message(Class::kState, "b", std::to_string(i)), 0);
  TEST_ASSERT_EQUAL_UINT64(2, box.dropped(Class::kState));
  for (const char* wanted : {"a=x", "b=999", "-"}) {
    TEST_ASSERT_EQUAL_STRING(wanted, popped(box).c_str());
  }
}
