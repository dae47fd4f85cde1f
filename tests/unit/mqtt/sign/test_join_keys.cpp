#include "mqtt/sign/join_keys.hpp"

#include "mqtt/sign/authority.hpp"
#include "mqtt/sign/ed25519.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::mqtt;

TEST(a_signature_fits_its_key_and_text_and_no_other) {
  const auto key = make_board_key();
  const auto other = make_board_key();
  TEST_ASSERT_TRUE(key.has_value() && other.has_value());
  TEST_ASSERT_TRUE(*public_part(key->key_pem) == key->public_key);
  const auto signature = sign_text(key->key_pem, "text");
  TEST_ASSERT_TRUE(fits_key(key->public_key, "text", *signature));
  TEST_ASSERT_FALSE(fits_key(key->public_key, "texts", *signature));
  TEST_ASSERT_FALSE(fits_key(other->public_key, "text", *signature));
  TEST_ASSERT_FALSE(fits_key(key->public_key, "text", signature->substr(1)));
  TEST_ASSERT_FALSE(fits_key(key->public_key, "text", ""));
}

TEST(one_key_has_one_form_and_so_one_fingerprint) {
  const auto key = make_board_key();
  const auto signature = sign_text(key->key_pem, "text");
  TEST_ASSERT_FALSE(fits_key(key->public_key + "x", "text", *signature));
  TEST_ASSERT_FALSE(fits_key("", "text", *signature));
  TEST_ASSERT_FALSE(fits_key("garbage", "text", *signature));
}

TEST(an_authority_certifies_a_key_that_it_never_sees) {
  const auto authority = Authority::create("lab", 10);
  const auto key = make_board_key();
  const auto issued = authority->issue_for({"n-1", Role::kNode, {}, 5}, key->public_key);
  TEST_ASSERT_TRUE(issued.has_value());
  TEST_ASSERT_TRUE(issued->key_pem.empty());
  const std::string ca = *authority->cert_pem();
  TEST_ASSERT_TRUE(check_issued(issued->cert_pem, ca, key->public_key, "n-1").has_value());
  TEST_ASSERT_FALSE(check_issued(issued->cert_pem, ca, key->public_key, "n-2").has_value());
  TEST_ASSERT_FALSE(
      check_issued(issued->cert_pem, ca, make_board_key()->public_key, "n-1").has_value());
  const std::string stranger = *Authority::create("lab", 10)->cert_pem();
  TEST_ASSERT_FALSE(check_issued(issued->cert_pem, stranger, key->public_key, "n-1").has_value());
  TEST_ASSERT_FALSE(authority->issue_for({"n-1", Role::kNode, {}, 5}, "garbage").has_value());
}

TEST(a_brokers_certificate_makes_no_board) {
  const auto authority = Authority::create("lab", 10);
  const auto key = make_board_key();
  const auto broker =
      authority->issue_for({"n-1", Role::kBroker, {"localhost"}, 5}, key->public_key);
  TEST_ASSERT_TRUE(broker.has_value());
  TEST_ASSERT_FALSE(
      check_issued(broker->cert_pem, *authority->cert_pem(), key->public_key, "n-1").has_value());
}

TEST(what_the_authority_signs_fits_its_certificate) {
  const auto authority = Authority::create("lab", 10);
  const auto signature = sign_text(*authority->key_pem(), "answer");
  TEST_ASSERT_TRUE(fits_certificate(*authority->cert_pem(), "answer", *signature));
  TEST_ASSERT_FALSE(fits_certificate(*authority->cert_pem(), "another", *signature));
  TEST_ASSERT_FALSE(fits_certificate("no certificate", "answer", *signature));
}
