// The book itself, what people ask of it, and the holder's side.
#include "consensus/titles/titles.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

// The number of the gift, and the next one, which is above it.
constexpr std::uint32_t kNumbersOfGift = 2;

template <class List>
auto find_in(List& list, const TitleId& id) -> decltype(list.data()) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.id == id; });
  return at == list.end() ? nullptr : &*at;
}

}  // namespace

std::string_view name(TitleState state) {
  switch (state) {
    case TitleState::kHeld: return "held";
    case TitleState::kTelling: return "telling its backup";
    case TitleState::kGiving: return "given away";
    case TitleState::kYielding: return "left to its backup";
    case TitleState::kUnconfirmed: return "unconfirmed";
    case TitleState::kStranded: return "stranded";
    case TitleState::kOver: return "over";
  }
  return "";
}

HeldTitle* Titles::find(const TitleId& id) { return find_in(held_, id); }
Titles::Kept* Titles::copy_of(const TitleId& id) { return find_in(kept_, id); }
Titles::Past* Titles::past_of(const TitleId& id) { return find_in(past_, id); }

bool Titles::remembers(const Account& account) const {
  return std::find(own_.begin(), own_.end(), account) != own_.end();
}

bool Titles::backs(const TitleId& id) const {
  const Kept* kept = find_in(kept_, id);
  return kept != nullptr && !kept->is_void;
}

const HeldTitle* Titles::holds(const TitleId& id) const { return find_in(held_, id); }

std::size_t Titles::body_bytes() const {
  std::size_t out = 0;
  for (const HeldTitle& title : held_) out += title.body.size();
  for (const Kept& kept : kept_) out += kept.body.size();
  return out;
}

std::vector<NodeId> Titles::concerns() const {
  std::vector<NodeId> out;
  for (const HeldTitle& title : held_) {
    if (title.backup.valid()) out.push_back(title.backup.node);
    if (title.to.valid()) out.push_back(title.to.node);
  }
  for (const Kept& kept : kept_) {
    if (kept.is_void) continue;
    for (const Candidate& c : kept.candidates) out.push_back(c.account.node);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool Titles::knows_of(const TitleId& id) const {
  return find_in(held_, id) != nullptr || find_in(kept_, id) != nullptr;
}

void Titles::remember(const TitleId& id, std::uint32_t number, bool had) {
  if (const Past* known = past_of(id)) {
    if (known->number > number) return;
    had = had || (known->had && known->number == number);
    std::erase_if(past_, [&](const Past& p) { return p.id == id; });
  }
  if (past_.size() >= kPastMax) {
    past_.erase(past_.begin());
    forgot_ = true;
  }
  past_.push_back({id, number, had});
}

void Titles::drop_held(const TitleId& id, bool had, std::uint32_t number) {
  std::erase_if(held_, [&](const HeldTitle& t) { return t.id == id; });
  remember(id, number, had);
}

void Titles::drop_copy(const TitleId& id) {
  std::erase_if(kept_, [&](const Kept& k) { return k.id == id; });
}

void Titles::begin(const Account& self) {
  if (!own_.empty() && own_.back() == self) return;
  const bool is_rebirth = !own_.empty();
  // An account of its own that it forgot it cannot speak for any more.
  if (own_.size() >= kOwnAccountsMax) own_.erase(own_.begin());
  own_.push_back(self);
  issued_ = 0;
  if (!is_rebirth) return;
  for (Kept& kept : kept_) kept.is_void = true;
  for (HeldTitle& title : held_) {
    if (!rules_.asks_after_rebirth) {
      title.as = self;
      continue;
    }
    // Nobody else ever knew of a title without a backup.
    if (!title.backup.valid()) {
      title.as = self;
      continue;
    }
    // A gift that was not made yet is off; one that may have arrived goes on.
    if (title.state == TitleState::kHeld || title.state == TitleState::kTelling) {
      title.state = TitleState::kUnconfirmed;
    }
  }
}

Result<TitleId> Titles::issue(const RegisterView& view, std::string body) {
  if (view.fenced) return fail(Code::kUnavailable, "the board is cut off from its fleet");
  if (held_.size() >= kTitlesMax) return fail(Code::kFull, "the board holds as many as it can");
  if (body.size() > kTitleBodyMax) return fail(Code::kInvalid, "the task is too large to move");
  HeldTitle title;
  title.id = {view.self, ++issued_};
  title.number = 1;
  title.as = view.self;
  title.body = std::move(body);
  held_.push_back(std::move(title));
  return held_.back().id;
}

Status Titles::give(const RegisterView& view, const TitleId& id, const Account& to) {
  HeldTitle* title = find(id);
  if (title == nullptr) return fail(Code::kNotFound, "the board does not hold it");
  if (title->state != TitleState::kHeld || title->as != view.self) {
    return fail(Code::kRefused, "it is " + std::string(name(title->state)));
  }
  if (view.fenced) return fail(Code::kUnavailable, "the board is cut off from its fleet");
  if (to == view.self) return fail(Code::kExists, "the board holds it already");
  if (!std::binary_search(view.living.begin(), view.living.end(), to)) {
    return fail(Code::kUnavailable, "that board is not there");
  }
  if (rules_.tells_backup && !title->backed) {
    return fail(Code::kUnavailable, "its backup has not acknowledged its copy yet");
  }
  title->to = to;
  title->body_due = 0;
  const bool tells = rules_.tells_backup && !title->is_swapped();
  title->state = tells ? TitleState::kTelling : TitleState::kGiving;
  return {};
}

Status Titles::give_up(const TitleId& id) {
  const HeldTitle* title = find(id);
  const bool waits = title != nullptr && (title->state == TitleState::kStranded ||
                                          title->state == TitleState::kUnconfirmed);
  if (!waits) {
    return fail(Code::kNotFound, "nobody is asked whose it is");
  }
  drop_held(id, true, title->number);
  return {};
}

Status Titles::end(const TitleId& id) {
  HeldTitle* title = find(id);
  if (title == nullptr || title->state != TitleState::kHeld) {
    return fail(Code::kNotFound, "the board does not hold it");
  }
  title->state = TitleState::kOver;
  return {};
}

Status Titles::renew(const TitleId& id, std::string body) {
  HeldTitle* title = find(id);
  if (title == nullptr || title->state != TitleState::kHeld) {
    return fail(Code::kNotFound, "the board does not hold it");
  }
  if (body.size() > kTitleBodyMax) return fail(Code::kInvalid, "too large to be copied");
  title->body = std::move(body);
  title->backed = false;
  title->body_due = 0;
  return {};
}

bool Titles::may_run(const Account& self, const TitleId& id) const {
  const HeldTitle* title = find_in(held_, id);
  if (title == nullptr || title->as != self) return false;
  if (title->state == TitleState::kHeld) return true;
  // The control run: it gives the title away and goes on.
  return !rules_.journals_gift &&
         (title->state == TitleState::kTelling || title->state == TitleState::kGiving);
}

void Titles::take(const RegisterView& view, const TitleMessage& m, TitleMessages& out,
                  const Willing& willing) {
  if (m.to.node != view.self.node || m.from.node == view.self.node) return;
  if (m.body.size() > kTitleBodyMax) return;
  // Only questions are for whoever the node is now.
  if (m.to.incarnation != 0 && m.to != view.self) return;
  switch (m.word) {
    case TitleWord::kPoint: return on_point(view, m, out);
    case TitleWord::kPointAck: return on_point_ack(m);
    case TitleWord::kGive: return on_give(view, m, out, willing);
    case TitleWord::kGiveAck: return on_give_ack(view, m);
    case TitleWord::kGiveRefused: return on_give_refused(view, m);
    case TitleWord::kCopy: return on_copy(view, m, out, willing);
    case TitleWord::kCopyAck: {
      HeldTitle* title = find(m.id);
      if (title == nullptr || title->state != TitleState::kHeld || title->backup != m.from) return;
      if (title->number + title->skips != m.number) return;
      title->number = m.number;
      title->skips = 0;
      title->backed = true;
      return;
    }
    case TitleWord::kCopyRefused: return on_copy_refused(m);
    case TitleWord::kAsk: return on_ask(view, m, out);
    case TitleWord::kConfirm:
    case TitleWord::kGone:
    case TitleWord::kUnknown: return on_answer(view, m);
    case TitleWord::kRenounceAsk: return on_renounce_ask(view, m, out);
    case TitleWord::kRenounced:
    case TitleWord::kHolding: return on_renounced(view, m);
    case TitleWord::kRenounce: return on_renounce(view, m, out);
    case TitleWord::kRetire: return on_retire(view, m, out);
    case TitleWord::kRetireAck: {
      const HeldTitle* title = find(m.id);
      const bool is_over = title != nullptr && title->state == TitleState::kOver &&
                           m.from.node == title->backup.node;
      if (is_over && title->number + title->skips == m.number) drop_held(m.id, true, m.number);
      return;
    }
  }
}

void Titles::on_point_ack(const TitleMessage& m) {
  HeldTitle* title = find(m.id);
  if (title == nullptr || title->state != TitleState::kTelling) return;
  if (m.number != title->number + 1 || m.about != title->to || m.from != title->backup) return;
  title->state = TitleState::kGiving;
}

void Titles::on_give_ack(const RegisterView& view, const TitleMessage& m) {
  HeldTitle* title = find(m.id);
  if (title == nullptr || m.number != title->number + 1) return;
  if (m.from.node != title->to.node) return;
  if (title->state != TitleState::kGiving && title->state != TitleState::kYielding) return;
  // Under another account than the one that the new holder was told of it is no backup.
  const bool keeps = title->is_swapped() && title->as == view.self && title->to == m.from;
  Kept copy{m.id, {{m.from, m.number, false}}, std::move(title->body), false};
  drop_held(m.id, true, title->number);
  if (!keeps || kept_.size() >= kCopiesMax) return;
  drop_copy(m.id);
  kept_.push_back(std::move(copy));
}

// Nobody ever reclaims by a copy that was refused; the next number is asked of the next board.
void Titles::on_copy_refused(const TitleMessage& m) {
  HeldTitle* title = find(m.id);
  if (title == nullptr || title->state != TitleState::kHeld || title->backed) return;
  if (title->backup != m.from || title->number + title->skips != m.number) return;
  title->backup = {};
  ++title->refusals;
  ++title->skips;
}

void Titles::on_give_refused(const RegisterView& view, const TitleMessage& m) {
  HeldTitle* title = find(m.id);
  if (title == nullptr || title->state != TitleState::kGiving) return;
  if (m.number != title->number + 1 || m.from.node != title->to.node) return;
  title->to = {};
  if (title->as != view.self) {
    title->state = TitleState::kUnconfirmed;
    return;
  }
  title->skips = kNumbersOfGift;
  title->state = TitleState::kHeld;
  title->backed = false;
  title->body_due = 0;
}

// Of a board that it asked whether it has the title: as its backup, or because it gave it the title
// and the board died.
void Titles::on_renounced(const RegisterView& view, const TitleMessage& m) {
  if (HeldTitle* title = find(m.id)) {
    const bool mine = title->state == TitleState::kGiving && m.from.node == title->to.node &&
                      view.is_dead(title->to) && m.number == title->number + 1;
    if (!mine) return;
    if (m.word == TitleWord::kHolding) return drop_held(m.id, true, title->number);
    title->state = TitleState::kUnconfirmed;
    return;
  }
  Kept* kept = copy_of(m.id);
  if (kept == nullptr) return;
  if (m.word == TitleWord::kHolding) {
    for (const Candidate& c : kept->candidates) {
      if (c.account != m.from || m.number < kept->highest()) continue;
      kept->candidates = {{m.from, m.number, false}};
      return;
    }
    return;
  }
  for (Candidate& c : kept->candidates) {
    if (c.account.node == m.from.node && c.number <= m.number) c.renounced = true;
  }
}

// What the backup says to a board in a new life.
void Titles::on_answer(const RegisterView& view, const TitleMessage& m) {
  HeldTitle* title = find(m.id);
  if (title == nullptr || m.from.node != title->backup.node) return;
  const bool asks =
      title->state == TitleState::kUnconfirmed || title->state == TitleState::kStranded;
  if (m.word == TitleWord::kGone) {
    const bool leaves = title->state == TitleState::kYielding || title->state == TitleState::kOver;
    if (asks || leaves) drop_held(m.id, true, title->number);
    return;
  }
  if (!asks) return;
  if (m.word == TitleWord::kUnknown) {
    title->state = TitleState::kStranded;
    return;
  }
  if (m.number <= title->number || m.about != view.self) return;
  title->number = m.number;
  title->skips = 0;
  title->as = view.self;
  title->state = TitleState::kHeld;
  title->to = {};
  title->backed = false;
  title->body_due = 0;
}

// By the title and the places after its own, so that backups spread over the fleet.
void Titles::name_backup(const RegisterView& view, HeldTitle& title) const {
  const std::size_t n = view.living.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Account& one = view.living[(title.id.serial + title.number + title.refusals + i) % n];
    if (one == view.self || view.is_dead(one)) continue;
    title.backup = one;
    title.backed = false;
    title.body_due = 0;
    return;
  }
}

void Titles::tick_held(const RegisterView& view, HeldTitle& title, TitleMessages& out) {
  const auto send = [&](TitleWord word, std::uint32_t number, const Account& to,
                        const Account& about, std::string body = {}) {
    out.push_back({word, title.id, number, view.self, to, about, std::move(body)});
  };
  const auto body_is_due = [&title] {
    const bool is_due = title.body_due == 0;
    title.body_due = is_due ? kBodyTicks : static_cast<std::uint8_t>(title.body_due - 1);
    return is_due;
  };
  const bool backup_dead = !title.backup.valid() || view.is_dead(title.backup);
  switch (title.state) {
    case TitleState::kHeld:
      if (backup_dead) name_backup(view, title);
      if (title.backup.valid() && !title.backed && body_is_due()) {
        send(TitleWord::kCopy, title.number + title.skips, title.backup, view.self, title.body);
      }
      return;
    case TitleState::kTelling:
      if (backup_dead || view.is_dead(title.to)) {
        // Nothing was given yet; the backup may have heard of the next number already.
        title.state = TitleState::kHeld;
        title.to = {};
        title.skips = kNumbersOfGift;
        title.backed = false;
        title.body_due = 0;
        return;
      }
      send(TitleWord::kPoint, title.number + 1, title.backup, title.to);
      return;
    case TitleState::kGiving:
      if (!view.is_dead(title.to)) {
        const Account& backup = title.is_swapped() ? view.self : title.backup;
        if (body_is_due()) send(TitleWord::kGive, title.number + 1, title.to, backup, title.body);
      } else if (title.is_swapped() && title.as == view.self) {
        // Whom it gave the title to asks it first in a new life, and it says that it took it back.
        title.state = TitleState::kHeld;
        title.to = {};
        title.skips = kNumbersOfGift;
        title.backed = false;
        title.body_due = 0;
      } else if (!backup_dead) {
        title.state = TitleState::kYielding;
      } else {
        send(TitleWord::kRenounceAsk, title.number + 1, {title.to.node, 0}, title.to);
      }
      return;
    case TitleState::kYielding:
      if (backup_dead) {
        title.state = TitleState::kGiving;
        return;
      }
      send(TitleWord::kRenounce, title.number + 1, title.backup, title.to);
      return;
    case TitleState::kUnconfirmed:
      send(TitleWord::kAsk, title.number, {title.backup.node, 0}, title.backup);
      return;
    case TitleState::kStranded: return;
    case TitleState::kOver:
      if (!backup_dead) {
        send(TitleWord::kRetire, title.number + title.skips, title.backup, view.self);
      }
      return;
  }
}

void Titles::tick(const RegisterView& view, TitleMessages& out) {
  if (view.fenced || view.is_dead(view.self)) return;
  for (HeldTitle& title : held_) tick_held(view, title, out);
  const auto is_done = [&](const HeldTitle& t) {
    return t.state == TitleState::kOver && (!t.backup.valid() || view.is_dead(t.backup));
  };
  for (std::size_t i = held_.size(); i-- > 0;) {
    if (!is_done(held_[i])) continue;
    const TitleId id = held_[i].id;
    drop_held(id, true, held_[i].number);
  }
  tick_kept(view, out);
}

}  // namespace laird::consensus
