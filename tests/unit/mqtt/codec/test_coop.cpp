#include "mqtt/codec/coop.hpp"

#include "mqtt/codec/limits.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::mqtt;

TEST(a_part_of_a_model_comes_back_as_it_was) {
  const std::string payload = model_payload("night-run", std::string("\0\1\2", 3));
  TEST_ASSERT_TRUE(is_model_part(payload));
  TEST_ASSERT_FALSE(parse_coop(payload).has_value());
  const auto part = parse_model_part(payload);
  TEST_ASSERT_TRUE(part && part->task == "night-run" &&
                   part->bytes == std::string_view("\0\1\2", 3));
}

TEST(a_part_that_is_cut_or_too_long_is_refused) {
  const std::string payload = model_payload("night-run", "x");
  for (std::size_t n = 0; n < payload.size(); ++n) {
    TEST_ASSERT_FALSE(parse_model_part(payload.substr(0, n)).has_value());
  }
  TEST_ASSERT_FALSE(parse_model_part(payload + std::string(kPayloadBytesMax, 'x')).has_value());
  const std::string longest = model_payload("night-run", std::string(kModelPartBytesMax, 'x'));
  TEST_ASSERT_TRUE(parse_model_part(longest).has_value());
  TEST_ASSERT_FALSE(parse_model_part(longest + "x").has_value());
  TEST_ASSERT_TRUE(model_payload("Not a name", "x").empty());
  TEST_ASSERT_TRUE(model_payload("name", "").empty());
  TEST_ASSERT_TRUE(model_payload("name", std::string(kModelPartBytesMax + 1, 'x')).empty());
}

TEST(ledger_messages_are_not_parts_of_models) {
  CoopWriter writer;
  TEST_ASSERT_TRUE(writer.add("abc"));
  const std::string payload = writer.take();
  TEST_ASSERT_FALSE(is_model_part(payload));
  TEST_ASSERT_FALSE(parse_model_part(payload).has_value());
  TEST_ASSERT_TRUE(parse_coop(payload).has_value());
}
