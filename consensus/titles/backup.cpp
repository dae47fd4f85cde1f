// The sides of the next holder and of the backup; what is written to the journal.
#include <algorithm>

#include "consensus/titles/titles.hpp"

namespace laird::consensus {

std::uint32_t Titles::Kept::highest() const {
  std::uint32_t out = 0;
  for (const Candidate& c : candidates) out = std::max(out, c.number);
  return out;
}

Titles::Candidate* Titles::Kept::of_node(NodeId node) {
  const auto at = std::find_if(candidates.begin(), candidates.end(),
                               [&](const Candidate& c) { return c.account.node == node; });
  return at == candidates.end() ? nullptr : &*at;
}

// What this board still had of the title, from an earlier hand-over or life, is over: its holder
// speaks under a greater number.
void Titles::leave_behind(const TitleMessage& m) {
  const HeldTitle* title = find(m.id);
  if (title == nullptr || title->state == TitleState::kHeld || title->number >= m.number) return;
  drop_held(m.id, true, title->number);
}

// A backup is given the title itself: its copy knows of the giver alone, and the giver is to be the
// next backup.
bool Titles::fits_copy(const TitleMessage& gift, const Kept& kept) const {
  return gift.about == gift.from && kept.candidates.size() == 1 &&
         kept.candidates.front().account.node == gift.from.node && gift.number > kept.highest();
}

void Titles::on_give(const RegisterView& view, const TitleMessage& m, TitleMessages& out,
                     const Willing& willing) {
  const auto answer = [&](TitleWord word) {
    out.push_back({word, m.id, m.number, view.self, {m.from.node, 0}, {}, {}});
  };
  if (m.to != view.self) return;
  leave_behind(m);
  if (const HeldTitle* title = find(m.id)) {
    // It gave the title to this board, so it was this board's at that number or will not be.
    if (title->number >= m.number) answer(TitleWord::kGiveAck);
    return;
  }
  if (const Past* past = past_of(m.id); past != nullptr && past->number >= m.number) {
    return answer(past->had ? TitleWord::kGiveAck : TitleWord::kGiveRefused);
  }
  const Kept* kept = copy_of(m.id);
  const bool is_bound = kept != nullptr && !kept->is_void && !fits_copy(m, *kept);
  if (held_.size() >= kTitlesMax || is_bound || (willing && !willing(m))) {
    remember(m.id, m.number, false);
    return answer(TitleWord::kGiveRefused);
  }
  drop_copy(m.id);
  HeldTitle title;
  title.id = m.id;
  title.number = m.number;
  title.as = view.self;
  title.backup = m.about;
  title.body = m.body;
  held_.push_back(std::move(title));
  answer(TitleWord::kGiveAck);
}

void Titles::on_renounce_ask(const RegisterView& view, const TitleMessage& m, TitleMessages& out) {
  const auto answer = [&](TitleWord word, std::uint32_t number) {
    out.push_back({word, m.id, number, view.self, {m.from.node, 0}, {}, {}});
  };
  if (const HeldTitle* title = find(m.id)) {
    // Who is giving it away goes on with that.
    if (title->state == TitleState::kHeld && title->number >= m.number) {
      answer(TitleWord::kHolding, title->number);
    }
    return;
  }
  // Asked about an account of which this journal knows nothing, it cannot say what that one had.
  if (!remembers(m.about)) return;
  if (const Kept* kept = copy_of(m.id); kept != nullptr && !kept->is_void) return;
  const Past* past = past_of(m.id);
  if (past == nullptr && forgot_) return;
  if (past != nullptr && past->had && past->number >= m.number) {
    // It had the title and gave it on. Its backup knows to whom; for who gave it the title that is
    // as if it had it still.
    const bool asked_by_giver = m.to.incarnation == 0;
    return answer(asked_by_giver ? TitleWord::kHolding : TitleWord::kRenounced, m.number);
  }
  remember(m.id, m.number, false);
  answer(TitleWord::kRenounced, m.number);
}

void Titles::on_copy(const RegisterView& view, const TitleMessage& m, TitleMessages& out,
                     const Willing& willing) {
  if (m.to != view.self) return;
  leave_behind(m);
  if (find(m.id) != nullptr) return;
  if (const Past* past = past_of(m.id); past != nullptr && past->number >= m.number) return;
  Kept* kept = copy_of(m.id);
  if (kept != nullptr && !kept->is_void) {
    const Candidate* known = kept->of_node(m.from.node);
    if (known == nullptr || known->account != m.from || m.number < kept->highest()) return;
  }
  if (kept == nullptr) {
    if (willing && !willing(m)) {
      remember(m.id, m.number, false);
      out.push_back({TitleWord::kCopyRefused, m.id, m.number, view.self, m.from, {}, {}});
      return;
    }
    if (kept_.size() >= kCopiesMax) {
      const auto stale =
          std::find_if(kept_.begin(), kept_.end(), [](const Kept& k) { return k.is_void; });
      if (stale == kept_.end()) return;
      kept_.erase(stale);
      forgot_ = true;
    }
    kept_.push_back({m.id, {}, {}, false});
    kept = &kept_.back();
  }
  kept->is_void = false;
  kept->candidates = {{m.from, m.number, false}};
  kept->body = m.body;
  out.push_back({TitleWord::kCopyAck, m.id, m.number, view.self, m.from, {}, {}});
}

void Titles::on_point(const RegisterView& view, const TitleMessage& m, TitleMessages& out) {
  Kept* kept = copy_of(m.id);
  if (m.to != view.self || kept == nullptr || kept->is_void) return;
  const Candidate* from = kept->of_node(m.from.node);
  if (from == nullptr || from->account != m.from) return;
  Candidate* next = nullptr;
  for (Candidate& c : kept->candidates) {
    if (c.account == m.about && c.number == m.number) next = &c;
  }
  if (next == nullptr) {
    if (m.number <= kept->highest() || kept->candidates.size() >= kCandidatesMax) return;
    kept->candidates.push_back({m.about, m.number, false});
  }
  out.push_back({TitleWord::kPointAck, m.id, m.number, view.self, m.from, m.about, {}});
}

void Titles::on_ask(const RegisterView& view, const TitleMessage& m, TitleMessages& out) {
  const auto answer = [&](TitleWord word, std::uint32_t number) {
    out.push_back({word, m.id, number, view.self, m.from, m.from, {}});
  };
  if (const HeldTitle* title = find(m.id)) {
    const bool given_to_it = title->state == TitleState::kGiving && title->is_swapped() &&
                             title->to.node == m.from.node && title->number < m.number;
    if (!given_to_it) return answer(TitleWord::kGone, title->number);
    // It has the gift, and this board has not taken it back.
    drop_held(m.id, true, title->number);
    return answer(TitleWord::kConfirm, m.number + 1);
  }
  if (const Past* past = past_of(m.id); past != nullptr && past->number > m.number) {
    return answer(TitleWord::kGone, past->number);
  }
  if (!remembers(m.about)) return answer(TitleWord::kUnknown, m.number);
  Kept* kept = copy_of(m.id);
  if (kept == nullptr) {
    if (forgot_ && past_of(m.id) == nullptr) return answer(TitleWord::kUnknown, m.number);
    // It never had the copy, and will not take it when it comes late.
    remember(m.id, m.number, false);
    return answer(TitleWord::kConfirm, m.number + 1);
  }
  const Candidate* known = kept->of_node(m.from.node);
  if (known == nullptr || known->account.incarnation > m.from.incarnation) {
    return answer(TitleWord::kGone, kept->highest());
  }
  if (known->account == m.from && !kept->is_void) {
    // Asked again. If the title has gone on since, the question is an old one.
    if (kept->candidates.size() == 1) answer(TitleWord::kConfirm, known->number);
    return;
  }
  const std::uint32_t number = kept->highest() + 1;
  kept->candidates = {{m.from, number, false}};
  answer(TitleWord::kConfirm, number);
}

void Titles::on_renounce(const RegisterView& view, const TitleMessage& m, TitleMessages& out) {
  if (const HeldTitle* title = find(m.id)) {
    out.push_back({TitleWord::kGone, m.id, title->number, view.self, m.from, {}, {}});
    return;
  }
  Kept* kept = copy_of(m.id);
  if (kept == nullptr) {
    // It has acknowledged the gift, so it had the copy: the title has gone on by it since.
    out.push_back({TitleWord::kGone, m.id, m.number, view.self, m.from, {}, {}});
    return;
  }
  for (Candidate& c : kept->candidates) {
    if (c.account.node == m.from.node && c.account.incarnation <= m.from.incarnation &&
        c.number < m.number) {
      c.renounced = true;
    }
  }
}

void Titles::on_retire(const RegisterView& view, const TitleMessage& m, TitleMessages& out) {
  if (m.to != view.self) return;
  if (const HeldTitle* title = find(m.id)) {
    out.push_back({TitleWord::kGone, m.id, title->number, view.self, m.from, {}, {}});
    return;
  }
  if (Kept* kept = copy_of(m.id)) {
    const Candidate* from = kept->of_node(m.from.node);
    if (from == nullptr || from->account.incarnation > m.from.incarnation) return;
    if (m.number < kept->highest()) return;
    drop_copy(m.id);
  }
  remember(m.id, m.number, false);
  out.push_back({TitleWord::kRetireAck, m.id, m.number, view.self, m.from, {}, {}});
}

void Titles::tick_kept(const RegisterView& view, TitleMessages& out) {
  for (std::size_t i = 0; i < kept_.size();) {
    Kept& kept = kept_[i];
    const auto is_dead = [&](const Candidate& c) {
      if (!rules_.waits_for_register) return c.account != view.self;
      return c.renounced || view.is_dead(c.account);
    };
    const auto& all = kept.candidates;
    const auto dead = std::count_if(all.begin(), all.end(), is_dead);
    if (kept.is_void || dead == 0 || held_.size() >= kTitlesMax) {
      ++i;
      continue;
    }
    if (dead < static_cast<std::ptrdiff_t>(all.size())) {
      for (const Candidate& c : all) {
        if (is_dead(c)) continue;
        out.push_back(
            {TitleWord::kRenounceAsk, kept.id, c.number, view.self, c.account, c.account, {}});
      }
      ++i;
      continue;
    }
    HeldTitle title;
    title.id = kept.id;
    title.number = kept.highest() + 1;
    title.as = view.self;
    title.body = std::move(kept.body);
    held_.push_back(std::move(title));
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void TitleMessage::archive(Archive& ar) {
  ar.bounded(word, kTitleWordLast);
  ar(id);
  ar(number);
  ar(from);
  ar(to);
  ar(about);
  ar.text(body, kTitleBodyMax);
}

void HeldTitle::archive(Archive& ar) {
  ar(id);
  ar(number);
  ar.bounded(state, kTitleStateLast);
  ar(as);
  ar(backup);
  ar(backed);
  ar(skips);
  ar(to);
  ar.text(body, kTitleBodyMax);
  ar(refusals);
  ar(body_due);
}

void Titles::Kept::archive(Archive& ar) {
  ar(id);
  ar.sequence(candidates, kCandidatesMax);
  ar.text(body, kTitleBodyMax);
  ar(is_void);
}

void Titles::archive(Archive& ar) {
  ar.sequence(own_, kOwnAccountsMax);
  ar(issued_);
  ar(forgot_);
  ar.sequence(held_, kTitlesMax);
  ar.sequence(kept_, kCopiesMax);
  ar.sequence(past_, kPastMax);
}

}  // namespace laird::consensus
