#include "tests/fuzz/events/fleet_events.hpp"

#include "consensus/codec.hpp"
#include "tests/fuzz/events/board_events.hpp"

namespace laird::fuzz {
namespace {

using namespace consensus;

constexpr std::uint32_t kBoards = 5;

std::string board(std::uint32_t i) { return "n-" + std::to_string(i); }

// Mostly near what is, sometimes anything.
std::uint32_t near(Feed& feed, std::uint32_t value) {
  const std::uint8_t which = feed.byte();
  if (which >= 250) return static_cast<std::uint32_t>(feed.word());
  return value + which % 8 - 2;
}

Parts parts(Feed& feed) {
  constexpr Parts kOdd[] = {0, 1, kWhole / 5, kWhole, INT64_MAX / 4, kWhole * 1000};
  const std::uint8_t which = feed.byte();
  if (which < 6) return kOdd[which];
  return which * (kWhole / 256);
}

std::int64_t signed_parts(Feed& feed) {
  const Parts value = parts(feed);
  return feed.below(2) == 0 ? value : -value;
}

Shares three(Feed& feed) { return {parts(feed), parts(feed), parts(feed)}; }

// One the register has, a made-up one, or the board itself.
Account account(Feed& feed, const Ledger& ledger) {
  const std::uint8_t which = feed.byte();
  if (which >= 250) return {static_cast<NodeId>(feed.word()), feed.byte()};
  if (which >= 230) return ledger.account();
  const auto& entries = ledger.registered().entries;
  if (which < 160 && !entries.empty()) return entries[which % entries.size()].account;
  return {core::node_number(board(which % kBoards)), near(feed, 1) % 8};
}

std::vector<Account> accounts(Feed& feed, const Ledger& ledger) {
  std::vector<Account> out(feed.below(8));
  for (Account& a : out) a = account(feed, ledger);
  return out;
}

Ballot ballot(Feed& feed, const Ledger& ledger) {
  return {feed.below(4), account(feed, ledger).node};
}

EdgeBody on_edge(Feed& feed, const Ledger& ledger) {
  EdgeBody out;
  const auto& edges = ledger.edges();
  if (!edges.empty()) {
    const Edge& e = edges[feed.below(static_cast<std::uint32_t>(edges.size()))];
    out.edge_number = e.edge_number;
    out.seq = near(feed, e.seq_heard + 2);
    out.ack = near(feed, e.seq);
  }
  out.has_terms = feed.below(2) == 0;
  out.degree = feed.byte();
  for (auto& u : out.urgency) u = static_cast<std::uint16_t>(feed.word());
  out.price_absolute = feed.below(2) == 0;
  for (auto& c : out.price_code) c = static_cast<std::int16_t>(feed.byte());
  if (out.price_absolute) {
    for (auto& p : out.price) p = signed_parts(feed);
  }
  out.sent_absolute = feed.below(2) == 0;
  if (!out.sent_absolute) out.base_age = feed.byte();
  out.sent = three(feed);
  return out;
}

// The register as the board has it, with lies in it.
Register bent(Feed& feed, const Ledger& ledger) {
  Register out = ledger.registered();
  out.version = near(feed, out.version + 2);
  for (std::uint32_t lies = feed.below(6); lies > 0; --lies) {
    const std::uint32_t what = feed.below(8);
    if (what == 0) out.keepers = accounts(feed, ledger);
    if (what == 1) out.owner = account(feed, ledger);
    if (what == 2) {
      out.buried.clear();
      for (const Account& a : accounts(feed, ledger)) out.buried.push_back({a, parts(feed)});
    }
    if (what == 3) out.entries.push_back({});
    if (out.entries.empty()) continue;
    Entry& e = out.entries[feed.byte() % out.entries.size()];
    if (what == 3 || what == 4) e.account = account(feed, ledger);
    if (what == 5) e.base = {signed_parts(feed), signed_parts(feed), signed_parts(feed)};
    if (what == 6) e.dead = e.confirmed_dead = feed.below(2) == 0;
    if (what == 7) e.ties.assign(feed.below(4), {account(feed, ledger), feed.byte(), parts(feed)});
    e.quorum = feed.below(4) == 0 ? feed.byte() : e.quorum;
  }
  return out;
}

RequestBody request(Feed& feed, const Ledger& ledger) {
  RequestBody out;
  out.version = near(feed, ledger.registered().version);
  out.serial = feed.byte();
  out.echo = feed.below(4);
  out.quorum_revision = feed.byte();
  out.quorum = feed.byte();
  out.leave = feed.below(8) == 0;
  for (std::uint32_t n = feed.below(4); n > 0; --n)
    out.wanted.push_back(account(feed, ledger).node);
  for (std::uint32_t n = feed.below(4); n > 0; --n) {
    out.closings.push_back({account(feed, ledger), feed.byte(), three(feed), three(feed)});
  }
  for (std::uint32_t n = feed.below(4); n > 0; --n) {
    out.renewals.push_back({account(feed, ledger), feed.byte(), three(feed), three(feed)});
  }
  for (std::uint32_t n = feed.below(4); n > 0; --n) out.silent.push_back(account(feed, ledger));
  return out;
}

StatementBody statement(Feed& feed, const Ledger& ledger) {
  StatementBody out;
  out.version = near(feed, ledger.registered().version + 2);
  out.incarnation = ledger.account().incarnation;
  out.dead = feed.below(8) == 0;
  out.confirmed_dead = feed.below(8) == 0;
  out.living = feed.below(8);
  out.base = {signed_parts(feed), signed_parts(feed), signed_parts(feed)};
  out.quorum = feed.byte();
  out.quorum_revision = feed.byte();
  for (std::uint32_t n = feed.below(8); n > 0; --n) {
    out.ties.push_back({account(feed, ledger), feed.byte(), feed.below(4) == 0, feed.below(4) == 0,
                        parts(feed), parts(feed)});
  }
  out.keepers = accounts(feed, ledger);
  return out;
}

Body body(Feed& feed, const Ledger& ledger) {
  const std::uint32_t next = near(feed, ledger.registered().version + 3);
  switch (feed.below(21)) {
    case 0: return request(feed, ledger);
    case 1: return statement(feed, ledger);
    case 2: return ReferBody{next, accounts(feed, ledger)};
    case 3: return ProbeBody{next, feed.byte()};
    case 4: return PrepareBody{next, ballot(feed, ledger)};
    case 5: {
      PromiseBody out{next, ballot(feed, ledger), ballot(feed, ledger), feed.below(3), {}, {}};
      if (feed.below(2) == 0) out.locked.push_back(bent(feed, ledger));
      if (!out.locked.empty()) out.digest = digest_of(out.locked.front());
      while (feed.below(2) == 0 && out.votes.size() < kVotesToldMax) {
        out.votes.push_back({ballot(feed, ledger), out.digest + feed.below(2)});
      }
      return out;
    }
    case 6: return AcceptBody{ballot(feed, ledger), bent(feed, ledger)};
    case 7:
      return AcceptedBody{next, ballot(feed, ledger), digest_of(bent(feed, ledger)),
                          feed.below(2) == 0, feed.below(4) == 0};
    case 8: return RefusedBody{next, ballot(feed, ledger)};
    case 9: return DecidedBody{bent(feed, ledger)};
    case 10: return RollCallBody{feed.byte()};
    case 11:
      return PresentBody{feed.below(2), feed.byte(), next, accounts(feed, ledger),
                         feed.below(2) == 1};
    case 12: return FoundBody{feed.byte(), accounts(feed, ledger)};
    case 13: return FoundAckBody{feed.byte(), feed.below(2) == 0};
    case 14: return RelayBody{account(feed, ledger), request(feed, ledger)};
    default: return on_edge(feed, ledger);
  }
}

core::PeerMessage peer_message(Feed& feed, const core::State& state) {
  core::PeerMessage out;
  out.from = feed.below(32) == 0 ? "stranger" : board(1 + feed.below(kBoards - 1));
  if (!state.fleet.ledger || feed.below(16) == 0) {
    for (std::uint32_t n = feed.below(64); n > 0; --n) {
      out.bytes += static_cast<char>(feed.byte());
    }
    return out;
  }
  const Ledger& ledger = *state.fleet.ledger;
  Message message;
  message.founding_epoch = feed.below(16) == 0 ? feed.byte() : ledger.founding_epoch();
  message.body = body(feed, ledger);
  if (!std::holds_alternative<EdgeBody>(message.body)) message.from_incarnation = near(feed, 3) % 8;
  Bytes bytes;
  encode(message, bytes);
  // And broken on the way.
  if (feed.below(8) == 0 && !bytes.empty()) bytes[feed.byte() % bytes.size()] ^= feed.byte();
  out.bytes.assign(bytes.begin(), bytes.end());
  return out;
}

core::FleetBudget budget(Feed& feed, const core::State& state) {
  core::FleetBudget out = state.fleet.budget;
  out.rev = near(feed, static_cast<std::uint32_t>(out.rev) + 2);
  if (feed.below(8) == 0) out.founding_epoch = near(feed, out.founding_epoch + 1);
  switch (feed.below(8)) {
    case 0: out.members.clear(); break;
    case 1: out.founders.push_back("n-9"); break;
    case 2: out.members.push_back({"n-9", {1, 1, 1}}); break;
    case 3:
      if (!out.members.empty()) out.members.erase(out.members.begin());
      break;
    case 4: out.total = {signed_parts(feed), signed_parts(feed), signed_parts(feed)}; break;
    case 5:
      for (core::FleetMember& m : out.members) m.floor[2] = feed.byte() * 100;
      break;
    default:
      out.power_mw_for_now = signed_parts(feed);
      out.power_for_now_until_wall = signed_parts(feed);
      break;
  }
  return out;
}

core::OperatorCommand commanded(Feed& feed, const core::State& state) {
  core::OperatorCommand out;
  out.by = "op-alice";
  out.id = std::string("c-") + static_cast<char>('a' + feed.below(26));
  out.expires_wall = state.now + state.wall_minus_agent + feed.below(4) * kMinute - kSecond;
  switch (feed.below(6)) {
    case 0: out.body = core::Submitted{0, task_spec(feed)}; break;
    case 1: out.body = core::CancelRequested{0, "ta"}; break;
    case 2: out.body = core::PauseRequested{0, "tb"}; break;
    case 3: out.body = core::DrainRequested{0, feed.below(2) == 0}; break;
    case 4: out.body = core::BudgetChanged{0, budget(feed, state)}; break;
    default: out.body = core::CapRequested{0, feed.byte() * 100, kMinute}; break;
  }
  return out;
}

}  // namespace

void join_fleet(core::CoreConfig& config, Feed& feed) {
  config.node = board(0);
  core::FleetBudget& to = config.fleet.budget;
  to.founding_epoch = 1;
  const std::uint32_t boards = 1 + feed.below(kBoards);
  for (std::uint32_t i = 0; i < boards; ++i) {
    to.founders.push_back(board(i));
    to.members.push_back({board(i), {0, 0, 1'000}});
  }
  to.total = {feed.below(2) == 0 ? core::kUnlimited : 8'000, 2'000'000, 40'000};
}

core::EventBody fleet_says(Feed& feed, const core::State& state) {
  const std::uint32_t what = feed.below(32);
  if (!state.fleet.ledger && what < 8) return core::FleetJoined{feed.below(2) == 0};
  if (what == 8) return core::BudgetChanged{feed.byte(), budget(feed, state)};
  if (what == 9) return commanded(feed, state);
  if (what == 10) return core::CommandRefused{"op-eve", "c-1", "drain", std::string(3, '\xE2')};
  if (what == 12 && feed.below(4) == 0) return core::Displaced{};
  if (what == 11) return core::DrainRequested{1, feed.below(2) == 0};
  if (what < 16) return core::Ticked{};
  core::PeersHeard out;
  for (std::uint32_t n = 1 + feed.below(8); n > 0; --n) {
    out.messages.push_back(peer_message(feed, state));
  }
  return out;
}

}  // namespace laird::fuzz
