#include "agent/join/join_files.hpp"

#include <filesystem>
#include <fstream>

#include "mqtt/sign/authority.hpp"
#include "mqtt/sign/join_keys.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// An authority, an image of its fleet, a board's key, and the answer that admits it.
struct Case {
  mqtt::Authority authority = std::move(*mqtt::Authority::create("lab", 10));
  JoinImage image{"lab", {"mqtts://broker.local:8883"}, *authority.cert_pem()};
  BoardKey key;
  mqtt::JoinAnswer answer;

  Case() {
    auto made = std::move(*mqtt::make_board_key());
    key = {made.key_pem, made.public_key, mqtt::fingerprint_of(made.public_key)};
    answer.fleet = "lab";
    answer.to = key.fingerprint;
    answer.admitted = true;
    answer.node = "n-1";
    answer.cert = certificate("n-1", key.public_key);
    answer.config = config("n-1", "lab");
  }

  [[nodiscard]] std::string certificate(const std::string& node, const std::string& of) const {
    return authority.issue_for({node, mqtt::Role::kNode, {}, 5}, of)->cert_pem;
  }

  [[nodiscard]] static json::Value config(const std::string& node, const std::string& fleet) {
    return *json::parse(
        R"({"node":")" + node + R"(","fleet":{"name":")" + fleet +
            R"(","brokers":["mqtts://broker.local:8883"],"tls":{"ca":"/a","cert":"/b",)" +
            R"("key":"/c"},"operators":[{"name":"op-a","key":")" + std::string(43, 'A') +
            R"(="}],"members":{"n-1":{}}}})",
        "config");
  }

  [[nodiscard]] std::string sealed() const {
    mqtt::SignedText out{mqtt::to_signed_text(answer), {}, {}};
    out.signature =
        *mqtt::sign_text(*authority.key_pem(), std::string(mqtt::kAnswerPrefix) + out.text);
    return mqtt::answer_message(out);
  }
};

}  // namespace

TEST(an_answer_of_the_authority_for_this_key_is_taken) {
  const Case fine;
  const auto taken = judged_answer(fine.sealed(), fine.image, fine.key);
  TEST_ASSERT_TRUE_MESSAGE(taken.has_value(), taken ? "" : taken.error().context.c_str());
  TEST_ASSERT_EQUAL_STRING("n-1", taken->node.c_str());
}

TEST(an_answer_for_another_board_fleet_key_or_name_is_refused) {
  const auto refused = [](const auto& change) {
    Case wrong;
    change(wrong);
    return !judged_answer(wrong.sealed(), wrong.image, wrong.key).has_value();
  };
  TEST_ASSERT_TRUE(refused([](Case& c) { c.answer.to = std::string(32, '0'); }));
  TEST_ASSERT_TRUE(refused([](Case& c) { c.answer.fleet = "other"; }));
  TEST_ASSERT_TRUE(refused([](Case& c) { c.answer.node = "n-2"; }));
  TEST_ASSERT_TRUE(refused([](Case& c) { c.answer.config = Case::config("n-2", "lab"); }));
  TEST_ASSERT_TRUE(refused([](Case& c) { c.answer.config = Case::config("n-1", "other"); }));
  TEST_ASSERT_TRUE(
      refused([](Case& c) { c.answer.config = json::Value::object().set("node", "n-1"); }));
  TEST_ASSERT_TRUE(refused(
      [](Case& c) { c.answer.cert = c.certificate("n-1", mqtt::make_board_key()->public_key); }));
  TEST_ASSERT_TRUE(
      refused([](Case& c) { c.image.ca_pem = *mqtt::Authority::create("lab", 9)->cert_pem(); }));
  const Case fine;
  std::string changed = fine.sealed();
  changed[changed.find("n-1")] = 'm';
  TEST_ASSERT_FALSE(judged_answer(changed, fine.image, fine.key).has_value());
}

TEST(a_key_is_made_once_and_a_file_that_is_none_counts_as_none) {
  const test::TemporaryFolder folder;
  const auto made = board_key(folder.path());
  TEST_ASSERT_TRUE(made.has_value());
  TEST_ASSERT_EQUAL_STRING(made->fingerprint.c_str(),
                           board_key(folder.path())->fingerprint.c_str());
  write(key_path(folder.path()), "");  // what a power cut may leave
  const auto again = board_key(folder.path());
  TEST_ASSERT_TRUE(again.has_value());
  TEST_ASSERT_TRUE(again->fingerprint != made->fingerprint);
  TEST_ASSERT_EQUAL_STRING(again->fingerprint.c_str(),
                           board_key(folder.path())->fingerprint.c_str());
}

TEST(a_board_without_a_serial_number_goes_by_its_card_then_by_a_number_it_keeps) {
  const test::TemporaryFolder folder;
  const std::string root = folder.path() + "/machine";
  const std::string serial = root + "/sys/firmware/devicetree/base/serial-number";
  write(serial, std::string("1421023012345\0", 14));
  TEST_ASSERT_EQUAL_STRING("1421023012345", board_serial(root, folder.path())->c_str());
  write(serial, "000000000000");
  write(root + "/sys/class/net/dummy0/address", "aa:bb:cc:dd:ee:ff\n");  // no device below it
  write(root + "/sys/class/net/eth0/address", "00:1b:44:11:3a:b7\n");
  write(root + "/sys/class/net/eth0/device/uevent", "");
  TEST_ASSERT_EQUAL_STRING("mac-00:1b:44:11:3a:b7", board_serial(root, folder.path())->c_str());
  write(serial, "\x1b[2J");
  std::filesystem::remove_all(root + "/sys/class/net/eth0");
  const std::string own = *board_serial(root, folder.path());
  TEST_ASSERT_TRUE(own.starts_with("random-"));
  TEST_ASSERT_EQUAL_STRING(own.c_str(), board_serial(root, folder.path())->c_str());
}

TEST(an_image_that_names_no_fleet_or_no_broker_is_refused) {
  const test::TemporaryFolder folder;
  TEST_ASSERT_FALSE(read_join_image(folder.path()).has_value());
  write(folder.path() + "/ca.crt", "pem");
  for (const char* text :
       {"", "{}", R"({"fleet":"lab","brokers":[]})", R"({"fleet":"A B","brokers":["a"]})",
        R"({"fleet":"lab","brokers":[1]})"}) {
    write(folder.path() + "/join.json", text);
    TEST_ASSERT_FALSE_MESSAGE(read_join_image(folder.path()).has_value(), text);
  }
  write(folder.path() + "/join.json", R"({"fleet":"lab","brokers":["mqtts://a:1"]})");
  TEST_ASSERT_TRUE(read_join_image(folder.path()).has_value());
}
