// Titles: which one board holds a task that may move, so that no two boards ever run it and it is
// not lost with the board that has it. The part of one board; pure.
//
// Source: ours; the hand-over is that of the ledger's shares (docs/ledger.md): journalled before
// sent, sent until acknowledged, by an ever greater number. Symbols: k, a title's number, which
// grows with every change of its holder; an account, one life of a node in the register
// (consensus/account.hpp).
//
// Roles. The holder may run the task. It names one backup, a board that keeps a copy of the title
// and of what is needed to run the task. A backup changes only when the register has declared its
// account dead.
//  - Giving: the holder A no longer runs it from the first step on. It tells the backup P that the
//    board B will have it as k + 1, and only after P's acknowledgement it gives it to B. So P
//    always knows every account that may hold the title: its candidates.
//    To its own backup it gives the title directly, and is to be the backup of the new holder: P
//    knows the only candidate, A, and A knows whom it gave the title to, and keeps the copy.
//  - Refusing: a board that could not run the task refuses to be its backup or its next holder,
//    and journals that it does.
//  - Reclaiming: P takes the title as a greater number once each candidate is either declared dead
//    by the register or has renounced, which it journals before it says so.
//  - A new life: a board whose account was declared dead, or that lost its time, goes on under a
//    new account and runs nothing before its backup, as named in its journal, has confirmed that it
//    did not reclaim. A backup that lost its journal cannot say that: the title is stranded, and a
//    person has to decide.
// Why two never run it. The register declares an account dead only after its fence; a board runs a
// title only unfenced, and no dead account is ever unfenced again. Whoever becomes the next runner
// got the title from the last one, which had journalled that it gave it away, or by reclaiming,
// when all candidates were dead or had renounced, or by a backup's word that it did not reclaim,
// after which it will not take the old candidates for dead ones of its own tenure.
//
// Assumptions: what was journalled is there after a crash; a board that lost its journal knows that
// it did. Messages may be lost, repeated, late and out of order, not forged. Bounded: kTitlesMax
// held, kCopiesMax kept, kPastMax remembered; once one of the past is forgotten, boards that ask
// about what is not known are told so, and nothing runs by mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "consensus/account.hpp"

namespace laird::consensus {

inline constexpr std::size_t kTitlesMax = 256;
inline constexpr std::size_t kCopiesMax = 1024;
inline constexpr std::size_t kPastMax = 4096;
inline constexpr std::size_t kCandidatesMax = 8;
inline constexpr std::size_t kTitleBodyMax = 64 * 1024;
inline constexpr std::size_t kOwnAccountsMax = 256;

// The account that issued it, and how many it had issued: never used again, whatever the task is
// called.
struct TitleId {
  Account issuer;
  std::uint32_t serial = 0;

  auto operator<=>(const TitleId&) const = default;
  void archive(Archive& ar) {
    ar(issuer);
    ar(serial);
  }
};

enum class TitleWord : std::uint8_t {
  kPoint,        // holder to backup: `about` will have it as `number`
  kPointAck,     //
  kGive,         // holder to the next one: it is yours as `number`, with that backup and body
  kGiveAck,      //
  kGiveRefused,  // it was not taken, and will not be under that number
  kCopy,         // holder to backup: keep this
  kCopyAck,      //
  kAsk,          // a new life to the node of its backup (`about` is that account): may I go on?
  kConfirm,      // yes, as `number`
  kGone,         // another has it
  kUnknown,      // I cannot say
  kRenounceAsk,  // backup to a candidate, or holder to whom it gave it: do you have it?
  kRenounced,    // no, and I will not take it up to that number
  kHolding,      // yes
  kRenounce,     // holder to backup: whom I gave it to is dead, and I do not have it any more
  kRetire,       // holder to backup: the task is over
  kRetireAck,    //
  kCopyRefused,  // I do not keep this, and will not under that number: name another
};
inline constexpr auto kTitleWordLast = TitleWord::kCopyRefused;

struct TitleMessage {
  TitleWord word = TitleWord::kPoint;
  TitleId id;
  std::uint32_t number = 0;
  Account from;
  Account to;  // incarnation 0: whatever account the node has
  Account about;
  std::string body;  // kGive and kCopy only

  void archive(Archive& ar);
};
using TitleMessages = std::vector<TitleMessage>;

// What a board knows of the register, and of its own fence, when it acts. Who lives is a hint, who
// is dead is certain.
struct RegisterView {
  Account self;
  bool fenced = true;           // out of its lease, or not entered yet
  std::vector<Account> living;  // sorted
  std::function<bool(const Account&)> is_dead;
};

// Whether the board would take what the message brings, as a holder or as a backup.
using Willing = std::function<bool(const TitleMessage&)>;

enum class TitleState : std::uint8_t {
  kHeld,
  kTelling,      // is to be given away; the backup has not acknowledged that yet
  kGiving,       // given to another; not acknowledged
  kYielding,     // whom it was given to is dead; the backup is to take it
  kUnconfirmed,  // of an earlier life; the backup is asked
  kStranded,     // the backup cannot say; a person has to decide
  kOver,         // the task is over; the backup is to forget it
};
inline constexpr auto kTitleStateLast = TitleState::kOver;
[[nodiscard]] std::string_view name(TitleState state);

struct HeldTitle {
  TitleId id;
  std::uint32_t number = 0;
  TitleState state = TitleState::kHeld;
  Account as;           // the account under which it was got or confirmed
  Account backup;       // incarnation 0: none named yet
  bool backed = false;  // the backup has acknowledged its copy
  // A gift that came to nothing took the numbers up to here; the title goes on under the next one
  // once the backup has acknowledged that, so that nobody else ever counts below its holder.
  std::uint32_t skips = 0;
  Account to;  // while it is given away
  std::string body;
  std::uint32_t refusals = 0;  // boards that would not be its backup
  std::uint8_t body_due = 0;   // ticks until its body is sent once more
  // It is given to its own backup, and its giver is to be the next backup.
  [[nodiscard]] bool is_swapped() const { return to.valid() && to == backup; }
  void archive(Archive& ar);
};

// A body is long, so it is sent once more only every so many ticks.
inline constexpr std::uint8_t kBodyTicks = 4;

// The rules that can be left out, for the simulation's control runs only: each must then be caught.
struct TitleRules {
  bool waits_for_register = true;  // reclaims only candidates that the register calls dead
  bool journals_gift = true;       // stops running a title when it gives it away
  bool asks_after_rebirth = true;  // a new life runs nothing unconfirmed
  bool tells_backup = true;        // the backup hears of the next holder before that has the title
};

class Titles {
 public:
  explicit Titles(TitleRules rules = {}) : rules_(rules) {}

  // The board goes on under this account: at its first start, and whenever it got a new one.
  void begin(const Account& self);

  // The account under which it goes on; none before the first.
  [[nodiscard]] Account account() const { return own_.empty() ? Account{} : own_.back(); }

  // A title of a task that is on no other board.
  [[nodiscard]] Result<TitleId> issue(const RegisterView& view, std::string body);
  // Gives it away; the error says why that cannot be now.
  [[nodiscard]] Status give(const RegisterView& view, const TitleId& id, const Account& to);
  // The task is over.
  [[nodiscard]] Status end(const TitleId& id);
  // The body changed, as with a new checkpoint: the backup gets it too.
  [[nodiscard]] Status renew(const TitleId& id, std::string body);

  // A message of a peer. What it appends may leave only once the change is in the journal.
  void take(const RegisterView& view, const TitleMessage& message, TitleMessages& out,
            const Willing& willing = {});
  // Everything that is not acknowledged yet, once more; backups are named, dead holders' titles
  // reclaimed. As above.
  void tick(const RegisterView& view, TitleMessages& out);

  [[nodiscard]] bool may_run(const RegisterView& view, const TitleId& id) const {
    return !view.fenced && may_run(view.self, id);
  }
  // The same for a board that is known to be unfenced under that account.
  [[nodiscard]] bool may_run(const Account& self, const TitleId& id) const;
  [[nodiscard]] const std::vector<HeldTitle>& held() const { return held_; }
  [[nodiscard]] const HeldTitle* holds(const TitleId& id) const;
  // Nobody could say whose it is so far, and a person has decided that it is not this board's.
  [[nodiscard]] Status give_up(const TitleId& id);
  // The nodes whose accounts its decisions depend on; sorted.
  [[nodiscard]] std::vector<NodeId> concerns() const;
  [[nodiscard]] std::size_t copies() const { return kept_.size(); }
  // A copy by which it could still reclaim.
  [[nodiscard]] bool backs(const TitleId& id) const;
  [[nodiscard]] bool knows_of(const TitleId& id) const;
  // How many bytes the bodies of titles and copies are together.
  [[nodiscard]] std::size_t body_bytes() const;
  void archive(Archive& ar);

 private:
  struct Candidate {
    Account account;
    std::uint32_t number = 0;
    bool renounced = false;
    void archive(Archive& ar) {
      ar(account);
      ar(number);
      ar(renounced);
    }
  };
  // What a backup keeps.
  struct Kept {
    TitleId id;
    std::vector<Candidate> candidates;
    std::string body;
    bool is_void = false;  // of an earlier life: nothing is reclaimed by it
    [[nodiscard]] std::uint32_t highest() const;
    [[nodiscard]] Candidate* of_node(NodeId node);
    void archive(Archive& ar);
  };
  // A title that the board had, or would not have: nothing up to that number is taken any more.
  struct Past {
    TitleId id;
    std::uint32_t number = 0;
    bool had = false;
    void archive(Archive& ar) {
      ar(id);
      ar(number);
      ar(had);
    }
  };

  [[nodiscard]] HeldTitle* find(const TitleId& id);
  [[nodiscard]] Kept* copy_of(const TitleId& id);
  [[nodiscard]] Past* past_of(const TitleId& id);
  [[nodiscard]] bool remembers(const Account& account) const;
  void remember(const TitleId& id, std::uint32_t number, bool had);
  void drop_held(const TitleId& id, bool had, std::uint32_t number);
  void drop_copy(const TitleId& id);

  // The holder's side.
  void on_point_ack(const TitleMessage& m);
  void on_give_ack(const RegisterView& view, const TitleMessage& m);
  void on_give_refused(const RegisterView& view, const TitleMessage& m);
  void on_renounced(const RegisterView& view, const TitleMessage& m);
  void on_answer(const RegisterView& view, const TitleMessage& m);
  void tick_held(const RegisterView& view, HeldTitle& title, TitleMessages& out);
  void name_backup(const RegisterView& view, HeldTitle& title) const;
  // The next holder's.
  void leave_behind(const TitleMessage& m);
  void on_give(const RegisterView& view, const TitleMessage& m, TitleMessages& out,
               const Willing& willing);
  [[nodiscard]] bool fits_copy(const TitleMessage& gift, const Kept& kept) const;
  void on_renounce_ask(const RegisterView& view, const TitleMessage& m, TitleMessages& out);
  // The backup's.
  void on_copy(const RegisterView& view, const TitleMessage& m, TitleMessages& out,
               const Willing& willing);
  void on_copy_refused(const TitleMessage& m);
  void on_point(const RegisterView& view, const TitleMessage& m, TitleMessages& out);
  void on_ask(const RegisterView& view, const TitleMessage& m, TitleMessages& out);
  void on_renounce(const RegisterView& view, const TitleMessage& m, TitleMessages& out);
  void on_retire(const RegisterView& view, const TitleMessage& m, TitleMessages& out);
  void tick_kept(const RegisterView& view, TitleMessages& out);

  TitleRules rules_;
  std::vector<Account> own_;  // the accounts that this journal was kept under, the last is the own
  std::uint32_t issued_ = 0;
  bool forgot_ = false;  // some of the past is not remembered any more
  std::vector<HeldTitle> held_;
  std::vector<Kept> kept_;
  std::vector<Past> past_;  // the oldest first
};

}  // namespace laird::consensus
