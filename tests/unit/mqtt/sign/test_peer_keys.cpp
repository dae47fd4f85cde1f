#include "mqtt/sign/peer_keys.hpp"

#include <ctime>

#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/revocations.hpp"
#include "tests/harness/fleet_keys.hpp"

using namespace laird;
using mqtt::KeyAnnouncement;
using mqtt::PeerIdentity;

namespace {

const std::int64_t kNow = std::time(nullptr);

KeyAnnouncement told_by(const PeerIdentity& identity) {
  return *mqtt::parse_key_body(mqtt::parse_packet(identity.announcement())->body);
}

mqtt::PairKeys pair(const PeerIdentity& own, const std::string& other_name,
                    const PeerIdentity& other) {
  return *own.pair_with(other_name, *own.check(other_name, told_by(other), kNow));
}

void assert_refused(const PeerIdentity& by, const std::string& node, const KeyAnnouncement& told,
                    std::int64_t now_s, const char* word) {
  const auto checked = by.check(node, told, now_s);
  TEST_ASSERT_FALSE(checked.has_value());
  TEST_ASSERT_TRUE_MESSAGE(checked.error().context.find(word) != std::string::npos,
                           checked.error().context.c_str());
}

// A certificate that signs itself, of n-2, with an Ed25519 key; `openssl req -x509 -newkey
// ed25519`.
constexpr char kEd25519Certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBMjCB5aADAgECAhR8nC5d442SqrIAIyYliOfOFnreXTAFBgMrZXAwDjEMMAoG\n"
    "A1UEAwwDbi0yMCAXDTI2MTExODEzMDU1OVoYDzIxMjYxMDI1MTMwNTU5WjAOMQww\n"
    "CgYDVQQDDANuLTIwKjAFBgMrZXADIQAi8/oky9FbPrkKzqe+HnXgX1GgNo3Y7E6G\n"
    "xPuXr2jGeqNTMFEwHQYDVR0OBBYEFN2pBqLGF7axaTkqBLZf6G9tLFnsMB8GA1Ud\n"
    "IwQYMBaAFN2pBqLGF7axaTkqBLZf6G9tLFnsMA8GA1UdEwEB/wQFMAMBAf8wBQYD\n"
    "K2VwA0EA4lbOHVPNHiyM4OjeXhZ9YZf56RpIu8L6ZkF+OoiyuXjY4tLcx/edu1rL\n"
    "nDAQviUwA1Xq5X8jxu1W1PeGuIdGAg==\n"
    "-----END CERTIFICATE-----\n";
constexpr char kEd25519Key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIGOcFEfly3seuiIrBk3+Y7BxOuKTQ0fBiUuDOEnx31M8\n"
    "-----END PRIVATE KEY-----\n";

}  // namespace

TEST(two_boards_derive_the_same_keys_and_each_direction_has_its_own) {
  test::FleetKeys fleet;
  const PeerIdentity a = fleet.identity("n-1", 100);
  const PeerIdentity b = fleet.identity("n-2", 200);
  const mqtt::PairKeys at_a = pair(a, "n-2", b);
  const mqtt::PairKeys at_b = pair(b, "n-1", a);
  const std::string tag = at_a.out.tag("packet");
  TEST_ASSERT_EQUAL_UINT64(mqtt::kPeerTagBytes, tag.size());
  TEST_ASSERT_TRUE(at_b.in.fits("packet", tag));
  TEST_ASSERT_TRUE(at_a.in.fits("packet", at_b.out.tag("packet")));
  // Twice with the same key: the same tag.
  TEST_ASSERT_TRUE(at_a.out.tag("packet") == tag);
  TEST_ASSERT_FALSE(at_b.out.fits("packet", tag));
  TEST_ASSERT_FALSE(at_b.in.fits("Packet", tag));
  TEST_ASSERT_FALSE(at_b.in.fits("packet", tag.substr(1)));
  TEST_ASSERT_FALSE(at_b.in.fits("packet", ""));
  TEST_ASSERT_FALSE(mqtt::MacKey().fits("packet", ""));
}

TEST(a_start_of_either_side_makes_other_keys) {
  test::FleetKeys fleet;
  const PeerIdentity a = fleet.identity("n-1", 100);
  const PeerIdentity b = fleet.identity("n-2", 200);
  const PeerIdentity b_later = fleet.identity("n-2", 201);
  const std::string tag = pair(a, "n-2", b).out.tag("packet");
  TEST_ASSERT_FALSE(pair(b_later, "n-1", a).in.fits("packet", tag));
  TEST_ASSERT_FALSE(pair(a, "n-2", b_later).out.tag("packet") == tag);
}

TEST(a_third_board_has_other_keys) {
  test::FleetKeys fleet;
  const PeerIdentity a = fleet.identity("n-1", 100);
  const PeerIdentity b = fleet.identity("n-2", 200);
  const PeerIdentity c = fleet.identity("n-3", 300);
  TEST_ASSERT_FALSE(pair(c, "n-1", a).in.fits("packet", pair(a, "n-2", b).out.tag("packet")));
}

TEST(a_key_is_refused_unless_the_certificate_of_that_name_has_signed_it) {
  test::FleetKeys fleet;
  const PeerIdentity a = fleet.identity("n-1", 100);
  const PeerIdentity b = fleet.identity("n-2", 200);
  const KeyAnnouncement good = told_by(b);
  TEST_ASSERT_TRUE(a.check("n-2", good, kNow).has_value());
  TEST_ASSERT_TRUE(a.check("n-2", good, kNow)->serial == b.serial());
  assert_refused(a, "n-3", good, kNow, "n-2");

  KeyAnnouncement other = good;
  other.start = 201;
  assert_refused(a, "n-2", other, kNow, "not signed");
  other = good;
  const std::string other_key(mqtt::kPeerKeyBytes, 'k');
  other.key = other_key;
  assert_refused(a, "n-2", other, kNow, "not signed");
  other = good;
  other.certificate = "no certificate";
  assert_refused(a, "n-2", other, kNow, "none");
  const std::string longer = std::string(good.certificate) + "x";
  other.certificate = longer;
  assert_refused(a, "n-2", other, kNow, "none");
  // The certificate of one board and the signature of another.
  const PeerIdentity again = fleet.identity("n-2", 200);
  other = good;
  other.certificate = told_by(again).certificate;
  assert_refused(a, "n-2", other, kNow, "not signed");
}

TEST(a_key_is_refused_of_another_authority_another_fleet_and_the_broker) {
  test::FleetKeys fleet;
  test::FleetKeys stranger;
  const PeerIdentity a = fleet.identity("n-1", 100);
  assert_refused(a, "n-2", told_by(stranger.identity("n-2", 1)), kNow, "authority");
  const auto elsewhere = *PeerIdentity::open(fleet.issue("n-2"), "other-fleet", "n-2", 1);
  assert_refused(a, "n-2", told_by(elsewhere), kNow, "not signed");
  const auto broker =
      *PeerIdentity::open(fleet.issue("broker", mqtt::Role::kBroker), "lab", "broker", 1);
  assert_refused(a, "broker", told_by(broker), kNow, "authority");
}

TEST(a_key_is_refused_before_and_after_the_days_of_its_certificate) {
  test::FleetKeys fleet;
  const PeerIdentity a = fleet.identity("n-1", 100);
  const auto b = *PeerIdentity::open(fleet.issue("n-2", mqtt::Role::kNode, 2), "lab", "n-2", 1);
  const KeyAnnouncement told = told_by(b);
  assert_refused(a, "n-2", told, kNow - 86'400, "not valid yet");
  assert_refused(a, "n-2", told, kNow + 3 * 86'400, "expired");
  const std::int64_t until = a.check("n-2", told, kNow)->not_after_s;
  TEST_ASSERT_TRUE(until > kNow + 86'400 && until <= kNow + 2 * 86'400 + 60);
}

TEST(a_point_of_low_order_gives_no_keys) {
  test::FleetKeys fleet;
  const PeerIdentity a = fleet.identity("n-1", 100);
  mqtt::CheckedKey zero;
  zero.key = std::string(mqtt::kPeerKeyBytes, '\0');
  TEST_ASSERT_FALSE(a.pair_with("n-2", zero).has_value());
}

TEST(a_board_with_the_certificate_of_another_does_not_start) {
  test::FleetKeys fleet;
  const auto wrong = PeerIdentity::open(fleet.issue("n-2"), "lab", "n-1", 1);
  TEST_ASSERT_FALSE(wrong.has_value());
  TEST_ASSERT_TRUE(wrong.error().context.find("'n-2'") != std::string::npos);
}

TEST(the_client_id_follows_from_the_private_key) {
  test::FleetKeys fleet;
  const mqtt::TlsFiles files = fleet.issue("n-1");
  const std::string id = *mqtt::client_id_of("n-1", files.key);
  TEST_ASSERT_EQUAL_UINT64(4 + 16, id.size());
  TEST_ASSERT_TRUE(id.rfind("n-1-", 0) == 0);
  TEST_ASSERT_TRUE(id == *mqtt::client_id_of("n-1", files.key));
  TEST_ASSERT_FALSE(id == *mqtt::client_id_of("n-1", fleet.issue("n-1").key));
  TEST_ASSERT_FALSE(mqtt::client_id_of("n-1", "no/such.key").has_value());
}

TEST(a_list_of_revoked_certificates_is_believed_only_of_the_authority) {
  test::FleetKeys fleet;
  test::FleetKeys stranger;
  const std::string ca = fleet.issue("n-1").ca;
  const std::string serial = fleet.serial();
  const auto list = mqtt::Revocations::parse(fleet.list({{serial, kNow}}, 7), ca);
  TEST_ASSERT_TRUE(list.has_value());
  TEST_ASSERT_TRUE(list->has(serial));
  TEST_ASSERT_FALSE(list->has("00"));
  TEST_ASSERT_EQUAL_UINT64(7, list->number());
  TEST_ASSERT_FALSE(mqtt::Revocations::parse(stranger.list({}, 8), ca).has_value());
  TEST_ASSERT_FALSE(mqtt::Revocations::parse("garbage", ca).has_value());
  TEST_ASSERT_FALSE(mqtt::Revocations::parse("", ca).has_value());
}

TEST(lists_of_revoked_certificates_have_an_order) {
  test::FleetKeys fleet;
  const std::string ca = fleet.issue("n-1").ca;
  const auto one = *mqtt::Revocations::parse(fleet.list({}, 1), ca);
  const auto two = *mqtt::Revocations::parse(fleet.list({}, 2), ca);
  TEST_ASSERT_TRUE(two.newer_than(one) && !one.newer_than(two) && !one.newer_than(one));
  TEST_ASSERT_TRUE(one.newer_than(mqtt::Revocations()));
}

TEST(a_fleet_may_bring_certificates_with_ed25519_keys) {
  const test::FleetKeys fleet;
  const std::string cert = fleet.write("n-2.crt", kEd25519Certificate);
  const std::string key = fleet.write("n-2.key", kEd25519Key);
  const auto board = PeerIdentity::open({cert, cert, key}, "lab", "n-2", 7);
  TEST_ASSERT_TRUE_MESSAGE(board.has_value(), board ? "" : board.error().context.c_str());
  TEST_ASSERT_TRUE(board->check("n-2", told_by(*board), kNow).has_value());
  KeyAnnouncement forged = told_by(*board);
  std::string bits(forged.signature);
  bits[5] = static_cast<char>(bits[5] ^ 1);
  forged.signature = bits;
  assert_refused(*board, "n-2", forged, kNow, "sign");
}
