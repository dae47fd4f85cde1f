#include "lab/titles/title_sim.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "lab/network/carry.hpp"

namespace laird::lab {
namespace {

using consensus::Account;
using consensus::HeldTitle;
using consensus::RegisterView;
using consensus::TitleId;
using consensus::TitleMessage;
using consensus::TitleMessages;
using consensus::Titles;
using consensus::TitleState;
using Chance = RandomOf<Range::kScaled>;

struct Quality {
  double loss = 0.0;
  double duplicate = 0.0;
  std::int64_t delay_min = 1;
  std::int64_t delay_max = 1;
};

// Truth about accounts.
struct Oracle {
  std::map<Account, int> fence_at;  // of entered accounts
  std::set<Account> dead;
  [[nodiscard]] bool lives(const Account& a) const {
    return fence_at.count(a) != 0 && dead.count(a) == 0;
  }
};

struct Node {
  Titles book;
  Account self;
  bool up = true;
  int up_at = 0;
  int alone_until = 0;  // cut off from everybody
  std::set<Account> dead_seen;
  std::vector<Account> living_seen;
};

struct Mail {
  int at = 0;
  TitleMessage message;
};

struct Watched {
  TitleId id;
  bool over = false;
  bool hurt = false;  // at some tick neither its holder nor its backup was a living account
};

class World {
 public:
  explicit World(const TitleSimConfig& config)
      : config_(config), chance_(spread_seed(config.seed)) {
    harshness_ = 0.1 + 0.9 * chance_.unit();
    for (int n = 1; n <= config.boards; ++n) {
      Node node;
      node.book = Titles(config.rules);
      node.self = {static_cast<std::uint32_t>(n), 1};
      node.book.begin(node.self);
      oracle_.fence_at[node.self] = kTitleLease;
      nodes_.push_back(std::move(node));
    }
    step_register();
    for (Node& node : nodes_) look(node);
    for (int t = 0; t < config.titles; ++t) {
      Node& node = nodes_[static_cast<std::size_t>(t) % nodes_.size()];
      titles_.push_back({*node.book.issue(view_of(node), "task"), false, false});
    }
  }

  void run(int ticks, bool faults) {
    quality_ = faults ? Quality{0.15, 0.15, 1, 8} : Quality{};
    if (!faults) heal();
    for (const int end = now_ + ticks; now_ < end; ++now_) {
      if (faults) break_something();
      step_register();
      for (Node& node : nodes_) {
        if (node.up && !is_alone(node) && (!faults || chance_.chance(0.6))) look(node);
      }
      deliver(faults);
      for (Node& node : nodes_) {
        if (node.up && (!faults || chance_.chance(0.8)))
          act(node, faults, [&](TitleMessages& out) { tick(node, out); });
      }
      if (faults) ask_something();
      check();
    }
  }

  void kill(std::size_t n) {
    nodes_[n].up = false;
    nodes_[n].up_at = INT32_MAX;
  }
  [[nodiscard]] bool all_run_elsewhere(std::size_t n) const {
    return std::all_of(titles_.begin(), titles_.end(), [&](const Watched& title) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i != n && runs(nodes_[i], title.id)) return true;
      }
      return false;
    });
  }

  TitleSimResult result() {
    for (const Watched& title : titles_) {
      if (title.over) continue;
      const bool running = std::any_of(nodes_.begin(), nodes_.end(),
                                       [&](const Node& n) { return runs(n, title.id); });
      const bool known = std::any_of(nodes_.begin(), nodes_.end(),
                                     [&](const Node& n) { return n.book.knows_of(title.id); });
      if (!title.hurt) {
        if (running) continue;
        ++result_.lost;
        note("nobody runs it at the end", title.id);
      } else {
        ++(running ? result_.recovered : known ? result_.stranded : result_.gone);
      }
    }
    return result_;
  }

 private:
  [[nodiscard]] bool is_alone(const Node& node) const { return now_ < node.alone_until; }

  [[nodiscard]] RegisterView view_of(const Node& node) const {
    RegisterView view;
    view.self = node.self;
    const auto fence = oracle_.fence_at.find(node.self);
    view.fenced = fence == oracle_.fence_at.end() || now_ >= fence->second;
    view.living = node.living_seen;
    const std::set<Account>* dead = &node.dead_seen;
    view.is_dead = [dead](const Account& a) { return dead->count(a) != 0; };
    return view;
  }

  [[nodiscard]] bool runs(const Node& node, const TitleId& id) const {
    return node.up && node.book.may_run(view_of(node), id);
  }

  void look(Node& node) {
    node.dead_seen = oracle_.dead;
    node.living_seen.clear();
    for (const auto& [account, fence] : oracle_.fence_at) {
      if (oracle_.dead.count(account) == 0) node.living_seen.push_back(account);
    }
  }

  void step_register() {
    for (Node& node : nodes_) {
      if (!node.up && node.up_at <= now_) node.up = true;
      if (!node.up || is_alone(node)) continue;
      if (oracle_.lives(node.self)) {
        // What has lapsed is lapsed: only an unbroken lease is renewed.
        int& fence = oracle_.fence_at[node.self];
        if (now_ < fence) fence = now_ + kTitleLease;
      }
    }
    for (const auto& [account, fence] : oracle_.fence_at) {
      if (now_ >= fence + kTitleMargin) oracle_.dead.insert(account);
    }
    for (Node& node : nodes_) {
      if (!node.up || is_alone(node)) continue;
      if (oracle_.dead.count(node.self) != 0) {
        node.self.incarnation += 1;
        node.book.begin(node.self);
      }
      if (oracle_.fence_at.count(node.self) == 0 && earlier_are_dead(node.self)) {
        oracle_.fence_at[node.self] = now_ + kTitleLease;
      }
    }
  }
  [[nodiscard]] bool earlier_are_dead(const Account& account) const {
    return std::all_of(oracle_.fence_at.begin(), oracle_.fence_at.end(), [&](const auto& entry) {
      return entry.first.node != account.node || oracle_.dead.count(entry.first) != 0;
    });
  }

  Node& some_node() { return nodes_[chance_.below(static_cast<std::uint32_t>(nodes_.size()))]; }

  void go_down(Node& node, std::int64_t ticks_max) {
    node.up = false;
    node.up_at = now_ + static_cast<int>(chance_.between(1, ticks_max));
  }

  void reborn(Node& node, bool with_journal) {
    node.self.incarnation += 1;
    if (!with_journal) node.book = Titles(config_.rules);
    node.book.begin(node.self);
  }

  void break_something() {
    // Some schedules are mild, so that titles live long and move often; some leave nothing whole.
    const auto strikes = [this](double chance) { return chance_.chance(chance * harshness_); };
    if (strikes(0.03)) {
      Node& node = some_node();
      node.alone_until = now_ + static_cast<int>(chance_.between(1, 50));
    }
    if (strikes(0.03)) go_down(some_node(), 12);
    if (strikes(0.01)) go_down(some_node(), 60);
    if (strikes(0.012)) {
      Node& node = some_node();
      go_down(node, 30);
      reborn(node, true);
    }
    if (strikes(0.004)) {
      Node& node = some_node();
      go_down(node, 30);
      reborn(node, false);
    }
  }

  void heal() {
    for (Node& node : nodes_) {
      node.up = node.up_at != INT32_MAX;
      node.alone_until = 0;
    }
  }

  // Moves, new checkpoints and ends.
  void ask_something() {
    Watched& title = titles_[chance_.below(static_cast<std::uint32_t>(titles_.size()))];
    Node& node = some_node();
    if (!node.up) return;
    const RegisterView view = view_of(node);
    if (chance_.chance(0.5) && !view.living.empty()) {
      const Account to = view.living[chance_.below(static_cast<std::uint32_t>(view.living.size()))];
      static_cast<void>(node.book.give(view, title.id, to));
    }
    if (chance_.chance(0.02)) static_cast<void>(node.book.renew(title.id, "checkpoint"));
    if (chance_.chance(0.001) && node.book.may_run(view, title.id)) {
      title.over = node.book.end(title.id).has_value() || title.over;
    }
  }

  void tick(Node& node, TitleMessages& out) {
    const std::size_t copies = node.book.copies();
    node.book.tick(view_of(node), out);
    // A copy that a tick ends has become a title.
    reclaimed_now_ = static_cast<int>(copies - node.book.copies());
  }

  void take(Node& node, const TitleMessage& message, TitleMessages& out) {
    const std::size_t held = node.book.held().size();
    // A board may be unable to run a task, or full, for a while.
    node.book.take(view_of(node), message, out,
                   [this](const TitleMessage&) { return !chance_.chance(0.1); });
    given_now_ = node.book.held().size() > held ? 1 : 0;
  }

  // One step of a board: it may crash before it has journalled it, or after that and before it has
  // sent anything.
  template <class Step>
  void act(Node& node, bool faults, Step step) {
    Bytes before;
    const bool crashes = faults && chance_.chance(0.004);
    const bool journalled = chance_.chance(0.5);
    if (crashes) {
      Archive ar = Archive::writer(before);
      node.book.archive(ar);
    }
    given_now_ = 0;
    reclaimed_now_ = 0;
    TitleMessages out;
    step(out);
    if (!crashes || journalled) {
      result_.given += given_now_;
      result_.reclaimed += reclaimed_now_;
    }
    if (crashes) {
      if (!journalled) {
        Titles back(config_.rules);
        Archive ar = Archive::reader(before);
        back.archive(ar);
        node.book = std::move(back);
      }
      go_down(node, 12);
      return;
    }
    if (is_alone(node)) return;
    for (TitleMessage& message : out) {
      carry(quality_, chance_, [&](std::int64_t delay) {
        mail_.push_back({now_ + static_cast<int>(delay), message});
      });
    }
  }

  void deliver(bool faults) {
    std::vector<TitleMessage> due;
    for (std::size_t i = 0; i < mail_.size();) {
      if (mail_[i].at > now_) {
        ++i;
        continue;
      }
      due.push_back(std::move(mail_[i].message));
      mail_[i] = std::move(mail_.back());
      mail_.pop_back();
    }
    for (const TitleMessage& message : due) {
      // A control run may ask a backup that was never named.
      if (message.to.node == 0) continue;
      Node& node = nodes_[message.to.node - 1];
      if (!node.up || is_alone(node)) continue;
      act(node, faults, [&](TitleMessages& out) { take(node, message, out); });
    }
  }

  void note(const char* what, const TitleId& id) {
    if (!result_.first.empty()) return;
    result_.first = "seed " + std::to_string(config_.seed) + ", tick " + std::to_string(now_) +
                    ", title " + std::to_string(id.issuer.node) + "." + std::to_string(id.serial) +
                    ": " + what + tale(id);
  }

  // What each board knows of it.
  [[nodiscard]] std::string tale(const TitleId& id) const {
    std::string out;
    for (const Node& node : nodes_) {
      out += "; " + std::to_string(node.self.node) + "." + std::to_string(node.self.incarnation) +
             (node.up ? "" : " down");
      for (const HeldTitle& title : node.book.held()) {
        if (title.id != id) continue;
        out += " " + std::string(consensus::name(title.state)) + " as " +
               std::to_string(title.number) + ", backup " + std::to_string(title.backup.node) +
               "." + std::to_string(title.backup.incarnation);
      }
      if (node.book.backs(id)) out += " backs it";
    }
    return out;
  }

  void check() {
    for (Watched& title : titles_) {
      int running = 0;
      int holding = 0;
      int usable = 0;
      for (const Node& node : nodes_) {
        const bool lives = oracle_.lives(node.self);
        running += runs(node, title.id) ? 1 : 0;
        for (const HeldTitle& held : node.book.held()) {
          if (held.id != title.id || !lives || held.as != node.self) continue;
          // Whose it is while it is being given away is not known.
          const bool is_given =
              held.state == TitleState::kGiving || held.state == TitleState::kYielding;
          usable += !is_given || oracle_.lives(held.to) ? 1 : 0;
          holding += held.state == TitleState::kHeld ? 1 : 0;
        }
        usable += lives && node.book.backs(title.id) ? 1 : 0;
      }
      if (usable == 0) title.hurt = true;
      if (running > 1) {
        ++result_.two_runners;
        note("two boards run it", title.id);
      }
      if (holding > 1) {
        ++result_.two_holders;
        note("two living accounts hold it", title.id);
      }
    }
  }

  TitleSimConfig config_;
  Chance chance_;
  double harshness_ = 1.0;
  Oracle oracle_;
  Quality quality_;
  std::vector<Node> nodes_;
  std::vector<Watched> titles_;
  std::vector<Mail> mail_;
  TitleSimResult result_;
  int given_now_ = 0;  // by the step that is made
  int reclaimed_now_ = 0;
  int now_ = 0;
};

}  // namespace

TitleSimResult run_titles(const TitleSimConfig& config) {
  World world(config);
  world.run(config.fault_ticks, true);
  world.run(config.heal_ticks, false);
  return world.result();
}

int ticks_to_run_again(std::uint64_t seed) {
  TitleSimConfig config;
  config.seed = seed;
  World world(config);
  world.run(30, false);
  const std::size_t victim = seed % static_cast<std::uint64_t>(config.boards);
  world.kill(victim);
  int ticks = 0;
  while (ticks < 200 && !world.all_run_elsewhere(victim)) {
    world.run(1, false);
    ++ticks;
  }
  return ticks;
}

}  // namespace laird::lab
