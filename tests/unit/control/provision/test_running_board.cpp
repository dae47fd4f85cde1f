#include "control/provision/running/running_board.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

constexpr const char* kAnswer =
    "Welcome to the board\n"
    "changed nothing\n"
    "laird-probe 1\n"
    "architecture arm64\n"
    "glibc 2.27\n"
    "installed aaaa\n"
    "changed ??5??????   /usr/bin/laird\n"
    "enabled laird.service\n"
    "enabled somebody-elses.service\n"
    "join bbbb  join.json\n"
    "configured\n"
    "laird-probe end\n"
    "enabled laird-cell.socket\n";

RunningBoard board() {
  const auto parsed = parse_probe(kAnswer);
  TEST_ASSERT_TRUE(parsed.has_value());
  return *parsed;
}

BoardPackage package() {
  BoardPackage out;
  out.file = "laird_0.1.0_arm64.deb";
  out.architecture = "arm64";
  out.depends = parse_depends("libc6 (>= 2.27), adduser");
  return out;
}

}  // namespace

TEST(reads_what_stands_between_the_marks_and_nothing_else) {
  const RunningBoard found = board();
  TEST_ASSERT_EQUAL_STRING("arm64", found.architecture.c_str());
  TEST_ASSERT_EQUAL_STRING("aaaa", found.installed.c_str());
  TEST_ASSERT_EQUAL_UINT64(1, found.changed.size());
  TEST_ASSERT_EQUAL_STRING("/usr/bin/laird", found.changed[0].c_str());
  TEST_ASSERT_EQUAL_UINT64(1, found.enabled.size());
  TEST_ASSERT_TRUE(found.enabled.contains("laird.service"));
  TEST_ASSERT_EQUAL_STRING("bbbb", found.join.at("join.json").c_str());
  TEST_ASSERT_TRUE(found.configured);
}

TEST(refuses_an_answer_that_is_cut_or_is_no_probe) {
  for (const char* answer : {"", "hello\n", "laird-probe 1\narchitecture arm64\n",
                             "laird-probe end\n", "laird-probe 1\nlaird-probe end\n"}) {
    TEST_ASSERT_FALSE(parse_probe(answer).has_value());
  }
}

TEST(asks_nothing_where_sudo_wants_a_password) {
  TEST_ASSERT_EQUAL_UINT64(0, probe_script().find("sudo -n true || exit 1; "));
  // A folder that is there and empty, as an admitted board leaves it, is no message to anybody.
  TEST_ASSERT_TRUE(probe_script().find("sha256sum * 2>/dev/null'") != std::string::npos);
}

TEST(documentation_that_the_board_leaves_out_is_no_change) {
  // As dpkg says it, and as an older one does; what is changed, and a program, are told all the
  // same.
  const auto parsed = parse_probe(
      "laird-probe 1\narchitecture arm64\nchanged\n"
      "changed missing     /usr/share/doc/laird\ngone /usr/share/doc/laird\n"
      "changed ??5??????   /usr/share/doc/laird/copyright\ngone /usr/share/doc/laird/copyright\n"
      "changed ??5??????   /usr/share/man/man8/laird.8.gz\n"
      "changed ??5??????   /usr/bin/laird\ngone /usr/bin/laird\n"
      "laird-probe end\n");
  TEST_ASSERT_TRUE(parsed.has_value());
  TEST_ASSERT_EQUAL_UINT64(2, parsed->changed.size());
  TEST_ASSERT_EQUAL_STRING("/usr/share/man/man8/laird.8.gz", parsed->changed[0].c_str());
  TEST_ASSERT_EQUAL_STRING("/usr/bin/laird", parsed->changed[1].c_str());
  TEST_ASSERT_FALSE(
      parse_probe("laird-probe 1\narchitecture arm64\nchanged dpkg: what?\nlaird-probe end\n")
          .has_value());
}

TEST(plans_what_is_missing_and_nothing_for_a_board_that_has_it) {
  RunningBoard found = board();
  BoardWish wish;
  wish.package_sums = "aaaa";
  wish.units = {"laird.service", "laird-cell.socket"};
  BoardPlan plan = plan_for(found, wish);
  TEST_ASSERT_TRUE(plan.install);  // a file was changed
  TEST_ASSERT_EQUAL_UINT64(1, plan.enable.size());
  TEST_ASSERT_EQUAL_STRING("laird-cell.socket", plan.enable[0].c_str());
  found.changed.clear();
  found.enabled.insert("laird-cell.socket");
  TEST_ASSERT_TRUE(plan_for(found, wish).empty());
  wish.package_sums = "cccc";
  TEST_ASSERT_TRUE(plan_for(found, wish).install);
  wish.package_sums = "aaaa";
  found.configured = false;
  wish.join = {{"join.json", "other"}};
  TEST_ASSERT_TRUE(plan_for(found, wish).join);
  wish.join = {{"join.json", "bbbb"}};
  TEST_ASSERT_FALSE(plan_for(found, wish).join);
}

TEST(refuses_what_does_not_fit_the_board) {
  RunningBoard found = board();
  TEST_ASSERT_TRUE(check_fits(found, package(), {}).has_value());
  BoardWish joins;
  joins.join = {{"join.json", "bbbb"}};
  TEST_ASSERT_FALSE(check_fits(found, package(), joins).has_value());  // it has a config
  found.glibc = "2.23";
  const Status old = check_fits(found, package(), {});
  TEST_ASSERT_TRUE(old.error().context.find("needs glibc 2.27, the board has 2.23") !=
                   std::string::npos);
  found.glibc = "2.100";
  TEST_ASSERT_TRUE(check_fits(found, package(), {}).has_value());
  found.architecture = "amd64";
  TEST_ASSERT_FALSE(check_fits(found, package(), {}).has_value());
}

TEST(a_board_that_asked_and_was_admitted_has_all_that_join_is_for) {
  RunningBoard found = board();
  found.changed.clear();
  found.enabled.insert("laird-join.service");
  found.join.clear();  // put away when it was admitted
  BoardWish joins;
  joins.package_sums = "aaaa";
  joins.units = {"laird.service", "laird-join.service"};
  joins.join = {{"join.json", "bbbb"}};
  TEST_ASSERT_TRUE(check_fits(found, package(), joins).has_value());
  TEST_ASSERT_TRUE(plan_for(found, joins).empty());
  TEST_ASSERT_TRUE(findings_of(found, joins).empty());
  found.configured = false;  // it asks still, but the files are gone
  TEST_ASSERT_TRUE(plan_for(found, joins).join);
  TEST_ASSERT_EQUAL_UINT64(1, findings_of(found, joins).size());
}

TEST(says_what_differs) {
  RunningBoard found = board();
  BoardWish wish;
  wish.units = {"laird.service", "laird-cell.socket"};
  // A changed file, and a unit.
  TEST_ASSERT_EQUAL_UINT64(2, findings_of(found, wish).size());
  TEST_ASSERT_EQUAL_STRING("laird-cell.socket does not start with the board",
                           findings_of(found, wish)[1].c_str());
  found.enabled.insert("laird-cell.socket");
  found.changed.clear();
  TEST_ASSERT_TRUE(findings_of(found, wish).empty());
  wish.package_sums = "cccc";
  TEST_ASSERT_EQUAL_STRING("another build of laird is installed",
                           findings_of(found, wish)[0].c_str());
  found.enabled.clear();
  TEST_ASSERT_EQUAL_UINT64(3, findings_of(found, wish).size());
  TEST_ASSERT_EQUAL_STRING("laird is not installed", findings_of(RunningBoard{}, wish)[0].c_str());
}
