// upgrade: another version on the boards of a fleet, in waves. Each board tries it by itself and
// goes back by itself; this stops at the first one that does.
#include <algorithm>
#include <cmath>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/waves.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;

// A board fetches the package, waits until it is well, and perhaps goes back; then it is told of.
constexpr DurationNs kMargin = kMinute;
constexpr DurationNs kConfirmEvery = 5 * kSecond;

struct UpgradeOptions {
  std::string version;
  std::string waves = "1,5%,25%,all";
  std::string within = "10m";
  std::string settle = "20s";
  std::vector<std::string> boards;
  bool dry_run = false;
};

std::string version_of(const BoardView& board) {
  const Value* version = board.info.find("version", json::Kind::kString);
  return version == nullptr ? "unknown" : version->as_string();
}

// What is known of a board from before it was asked.
struct Asked {
  std::string id;
  std::int64_t epoch = 0;
  std::set<std::string> tasks;  // that were not over
  SteadyTime confirm_at{};
  std::optional<SteadyTime> confirmed;  // when the board had heard the second word
  bool done = false;
};

class Wave {
 public:
  Wave(FleetClient& client, std::string version, DurationNs settle)
      : client_(client), version_(std::move(version)), settle_(settle) {}

  // "" when each board has the version and is well; else what went wrong, by board.
  [[nodiscard]] Result<std::string> run(const std::vector<std::string>& ids, DurationNs within,
                                        DurationNs timeout) {
    for (const std::string& id : ids) asked_.push_back(look_at(id));
    const auto replies = client_.ask_each("upgrade", body(), {ids.begin(), ids.end()}, timeout);
    LAIRD_TRY(replies);
    for (const std::string& id : ids) {
      const auto reply = replies->find(id);
      if (reply != replies->end() && reply->second.code == mqtt::ReplyCode::kOk) continue;
      return id + (reply == replies->end() ? " did not answer" : ": " + reply->second.text);
    }
    std::string wrong;
    client_.wait(after(within), [&] {
      wrong = look();
      return !wrong.empty() || all_done();
    });
    if (!wrong.empty() || all_done()) return wrong;
    for (const Asked& board : asked_) {
      if (!board.done) wrong += (wrong.empty() ? "" : "; ") + board.id + " is not there in time";
    }
    return wrong + ": is laird-upgrade.path enabled there, and the repository named?";
  }

 private:
  [[nodiscard]] Value body() const { return Value::object().set("version", version_); }

  [[nodiscard]] Asked look_at(const std::string& id) const {
    Asked out;
    out.id = id;
    out.epoch = client_.view().boards().at(id).epoch;
    for (const TaskView& task : client_.view().tasks_of(id)) {
      if (!task.is_ended()) out.tasks.insert(task.text("name"));
    }
    return out;
  }

  [[nodiscard]] bool all_done() const {
    return std::all_of(asked_.begin(), asked_.end(), [](const Asked& b) { return b.done; });
  }

  [[nodiscard]] std::string look() {
    for (Asked& asked : asked_) {
      const auto found = client_.view().boards().find(asked.id);
      if (found == client_.view().boards().end()) return asked.id + " is gone";
      const BoardView& board = found->second;
      // Another start of the agent, and whole: its report is of that start too.
      const double reported = number_at(board.report, "epoch").value_or(0.0);
      if (!board.is_live() || board.epoch <= asked.epoch || std::llround(reported) != board.epoch) {
        continue;
      }
      if (version_of(board) != version_) {
        return asked.id + " went back to " + version_of(board) +
               "; journalctl -u laird-upgrade "
               "there says why";
      }
      if (const std::string lost = lost_task(asked); !lost.empty()) return lost;
      confirm(asked);
    }
    return {};
  }

  [[nodiscard]] std::string lost_task(const Asked& asked) const {
    for (const std::string& name : asked.tasks) {
      if (client_.view().tasks().count({asked.id, name}) == 0) {
        return asked.id + " lost the task " + name;
      }
    }
    return {};
  }

  // The second word, until the board has had time to hear it: it then keeps the version.
  void confirm(Asked& asked) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (asked.confirmed) {
      // It may still go back, if its agent does not answer steadily.
      asked.done = now - *asked.confirmed >= std::chrono::nanoseconds(settle_);
      return;
    }
    hear(asked);
    if (now < asked.confirm_at) return;
    const auto sent = client_.send(asked.id, "upgrade", body(), kMinute);
    asked.confirm_at = after(kConfirmEvery);
    if (sent) confirmations_.emplace_back(asked.id, sent->id);
  }

  void hear(Asked& asked) const {
    for (const auto& [id, command] : confirmations_) {
      const auto& replies = client_.replies(command);
      const auto reply = replies.find(id);
      if (id != asked.id || reply == replies.end()) continue;
      if (reply->second.code != mqtt::ReplyCode::kOk) continue;
      asked.confirmed = std::chrono::steady_clock::now();
    }
  }

  FleetClient& client_;
  const std::string version_;
  const DurationNs settle_;
  std::vector<Asked> asked_;
  std::vector<std::pair<std::string, std::string>> confirmations_;  // board, command
};

// Those that are meant, in the order of their names.
Result<std::vector<std::string>> targets_of(const FleetView& view, const UpgradeOptions& options) {
  std::vector<std::string> out;
  for (const std::string& id : options.boards) LAIRD_TRY(check_board(view, id));
  for (const auto& [id, board] : view.boards()) {
    const bool named =
        std::find(options.boards.begin(), options.boards.end(), id) != options.boards.end();
    if (options.boards.empty() ? board.state != "offline" : named) out.push_back(id);
  }
  for (const std::string& id : out) {
    if (view.boards().at(id).is_live()) continue;
    return fail(Code::kRefused, id + " is " + view.boards().at(id).state +
                                    ": an upgrade begins when all of its boards are well, or name "
                                    "those that are meant");
  }
  if (out.empty()) return fail(Code::kNotFound, "there is no board");
  return out;
}

std::string listed(const std::vector<std::string>& ids) {
  std::string out;
  for (const std::string& id : ids) out += " " + id;
  return out;
}

int upgrade(const Reach& reach, const UpgradeOptions& options) {
  const auto within = config::parse_duration(options.within);
  if (!within) return complain({Code::kInvalid, "--within: " + within.error().context});
  const auto settle = config::parse_duration(options.settle);
  if (!settle) return complain({Code::kInvalid, "--settle: " + settle.error().context});
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  const auto targets = targets_of((*client)->view(), options);
  if (!targets) return complain(targets.error());
  const auto waves = waves_of(options.waves, targets->size());
  if (!waves) return complain(waves.error());
  // Boards that have it count as the first ones: a run that stopped goes on where it was.
  std::vector<std::string> left;
  for (const std::string& id : *targets) {
    if (version_of((*client)->view().boards().at(id)) != options.version) left.push_back(id);
  }
  std::size_t have = targets->size() - left.size();
  std::size_t number = 0;
  for (const std::size_t goal : *waves) {
    ++number;
    if (goal <= have) continue;
    const auto count = static_cast<std::ptrdiff_t>(goal - have);
    const std::vector<std::string> ids(left.begin(), left.begin() + count);
    left.erase(left.begin(), left.begin() + count);
    print("wave %zu of %zu:%s\n", number, waves->size(), listed(ids).c_str());
    if (options.dry_run) {
      have = goal;
      continue;
    }
    const auto wrong =
        Wave(**client, options.version, *settle).run(ids, *within + kMargin, where->timeout);
    if (!wrong) return complain(wrong.error());
    if (!wrong->empty()) {
      say("stopped in wave " + std::to_string(number) + ": " + harmless(*wrong));
      say(std::to_string(have) + " of " + std::to_string(targets->size()) + " boards have " +
          options.version + " and keep it; nobody else was asked");
      return kFailed;
    }
    have = goal;
  }
  if (!options.dry_run) {
    print("%zu of %zu boards have %s\n", have, targets->size(), options.version.c_str());
  }
  return 0;
}

}  // namespace

void add_upgrade(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<UpgradeOptions>();
  cli::Command* command = app.add_subcommand(
      "upgrade",
      "Bring another version of laird to the boards, in waves. A board that is not well with it "
      "goes back by itself, and no further wave begins.\n"
      "Example: lairctl upgrade 0.2.0 --waves 1,5%,25%,all");
  command->add_option("version", options->version, "The version, as the repository has it")
      ->required();
  command->add_option("--waves", options->waves, "How many boards have it after each wave")
      ->show_default();
  command->add_option("--within", options->within, "How long a wave may take")->show_default();
  command
      ->add_option("--settle", options->settle,
                   "How long a board must stay with it once it is confirmed")
      ->show_default();
  command->add_option("--node", options->boards, "Only these boards, with commas between")
      ->delimiter(',');
  command->add_flag("--dry-run", options->dry_run, "Say which boards each wave has");
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = upgrade(*reach, *options); });
}

}  // namespace laird::control
