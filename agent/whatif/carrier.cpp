#include "agent/whatif/carrier.hpp"

#include <algorithm>
#include <unordered_map>

namespace laird::whatif {
namespace {

// On a network that nothing is wrong with.
constexpr DurationNs kUsually = 5 * kMillisecond;
// Two messages that took times so near to each other fared alike.
constexpr DurationNs kAlike = 20 * kMillisecond;
// A tick of another life may come a little sooner than the recorded one whose fate it shares.
constexpr DurationNs kSooner = 100 * kMillisecond;
// After so long without a message, nothing is known of the way between two boards.
constexpr DurationNs kForgotten = 2 * kMinute;
// A message that was not heard after so long was lost: boards' clocks are at most so far apart.
constexpr DurationNs kLongest = 30 * kSecond;

struct Heard {
  TimeNs at_wall = 0;
  DurationNs listened = 0;
};

// The message was there between the two moments at which the other board listened.
[[nodiscard]] DurationNs took(TimeNs sent, const Heard& heard) {
  const DurationNs latest = std::max<DurationNs>(0, heard.at_wall - sent);
  const DurationNs earliest = std::max<DurationNs>(0, latest - heard.listened);
  if (latest <= kUsually) return latest / 2;
  return std::max(earliest + std::min(kUsually, (latest - earliest) / 2), kUsually);
}

}  // namespace

// Of one direction between two boards.
struct Carrier::Mail {
  std::vector<std::pair<TimeNs, std::uint32_t>> sent;  // at, digest
  std::unordered_multimap<std::uint32_t, Heard> heard;  // by digest; never gone through in order
};

Carrier::Carrier(std::span<Recording* const> boards) {
  std::map<Pair, Mail> mails;
  for (Recording* board : boards) {
    std::vector<Mail*> out;
    std::vector<Mail*> in;
    for (const std::string& peer : board->peers) {
      out.push_back(&mails[{board->node, peer}]);
      in.push_back(&mails[{peer, board->node}]);
    }
    for (const LedgerMessage& m : board->sent) {
      out[m.peer]->sent.emplace_back(m.at + board->wall_minus_agent, m.digest);
    }
    for (const LedgerMessage& m : board->heard) {
      in[m.peer]->heard.emplace(m.digest, Heard{m.at + board->wall_minus_agent,
                                                m.listened_ms * kMillisecond});
    }
    board->sent = {};
    board->heard = {};
  }
  for (auto& [pair, mail] : mails) match(pair, mail);
}

void Carrier::match(const Pair& pair, Mail& mail) {
  std::vector<Fate>& fates = fates_[pair];
  TimeNs before = kNever;
  for (const auto& [sent, digest] : mail.sent) {
    if (before != kNever && sent - before > kForgotten) add(fates, before + kForgotten, kUsually);
    before = sent;
    // Of several that are alike, the one that came first.
    auto found = mail.heard.end();
    const auto [begin, end] = mail.heard.equal_range(digest);
    for (auto it = begin; it != end; ++it) {
      const DurationNs later = it->second.at_wall - sent;
      if (later < -kLongest || later > kLongest) continue;
      if (found == mail.heard.end() || it->second.at_wall < found->second.at_wall) found = it;
    }
    ++messages_;
    if (found == mail.heard.end()) {
      ++lost_;
      add(fates, sent, kLost);
      continue;
    }
    add(fates, sent, took(sent, found->second));
    mail.heard.erase(found);
  }
  if (before != kNever) add(fates, before + kForgotten, kUsually);
}

void Carrier::add(std::vector<Fate>& fates, TimeNs sent_wall, DurationNs took) {
  if (!fates.empty()) {
    const Fate& last = fates.back();
    const bool both_lost = took == kLost && last.took == kLost;
    const bool both_came = took != kLost && last.took != kLost;
    const DurationNs apart = took > last.took ? took - last.took : last.took - took;
    if (both_lost || (both_came && apart < kAlike)) return;
  }
  fates.push_back({sent_wall, took});
}

std::optional<TimeNs> Carrier::arrives(const std::string& from, const std::string& to,
                                       TimeNs sent_wall) const {
  const auto found = fates_.find({from, to});
  if (found == fates_.end()) return sent_wall + kUsually;
  const std::vector<Fate>& fates = found->second;
  const auto next =
      std::upper_bound(fates.begin(), fates.end(), sent_wall + kSooner,
                       [](TimeNs at, const Fate& fate) { return at < fate.sent_wall; });
  if (next == fates.begin()) return sent_wall + kUsually;
  const Fate& fate = *std::prev(next);
  if (fate.took == kLost) return std::nullopt;
  return sent_wall + std::max<DurationNs>(fate.took, 1);
}

}  // namespace laird::whatif
