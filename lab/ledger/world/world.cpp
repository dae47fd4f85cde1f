#include "lab/ledger/world/world.hpp"

#include <algorithm>

#include "base/require.hpp"
#include "base/split_mix.hpp"
#include "consensus/codec.hpp"
#include "lab/network/carry.hpp"

namespace laird::lab {
namespace {
constexpr std::size_t kHorizon = 64;  // the most ticks that a packet can be under way
constexpr std::size_t kStaleMax = 4096;
constexpr std::uint32_t kSecondsSince2020 = 220'000'000;
// For how many ticks a lying broker treats a link in one way.
constexpr std::int64_t kMoodTicks = 25;
}  // namespace

World::World(const consensus::LedgerConfig& config, std::shared_ptr<const NeighbourGraph> founders,
             const NetworkConfig& network, std::uint64_t seed, const WorldOptions& options)
    : config_(config),
      founders_(std::move(founders)),
      members_(founders_),
      network_(network),
      random_(seed),
      due_(kHorizon),
      options_(options),
      seed_(seed) {
  LAIRD_REQUIRE(network_.delay_min >= 1 && network_.delay_max < static_cast<int>(kHorizon),
                "a packet takes at least a tick and arrives within the horizon");
  const std::int64_t drift = config_.drift_ppm;
  boards_.resize(founders_->members().back() + 1U);
  for (const NodeId node : founders_->members()) {
    Board& b = boards_[node];
    b.drift_ppm = drift == 0 ? 0 : random_.between(-drift, drift);
    const std::uint32_t incarnation =
        options_.rebooted ? kSecondsSince2020 + random_.below(100'000'000) : 1;
    b.ledger =
        std::make_unique<Ledger>(config_, node, incarnation, founders_, founders_, local_time(b));
  }
}

bool World::honest(NodeId node) const {
  return std::none_of(liars_.begin(), liars_.end(),
                      [&](const Liar& l) { return l.node() == node; });
}

void World::stop_lies() {
  for (Liar& l : liars_) l.stop();
  options_.broker_lies = false;
}

std::uint32_t World::next_incarnation(std::uint32_t last) const {
  if (!options_.real_incarnations) return last + 1;
  return std::max(last + 1, kSecondsSince2020 + static_cast<std::uint32_t>(tick_));
}

// A broker that lies treats each link in its own way, for a while. True: the packet goes no further
// now.
bool World::broker_meddles(const Packet& packet) {
  const auto mood_of = [&](std::int64_t period) {
    const std::uint64_t key = (static_cast<std::uint64_t>(packet.from) << 40) ^
                              (static_cast<std::uint64_t>(packet.to) << 20) ^
                              static_cast<std::uint64_t>(period);
    return scrambled(key * kSplitMixStep + seed_) % 100;
  };
  const std::uint64_t mood = mood_of((tick_ + packet.from * 7) / kMoodTicks);
  if (mood < 12) return true;  // drops everything
  if (mood < 30) {             // keeps everything for later
    if (stale_.size() < kStaleMax) stale_.push_back(packet);
    return true;
  }
  if (mood < 45) {  // delivers late, and out of order
    arrive_after(random_.between(5, static_cast<std::int64_t>(kHorizon) - 1), packet);
    return true;
  }
  if (mood < 60) {  // delivers again and again
    for (int copies = 0; copies < 3; ++copies) {
      arrive_after(random_.between(1, static_cast<std::int64_t>(kHorizon) - 1), packet);
    }
  }
  return false;
}

TimeNs World::local_time(const Board& board) const {
  const TimeNs t = kDay + (tick_ + still_) * config_.tick;
  return t + t / 1'000'000 * board.drift_ppm;
}

const Ledger* World::newest(bool only_up) const {
  const Ledger* best = nullptr;
  const auto consider = [&](const Ledger* l) {
    if (l == nullptr || l->registered().version == 0 || !honest(l->account().node)) return;
    const auto key = [](const Ledger& x) {
      return std::pair{x.founding_epoch(), x.registered().version};
    };
    if (best == nullptr || key(*l) > key(*best)) best = l;
  };
  for (const Board& b : boards_) {
    if (b.up || !only_up) consider(b.ledger.get());
  }
  if (only_up) return best;
  for (const Ghost& g : ghosts_) consider(g.ledger.get());
  return best;
}

bool World::unsettled(const Account& account) const {
  const Ledger* l = newest();
  return l != nullptr && l->registered().find(account) != nullptr;
}

const Ledger* World::find(const Account& account) const {
  if (account.node < boards_.size() && boards_[account.node].ledger != nullptr &&
      boards_[account.node].ledger->account() == account) {
    return boards_[account.node].ledger.get();
  }
  for (const Ghost& g : ghosts_) {
    if (g.account == account) return g.ledger.get();
  }
  return nullptr;
}

bool World::connected(NodeId a, NodeId b) const {
  if (boards_[a].partition != boards_[b].partition) return false;
  if (cuts_.empty()) return true;
  const std::pair<NodeId, NodeId> key{std::min(a, b), std::max(a, b)};
  return std::find(cuts_.begin(), cuts_.end(), key) == cuts_.end();
}

void World::cut(NodeId a, NodeId b, bool broken) {
  const std::pair<NodeId, NodeId> key{std::min(a, b), std::max(a, b)};
  std::erase(cuts_, key);
  if (broken) cuts_.push_back(key);
}

void World::arrive_after(std::int64_t delay, Packet packet) {
  due_[static_cast<std::size_t>(tick_ + delay) % kHorizon].push_back(std::move(packet));
}

void World::post(NodeId from, consensus::Out& out) {
  std::shared_ptr<Parcel>
      parcel;  // the last one: what goes to many boards goes to one after another
  for (consensus::Outgoing& o : out.messages) {
    scratch_.clear();
    encode(o.message, scratch_);
    payload_bytes_ += scratch_.size();
    ++messages_;
    if (o.to >= boards_.size()) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(scratch_.data()), scratch_.size());
    if (parcel == nullptr || parcel->bytes != bytes) {
      parcel = std::make_shared<Parcel>(Parcel{std::string(bytes), false, std::nullopt});
    }
    const Packet p{from, o.to, parcel};
    if (network_.stale > 0 && stale_.size() < kStaleMax && random_.chance(network_.stale)) {
      stale_.push_back(p);
    }
    if (!connected(from, o.to)) continue;
    if (options_.broker_lies && broker_meddles(p)) continue;
    carry(network_, random_, [&](std::int64_t delay) { arrive_after(delay, p); });
  }
  out.clear();
}

void World::release_stale() {
  for (Packet& p : stale_) {
    arrive_after(random_.between(network_.delay_min, network_.delay_max), std::move(p));
  }
  stale_.clear();
}

void World::deliver(const Packet& packet) {
  Board& b = boards_[packet.to];
  if (!b.up || b.ledger == nullptr) return;
  Parcel& parcel = *packet.parcel;
  if (!parcel.opened) {
    parcel.opened = true;
    if (auto message = consensus::decode(parcel.bytes)) parcel.message = std::move(*message);
  }
  const std::optional<consensus::Message>& message = parcel.message;
  if (!message) {
    ++rejected_;
    return;
  }
  for (Liar& l : liars_) {
    if (l.node() == packet.to) l.overhear(*message);
  }
  b.ledger->on_message(packet.from, *message, local_time(b), out_);
  post(packet.to, out_);
}

void World::step() {
  ++tick_;
  std::vector<Packet> arriving;
  arriving.swap(due_[static_cast<std::size_t>(tick_) % kHorizon]);
  for (const Packet& p : arriving) deliver(p);
  for (NodeId node = 0; node < boards_.size(); ++node) {
    Board& b = boards_[node];
    if (!b.up || b.ledger == nullptr) continue;
    if (b.ledger->dead()) {
      ghosts_.push_back({b.ledger->account(), std::make_unique<Ledger>(*b.ledger)});
    }
    b.ledger->on_tick(local_time(b), out_);
    for (Liar& l : liars_) {
      const Ledger* known = newest();
      if (l.node() != node || known == nullptr) continue;
      l.speak(*b.ledger, known->registered(), static_cast<NodeId>(boards_.size()), out_);
    }
    post(node, out_);
  }
}

void World::crash(NodeId node) {
  Board& b = boards_[node];
  if (!b.up || b.ledger == nullptr) return;
  b.up = false;
  b.left_on = b.ledger->effective(local_time(b));
  b.watchdog_at = b.ledger->fence_deadline();
  Bytes bytes;
  Archive ar = Archive::writer(bytes);
  b.ledger->archive(ar);
  b.journal.assign(bytes.begin(), bytes.end());
}

void World::restart_with_journal(NodeId node) {
  Board& b = boards_[node];
  if (b.up || b.ledger == nullptr) return;
  auto restored = std::make_unique<Ledger>(config_, node, b.ledger->account().incarnation,
                                           founders_, members_, local_time(b));
  Archive ar = Archive::reader(b.journal);
  restored->archive(ar);
  LAIRD_REQUIRE(!ar.failed() && ar.at_end(), "a journal reads back");
  b.ledger = std::move(restored);
  b.up = true;
}

void World::restart_without_journal(NodeId node) {
  Board& b = boards_[node];
  if (b.up || b.ledger == nullptr) return;
  const Account old = b.ledger->account();
  ghosts_.push_back({old, std::move(b.ledger)});
  b.ledger = std::make_unique<Ledger>(config_, node, next_incarnation(old.incarnation), founders_,
                                      members_, local_time(b));
  b.up = true;
}

void World::add_board(NodeId node, std::shared_ptr<const NeighbourGraph> members) {
  if (boards_.size() <= node) boards_.resize(node + 1U);
  Board& b = boards_[node];
  if (b.ledger != nullptr) return;
  b.ledger =
      std::make_unique<Ledger>(config_, node, 1, founders_, std::move(members), local_time(b));
}

void World::set_members(NodeId node, std::shared_ptr<const NeighbourGraph> members) {
  members_ = members;
  Board& b = boards_[node];
  if (b.ledger != nullptr && b.up) b.ledger->set_members(std::move(members));
}

}  // namespace laird::lab
