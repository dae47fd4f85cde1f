// join: boards that come from one image ask for their place in the fleet; the operator lists,
// admits and denies them.
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/fleet_budget.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/founding/plan.hpp"
#include "control/provision/join/admission.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kListBytesMax = 1 << 20;
// A board asks about every five seconds.
constexpr DurationNs kListen = 8 * kSecond;
// Whoever else says a serial number that was heard has said it by then.
constexpr DurationNs kAskPeriodMax = 6 * kSecond;

struct JoinOptions {
  std::string pki = "pki";
  std::string out = "join";
  std::int64_t days = 30;
  bool force = false;
  std::vector<std::string> wanted;
  std::string serials;
  std::string prefix = "n-";
  std::string floor;
  std::string wait;
  std::string why = "an operator denied it";
  std::string replace;
  bool all = false;
};

const char* state_text(AskState state) {
  switch (state) {
    case AskState::kNew: return "new";
    case AskState::kKnown: return "is";
    case AskState::kClone: return "another board of this serial number is";
    case AskState::kTwin: return "one of several with this serial number";
  }
  return "";
}

std::string state_of(const Asking& board) {
  return std::string(state_text(board.state)) + (board.node.empty() ? "" : " " + board.node);
}

// Serial numbers or fingerprints, one a line; what follows a # is for people.
Result<std::vector<std::string>> read_list(const std::string& path) {
  const auto text = config::read_file(path, kListBytesMax);
  LAIRD_TRY(text);
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < text->size()) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    std::string line = text->substr(at, end - at);
    at = end + 1;
    line = line.substr(0, line.find('#'));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (!line.empty()) out.push_back(std::move(line));
  }
  if (out.empty()) return fail(Code::kInvalid, path + " names no board");
  return out;
}

Result<std::vector<std::string>> wanted_of(const JoinOptions& options) {
  std::vector<std::string> out = options.wanted;
  if (!options.serials.empty()) {
    const auto listed = read_list(options.serials);
    LAIRD_TRY(listed);
    out.insert(out.end(), listed->begin(), listed->end());
  }
  if (options.all != out.empty()) {
    return fail(Code::kInvalid,
                "name the boards by serial number or fingerprint, or give --serials FILE, or --all "
                "for every one that asks");
  }
  for (const std::string& one : out) {
    if (!mqtt::is_serial(one)) {
      return fail(Code::kInvalid, "'" + one + "' is neither a serial number nor a fingerprint");
    }
  }
  return out;
}

Result<DurationNs> wait_of(const JoinOptions& options) {
  if (options.wait.empty()) return kListen;
  const auto wait = config::parse_duration(options.wait);
  if (!wait) return fail(Code::kInvalid, "--wait: " + wait.error().context);
  return *wait;
}

// Listens until each of `wanted` has asked, or for as long as was said.
Result<AskBook> listen(FleetClient& client, const JoinOptions& options,
                       const std::vector<std::string>& wanted) {
  const auto wait = wait_of(options);
  LAIRD_TRY(wait);
  AskBook book(client.access().fleet, wanted);
  const auto hear = [&] {
    for (const std::string& message : client.take_asks()) book.take(message);
    return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(),
                                          [&](const std::string& one) { return book.has(one); });
  };
  // A clone must not depend on who is heard first: listen for everybody's next word.
  if (client.wait(after(*wait), hear) && !book.only_keys()) {
    client.wait(after(kAskPeriodMax), [&] { return static_cast<void>(hear()), false; });
  }
  if (book.flooded()) {
    say("more boards ask than can be: somebody who has the join certificate floods; name the "
        "serial numbers, or take the certificate back: lairctl pki revoke join");
  }
  return book;
}

// What is in force, else what the fleet is founded with.
Result<core::FleetBudget> budget_of(FleetClient& client, const std::string& pki,
                                    DurationNs timeout) {
  auto told = budget_in_force(client, timeout);
  if (told && told->founding_epoch != 0) return told;
  const auto plan = read_plan(pki);
  if (!plan) {
    return fail(Code::kUnavailable, "no budget is known: no board tells one, and " + pki +
                                        "/fleet.json, which lairctl fleet create makes, says none");
  }
  core::FleetBudget budget = plan->budget();
  if (client.view().budget()) budget.rev = static_cast<std::uint64_t>(client.view().budget()->rev);
  return budget;
}

// One admission of many boards.
class Admission {
 public:
  Admission(FleetClient& client, const JoinOptions& options, DurationNs timeout)
      : client_(client), options_(options), timeout_(timeout) {}

  // Refuses before anything is made when the floors do not fit the budget.
  [[nodiscard]] Result<int> run(std::vector<Asking> boards) {
    boards_ = std::move(boards);
    auto budget = budget_of(client_, options_.pki, timeout_);
    LAIRD_TRY(budget);
    const core::FleetBudget before = *budget;
    LAIRD_TRY(name_all());
    LAIRD_TRY(place_all(*budget));
    if (*budget != before || before.rev == 0) budget->rev = before.rev + 1;
    if (const Status fits = core::check_fleet_budget(*budget); !fits) {
      return fail(Code::kRefused, "the budget has no room for them: " + fits.error().context);
    }
    LAIRD_TRY(certify_all());
    // The boards are not running yet, so they cannot have taken it: that is no failure.
    const int code = put_in_force(client_, *budget, timeout_);
    if (code != 0 && code != kPartial && code != kTimedOut) return code;
    if (!client_.budget_is_mine()) return code;
    return answer_all(*budget);
  }

 private:
  [[nodiscard]] Status name_all() {
    auto index = pki_index(options_.pki);
    LAIRD_TRY(index);
    for (Asking& board : boards_) {
      if (!board.node.empty()) continue;
      board.node = next_name(*index, options_.prefix);
      // Taken for the next one of this batch; the certificate makes it final.
      index->entries.push_back({"", board.node, mqtt::Role::kNode, 0, 0, {}, {}});
    }
    return {};
  }

  [[nodiscard]] Status place_all(core::FleetBudget& budget) const {
    std::optional<std::int64_t> floor;
    if (!options_.floor.empty()) {
      const auto mw = config::parse_power(options_.floor);
      if (!mw) return fail(Code::kInvalid, "--floor: " + mw.error().context);
      floor = *mw;
    }
    const bool founding = budget.founders.empty();
    for (const Asking& board : boards_) {
      if (budget.member(board.node) != nullptr) continue;
      const auto own = floor_for(board.node, board.ask.module, floor);
      LAIRD_TRY(own);
      budget = with_member(std::move(budget), board.node, *own);
      // The first ones that are admitted found the fleet; all later ones name them.
      if (founding) budget.founders.push_back(board.node);
    }
    std::sort(budget.founders.begin(), budget.founders.end());
    return {};
  }

  [[nodiscard]] Status certify_all() const {
    for (const Asking& board : boards_) {
      if (board.state == AskState::kKnown && certificate_of(board)) continue;
      const bool again = board.state == AskState::kKnown || !options_.replace.empty();
      LAIRD_TRY(pki_admit(options_.pki, {board.node, board.ask.serial, board.public_key},
                          again ? IfThere::kReplace : IfThere::kRefuse));
    }
    return {};
  }

  [[nodiscard]] Result<std::string> certificate_of(const Asking& board) const {
    return config::read_file(options_.pki + "/nodes/" + board.node + "/node.crt", kListBytesMax);
  }

  [[nodiscard]] Result<int> answer_all(const core::FleetBudget& budget) {
    const auto operators = known_operators(options_.pki);
    LAIRD_TRY(operators);
    std::map<std::string, std::string> answers;
    for (const Asking& board : boards_) {
      const Access& access = client_.access();
      const auto config =
          board_config({board.node, access.fleet, access.brokers, *operators, budget});
      LAIRD_TRY(config);
      const auto cert = certificate_of(board);
      LAIRD_TRY(cert);
      const auto answer = signed_answer(
          options_.pki, {access.fleet, board.fingerprint, true, {}, board.node, *cert, *config});
      LAIRD_TRY(answer);
      answers.emplace(board.fingerprint, *answer);
    }
    LAIRD_TRY(client_.answer_asks(answers, timeout_));
    for (const Asking& board : boards_) {
      print("%s is %s\n", board.ask.serial.c_str(), board.node.c_str());
    }
    return 0;
  }

  FleetClient& client_;
  const JoinOptions& options_;
  DurationNs timeout_;
  std::vector<Asking> boards_;
};

// Which of those that ask are meant and may be; says why the others may not.
std::vector<Asking> chosen(const AskBook& book, const PkiIndex& index, const JoinOptions& options,
                           const std::vector<std::string>& wanted, bool& all_well) {
  std::vector<Asking> out;
  std::set<std::string> met;
  for (Asking& board : book.judged(index)) {
    bool by_key = false;
    for (const std::string& one : wanted) {
      if (!is_meant(board, one)) continue;
      met.insert(one);
      by_key = by_key || one != board.ask.serial;
    }
    // A board that was set up anew has another key, and its place by what the operator says.
    const bool again = board.state == AskState::kClone && by_key && board.node == options.replace;
    const bool may = board.state == AskState::kNew || board.state == AskState::kKnown ||
                     (board.state == AskState::kTwin && by_key) || again;
    if (may) {
      out.push_back(std::move(board));
      continue;
    }
    all_well = false;
    say("refused: " + board.ask.serial + ", key " + board.fingerprint + ": " + state_of(board) +
        (board.state == AskState::kClone
             ? "; if that one is gone: lairctl purge, or --replace " + board.node +
                   " with the fingerprint"
             : "; say which by its fingerprint, as `laird join` tells it on the board"));
  }
  for (const std::string& one : wanted) {
    if (met.count(one) != 0) continue;
    all_well = false;
    say(one + " has not asked yet; give the same command again, or a longer --wait");
  }
  return out;
}

Result<std::unique_ptr<FleetClient>> open_fleet(const Reach& reach, Where& where) {
  auto found = reach.where(true);
  LAIRD_TRY(found);
  where = std::move(*found);
  return FleetClient::open(where.fleet, Listen::kJoin, where.timeout);
}

int approve(const Reach& reach, const JoinOptions& options) {
  const auto wanted = wanted_of(options);
  if (!wanted) return complain(wanted.error());
  Where where;
  const auto client = open_fleet(reach, where);
  if (!client) return complain(client.error());
  const auto book = listen(**client, options, *wanted);
  if (!book) return complain(book.error());
  const auto index = pki_index(options.pki);
  if (!index) return complain(index.error());
  bool all_well = true;
  std::vector<Asking> boards = chosen(*book, *index, options, *wanted, all_well);
  if (!options.replace.empty() && boards.size() != 1) {
    return complain({Code::kInvalid, "--replace is for one board, named by its fingerprint"});
  }
  if (boards.empty()) {
    if (options.all) say("no board asks");
    return options.all && all_well ? 0 : kPartial;
  }
  const auto done = Admission(**client, options, where.timeout).run(std::move(boards));
  if (!done) return complain(done.error());
  return *done == 0 && !all_well ? kPartial : *done;
}

int deny(const Reach& reach, const JoinOptions& options) {
  const auto wanted = wanted_of(options);
  if (!wanted) return complain(wanted.error());
  Where where;
  const auto client = open_fleet(reach, where);
  if (!client) return complain(client.error());
  const auto book = listen(**client, options, *wanted);
  if (!book) return complain(book.error());
  const auto index = pki_index(options.pki);
  if (!index) return complain(index.error());
  std::map<std::string, std::string> answers;
  for (const Asking& board : book->judged(*index)) {
    if (board.state == AskState::kKnown) {
      say(board.ask.serial + " is " + board.node + ": lairctl purge takes its place back");
      continue;
    }
    const auto answer = signed_answer(
        options.pki,
        {where.fleet.fleet, board.fingerprint, false, options.why.substr(0, 200), {}, {}, {}});
    if (!answer) return complain(answer.error());
    answers.emplace(board.fingerprint, *answer);
    print("denied: %s, key %s\n", board.ask.serial.c_str(), board.fingerprint.c_str());
  }
  const Status told = (*client)->answer_asks(answers, where.timeout);
  if (!told) return complain(told.error());
  return answers.empty() ? kPartial : 0;
}

int list(const Reach& reach, const JoinOptions& options) {
  Where where;
  const auto client = open_fleet(reach, where);
  if (!client) return complain(client.error());
  const auto book = listen(**client, options, {});
  if (!book) return complain(book.error());
  const auto index = pki_index(options.pki);
  if (!index) return complain(index.error());
  Table table({{"SERIAL"}, {"KEY"}, {"MODULE"}, {"VERSION"}, {"STATE"}});
  json::Value rows = json::Value::array();
  for (const Asking& board : book->judged(*index)) {
    table.add({board.ask.serial, board.fingerprint,
               board.ask.module.empty() ? "unknown" : board.ask.module, board.ask.version,
               state_of(board)});
    rows.add(json::Value::object()
                 .set("serial", board.ask.serial)
                 .set("key", board.fingerprint)
                 .set("module", board.ask.module)
                 .set("model", board.ask.model)
                 .set("version", board.ask.version)
                 .set("state", state_text(board.state))
                 .set("node", board.node));
  }
  if (reach.json()) {
    print_json(rows);
  } else if (table.empty()) {
    say("no board asks");
  } else {
    print_text(table.text());
  }
  if (book->refused() > 0) {
    say(std::to_string(book->refused()) +
        " messages were no board's: malformed, or not signed by "
        "the key they name");
  }
  return 0;
}

int image(const Reach& reach, const JoinOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  struct stat info {};
  if (!options.force && ::lstat(options.out.c_str(), &info) == 0) {
    return complain({Code::kExists, options.out + " is there already; --force makes a new one"});
  }
  const Status made =
      make_join_folder(options.pki, {options.out, where->fleet.brokers, options.days},
                       options.force ? IfThere::kReplace : IfThere::kRefuse);
  if (!made) return complain(made.error());
  print(
      "made %s: join.json, ca.crt, join.crt, join.key; good for %lld days\n"
      "\nNext: sudo lairctl provision ROOTFS --package FILE --join %s\n"
      "      A broker whose files are older than this version of laird must know what the\n"
      "      certificate may do: lairctl broker config --force, then restart it there.\n"
      "      When the boards have started: lairctl join list\n",
      options.out.c_str(), static_cast<long long>(options.days), options.out.c_str());
  return 0;
}

}  // namespace

void add_join(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<JoinOptions>();
  cli::Command* join =
      app.add_subcommand("join",
                         "Boards that come from one image and ask for their place in the fleet.\n"
                         "Example: lairctl join list");
  join->require_subcommand();
  const auto add = [&](const char* name, const char* about,
                       int (*run)(const Reach&, const JoinOptions&)) {
    cli::Command* command = join->add_subcommand(name, about);
    command->add_option("--pki", options->pki, "The folder of the fleet's certificates")
        ->show_default();
    add_access(command, *reach);
    command->callback([reach, options, &code, run] { code = run(*reach, *options); });
    return command;
  };
  const auto naming = [&](cli::Command* command) {
    command->add_option("board", options->wanted,
                        "Serial numbers, or the first eight digits and more of keys' fingerprints");
    command->add_option("--serials", options->serials, "A file with one of them a line");
    command->add_option("--wait", options->wait, "Wait so long for them to ask (default: 8s)");
    command->add_flag("--all", options->all, "Every board that asks");
  };
  cli::Command* image_command =
      add("image",
          "Make the folder that goes into an image, so that its boards ask.\n"
          "Example: lairctl join image --days 30",
          image);
  image_command->add_option("--out", options->out, "The folder to write")->show_default();
  image_command->add_option("--days", options->days, "How long boards may ask with it")
      ->show_default();
  image_command->add_flag("--force", options->force, "Replace what is there; it is kept aside");
  cli::Command* list_command = add("list", "Who asks.\nExample: lairctl join list -o json", list);
  list_command->add_option("--wait", options->wait, "Listen for so long (default: 8s)");
  add_output(list_command, *reach, false);
  cli::Command* approve_command =
      add("approve",
          "Admit boards: each gets a name that nobody had, a certificate for its own key, a floor "
          "and its config.\n"
          "Example: lairctl join approve 1421023012345 --serials bought.txt",
          approve);
  naming(approve_command);
  approve_command->add_option("--prefix", options->prefix, "How their names begin")->show_default();
  approve_command->add_option("--floor", options->floor,
                              "Power each keeps whatever happens (default: by its module's file)");
  approve_command->add_option("--replace", options->replace,
                              "The board, named by its fingerprint, takes this one's place: it "
                              "was set up anew");
  cli::Command* deny_command =
      add("deny", "Tell boards that they have no place.\nExample: lairctl join deny 1421023012345",
          deny);
  naming(deny_command);
  deny_command->add_option("--why", options->why, "What their logs say")->show_default();
}

}  // namespace laird::control
