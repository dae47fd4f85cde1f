#include "agent/whatif/carrier.hpp"

#include <algorithm>

namespace laird::whatif {
namespace {

// On a network that nothing is wrong with.
constexpr DurationNs kUsually = 5 * kMillisecond;
// Two messages that came in this order were at least so far apart.
constexpr DurationNs kOneByOne = 10 * kMicrosecond;
// After so long without a message, nothing is known of the way between two boards.
constexpr DurationNs kForgotten = 2 * kMinute;
// What a board sent is not heard before, as far as the boards' clocks agree; and not later than
// this: an agent that stands still hears old messages when it goes on.
constexpr DurationNs kClocksApart = 30 * kSecond;
constexpr DurationNs kLongest = 15 * kMinute;

// A message that was heard: what is found out of it.
struct Heard {
  TimeNs at_wall = 0;
  DurationNs listened = 0;
  TimeNs sent_wall = kNever;
  TimeNs came_wall = kNever;
};

// The message was there between the two moments at which the other board listened.
[[nodiscard]] TimeNs came_at(const Heard& heard) {
  const TimeNs earliest = std::max(heard.sent_wall, heard.at_wall - heard.listened);
  const TimeNs usual = std::max(heard.sent_wall + kUsually, earliest + kUsually);
  return usual <= heard.at_wall ? usual : earliest + (heard.at_wall - earliest) / 2;
}

// They came in the order in which they were heard.
void put_in_order(std::vector<Heard>& all) {
  TimeNs before = 0;
  for (Heard& heard : all) {
    if (heard.sent_wall == kNever) continue;
    heard.came_wall = std::min(heard.at_wall, std::max(came_at(heard), before + kOneByOne));
    before = heard.came_wall;
  }
}

}  // namespace

// Of one direction between two boards.
struct Carrier::Mail {
  std::vector<std::pair<TimeNs, std::uint32_t>> sent;                               // at, digest
  std::multimap<std::uint32_t, std::pair<std::vector<Heard>*, std::size_t>> heard;  // by digest
  std::vector<const Heard*> found;  // what became of each that was sent; nullptr: lost
};

Carrier::Carrier(std::span<Recording* const> boards) {
  std::map<Pair, Mail> mails;
  std::vector<std::vector<Heard>> heard(boards.size());
  for (std::size_t b = 0; b < boards.size(); ++b) {
    Recording& board = *boards[b];
    std::vector<Mail*> out;
    std::vector<Mail*> in;
    for (const std::string& peer : board.peers) {
      out.push_back(&mails[{board.node, peer}]);
      in.push_back(&mails[{peer, board.node}]);
    }
    for (const LedgerMessage& m : board.sent) {
      out[m.peer]->sent.emplace_back(board.wall_at(m.at), m.digest);
    }
    heard[b].reserve(board.heard.size());
    for (const LedgerMessage& m : board.heard) {
      in[m.peer]->heard.emplace(m.digest, std::pair{&heard[b], heard[b].size()});
      heard[b].push_back({board.wall_at(m.at), m.listened_ms * kMillisecond, kNever, kNever});
    }
    board.sent = {};
    board.heard = {};
  }
  for (auto& [pair, mail] : mails) match(mail);
  for (std::vector<Heard>& all : heard) put_in_order(all);
  for (auto& [pair, mail] : mails) keep_fates(fates_[pair], mail);
}

void Carrier::match(Mail& mail) {
  for (const auto& [sent, digest] : mail.sent) {
    // Of several that are alike, the one that was heard first.
    auto found = mail.heard.end();
    const auto [begin, end] = mail.heard.equal_range(digest);
    const auto at = [](auto it) { return (*it->second.first)[it->second.second].at_wall; };
    for (auto it = begin; it != end; ++it) {
      const DurationNs later = at(it) - sent;
      if (later < -kClocksApart || later > kLongest) continue;
      if (found == mail.heard.end() || at(it) < at(found)) found = it;
    }
    ++messages_;
    if (found == mail.heard.end()) {
      ++lost_;
      mail.found.push_back(nullptr);
      continue;
    }
    Heard& heard = (*found->second.first)[found->second.second];
    heard.sent_wall = std::min(sent, heard.at_wall);
    mail.found.push_back(&heard);
    mail.heard.erase(found);
  }
}

void Carrier::keep_fates(std::vector<Fate>& fates, const Mail& mail) {
  fates.reserve(mail.sent.size());
  for (std::size_t i = 0; i < mail.sent.size(); ++i) {
    const TimeNs sent = mail.sent[i].first;
    const Heard* heard = mail.found[i];
    fates.push_back(
        {sent, heard == nullptr ? kLost : std::max<DurationNs>(1, heard->came_wall - sent)});
  }
}

std::optional<TimeNs> Carrier::arrives(const std::string& from, const std::string& to,
                                       TimeNs sent_wall, std::size_t nth) const {
  const auto found = fates_.find({from, to});
  if (found == fates_.end() || found->second.empty()) return sent_wall + kUsually;
  const std::vector<Fate>& fates = found->second;
  const auto is_before = [](const Fate& fate, TimeNs at) { return fate.sent_wall < at; };
  auto at = std::lower_bound(fates.begin(), fates.end(), sent_wall, is_before);
  // The nearest moment at which something was sent.
  if (at == fates.end() ||
      (at != fates.begin() && sent_wall - std::prev(at)->sent_wall < at->sent_wall - sent_wall)) {
    at = std::lower_bound(fates.begin(), at, std::prev(at)->sent_wall, is_before);
  }
  const DurationNs later = at->sent_wall - sent_wall;
  if (later > kForgotten || later < -kForgotten) return sent_wall + kUsually;
  for (; nth > 0 && std::next(at) != fates.end() && std::next(at)->sent_wall == at->sent_wall;
       --nth) {
    ++at;
  }
  if (at->took == kLost) return std::nullopt;
  return sent_wall + at->took;
}

}  // namespace laird::whatif
