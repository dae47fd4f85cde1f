#include "lab/titles/command.hpp"

#include <cstdio>
#include <memory>

#include "cli/command.hpp"
#include "json/value.hpp"
#include "lab/titles/title_sim.hpp"

namespace laird::lab {
namespace {

struct Options {
  int schedules = 1000;
  int boards = 5;
  std::uint64_t seed = 1;
  std::string without;
  bool json = false;
};

consensus::TitleRules rules_without(const std::string& rule) {
  consensus::TitleRules out;
  out.waits_for_register = rule != "register";
  out.journals_gift = rule != "gift";
  out.asks_after_rebirth = rule != "asking";
  out.tells_backup = rule != "telling";
  return out;
}

int run(const Options& o) {
  TitleSimResult sum;
  int failed = 0;
  for (int i = 0; i < o.schedules; ++i) {
    TitleSimConfig config;
    config.seed = o.seed + static_cast<std::uint64_t>(i);
    config.boards = o.boards;
    config.rules = rules_without(o.without);
    const TitleSimResult r = run_titles(config);
    failed += r.ok() ? 0 : 1;
    if (sum.first.empty()) sum.first = r.first;
    sum.two_runners += r.two_runners;
    sum.two_holders += r.two_holders;
    sum.lost += r.lost;
    sum.stranded += r.stranded;
    sum.gone += r.gone;
    sum.recovered += r.recovered;
    sum.given += r.given;
    sum.reclaimed += r.reclaimed;
  }
  if (o.json) {
    std::printf("%s\n", json::to_text(json::Value::object()
                                          .set("schedules", o.schedules)
                                          .set("failed", failed)
                                          .set("two_runners", sum.two_runners)
                                          .set("two_holders", sum.two_holders)
                                          .set("lost", sum.lost)
                                          .set("given", sum.given)
                                          .set("reclaimed", sum.reclaimed)
                                          .set("both_hurt_recovered", sum.recovered)
                                          .set("both_hurt_stranded", sum.stranded)
                                          .set("both_hurt_gone", sum.gone)
                                          .set("first", sum.first))
                            .c_str());
    return failed == 0 ? 0 : 1;
  }
  std::printf(
      "%d schedules, %d failed: %d ticks with two runners, %d with two holders, %d titles lost\n"
      "%d hand-overs, %d reclaimed; of titles whose holder and backup were both hurt %d run again, "
      "%d are stranded, %d gone\n",
      o.schedules, failed, sum.two_runners, sum.two_holders, sum.lost, sum.given, sum.reclaimed,
      sum.recovered, sum.stranded, sum.gone);
  if (!sum.first.empty()) std::printf("first: %s\n", sum.first.c_str());
  return failed == 0 ? 0 : 1;
}

}  // namespace

void add_titles(cli::Command& app, ExitCode& code) {
  const auto o = std::make_shared<Options>();
  cli::Command* cmd = app.add_subcommand(
      "titles",
      "Who holds a task that may move: schedules of faults, checked at every tick.\n"
      "Example: laird-lab titles --schedules 10000\n"
      "         laird-lab titles --without telling    (must fail: a rule is left out)");
  cmd->add_option("--schedules", o->schedules, "How many")
      ->check(cli::range(1, 10'000'000))
      ->show_default();
  cmd->add_option("--boards", o->boards, "How many boards")
      ->check(cli::range(2, 64))
      ->show_default();
  cmd->add_option("--seed", o->seed, "Of the first; the others follow")->show_default();
  cmd->add_option("--without", o->without, "Leave out one rule: register, gift, asking or telling")
      ->check(cli::one_of({"register", "gift", "asking", "telling"}));
  cmd->add_flag("--json", o->json, "One line of JSON");
  cmd->callback([o, &code] { code.value = run(*o); });
}

}  // namespace laird::lab
