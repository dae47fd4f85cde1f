#include "agent/settings/settings_store.hpp"

#include <filesystem>
#include <fstream>

#include "agent/settings/settings_loader.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

// A board's file, and what somebody left in the place of its remote settings.
struct OneFile {
  explicit OneFile(const std::string& remote) {
    std::ofstream(config) << R"({"node": "n-1", "state_dir": "state", "power": {"source": "none"},
      "trainers": {"own": {"exec": ["/bin/true"]}}})";
    std::filesystem::create_directories(folder.path() + "/state/settings");
    std::ofstream(store.path()) << remote;
    std::vector<config::Problem> problems;
    json::Value base = read_config(config, problems);
    Settings own = settings_of(base, config, problems);
    TEST_ASSERT_EQUAL_UINT64(0, problems.size());
    layers = with_remote_settings(config, std::move(base), std::move(own), store);
  }

  test::TemporaryFolder folder;
  const std::string config = folder.path() + "/laird.json";
  const SettingsStore store{folder.path() + "/state"};
  LayeredSettings layers;
};

}  // namespace

TEST(what_operators_may_change_is_used) {
  const OneFile one(
      R"({"s": "laird.overlay/1.0", "rev": 3, "settings": {"policy": "round-robin"}, "by": "op", "id": "i"})");
  TEST_ASSERT_EQUAL_STRING("round-robin", one.layers.settings.core.policy.c_str());
  TEST_ASSERT_EQUAL_STRING("", one.layers.remote.news.c_str());
}

TEST(locked_settings_that_somebody_wrote_there_are_refused_and_set_aside) {
  for (const char* settings :
       {R"({"trainers": {"own": {"exec": ["/bin/sh", "-c", "id"]}}})",
        R"({"trainers": {"shell": {"exec": ["/bin/sh"]}}, "policy": "round-robin"})",
        R"({"cell": {"namespaces": false}})", R"({"state_dir": "/elsewhere"})",
        R"({"trainers": null})"}) {
    const OneFile one(
        std::string(R"({"s": "laird.overlay/1.0", "rev": 9, "by": "op", "id": "i", "settings": )") +
        settings + "}");
    TEST_ASSERT_EQUAL_STRING("foresight", one.layers.settings.core.policy.c_str());
    TEST_ASSERT_FALSE(one.layers.settings.trainers.contains("shell"));
    TEST_ASSERT_EQUAL_UINT64(1, one.layers.settings.trainers.at("own").argv.size());
    TEST_ASSERT_TRUE(one.layers.settings.cell.namespaces);
    TEST_ASSERT_TRUE(one.layers.remote.settings.members().empty());
    TEST_ASSERT_TRUE(one.layers.remote.news.find("locked") != std::string::npos);
    TEST_ASSERT_TRUE(one.layers.remote.news.find("fleet.json.refused") != std::string::npos);
    TEST_ASSERT_FALSE(std::filesystem::exists(one.store.path()));
    TEST_ASSERT_TRUE(std::filesystem::exists(one.store.path() + ".refused"));
  }
}

TEST(locked_settings_to_go_back_to_are_refused_too) {
  const OneFile one(
      R"({"s": "laird.overlay/1.0", "rev": 9, "by": "op", "id": "i", "settings": {"policy": "laira"},
    "trial": {"before": {"trainers": {"x": {"exec": ["/bin/sh"]}}}, "within_s": 60,
              "begun": true}})");
  TEST_ASSERT_EQUAL_STRING("foresight", one.layers.settings.core.policy.c_str());
  TEST_ASSERT_FALSE(one.layers.settings.trainers.contains("x"));
  TEST_ASSERT_FALSE(one.layers.remote.trial.has_value());
  TEST_ASSERT_TRUE(one.layers.remote.news.find("trainers.x.exec") != std::string::npos);
}
