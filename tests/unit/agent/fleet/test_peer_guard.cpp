#include "agent/fleet/peer_guard.hpp"

#include <ctime>
#include <deque>

#include "agent/fleet/revocation_store.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/messages.hpp"
#include "tests/harness/fleet_keys.hpp"

using namespace laird;
using agent::CoopResult;
using agent::PeerGuard;
using mqtt::CoopKind;

namespace {

const std::int64_t kNow = std::time(nullptr);

// Two or more boards and what they have sent, to be carried by the test.
struct World {
  struct Packet {
    std::string from;
    std::string to;
    std::string payload;
  };

  void start(const std::string& name, std::uint64_t start) {
    guards.erase(name);
    PeerGuard::Callbacks callbacks;
    callbacks.send = [this, name](const std::string& peer, std::string packet) {
      sent.push_back({name, peer, std::move(packet)});
    };
    callbacks.notice = [this](const std::string& text) { notices.push_back(text); };
    guards.try_emplace(name, name, keys.identity(name, start), kSecond, std::move(callbacks));
  }

  PeerGuard::Moment moment() const { return {now, kNow, 8, false}; }

  bool hears(const Packet& packet) {
    return guards.at(packet.to).open(packet.from, packet.payload, moment()).has_value();
  }
  // Carries what was sent until nobody says anything more.
  void settle() {
    while (!sent.empty()) {
      const Packet packet = sent.front();
      sent.pop_front();
      static_cast<void>(hears(packet));
    }
  }
  // One ledger packet; none while the receiver's key is not known.
  std::optional<Packet> says(const std::string& from, const std::string& to,
                             const std::string& body = "body") {
    now += kSecond;
    const auto payload = guards.at(from).seal(to, CoopKind::kLedger, body, now);
    if (!payload) return std::nullopt;
    return Packet{from, to, *payload};
  }
  void acquaint(const std::string& one, const std::string& other) {
    TEST_ASSERT_FALSE(says(one, other).has_value());
    settle();
    TEST_ASSERT_TRUE(hears(*says(one, other)));
    TEST_ASSERT_TRUE(hears(*says(other, one)));
    sent.clear();
  }
  std::uint64_t count(const std::string& board, CoopResult result) {
    return guards.at(board).totals()[result];
  }

  test::FleetKeys keys;
  std::map<std::string, PeerGuard> guards;
  std::deque<Packet> sent;
  std::vector<std::string> notices;
  TimeNs now = kHour;
};

}  // namespace

TEST(boards_exchange_keys_when_they_first_speak_and_then_hear_each_other) {
  World world;
  world.start("n-1", 100);
  world.start("n-2", 200);
  world.acquaint("n-1", "n-2");
  const auto packet = world.guards.at("n-1").seal("n-2", CoopKind::kLedger, "words", world.now);
  const auto opened = world.guards.at("n-2").open("n-1", *packet, world.moment());
  TEST_ASSERT_TRUE(opened && opened->body == "words" && opened->kind == CoopKind::kLedger);
  // Both know each other: nobody announces anything any more.
  for (int i = 0; i < 5; ++i) TEST_ASSERT_TRUE(world.hears(*world.says("n-1", "n-2")));
  TEST_ASSERT_TRUE(world.sent.empty());
}

TEST(a_changed_a_forged_and_a_strangers_packet_is_not_believed) {
  World world;
  for (const char* name : {"n-1", "n-2", "n-3"}) world.start(name, 100);
  world.acquaint("n-1", "n-2");
  world.acquaint("n-3", "n-2");
  auto packet = *world.says("n-1", "n-2");
  packet.payload[3] = static_cast<char>(packet.payload[3] ^ 1);
  TEST_ASSERT_FALSE(world.hears(packet));
  // A member of the fleet, in the name of another.
  packet = *world.says("n-3", "n-2");
  packet.from = "n-1";
  TEST_ASSERT_FALSE(world.hears(packet));
  // What one board said to another, given to a third.
  packet = *world.says("n-1", "n-2");
  packet.to = "n-3";
  TEST_ASSERT_FALSE(world.hears(packet));
  TEST_ASSERT_EQUAL_UINT64(2, world.count("n-2", CoopResult::kForged));
  TEST_ASSERT_EQUAL_UINT64(1, world.count("n-3", CoopResult::kNoKey));
  // Without a seal.
  packet.to = "n-2";
  packet.payload = mqtt::plain_packet(CoopKind::kLedger, "body");
  TEST_ASSERT_FALSE(world.hears(packet));
  TEST_ASSERT_EQUAL_UINT64(1, world.count("n-2", CoopResult::kUnsealed));
  const auto refused = world.guards.at("n-2").refused_by_peer(10);
  TEST_ASSERT_EQUAL_UINT64(1, refused.size());
  TEST_ASSERT_EQUAL_STRING("n-1", refused[0].first.c_str());
  TEST_ASSERT_EQUAL_UINT64(2, refused[0].second[CoopResult::kForged]);
}

TEST(a_packet_counts_once_whatever_the_order_and_a_very_late_one_not_at_all) {
  World world;
  world.start("n-1", 100);
  world.start("n-2", 200);
  world.acquaint("n-1", "n-2");
  std::vector<World::Packet> packets;
  for (int i = 0; i < 70; ++i) packets.push_back(*world.says("n-1", "n-2"));
  for (const int i : {69, 10, 68, 20, 6}) {
    TEST_ASSERT_TRUE(world.hears(packets[static_cast<std::size_t>(i)]));
    TEST_ASSERT_FALSE(world.hears(packets[static_cast<std::size_t>(i)]));
  }
  TEST_ASSERT_FALSE(world.hears(packets[5]));
  TEST_ASSERT_FALSE(world.hears(packets[0]));
  TEST_ASSERT_EQUAL_UINT64(7, world.count("n-2", CoopResult::kRepeated));
}

TEST(a_packet_from_before_a_restart_of_either_side_is_not_believed) {
  World world;
  world.start("n-1", 100);
  world.start("n-2", 200);
  world.acquaint("n-1", "n-2");
  const auto unheard = *world.says("n-1", "n-2");
  const auto reverse = *world.says("n-2", "n-1");
  world.start("n-2", 201);
  // The restarted board does not know the key, asks, and is told.
  TEST_ASSERT_FALSE(world.hears(unheard));
  world.settle();
  world.now += 2 * kSecond;
  TEST_ASSERT_TRUE(world.hears(*world.says("n-1", "n-2")));
  TEST_ASSERT_TRUE(world.hears(*world.says("n-2", "n-1")));
  TEST_ASSERT_FALSE(world.hears(unheard));
  TEST_ASSERT_FALSE(world.hears(reverse));
}

TEST(a_broker_cannot_bring_back_the_key_of_an_earlier_start) {
  World world;
  world.start("n-1", 100);
  world.start("n-2", 200);
  static_cast<void>(world.says("n-2", "n-1"));
  const World::Packet old_key = world.sent.front();
  world.settle();
  const auto old_words = *world.says("n-2", "n-1");
  world.start("n-2", 201);
  static_cast<void>(world.says("n-2", "n-1"));
  world.settle();
  world.now += 2 * kSecond;
  TEST_ASSERT_TRUE(world.hears(*world.says("n-2", "n-1")));
  static_cast<void>(world.hears(old_key));
  TEST_ASSERT_EQUAL_UINT64(1, world.count("n-1", CoopResult::kKeyRefused));
  TEST_ASSERT_FALSE(world.hears(old_words));
  TEST_ASSERT_TRUE(world.hears(*world.says("n-2", "n-1")));
}

TEST(a_lost_announcement_is_said_again_at_most_once_a_second) {
  World world;
  world.start("n-1", 100);
  world.start("n-2", 200);
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(world.guards.at("n-1").seal("n-2", CoopKind::kLedger, "x", world.now));
  }
  TEST_ASSERT_EQUAL_UINT64(1, world.sent.size());
  world.sent.clear();
  world.now += kSecond;
  static_cast<void>(world.guards.at("n-1").seal("n-2", CoopKind::kLedger, "x", world.now));
  TEST_ASSERT_EQUAL_UINT64(1, world.sent.size());
}

TEST(a_revoked_board_is_not_heard_from_that_moment_on) {
  World world;
  world.start("n-2", 200);
  const std::string serial = world.keys.serial();
  world.start("n-1", 100);
  world.acquaint("n-1", "n-2");
  const auto words = *world.says("n-2", "n-1");
  world.guards.at("n-1").revoke(
      *mqtt::Revocations::parse(world.keys.list({{serial, kNow}}, 1), world.keys.path("ca.crt")));
  TEST_ASSERT_EQUAL_UINT64(1, world.notices.size());
  TEST_ASSERT_TRUE(world.notices[0].find("n-2 is revoked") != std::string::npos);
  TEST_ASSERT_FALSE(world.hears(words));
  TEST_ASSERT_FALSE(world.says("n-1", "n-2").has_value());
  world.settle();
  world.now += 2 * kSecond;
  TEST_ASSERT_FALSE(world.hears(*world.says("n-2", "n-1")));
  world.settle();
  TEST_ASSERT_TRUE(world.count("n-1", CoopResult::kRevoked) > 0);
  // With a new certificate it is one of the fleet again, even if its starts begin anew.
  world.start("n-2", 50);
  static_cast<void>(world.says("n-2", "n-1"));
  world.settle();
  world.now += 2 * kSecond;
  TEST_ASSERT_TRUE(world.hears(*world.says("n-2", "n-1")));
}

TEST(a_board_of_another_version_is_named_once) {
  World world;
  world.start("n-1", 100);
  for (int i = 0; i < 3; ++i) TEST_ASSERT_FALSE(world.hears({"n-2", "n-1", "\1rest"}));
  TEST_ASSERT_EQUAL_UINT64(3, world.count("n-1", CoopResult::kVersion));
  TEST_ASSERT_EQUAL_UINT64(1, world.notices.size());
  TEST_ASSERT_EQUAL_STRING(
      "board n-2 speaks version 1 of what boards say to each other, this board 2: upgrade that "
      "board",
      world.notices[0].c_str());
}

TEST(a_flood_of_one_peer_is_cut_and_the_others_are_heard) {
  World world;
  for (const char* name : {"n-1", "n-2", "n-3"}) world.start(name, 100);
  world.acquaint("n-1", "n-2");
  world.acquaint("n-1", "n-3");
  std::uint64_t heard = 0;
  for (int i = 0; i < 10'000; ++i) {
    // All of them good, within one second.
    const auto payload = world.guards.at("n-2").seal("n-1", CoopKind::kLedger, "x", world.now);
    world.now += kSecond / 10'000;
    heard += world.guards.at("n-1").open("n-2", *payload, world.moment()) ? 1 : 0;
  }
  TEST_ASSERT_TRUE(heard > 50 && heard < 120);
  TEST_ASSERT_EQUAL_UINT64(10'000 - heard, world.count("n-1", CoopResult::kTooMuch));
  TEST_ASSERT_TRUE(world.hears(*world.says("n-3", "n-1")));
}

TEST(long_packets_are_cut_by_their_bytes_and_a_large_fleet_may_say_more) {
  const auto heard_with = [](std::size_t members) {
    World world;
    for (const char* name : {"n-1", "n-2"}) world.start(name, 100);
    world.acquaint("n-1", "n-2");
    const std::string body(60'000, 'x');
    std::uint64_t heard = 0;
    for (int i = 0; i < 50; ++i) {
      world.now += kSecond;
      const auto payload = world.guards.at("n-2").seal("n-1", CoopKind::kLedger, body, world.now);
      PeerGuard::Moment moment = world.moment();
      moment.members = members;
      heard += world.guards.at("n-1").open("n-2", *payload, moment) ? 1 : 0;
    }
    return heard;
  };
  TEST_ASSERT_TRUE(heard_with(8) <= 5);
  TEST_ASSERT_TRUE(heard_with(4'000) == 50);
}

TEST(parts_of_models_are_taken_only_by_a_board_that_has_such_a_task) {
  World world;
  for (const char* name : {"n-1", "n-2"}) world.start(name, 100);
  world.acquaint("n-1", "n-2");
  PeerGuard& receiver = world.guards.at("n-1");
  const auto part = world.guards.at("n-2").seal("n-1", CoopKind::kModel, "part", world.now);
  TEST_ASSERT_FALSE(receiver.open("n-2", *part, world.moment()).has_value());
  PeerGuard::Moment moment = world.moment();
  moment.takes_models = true;
  TEST_ASSERT_TRUE(receiver.open("n-2", *part, moment).has_value());
  // At most 2 MiB a second.
  std::size_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string body(45'000, 'x');
    const auto more = world.guards.at("n-2").seal("n-1", CoopKind::kModel, body, world.now);
    if (receiver.open("n-2", *more, moment)) bytes += body.size();
  }
  TEST_ASSERT_TRUE(bytes > 2'000'000 && bytes <= 2 * 1024 * 1024);
}

TEST(one_packet_for_several_boards_is_believed_by_each_of_them_and_by_no_other) {
  World world;
  for (const char* name : {"n-1", "n-2", "n-3", "n-4"}) world.start(name, 100);
  for (const char* name : {"n-2", "n-3"}) world.acquaint("n-1", name);
  PeerGuard::Moment takes = world.moment();
  takes.takes_models = true;
  const std::vector<std::string> all = {"n-2", "n-3", "n-4"};
  const std::string body(20'000, 'm');
  const auto packet = world.guards.at("n-1").seal_for_all(all, body, world.now);
  TEST_ASSERT_TRUE(packet.has_value());
  // 12 bytes for each of the two whose keys are known; not a copy for each.
  TEST_ASSERT_TRUE(packet->size() < body.size() + 40);
  const auto judged = [&](const char* who, const std::string& payload) {
    return world.guards.at(who).open("n-1", payload, takes).has_value();
  };
  for (std::size_t at = 0; at < packet->size(); at += 1999) {
    std::string changed = *packet;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    TEST_ASSERT_TRUE(at < 27 || !judged("n-2", changed));
  }
  TEST_ASSERT_TRUE(judged("n-2", *packet));
  TEST_ASSERT_TRUE(judged("n-3", *packet));
  TEST_ASSERT_FALSE(judged("n-2", *packet));  // a second time
  TEST_ASSERT_FALSE(judged("n-4", *packet));  // it is not for this board
  // Its tag is not that of another board, nor of a packet for one board.
  TEST_ASSERT_FALSE(world.guards.at("n-3").open("n-2", *packet, takes).has_value());
  const auto single = world.guards.at("n-1").seal("n-2", CoopKind::kModel, body, world.now);
  TEST_ASSERT_TRUE(judged("n-2", *single));
  TEST_ASSERT_FALSE(world.guards.at("n-4").seal_for_all({"n-9"}, body, world.now).has_value());
}

TEST(checking_keys_costs_two_signatures_and_so_is_rare) {
  World world;
  world.start("n-1", 100);
  // A flood of keys, each of a later start of the same board.
  for (std::uint64_t start = 1; start <= 20; ++start) {
    static_cast<void>(
        world.hears({"n-2", "n-1", world.keys.identity("n-2", start).announcement()}));
  }
  TEST_ASSERT_EQUAL_UINT64(1, world.count("n-1", CoopResult::kKeyTaken));
  TEST_ASSERT_EQUAL_UINT64(19, world.count("n-1", CoopResult::kTooMuch));
}

TEST(without_certificates_nothing_is_sealed_and_nothing_sealed_is_taken) {
  PeerGuard plain("n-1", std::nullopt, kSecond, {});
  const auto packet = plain.seal("n-2", CoopKind::kLedger, "body", kHour);
  TEST_ASSERT_TRUE(*packet == mqtt::plain_packet(CoopKind::kLedger, "body"));
  const PeerGuard::Moment moment{kHour, kNow, 8, false};
  PeerGuard other("n-2", std::nullopt, kSecond, {});
  TEST_ASSERT_TRUE(other.open("n-1", *packet, moment)->body == "body");
  const std::string sealed = mqtt::unsealed_packet(CoopKind::kLedger, 1, "body") + "12345678";
  TEST_ASSERT_FALSE(other.open("n-1", sealed, moment).has_value());
  TEST_ASSERT_FALSE(other.open("n-2", *packet, moment).has_value());
}

TEST(a_newer_list_of_revoked_certificates_is_kept_and_an_older_one_refused) {
  test::FleetKeys keys;
  const std::string ca = keys.issue("n-1").ca;
  const std::string path = keys.path("state/crl.pem");
  {
    agent::RevocationStore store(ca, path);
    TEST_ASSERT_EQUAL_STRING("", store.problem().c_str());
    TEST_ASSERT_TRUE(*store.take(mqtt::revocations_text(keys.list({{keys.serial(), kNow}}, 5))));
    TEST_ASSERT_FALSE(*store.take(mqtt::revocations_text(keys.list({{keys.serial(), kNow}}, 5))));
  }
  agent::RevocationStore store(ca, path);
  TEST_ASSERT_TRUE(store.list().has(keys.serial()));
  const auto older = store.take(mqtt::revocations_text(keys.list({}, 4)));
  TEST_ASSERT_FALSE(older.has_value());
  TEST_ASSERT_TRUE(older.error().context.find("older") != std::string::npos);
  TEST_ASSERT_TRUE(store.list().has(keys.serial()));
  TEST_ASSERT_FALSE(store.take("{}").has_value());
  test::FleetKeys stranger;
  TEST_ASSERT_FALSE(store.take(mqtt::revocations_text(stranger.list({}, 9))).has_value());
}

TEST(a_kept_list_of_another_authority_counts_as_none_and_says_so) {
  test::FleetKeys keys;
  test::FleetKeys earlier;
  const std::string path = keys.write("crl.pem", earlier.list({}, 5));
  const agent::RevocationStore store(keys.issue("n-1").ca, path);
  TEST_ASSERT_TRUE(store.problem().find("not signed by") != std::string::npos);
  TEST_ASSERT_EQUAL_UINT64(0, store.list().number());
}
