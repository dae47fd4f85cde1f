#include "mqtt/codec/coop.hpp"

#include "mqtt/codec/limits.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::mqtt;

namespace {

const std::string kTag(kPeerTagBytes, 't');

}  // namespace

TEST(a_sealed_packet_comes_apart_into_its_number_its_body_and_its_tag) {
  for (const std::uint64_t number : {1ull, 127ull, 128ull, (1ull << 62) - 1}) {
    const std::string before_tag = unsealed_packet(CoopKind::kModel, number, "body");
    const std::string payload = before_tag + kTag;
    const auto packet = parse_packet(payload);
    TEST_ASSERT_TRUE(packet.has_value());
    TEST_ASSERT_TRUE(packet->kind == CoopKind::kModel && packet->sealed);
    TEST_ASSERT_EQUAL_UINT64(number, packet->counter);
    TEST_ASSERT_TRUE(packet->covered == before_tag && packet->body == "body" &&
                     packet->tag == kTag);
  }
}

TEST(plain_packets_and_keys_have_no_number_and_no_tag) {
  const std::string plain = plain_packet(CoopKind::kLedger, "body");
  TEST_ASSERT_EQUAL_INT(0x28, static_cast<unsigned char>(plain[0]));
  TEST_ASSERT_FALSE(parse_packet(plain)->sealed);
  TEST_ASSERT_TRUE(parse_packet(plain)->body == "body");
  const std::string key = plain_packet(CoopKind::kKey, "body");
  TEST_ASSERT_EQUAL_INT(0x22, static_cast<unsigned char>(key[0]));
  TEST_ASSERT_TRUE(parse_packet(key)->kind == CoopKind::kKey && !parse_packet(key)->sealed);
}

TEST(packets_of_other_versions_unknown_kinds_and_wrong_shapes_are_refused) {
  const std::string good = unsealed_packet(CoopKind::kLedger, 5, "x") + kTag;
  TEST_ASSERT_TRUE(parse_packet(good).has_value());
  for (std::size_t n = 0; n < 2 + kPeerTagBytes; ++n) {
    TEST_ASSERT_FALSE(parse_packet(good.substr(0, n)).has_value());
  }
  for (const char first : {'\0', '\1', '\2', '\x10', '\x23', '\x2A', '\x30'}) {
    TEST_ASSERT_FALSE(parse_packet(first + good.substr(1)).has_value());
  }
  // No number, a number that is longer than it needs to be, and one that does not end.
  TEST_ASSERT_FALSE(parse_packet(std::string("\x20\0", 2) + kTag).has_value());
  TEST_ASSERT_FALSE(parse_packet(std::string("\x20\x81\0", 3) + kTag).has_value());
  TEST_ASSERT_FALSE(parse_packet("\x20" + std::string(10, '\xFF') + kTag).has_value());
  TEST_ASSERT_FALSE(parse_packet(good + std::string(kPayloadBytesMax, 'x')).has_value());
}

TEST(the_version_of_any_packet_can_be_told) {
  TEST_ASSERT_EQUAL_INT(0, coop_version_of(""));
  TEST_ASSERT_EQUAL_INT(0, coop_version_of(std::string(1, '\0')));
  TEST_ASSERT_EQUAL_INT(1, coop_version_of("\1"));
  TEST_ASSERT_EQUAL_INT(1, coop_version_of("\2"));
  TEST_ASSERT_EQUAL_INT(2, coop_version_of("\x20"));
  TEST_ASSERT_EQUAL_INT(3, coop_version_of("\x31"));
}

TEST(peer_messages_travel_together_and_come_apart_again) {
  CoopWriter writer;
  TEST_ASSERT_TRUE(writer.empty());
  const std::string long_one(kCoopFrameBytesMax, 'x');
  for (const std::string& message : {std::string("a"), std::string("\0\1\2", 3), long_one}) {
    TEST_ASSERT_TRUE(writer.add(message));
  }
  TEST_ASSERT_FALSE(writer.add(""));
  TEST_ASSERT_FALSE(writer.add(std::string(kCoopFrameBytesMax + 1, 'x')));
  const std::string body = writer.take();
  const auto parsed = parse_frames(body);
  TEST_ASSERT_TRUE(parsed.has_value());
  TEST_ASSERT_EQUAL_UINT64(3, parsed->size());
  TEST_ASSERT_TRUE((*parsed)[1] == std::string("\0\1\2", 3));
  TEST_ASSERT_TRUE((*parsed)[2] == long_one);
  TEST_ASSERT_TRUE(writer.empty());
  TEST_ASSERT_EQUAL_UINT64(0, parse_frames(writer.take())->size());
}

TEST(a_full_body_takes_no_more_and_a_broken_one_is_refused) {
  CoopWriter writer;
  std::size_t taken = 0;
  while (writer.add(std::string(4096, 'x'))) ++taken;
  TEST_ASSERT_EQUAL_UINT64(15, taken);
  const std::string full = unsealed_packet(CoopKind::kLedger, UINT64_MAX >> 1, writer.take());
  TEST_ASSERT_TRUE(full.size() + kPeerTagBytes <= kPayloadBytesMax);
  taken = 0;
  while (writer.add("x")) ++taken;
  TEST_ASSERT_EQUAL_UINT64(kCoopFramesMax, taken);
  const std::string wrong[] = {
      "\1",   std::string("\0", 1),      "\2a",
      "\1ab", std::string("\x81\0a", 3), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"};
  for (const std::string& body : wrong) TEST_ASSERT_FALSE(parse_frames(body).has_value());
  std::string many;
  for (std::size_t i = 0; i <= kCoopFramesMax; ++i) many += "\1x";
  TEST_ASSERT_FALSE(parse_frames(many).has_value());
}

TEST(a_part_of_a_model_comes_back_as_it_was) {
  const std::string body = model_body("night-run", std::string("\0\1\2", 3));
  const auto part = parse_model_body(body);
  TEST_ASSERT_TRUE(part && part->task == "night-run" &&
                   part->bytes == std::string_view("\0\1\2", 3));
}

TEST(a_part_that_is_cut_or_too_long_is_refused) {
  const std::string body = model_body("night-run", "x");
  for (std::size_t n = 0; n < body.size(); ++n) {
    TEST_ASSERT_FALSE(parse_model_body(body.substr(0, n)).has_value());
  }
  const std::string longest = model_body("night-run", std::string(kModelPartBytesMax, 'x'));
  TEST_ASSERT_TRUE(parse_model_body(longest).has_value());
  TEST_ASSERT_FALSE(parse_model_body(longest + "x").has_value());
  TEST_ASSERT_TRUE(model_body("Not a name", "x").empty());
  TEST_ASSERT_TRUE(model_body("name", "").empty());
  TEST_ASSERT_TRUE(model_body("name", std::string(kModelPartBytesMax + 1, 'x')).empty());
}

TEST(an_announced_key_comes_back_as_it_was_and_refuses_cuts) {
  const std::string key(kPeerKeyBytes, 'k');
  const std::string body = key_body({1'794'813'411'807, key, "certificate", "signature"});
  const auto told = parse_key_body(body);
  TEST_ASSERT_TRUE(told.has_value());
  TEST_ASSERT_EQUAL_UINT64(1'794'813'411'807, told->start);
  TEST_ASSERT_TRUE(told->key == key && told->certificate == "certificate" &&
                   told->signature == "signature");
  for (std::size_t n = 0; n + 9 <= body.size(); ++n) {
    TEST_ASSERT_FALSE(parse_key_body(body.substr(0, n)).has_value());
  }
  TEST_ASSERT_FALSE(parse_key_body(body + std::string(kKeyBodyBytesMax, 'x')).has_value());
  TEST_ASSERT_FALSE(parse_key_body(key_body({0, key, "certificate", "signature"})).has_value());
  TEST_ASSERT_FALSE(parse_key_body(key_body({1, key, "", "signature"})).has_value());
}

TEST(a_packet_for_many_has_a_tag_for_each_and_one_body) {
  const std::string tag_2(kPeerTagBytes, '2');
  const std::string tag_3(kPeerTagBytes, '3');
  const std::string payload = many_packet(300, "body", {{"n-2", tag_2}, {"n-3", tag_3}});
  TEST_ASSERT_EQUAL_UINT64(1 + 2 + 1 + 2 * kManyRecipientBytes + 4, payload.size());
  const auto packet = parse_packet(payload);
  TEST_ASSERT_TRUE(packet && packet->kind == CoopKind::kModelToAll && packet->sealed);
  TEST_ASSERT_TRUE(packet->counter == 300 && packet->body == "body");
  const auto many = parse_many_packet(payload);
  TEST_ASSERT_TRUE(many->tag_for("n-2") == tag_2 && many->tag_for("n-3") == tag_3);
  TEST_ASSERT_TRUE(many->tag_for("n-4").empty());
  TEST_ASSERT_TRUE(many->covered == covered_of_many(300, "body"));
  TEST_ASSERT_TRUE(covered_of_many(301, "body") != covered_of_many(300, "body"));
  TEST_ASSERT_TRUE(covered_of_many(300, "bodx") != covered_of_many(300, "body"));
  // Cut within the recipients, and for nobody.
  for (std::size_t n = 1; n < 4 + 2 * kManyRecipientBytes; ++n) {
    TEST_ASSERT_FALSE(parse_packet(payload.substr(0, n)).has_value());
  }
  TEST_ASSERT_FALSE(parse_packet(many_packet(1, "body", {})).has_value());
}
