#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "control/fleet/access.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

struct Folder {
  Folder() {
    char pattern[] = "/tmp/laird-access-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
    std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
  std::string path;
};

Environment with(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

constexpr const char* kFile =
    R"({"fleet": "lab", "brokers": ["mqtts://b:8883"], "credentials": "alice"})";

}  // namespace

TEST(without_anything_it_is_this_machine) {
  const auto where = decide({}, with({{"HOME", "/nowhere"}}), false);
  TEST_ASSERT_TRUE(where.has_value());
  TEST_ASSERT_TRUE(where->local);
  TEST_ASSERT_EQUAL_STRING(kSocketDefault, where->socket.c_str());
  TEST_ASSERT_TRUE(where->timeout == 10 * kSecond);
}

TEST(a_file_in_its_usual_place_means_the_fleet_and_its_paths_are_relative_to_it) {
  const Folder home;
  home.write(".config/laird/lairctl.json", kFile);
  const auto where = decide({}, with({{"HOME", home.path}}), false);
  TEST_ASSERT_TRUE(where.has_value());
  TEST_ASSERT_FALSE(where->local);
  TEST_ASSERT_EQUAL_STRING("lab", where->fleet.fleet.c_str());
  const std::string cert = home.path + "/.config/laird/alice/op.crt";
  TEST_ASSERT_EQUAL_STRING(cert.c_str(), where->fleet.cert.c_str());
}

TEST(the_socket_variable_wins_over_a_file_and_a_named_board_over_both) {
  const Folder home;
  home.write(".config/laird/lairctl.json", kFile);
  const auto env = with({{"HOME", home.path}, {"LAIRD_SOCKET", "/run/s"}});
  TEST_ASSERT_TRUE(decide({}, env, false)->local);
  TEST_ASSERT_FALSE(decide({}, env, true)->local);
}

TEST(flags_win_over_variables_over_the_file) {
  const Folder folder;
  AccessFlags flags;
  flags.config = folder.write("c.json", kFile);
  const auto env = with({{"LAIRD_FLEET", "second"}, {"LAIRD_BROKERS", "mqtts://x:1,mqtts://y:2"}});
  auto where = decide(flags, env, false);
  TEST_ASSERT_TRUE(where.has_value());
  TEST_ASSERT_EQUAL_STRING("second", where->fleet.fleet.c_str());
  TEST_ASSERT_EQUAL_UINT64(2, where->fleet.brokers.size());
  flags.fleet = "third";
  flags.credentials = "/keys";
  where = decide(flags, env, false);
  TEST_ASSERT_EQUAL_STRING("third", where->fleet.fleet.c_str());
  TEST_ASSERT_EQUAL_STRING("/keys/signing.key", where->fleet.signing_key.c_str());
}

TEST(local_and_fleet_flags_together_are_refused) {
  AccessFlags flags;
  flags.local = true;
  flags.fleet = "lab";
  TEST_ASSERT_FALSE(decide(flags, with({}), false).has_value());
  flags.fleet.clear();
  TEST_ASSERT_TRUE(decide(flags, with({}), false).has_value());
  TEST_ASSERT_FALSE(decide(flags, with({}), true).has_value());
}

TEST(a_board_without_a_fleet_says_what_to_write) {
  const auto where = decide({}, with({{"HOME", "/nowhere"}}), true);
  TEST_ASSERT_FALSE(where.has_value());
  TEST_ASSERT_TRUE(where.error().context.find("/nowhere/.config/laird/lairctl.json") !=
                   std::string::npos);
}

TEST(a_wrong_key_in_the_file_is_named_with_its_line) {
  const Folder folder;
  AccessFlags flags;
  flags.config = folder.write("c.json", "{\"fleet\": \"lab\",\n \"brokrs\": []}");
  const auto where = decide(flags, with({}), false);
  TEST_ASSERT_FALSE(where.has_value());
  TEST_ASSERT_TRUE(where.error().context.find("c.json:2") != std::string::npos);
  TEST_ASSERT_TRUE(where.error().context.find("brokers") != std::string::npos);
}

TEST(a_timeout_needs_a_unit_and_bounds) {
  AccessFlags flags;
  for (const char* bad : {"10", "0s", "2h", "-1s", "soon"}) {
    flags.timeout = bad;
    TEST_ASSERT_FALSE(decide(flags, with({}), false).has_value());
  }
}

TEST(completing_needs_a_certificate_and_a_name) {
  Access access;
  access.fleet = "lab";
  access.brokers = {"mqtts://b:8883"};
  TEST_ASSERT_FALSE(complete(access).has_value());
  access.insecure_lab = true;
  TEST_ASSERT_FALSE(complete(access).has_value());
  access.op = "op-alice";
  TEST_ASSERT_TRUE(complete(access).has_value());
  access.fleet = "Lab!";
  TEST_ASSERT_FALSE(complete(access).has_value());
}
