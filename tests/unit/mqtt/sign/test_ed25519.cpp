#include <sys/stat.h>

#include <fstream>
#include <string>

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/sign/ed25519.hpp"
#include "tests/harness/unit.hpp"

using laird::mqtt::SigningKey;
using laird::mqtt::verify;

namespace {

std::string from_hex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return out;
}

std::string write_file(const std::string& path, const std::string& content, mode_t mode) {
  std::ofstream(path) << content;
  ::chmod(path.c_str(), mode);
  return path;
}

}  // namespace

TEST(verifies_the_vectors_of_rfc_8032) {
  const std::string key =
      from_hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const std::string signature = from_hex(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  TEST_ASSERT_TRUE(verify(key, "\x72", signature));
  TEST_ASSERT_FALSE(verify(key, "\x73", signature));
  TEST_ASSERT_FALSE(verify(key, "", signature));
}

TEST(a_signature_is_good_for_its_text_and_key_alone) {
  const auto key = SigningKey::generate();
  const auto other = SigningKey::generate();
  TEST_ASSERT_TRUE(key.has_value() && other.has_value());
  const std::string text = laird::mqtt::signing_input("{\"id\":\"a\"}");
  const std::string signature = *key->sign(text);
  TEST_ASSERT_EQUAL_UINT64(64, signature.size());
  TEST_ASSERT_TRUE(verify(key->public_key(), text, signature));
  TEST_ASSERT_FALSE(verify(other->public_key(), text, signature));
  TEST_ASSERT_FALSE(verify(key->public_key(), text + " ", signature));
  TEST_ASSERT_FALSE(verify(key->public_key(), text, signature.substr(1)));
  TEST_ASSERT_FALSE(verify("", text, signature));
  for (std::size_t i = 0; i < signature.size(); i += 7) {
    std::string broken = signature;
    broken[i] = static_cast<char>(broken[i] ^ 1);
    TEST_ASSERT_FALSE(verify(key->public_key(), text, broken));
  }
}

TEST(a_key_comes_back_from_its_file) {
  const laird::test::TemporaryFolder folder;
  const auto key = SigningKey::generate();
  const std::string path = write_file(folder.path() + "/k", *key->to_pem(), 0600);
  const auto again = SigningKey::load(path);
  TEST_ASSERT_TRUE(again.has_value());
  TEST_ASSERT_TRUE(again->public_key() == key->public_key());
  TEST_ASSERT_TRUE(*again->sign("x") == *key->sign("x"));
}

TEST(a_key_file_that_others_read_or_that_is_none_is_refused) {
  const laird::test::TemporaryFolder folder;
  const std::string pem = *SigningKey::generate()->to_pem();
  const auto loose = SigningKey::load(write_file(folder.path() + "/loose", pem, 0640));
  TEST_ASSERT_FALSE(loose.has_value());
  TEST_ASSERT_TRUE(loose.error().code == laird::Code::kPermission);
  TEST_ASSERT_FALSE(
      SigningKey::load(write_file(folder.path() + "/no", "no key", 0600)).has_value());
  TEST_ASSERT_FALSE(SigningKey::load(write_file(folder.path() + "/empty", "", 0600)).has_value());
  TEST_ASSERT_FALSE(SigningKey::load(folder.path() + "/absent").has_value());
  TEST_ASSERT_FALSE(SigningKey::load(folder.path()).has_value());
}
