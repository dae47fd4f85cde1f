#include <sys/stat.h>

#include <fstream>
#include <string>

#include "mqtt/sign/authority.hpp"
#include "mqtt/sign/tls_files.hpp"
#include "tests/harness/unit.hpp"

using laird::mqtt::Authority;
using laird::mqtt::check_tls_files;
using laird::mqtt::Role;
using laird::mqtt::Subject;

namespace {

std::string write_file(const std::string& path, const std::string& content) {
  std::ofstream(path) << content;
  ::chmod(path.c_str(), 0600);
  return path;
}

}  // namespace

TEST(an_authority_comes_back_from_its_text_and_what_it_issues_fits) {
  const laird::test::TemporaryFolder folder;
  const auto made = Authority::create("lab", 10);
  TEST_ASSERT_TRUE(made.has_value());
  const auto again = Authority::parse(*made->cert_pem(), *made->key_pem());
  TEST_ASSERT_TRUE(again.has_value());
  const auto node = again->issue({"n-1", Role::kNode, {}, 5});
  TEST_ASSERT_TRUE(node.has_value());
  const std::string ca = write_file(folder.path() + "/ca", *made->cert_pem());
  const std::string cert = write_file(folder.path() + "/cert", node->cert_pem);
  const std::string key = write_file(folder.path() + "/key", node->key_pem);
  TEST_ASSERT_TRUE(check_tls_files(ca, cert, key).has_value());
  TEST_ASSERT_EQUAL_STRING("n-1", laird::mqtt::common_name(cert)->c_str());

  const auto stranger = Authority::create("lab", 10);
  const std::string other = write_file(folder.path() + "/other", *stranger->cert_pem());
  const auto refused = check_tls_files(other, cert, key);
  TEST_ASSERT_FALSE(refused.has_value());
  TEST_ASSERT_TRUE(refused.error().context.find("was not issued by") != std::string::npos);
}

TEST(serials_differ_and_revoked_ones_make_a_list) {
  const auto made = Authority::create("lab", 10);
  const auto one = made->issue({"n-1", Role::kNode, {}, 5});
  const auto two = made->issue({"n-1", Role::kNode, {}, 5});
  TEST_ASSERT_TRUE(one->serial != two->serial);
  TEST_ASSERT_EQUAL_UINT64(32, one->serial.size());
  TEST_ASSERT_TRUE(made->revocation_list({}, 1).has_value());
  const auto list = made->revocation_list({{one->serial, 1'790'000'000}, {two->serial, 1}}, 2);
  TEST_ASSERT_TRUE(list.has_value());
  TEST_ASSERT_TRUE(list->rfind("-----BEGIN X509 CRL-----", 0) == 0);
  TEST_ASSERT_FALSE(made->revocation_list({{"not hexadecimal", 1}}, 3).has_value());
  TEST_ASSERT_FALSE(made->revocation_list({{"", 1}}, 3).has_value());
}

TEST(subjects_that_would_mislead_are_refused) {
  const auto made = Authority::create("lab", 10);
  const Subject wrong[] = {
      {"", Role::kNode, {}, 5},
      {"N-1", Role::kNode, {}, 5},
      {"n-1", Role::kNode, {}, 0},
      {"n-1", Role::kNode, {}, 40'000},
      {"broker", Role::kBroker, {}, 5},
      {"broker", Role::kBroker, {"a,DNS:b"}, 5},
      {"broker", Role::kBroker, {"a\nb"}, 5},
      {"broker", Role::kBroker, {""}, 5},
      {"broker", Role::kBroker, std::vector<std::string>(33, "a"), 5},
  };
  for (const Subject& subject : wrong) TEST_ASSERT_FALSE(made->issue(subject).has_value());
  TEST_ASSERT_TRUE(
      made->issue({"broker", Role::kBroker, {"a.b", "192.0.2.1", "::1"}, 5}).has_value());
  TEST_ASSERT_FALSE(Authority::create("Lab", 10).has_value());
  TEST_ASSERT_FALSE(Authority::create("lab", 0).has_value());
  TEST_ASSERT_FALSE(Authority::parse("x", "y").has_value());
  TEST_ASSERT_FALSE(
      Authority::parse(*made->cert_pem(), *Authority::create("lab", 10)->key_pem()).has_value());
}
