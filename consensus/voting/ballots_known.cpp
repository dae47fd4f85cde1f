// What a keeper does for those that lack a version it knows: it names the newest one, votes for the
// one that they are about to agree on, and hands over the one by which it has left.
#include <algorithm>

#include "consensus/voting/ballots.hpp"

namespace laird::consensus {
namespace {

bool holds(const std::vector<Account>& accounts, const Account& account) {
  return std::find(accounts.begin(), accounts.end(), account) != accounts.end();
}

}  // namespace

bool Ballots::answer_other_version(const Account& from, std::uint32_t version, Out& out) const {
  if (decided_.version >= version) {
    send(from.node, DecidedBody{decided_}, out);
    return true;
  }
  if (decided_.version + 1 < version) {
    RequestBody ask;
    ask.version = decided_.version;
    send(from.node, ask, out);
    return true;
  }
  return false;
}

const Register* Ballots::remembered(std::uint32_t version) const {
  if (version == 0) return nullptr;
  if (version == decided_.version) return &decided_;
  if (version == before_.version) return &before_;
  const auto at = std::find_if(bridges_.begin(), bridges_.end(),
                               [&](const Register& r) { return r.version == version; });
  return at == bridges_.end() ? nullptr : &*at;
}

// The version is decided: whatever ballot it is voted on in, no other value can be. So this counts
// as locked on it from the ballot itself on, and votes for it, whoever proposes there. An only
// keeper goes on alone, so it may be many versions ahead of a keeper that needs its vote for the
// one that made it the only keeper; from there on its word is enough.
void Ballots::support(const Account& to, std::uint32_t version, const Ballot& ballot,
                      bool tells_value, TimeNs now, Out& out) {
  const Register* known = remembered(version);
  if (known == nullptr) return;
  if (known == &decided_) {
    if (before_.version != 0 && !before_.is_keeper(to)) return;
    supported_at_ = now;
  }
  const std::uint64_t digest = digest_of(*known);
  PromiseBody promise{version, ballot, ballot, digest, {}, {}};
  if (tells_value) promise.locked = {*known};
  send(to.node, std::move(promise), out);
  send(to.node, AcceptedBody{version, ballot, digest, true, true}, out);
}

void Ballots::tell_version_before(const Account& to, std::uint32_t known, TimeNs now,
                                  Out& out) const {
  const bool wanted = supported_at_ != kNever && now - supported_at_ <= kRequestTicks * tick_;
  if (wanted && known < before_.version && before_.is_keeper(to)) {
    send(to.node, DecidedBody{before_}, out);
  }
}

void Ballots::hand_over(Out& out) const {
  for (const Account& k : decided_.keepers) {
    if (holds(receipts_, k)) continue;
    send(k.node, DecidedBody{decided_}, out);
    // The answer to this probe names the version that its author has.
    send(k.node, ProbeBody{decided_.version, 0}, out);
  }
}

void Ballots::on_receipt(const Account& from, std::uint32_t version) {
  if (version >= decided_.version && decided_.is_keeper(from) && !holds(receipts_, from)) {
    receipts_.push_back(from);
  }
}

}  // namespace laird::consensus
