#include "agent/commands/settings_changes.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agent/settings/settings_loader.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;
using json::Value;
using mqtt::ReplyCode;

namespace {

constexpr const char* kFile =
    R"({"node":"n-1","power":{"cap":"20W"},"trainers":{"t":{"exec":["/bin/true"]}}})";

Value parsed(const std::string& text) {
  auto value = json::parse(text, "test");
  TEST_ASSERT_TRUE_MESSAGE(value.has_value(), text.c_str());
  return *value;
}

ConfigJudgement judged(const char* body, const RemoteSettings& now = {}) {
  mqtt::Command command;
  command.op = "op-alice";
  command.id = "c-1";
  command.verb = "config";
  command.body = parsed(body);
  return judge_config(command, parsed(kFile), "/etc/laird/laird.json", now);
}

void assert_code(ReplyCode code, const ConfigJudgement& judgement) {
  TEST_ASSERT_EQUAL_STRING_MESSAGE(std::string(mqtt::name(code)).c_str(),
                                   std::string(mqtt::name(judgement.code)).c_str(),
                                   judgement.text.c_str());
}

// A board's folder with its file, and what a start of the agent makes of it.
struct Start {
  test::TemporaryFolder folder;
  SettingsStore store{folder.path()};
  LayeredSettings begin(const char* file = kFile) {
    const std::string path = folder.path() + "/laird.json";
    std::ofstream(path) << file;
    std::vector<config::Problem> problems;
    Value base = read_config(path, problems);
    Settings own = settings_of(base, path, problems);
    TEST_ASSERT_EQUAL_UINT64(0, problems.size());
    return with_remote_settings(path, std::move(base), std::move(own), store);
  }
};

}  // namespace

TEST(a_good_change_goes_on_trial) {
  const ConfigJudgement set = judged(R"({"set":{"power.cap":"15W"},"confirm_within_s":30})");
  assert_code(ReplyCode::kOk, set);
  TEST_ASSERT_TRUE(set.next.has_value());
  TEST_ASSERT_EQUAL_INT64(30, set.next->trial->within_s);
  TEST_ASSERT_EQUAL_STRING(R"({"power":{"cap":"15W"}})", json::to_text(set.next->settings).c_str());
  TEST_ASSERT_EQUAL_STRING(
      R"({"changes":[{"key":"power.cap","from":"20W","to":"15W"}],"trial":"c-1"})",
      json::to_text(set.data).c_str());
  TEST_ASSERT_EQUAL_STRING("op-alice changes power.cap; on trial for 30 s", set.what.c_str());
}

TEST(what_is_so_already_is_no_change) {
  for (const char* body :
       {R"({"set":{"power.cap":"20W"}})", R"({"apply":{}})", R"({"unset":["slice"]})"}) {
    const ConfigJudgement same = judged(body);
    assert_code(ReplyCode::kOk, same);
    TEST_ASSERT_EQUAL_STRING("no change", same.text.c_str());
    TEST_ASSERT_FALSE(same.next.has_value());
  }
  // The board's whole file again, locked settings included.
  TEST_ASSERT_EQUAL_STRING(
      "no change", judged((R"({"apply":)" + std::string(kFile) + "}").c_str()).text.c_str());
}

TEST(every_problem_is_told_with_key_and_remedy) {
  const ConfigJudgement bad = judged(
      R"({"set":{"power.cap":"15","polcy":"uniform","node":"n-2","trainers.t.exec":["/bin/sh"]}})");
  assert_code(ReplyCode::kRefused, bad);
  TEST_ASSERT_FALSE(bad.next.has_value());
  const std::string all = json::to_text(bad.data);
  for (const char* part :
       {R"({"key":"power.cap","what":"'15' has no unit; write a number and a unit)",
        R"("key":"polcy","what":"unknown key in laird.json; did you mean \"policy\"?")",
        R"({"key":"node","what":"locked: a board's name)",
        R"({"key":"trainers.t.exec","what":"locked: the allow-list)"}) {
    TEST_ASSERT_TRUE_MESSAGE(all.find(part) != std::string::npos, all.c_str());
  }
}

TEST(a_locked_setting_tells_nothing_about_files) {
  for (const char* body : {R"({"set":{"board.name":"/no/such/board.json"}})",
                           R"({"apply":{"trainers":{"x":{"exec":["/no/such/program"]}}}})",
                           R"({"set":{"power.helper":["/no/such/helper"]}})"}) {
    const ConfigJudgement refused = judged(body);
    assert_code(ReplyCode::kRefused, refused);
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(1, refused.data.find("problems")->items().size(), body);
    TEST_ASSERT_TRUE(refused.text.find("locked: ") != std::string::npos);
  }
}

TEST(apply_replaces_what_was_set_before_and_unset_takes_one_back) {
  RemoteSettings now;
  now.settings = parsed(R"({"slice":"2s","power":{"cap":"10W"}})");
  const ConfigJudgement apply = judged(R"({"apply":{"slice":"3s"}})", now);
  TEST_ASSERT_EQUAL_STRING(R"({"slice":"3s"})", json::to_text(apply.next->settings).c_str());
  const ConfigJudgement unset = judged(R"({"unset":["power.cap"]})", now);
  TEST_ASSERT_EQUAL_STRING(R"({"slice":"2s"})", json::to_text(unset.next->settings).c_str());
  const ConfigJudgement none = judged(R"({"set":{"power.cap":null}})", now);
  TEST_ASSERT_EQUAL_STRING(R"({"slice":"2s","power":{"cap":null}})",
                           json::to_text(none.next->settings).c_str());
}

TEST(a_dry_run_changes_nothing_and_one_trial_is_enough) {
  TEST_ASSERT_FALSE(judged(R"({"apply":{"slice":"3s"},"dry_run":true})").next.has_value());
  const RemoteSettings busy = proposed({}, parsed(R"({"slice":"2s"})"), "op-bob", "c-0", 60);
  assert_code(ReplyCode::kRefused, judged(R"({"set":{"slice":"3s"}})", busy));
}

TEST(what_makes_no_sense_is_invalid) {
  for (const char* body : {"{}", R"({"apply":[]})", R"({"set":{"a..b":1}})", R"({"unset":[1]})",
                           R"({"confirm":1})", R"({"apply":{},"confirm_within_s":1})"}) {
    assert_code(ReplyCode::kInvalid, judged(body));
  }
  const std::string big = R"({"set":{"slice":")" + std::string(40'000, 'x') + "\"}}";
  assert_code(ReplyCode::kRefused, judged(big.c_str()));
}

TEST(a_start_uses_a_trial_once_and_notes_it_first) {
  Start board;
  TEST_ASSERT_TRUE(
      board.store.write(proposed({}, parsed(R"({"power":{"cap":"15W"}})"), "op-alice", "c-1", 60)));
  TEST_ASSERT_EQUAL_INT64(15'000, board.begin().settings.core.power.cap_mw.value_or(0));
  TEST_ASSERT_TRUE(board.store.read()->trial->begun);
  // Killed before anybody confirmed it.
  const LayeredSettings second = board.begin();
  TEST_ASSERT_EQUAL_INT64(20'000, second.settings.core.power.cap_mw.value_or(0));
  TEST_ASSERT_FALSE(board.store.read()->trial.has_value());
  TEST_ASSERT_FALSE(second.remote.news.empty());
  struct stat info {};
  TEST_ASSERT_EQUAL_INT(0, ::stat(board.store.path().c_str(), &info));
  TEST_ASSERT_EQUAL_UINT32(0600, info.st_mode & 0777);
}

TEST(a_trial_that_does_not_fit_the_file_any_more_reverts) {
  Start board;
  TEST_ASSERT_TRUE(
      board.store.write(proposed({}, parsed(R"({"slice":"forever"})"), "op-alice", "c-1", 60)));
  const LayeredSettings begun = board.begin();
  TEST_ASSERT_FALSE(begun.remote.trial.has_value());
  TEST_ASSERT_TRUE(begun.remote.reverted_why.find("forever") != std::string::npos);
}

TEST(no_overlay_keeps_a_board_from_starting) {
  Start board;
  RemoteSettings misfit;
  misfit.settings = parsed(R"({"slice":"forever"})");
  TEST_ASSERT_TRUE(board.store.write(misfit));
  TEST_ASSERT_EQUAL_UINT64(1, board.begin().notes.size());
  std::ofstream(board.store.path()) << "{\"torn";
  const LayeredSettings torn = board.begin();
  TEST_ASSERT_EQUAL_UINT64(1, torn.notes.size());
  TEST_ASSERT_EQUAL_INT64(20'000, torn.settings.core.power.cap_mw.value_or(0));
}

TEST(a_start_that_fails_with_a_trial_reverts_it) {
  Start board;
  TEST_ASSERT_FALSE(SettingsChanges::revert_failed_start(board.begin(), board.store, {}));
  TEST_ASSERT_TRUE(
      board.store.write(proposed({}, parsed(R"({"slice":"2s"})"), "op-alice", "c-1", 60)));
  TEST_ASSERT_TRUE(SettingsChanges::revert_failed_start(board.begin(), board.store,
                                                        {Code::kNotFound, "no such sensor"}));
  TEST_ASSERT_EQUAL_STRING("it could not start: no such sensor",
                           board.store.read()->reverted_why.c_str());
}
