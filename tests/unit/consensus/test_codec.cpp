#include "consensus/codec.hpp"

#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

Record sample_record() {
  Record r;
  r.version = 9;
  r.base = {-5, kWhole, 77};
  r.quorum = 3;
  r.entries = {{{4, 1}, EdgeStatus::kOpen, {}, {}},
               {{70000, 3}, EdgeStatus::kFrozen, {1, 2, 3}, {kWhole, 0, 9}},
               {{5, 2}, EdgeStatus::kFinal, {8, 8, 8}, {7, 7, 7}},
               {{6, 1}, EdgeStatus::kOpening, {}, {}}};
  r.absorbed = {{1, 1}, {2, 5}};
  return r;
}

EdgeBody sample_edge() {
  EdgeBody b;
  b.seq = 300;
  b.ack = 299;
  b.usable = true;
  b.has_terms = true;
  b.degree = 8;
  b.urgency = {256, 1, 65535};
  b.price_code = {-255, 0, 17};
  b.base_age = 3;
  b.sent = {1 << 20, 0, 4097};
  return b;
}

std::vector<Message> samples() {
  EdgeBody absolute;
  absolute.seq = 1;
  absolute.opening = true;
  absolute.price_absolute = true;
  absolute.price = {-1'000'000'000'000'000, 0, 5};
  absolute.sent_absolute = true;
  absolute.sent = {kWhole, 0, 1};
  EdgeBody last = absolute;
  last.opening = false;
  last.final = true;
  last.heard = {4, 5, 6};
  const std::vector<RecordEntry> entries = sample_record().entries;
  const std::vector<Body> bodies = {
      sample_edge(),
      absolute,
      last,
      RecordBody{sample_record()},
      RecordAckBody{7},
      PullBody{3, {9, 2}, {1, 2, 3}},
      ClaimBody{3, {9, 2}, false, true, {1, 2, 3}, {4, 5, 6}, sample_record()},
      RefuseBody{3, {9, 2}, Refusal::kSettled, {{1, 1}}, {entries[1]}},
      ReleaseBody{{9, 2}, 3},
      ContendBody{{9, 2}, {1, 1}, 3},
      FinalBody{{9, 2}, true, {1, 2, 3}, {4, 5, 6}, {{8, 1}}, {entries[2]}},
      FinalAckBody{{9, 2}},
      AskBody{{1, 1}, {9, 2}},
      AnswerBody{{1, 1}, {9, 2}, true},
      ClosedBody{12}};
  std::vector<Message> out;
  for (const Body& b : bodies) out.push_back({1, 2, 3, b});
  return out;
}

std::string written(const Message& m) {
  Bytes bytes;
  encode(m, bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST(every_kind_reads_back_as_it_was_written) {
  for (const Message& m : samples()) {
    const auto back = decode(written(m));
    TEST_ASSERT_TRUE_MESSAGE(back.has_value(), back ? "" : back.error().text().c_str());
    TEST_ASSERT_TRUE(*back == m);
  }
}

TEST(every_truncation_is_refused) {
  for (const Message& m : samples()) {
    const std::string bytes = written(m);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      TEST_ASSERT_FALSE(decode(std::string_view(bytes).substr(0, n)).has_value());
    }
  }
}

TEST(trailing_bytes_wrong_version_and_unknown_kind_are_refused) {
  std::string bytes = written(samples().front());
  TEST_ASSERT_FALSE(decode(bytes + '\0').has_value());
  bytes[0] = static_cast<char>(0x20);
  const auto other = decode(bytes);
  TEST_ASSERT_FALSE(other.has_value());
  TEST_ASSERT_TRUE(other.error().context.find("version 2") != std::string::npos);
  bytes[0] = static_cast<char>(0x1F);
  TEST_ASSERT_FALSE(decode(bytes).has_value());
  TEST_ASSERT_FALSE(decode("").has_value());
}

TEST(hostile_lengths_and_numbers_are_refused) {
  // A pull with a helper list said to be 2^35 long.
  const std::string pull("\x13\x01\x01\x01\x01\x01\x01\xFF\xFF\xFF\xFF\x7F", 12);
  TEST_ASSERT_FALSE(decode(pull).has_value());
  // A number with a second way to say it, and one beyond 64 bits.
  TEST_ASSERT_FALSE(decode(std::string("\x12\x01\x81\x00\x01\x05", 6)).has_value());
  TEST_ASSERT_FALSE(decode(std::string("\x12") + std::string(11, '\xFF')).has_value());
  TEST_ASSERT_FALSE(decode(std::string(kMessageBytesMax + 1, '\x10')).has_value());
  // Nobody sends as incarnation 0.
  TEST_ASSERT_FALSE(decode(std::string("\x12\x01\x00\x01\x05", 5)).has_value());
}

TEST(random_bytes_never_break_the_reader) {
  std::uint64_t state = 42;
  std::string bytes;
  for (int round = 0; round < 20'000; ++round) {
    bytes.clear();
    const int size = static_cast<int>(state % 40);
    for (int i = 0; i < size; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      bytes.push_back(static_cast<char>(state >> 56));
    }
    state = state * 6364136223846793005ULL + 1;
    if (!bytes.empty()) bytes[0] = static_cast<char>(0x10 | (bytes[0] & 0x0F));
    const auto m = decode(bytes);
    if (m) {
      TEST_ASSERT_TRUE(written(*m) == bytes);
    }
  }
}

TEST(an_ordinary_edge_message_is_small) {
  EdgeBody b;
  b.seq = 100;
  b.ack = 99;
  b.usable = true;
  b.price_code = {-40, 0, 0};
  b.base_age = 4;
  b.sent = {5 << 12, 0, 0};
  TEST_ASSERT_TRUE(written({1, 1, 1, b}).size() <= 13);
}
