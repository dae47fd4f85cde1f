#include "agent/fleet/peer_inbox.hpp"

#include "consensus/codec.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using agent::CoopResult;
using agent::PeerInbox;

namespace {

std::string frame(consensus::Body body) {
  consensus::Message message{1, 1, std::move(body)};
  if (std::holds_alternative<consensus::EdgeBody>(message.body)) message.from_incarnation = 0;
  Bytes bytes;
  consensus::encode(message, bytes);
  return std::string(bytes.begin(), bytes.end());
}

std::string edge(std::uint32_t seq) {
  consensus::EdgeBody body;
  body.edge_number = 1;
  body.seq = seq;
  return frame(body);
}

std::string probe(std::uint32_t question) { return frame(consensus::ProbeBody{1, question}); }

}  // namespace

TEST(what_is_no_ledger_message_is_not_kept) {
  PeerInbox inbox;
  const std::string cut = probe(300).substr(0, 4);
  TEST_ASSERT_TRUE(inbox.add("n-2", cut) == CoopResult::kUndecoded);
  TEST_ASSERT_TRUE(inbox.add("n-2", "") == CoopResult::kUndecoded);
  TEST_ASSERT_TRUE(inbox.take().empty());
}

TEST(of_another_wire_version_the_core_hears_once_a_tick_and_only_the_beginning) {
  PeerInbox inbox;
  const std::string other = std::string(1, '\x15') + std::string(5'000, 'x');
  for (int i = 0; i < 10; ++i) {
    TEST_ASSERT_TRUE(inbox.add("n-2", other) == CoopResult::kUndecoded);
  }
  const auto heard = inbox.take();
  TEST_ASSERT_EQUAL_UINT64(1, heard.size());
  TEST_ASSERT_TRUE(heard[0].bytes.size() == 8 && heard[0].bytes[0] == '\x15');
}

TEST(messages_come_out_in_their_order_and_only_once) {
  PeerInbox inbox;
  TEST_ASSERT_TRUE(inbox.add("n-2", probe(1)) == CoopResult::kOpened);
  TEST_ASSERT_TRUE(inbox.add("n-3", probe(2)) == CoopResult::kOpened);
  TEST_ASSERT_TRUE(inbox.add("n-2", probe(3)) == CoopResult::kOpened);
  const auto heard = inbox.take();
  TEST_ASSERT_EQUAL_UINT64(3, heard.size());
  TEST_ASSERT_TRUE(heard[0].bytes == probe(1) && heard[1].from == "n-3" &&
                   heard[2].bytes == probe(3));
  TEST_ASSERT_TRUE(inbox.take().empty());
}

TEST(of_a_peers_messages_on_an_edge_the_newest_is_kept) {
  PeerInbox inbox;
  TEST_ASSERT_TRUE(inbox.add("n-2", edge(1)) == CoopResult::kOpened);
  TEST_ASSERT_TRUE(inbox.add("n-3", edge(7)) == CoopResult::kOpened);
  TEST_ASSERT_TRUE(inbox.add("n-2", probe(1)) == CoopResult::kOpened);
  TEST_ASSERT_TRUE(inbox.add("n-2", edge(2)) == CoopResult::kCrowded);
  const auto heard = inbox.take();
  TEST_ASSERT_EQUAL_UINT64(3, heard.size());
  TEST_ASSERT_TRUE(heard[0].bytes == edge(7) && heard[2].bytes == edge(2));
}

TEST(a_peer_that_says_too_much_loses_its_own_oldest_and_nobody_elses) {
  PeerInbox inbox;
  TEST_ASSERT_TRUE(inbox.add("n-3", probe(1)) == CoopResult::kOpened);
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    const CoopResult kept = inbox.add("n-2", probe(i));
    TEST_ASSERT_TRUE(
        kept == (i < PeerInbox::kMessagesPerPeerMax ? CoopResult::kOpened : CoopResult::kCrowded));
  }
  const auto heard = inbox.take();
  TEST_ASSERT_EQUAL_UINT64(1 + PeerInbox::kMessagesPerPeerMax, heard.size());
  TEST_ASSERT_EQUAL_STRING("n-3", heard.front().from.c_str());
  TEST_ASSERT_TRUE(heard.back().bytes == probe(999));
}

TEST(when_all_say_too_much_those_with_most_give_way) {
  PeerInbox inbox;
  for (int peer = 0; peer < 20; ++peer) {
    for (std::uint32_t i = 0; i < 14; ++i) {
      static_cast<void>(inbox.add("m-" + std::to_string(peer), probe(i)));
    }
  }
  TEST_ASSERT_TRUE(inbox.add("n-9", probe(1)) == CoopResult::kCrowded);
  const auto heard = inbox.take();
  TEST_ASSERT_EQUAL_UINT64(core::kPeerMessagesMax, heard.size());
  TEST_ASSERT_EQUAL_STRING("n-9", heard.back().from.c_str());
}

TEST(words_on_titles_are_bounded_by_peer_in_number_and_in_bytes) {
  agent::TitleInbox inbox;
  TEST_ASSERT_TRUE(inbox.add("n-2", "") == CoopResult::kUndecoded);
  TEST_ASSERT_TRUE(inbox.add("n-2", std::string(core::kTitlePacketBytesMax + 1, 'x')) ==
                   CoopResult::kUndecoded);
  for (std::size_t i = 0; i < agent::TitleInbox::kPacketsPerPeerMax; ++i) {
    TEST_ASSERT_TRUE(inbox.add("n-2", std::to_string(i)) == CoopResult::kOpened);
  }
  TEST_ASSERT_TRUE(inbox.add("n-2", "one more") == CoopResult::kCrowded);
  TEST_ASSERT_TRUE(inbox.add("n-3", "another's") == CoopResult::kOpened);
  const std::vector<core::PeerMessage> taken = inbox.take();
  TEST_ASSERT_EQUAL(agent::TitleInbox::kPacketsPerPeerMax + 1, taken.size());
  TEST_ASSERT_EQUAL_STRING("0", taken[0].bytes.c_str());
  TEST_ASSERT_EQUAL_STRING("n-3", taken.back().from.c_str());
  // The next tick begins anew.
  std::size_t bytes = 0;
  int kept = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string packet(core::kTitlePacketBytesMax, 'x');
    if (inbox.add("n-" + std::to_string(i), packet) != CoopResult::kOpened) continue;
    bytes += packet.size();
    ++kept;
  }
  TEST_ASSERT_TRUE(kept > 10 && bytes <= agent::TitleInbox::kBytesMax);
}
