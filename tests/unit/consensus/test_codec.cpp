#include "consensus/codec.hpp"

#include <algorithm>
#include <string>

#include "consensus/credit.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

Register sample_register() {
  Register r;
  r.version = 9;
  r.owner = {4, 1};
  r.edges_opened = 300;
  r.keepers = {{4, 1}, {70000, 3}};
  Entry first;
  first.account = {4, 1};
  first.base = {-5, kWhole, 77};
  first.quorum = 3;
  first.quorum_revision = 2;
  first.changed = 9;
  first.ties = {{{70000, 3}, 299}};
  Entry second;
  second.account = {70000, 3};
  second.dead = second.confirmed_dead = true;
  second.ties = {{{4, 1}, 299}};
  r.entries = {first, second};
  r.buried = {{{1, 1}, 0}, {{2, 5}, kWhole / 8}};
  r.closed = {{{4, 1}, {70000, 3}, 298, true}};
  return r;
}

EdgeBody sample_edge() {
  EdgeBody b;
  b.seq = 300;
  b.ack = 299;
  b.edge_number = 7;
  b.frozen = true;
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
  absolute.price_absolute = true;
  absolute.price = {-1'000'000'000'000'000, 0, 5};
  absolute.sent_absolute = true;
  absolute.sent = {kWhole, 0, 1};
  StatementBody statement;
  statement.version = 8;
  statement.incarnation = 2;
  statement.living = 5;
  statement.base = {-1, 2, kWhole};
  statement.quorum = 1;
  statement.quorum_revision = 6;
  statement.ties = {{{4, 1}, 9, true, true, kWhole / 8, 7}};
  statement.keepers = {{1, 1}};
  const Ballot ballot{1ULL << 33, 70000};
  const RequestBody request{3,
                            70,
                            6,
                            4,
                            2,
                            true,
                            {1, 2, 3},
                            {{{9, 2}, 5, {1, 2, 3}, {4, 5, 6}}},
                            {{{7, 1}, 4, {1, 0, 0}, {0, 0, 9}}},
                            {{8, 1}}};
  const std::vector<Body> bodies = {sample_edge(),
                                    absolute,
                                    request,
                                    statement,
                                    ReferBody{4, {{1, 1}, {2, 1}}},
                                    ProbeBody{4, 9},
                                    PrepareBody{4, ballot},
                                    PromiseBody{4, ballot, {}, 0, {}},
                                    PromiseBody{4, ballot, {0, 1}, 7, {sample_register()}, {}},
                                    PromiseBody{4, ballot, {}, 0, {}, {{{0, 1}, 8}, {ballot, 9}}},
                                    AcceptBody{ballot, sample_register()},
                                    AcceptedBody{4, ballot, 0x8000'0000'0000'0001ULL, true, true},
                                    RefusedBody{4, ballot},
                                    DecidedBody{sample_register()},
                                    RollCallBody{4097},
                                    PresentBody{4097, 1ULL << 40, 9, {{1, 1}}},
                                    FoundBody{kCountMax, {{0, 3}, {1, kIncarnationMax}}},
                                    FoundAckBody{12, true},
                                    RelayBody{{7, 2}, request}};
  std::vector<Message> out;
  for (const Body& b : bodies) {
    const bool on_edge = std::holds_alternative<EdgeBody>(b);
    out.push_back({1, on_edge ? 0U : 3U, b});
  }
  return out;
}

// The first byte of a message of that kind, in the version spoken here or another.
char opening(unsigned kind, unsigned version = kWireVersion) {
  return static_cast<char>(version << 4 | kind);
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

TEST(trailing_bytes_another_version_and_another_kind_are_refused) {
  std::string bytes = written(samples().front());
  TEST_ASSERT_FALSE(decode(bytes + '\0').has_value());
  bytes[0] = opening(0, kWireVersion - 1);
  const auto other = decode(bytes);
  TEST_ASSERT_FALSE(other.has_value());
  const std::string told = "version " + std::to_string(kWireVersion - 1);
  TEST_ASSERT_TRUE(other.error().context.find(told) != std::string::npos);
  TEST_ASSERT_EQUAL_UINT8(kWireVersion - 1, other_wire_version(bytes).value());
  TEST_ASSERT_FALSE(other_wire_version(written(samples().front())).has_value());
  TEST_ASSERT_FALSE(other_wire_version("").has_value());
  bytes[0] = opening(15);
  TEST_ASSERT_FALSE(decode(bytes).has_value());
  TEST_ASSERT_FALSE(decode("").has_value());
}

TEST(hostile_lengths_and_numbers_are_refused) {
  const auto refused = [](unsigned kind, const std::string& rest) {
    return !decode(opening(kind) + rest).has_value();
  };
  // A referral that claims 2^35 keepers, and one with nine keepers where eight are allowed.
  constexpr unsigned kRefer = 3;
  TEST_ASSERT_TRUE(refused(kRefer, std::string("\x01\x01\x01\xFF\xFF\xFF\xFF\x7F")));
  TEST_ASSERT_FALSE(refused(kRefer, std::string("\x01\x01\x01\x08") + std::string(16, '\x01')));
  TEST_ASSERT_TRUE(refused(kRefer, std::string("\x01\x01\x01\x09") + std::string(18, '\x01')));
  // A number in a second encoding, and a number beyond 64 bits.
  constexpr unsigned kProbe = 4;
  TEST_ASSERT_FALSE(refused(kProbe, std::string("\x01\x01\x05\x06")));
  TEST_ASSERT_TRUE(refused(kProbe, std::string("\x01\x81\x00\x05\x06", 5)));
  TEST_ASSERT_TRUE(refused(kProbe, std::string(11, '\xFF')));
  TEST_ASSERT_TRUE(refused(0, std::string(kMessageBytesMax, '\x01')));
  // An epoch beyond 63 bits.
  TEST_ASSERT_FALSE(refused(kProbe, std::string(8, '\xFF') + "\x7F\x01\x05\x06"));
  TEST_ASSERT_TRUE(refused(kProbe, std::string(9, '\xFF') + "\x01\x01\x05\x06"));
  // Only messages on an edge may have incarnation 0.
  TEST_ASSERT_TRUE(refused(kProbe, std::string("\x01\x00\x05\x06", 4)));
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
    if (!bytes.empty()) bytes[0] = opening(static_cast<unsigned>(bytes[0]) & 0x0FU);
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
  b.price_code = {-40, 0, 0};
  b.base_age = 4;
  b.sent = {5 << 12, 0, 0};
  TEST_ASSERT_TRUE(written({1, 0, b}).size() <= 12);
}

// Every search in a register relies on the order of its lists, so a register that breaks it is
// refused.
TEST(refuses_a_register_out_of_order) {
  const auto decodes = [](const Register& value) {
    Bytes bytes;
    encode({1, 1, DecidedBody{value}}, bytes);
    return decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).has_value();
  };
  TEST_ASSERT_TRUE(decodes(sample_register()));
  Register swapped = sample_register();
  std::swap(swapped.entries[0], swapped.entries[1]);
  TEST_ASSERT_FALSE(decodes(swapped));
  Register twice = sample_register();
  twice.entries.push_back(twice.entries.back());
  TEST_ASSERT_FALSE(decodes(twice));
  Register ties = sample_register();
  ties.entries[0].ties.push_back({{1, 1}, 5});
  TEST_ASSERT_FALSE(decodes(ties));
  Register buried = sample_register();
  buried.buried = {{{2, 5}}, {{2, 6}}};
  TEST_ASSERT_FALSE(decodes(buried));
  Register kept_by_nobody = sample_register();
  kept_by_nobody.keepers.clear();
  TEST_ASSERT_FALSE(decodes(kept_by_nobody));
}

TEST(refuses_an_empty_list_of_keepers) {
  const auto decodes = [](const Body& body) {
    Bytes bytes;
    encode({1, 1, body}, bytes);
    return decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).has_value();
  };
  TEST_ASSERT_TRUE(decodes(ReferBody{5, {{4, 1}}}));
  TEST_ASSERT_FALSE(decodes(ReferBody{5, {}}));
  StatementBody statement;
  statement.version = 5;
  statement.incarnation = 1;
  TEST_ASSERT_FALSE(decodes(statement));
}

// A broker carries messages of 64 KiB; a fleet has up to 1024 members
// (agent/core/state/limits.hpp).
TEST(the_register_of_a_thousand_boards_fits_one_mqtt_message) {
  std::vector<NodeId> nodes;
  std::vector<Account> accounts;
  // Node numbers are hashes of names: they lie anywhere in the range and take five bytes each.
  for (std::uint32_t i = 0; i < 1024; ++i) nodes.push_back(i * 4'194'301U + 7);
  std::sort(nodes.begin(), nodes.end());
  // Half of the boards have restarted without a journal: their incarnations count seconds.
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    accounts.push_back({nodes[i], i % 2 == 0 ? 1 : 217'000'000U});
  }
  Register r = founding_register(NeighbourGraph(nodes), accounts);
  r.version = 3'000;
  r.edges_opened = 9'000;
  std::uint32_t edge_number = 0;
  for (Entry& e : r.entries) {
    e.base = {976'562'500, 976'562'500, -1'200'345'678};
    e.changed = 2'999;
    e.quorum_revision = 2;
    for (Tie& t : e.ties) {
      if (t.peer < e.account) continue;
      t.edge_number = ++edge_number % 9'000;
      // Edges that were renewed have limits of their own: there are nine different ones.
      t.limit = tie_limit(nodes.size()) / 8 * (edge_number % 9);
      Entry& other = *r.find(t.peer);
      for (Tie& back : other.ties) {
        if (back.peer != e.account) continue;
        back.edge_number = t.edge_number;
        back.limit = tie_limit(nodes.size()) / 8 * (edge_number / 9 % 9);
      }
    }
  }
  Bytes bytes;
  encode({1, 1, DecidedBody{r}}, bytes);
  TEST_ASSERT_LESS_THAN_UINT64(60 * 1024, bytes.size());
  const auto back = decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  TEST_ASSERT_TRUE(back.has_value());
  TEST_ASSERT_TRUE(std::get<DecidedBody>(back->body).value == r);
}
