#include "consensus/cotrain/cotrain_rounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/require.hpp"

namespace laird::consensus {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr DurationNs kAskEvery = kSecond;
constexpr DurationNs kAnswerEvery = kSecond / 2;
// Behind by more than this, what is held of us is so old that it is better replaced than corrected.
constexpr std::uint32_t kRoundsBehindMax = 8;

template <class Word>
void put(Bytes& out, Word v) {
  for (std::size_t k = 0; k < sizeof v; ++k) out.push_back(static_cast<std::uint8_t>(v >> (8 * k)));
}

template <class Word>
Word get(std::string_view& in) {
  Word v = 0;
  for (std::size_t k = 0; k < sizeof v; ++k) {
    v = static_cast<Word>(v | static_cast<Word>(static_cast<std::uint8_t>(in[k])) << (8 * k));
  }
  in.remove_prefix(sizeof v);
  return v;
}

// The length of the longest message of a model, a snapshot.
std::size_t bytes_max(std::uint32_t dimension) { return 32 + 16 * std::size_t{dimension}; }

}  // namespace

CoTrainRounds::CoTrainRounds(const RoundsConfig& config, NodeId self, std::vector<double> start,
                             std::uint64_t attempt, std::uint32_t round, std::uint32_t epoch)
    : config_(config),
      trainer_(config.model, start),
      self_(self),
      attempt_(attempt),
      round_(std::min(round, kRoundMax)),
      group_loss_(std::numeric_limits<double>::quiet_NaN()) {
  trainer_.begin_anew(std::move(start), epoch);
}

void CoTrainRounds::set_neighbours(const std::vector<std::pair<NodeId, double>>& neighbours,
                                   bool others_done, TimeNs now) {
  others_done_ = others_done;
  std::vector<Peer> next;
  for (const auto& [node, weight] : neighbours) {
    if (next.size() == kEdgesMax) break;
    Peer peer;
    peer.node = node;
    peer.since = now;
    for (Peer& old : peers_) {
      if (old.node == node) peer = std::move(old);
    }
    next.push_back(std::move(peer));
  }
  peers_ = std::move(next);
  std::erase_if(mixed_, [this](NodeId node) {
    return std::none_of(peers_.begin(), peers_.end(),
                        [&](const Peer& p) { return p.node == node; });
  });
  trainer_.set_neighbours(neighbours);
  waiting_since_ = now;
  static_cast<void>(tick(now));
}

bool CoTrainRounds::finished() const {
  if (config_.rounds > 0 && round_ >= config_.rounds) return true;
  return others_done_ && peers_.empty() && round_ > 0;
}

bool CoTrainRounds::is_known(const Peer& peer) const {
  for (const CoTrainPeer& p : trainer_.peers()) {
    if (p.node == peer.node) return p.known;
  }
  return false;
}

std::uint32_t CoTrainRounds::newest(const Peer& peer) const {
  return peer.ahead.empty() ? peer.round : std::max(peer.round, peer.ahead.back().head.round);
}

// Whether the peer has made the round before and has not sent the present one yet.
bool CoTrainRounds::is_late(const Peer& peer) const {
  return newest(peer) < round_ && newest(peer) + 1 >= round_;
}

Result<CoTrainRounds::Head> CoTrainRounds::parse_head(std::string_view& bytes) {
  if (bytes.size() < kFragmentHeadBytesMin)
    return fail(Code::kInvalid, "a co-training message cut short");
  const auto kind = get<std::uint8_t>(bytes);
  if (kind >> 4 != kVersion || (kind & 15U) > static_cast<std::uint8_t>(Kind::kAskNewer)) {
    return fail(Code::kInvalid, "a co-training message of an unknown version or kind");
  }
  Head head;
  head.kind = static_cast<Kind>(kind & 15U);
  head.attempt = get<std::uint64_t>(bytes);
  head.round = get<std::uint32_t>(bytes);
  head.loss = std::bit_cast<float>(get<std::uint32_t>(bytes));
  head.fragment = get<std::uint16_t>(bytes);
  head.fragments = get<std::uint16_t>(bytes);
  const std::size_t mixed = get<std::uint8_t>(bytes);
  if (mixed > kEdgesMax || bytes.size() < 4 * mixed) {
    return fail(Code::kInvalid, "a co-training message cut short");
  }
  for (std::size_t i = 0; i < mixed; ++i) head.mixed.push_back(get<NodeId>(bytes));
  if (head.round > kRoundMax || !std::isfinite(head.loss) || head.fragment >= head.fragments ||
      bytes.size() > kFragmentBytesMax) {
    return fail(Code::kInvalid, "a co-training message with numbers no round can have");
  }
  return head;
}

Status CoTrainRounds::hear(NodeId from, std::string_view bytes, TimeNs now) {
  const auto at =
      std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.node == from; });
  if (at == peers_.end()) return fail(Code::kRefused, "a co-training message from no neighbour");
  const Result<Head> head = parse_head(bytes);
  LAIRD_TRY(head);
  if (head->attempt < at->attempt) return {};  // a late message of an earlier process
  if (head->attempt > at->attempt) {
    trainer_.forget(from);
    at->attempt = head->attempt;
    at->round = 0;
    at->ahead.clear();
    at->assembled.clear();
    at->asked_at = -kHour;
  }
  if (head->kind == Kind::kDifference || head->kind == Kind::kSnapshot) {
    const Status taken = take_fragment(*at, *head, bytes, now);
    settle(now);
    return taken;
  }
  const bool wants = head->kind == Kind::kAsk || head->round < round_;
  if (wants && now - at->answered_at >= kAnswerEvery) {
    at->answered_at = now;
    send({from, false, {}}, Kind::kSnapshot, round_, trainer_.snapshot());
  }
  return {};
}

// The link keeps the order, so a fragment that is out of order means that one was lost, and with it
// the message.
Status CoTrainRounds::take_fragment(Peer& peer, const Head& head, std::string_view body,
                                    TimeNs now) {
  if (head.fragments == 1) return take_whole(peer, head, body, now);
  const Head& before = peer.assembling;
  if (head.fragment == 0) {
    peer.assembled.clear();
  } else if (peer.assembled.empty() || head.fragment != before.fragment + 1 ||
             head.fragments != before.fragments || head.round != before.round ||
             head.kind != before.kind) {
    peer.assembled.clear();
    return {};
  }
  if (peer.assembled.size() + body.size() > bytes_max(config_.model.dimension)) {
    peer.assembled.clear();
    return fail(Code::kInvalid, "a co-training message too long: is the model the same there?");
  }
  peer.assembling = head;
  peer.assembled += body;
  if (head.fragment + 1 < head.fragments) return {};
  const std::string whole = std::exchange(peer.assembled, {});
  return take_whole(peer, head, whole, now);
}

Status CoTrainRounds::take_whole(Peer& peer, const Head& head, std::string_view body, TimeNs now) {
  if (config_.rounds > 0 && head.round > config_.rounds) {
    return fail(Code::kInvalid,
                "a co-training message of a round beyond the planned ones: are "
                "they as many there?");
  }
  if (head.kind == Kind::kSnapshot) {
    peer.ahead.clear();
    return apply(peer, head, body, now);
  }
  if (head.round <= round_ || !is_known(peer)) {
    return apply(peer, head, body, now);
  }
  if (peer.ahead.size() == kAheadMax) {
    // The peer is far ahead. A snapshot, once this board is there, is shorter than all its
    // messages.
    peer.ahead.clear();
    trainer_.forget(peer.node);
    ask(peer, Kind::kAsk, now);
    return {};
  }
  peer.ahead.push_back({head, std::string(body)});
  return {};
}

Status CoTrainRounds::apply(Peer& peer, const Head& head, std::string_view body, TimeNs now) {
  const Result<bool> missing = trainer_.on_message(peer.node, body);
  LAIRD_TRY(missing);
  if (*missing) {
    ask(peer, Kind::kAsk, now);
    return {};
  }
  peer.round = head.round;
  peer.loss = head.loss;
  peer.mixed_us = std::find(head.mixed.begin(), head.mixed.end(), self_) != head.mixed.end();
  return {};
}

void CoTrainRounds::ask(Peer& peer, Kind kind, TimeNs now) {
  if (now - peer.asked_at < kAskEvery) return;
  peer.asked_at = now;
  // The question names the round of the copy that this board holds.
  send({peer.node, false, {}}, kind, peer.round, {});
}

void CoTrainRounds::send(ToPeer to, Kind kind, std::uint32_t round, const Bytes& body) {
  if (kind == Kind::kDifference || kind == Kind::kSnapshot) told_ = true;
  const std::size_t fragments =
      std::max<std::size_t>(1, (body.size() + kFragmentBytesMax - 1) / kFragmentBytesMax);
  for (std::size_t fragment = 0; fragment < fragments; ++fragment) {
    const std::size_t from = fragment * kFragmentBytesMax;
    const std::size_t size = std::min(kFragmentBytesMax, body.size() - from);
    to.bytes.clear();
    put(to.bytes, static_cast<std::uint8_t>(kVersion << 4 | static_cast<std::uint8_t>(kind)));
    put(to.bytes, attempt_);
    put(to.bytes, round);
    put(to.bytes, std::bit_cast<std::uint32_t>(loss_));
    put(to.bytes, static_cast<std::uint16_t>(fragment));
    put(to.bytes, static_cast<std::uint16_t>(fragments));
    put(to.bytes, static_cast<std::uint8_t>(mixed_.size()));
    for (const NodeId node : mixed_) put(to.bytes, node);
    const auto begin = body.begin() + static_cast<std::ptrdiff_t>(from);
    to.bytes.insert(to.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    outgoing_.push_back(to);
  }
}

// Between rounds: applies the messages that were kept for this round, and notices when this board
// has been left behind.
void CoTrainRounds::settle(TimeNs now) {
  if (in_round_ || finished()) return;
  for (Peer& peer : peers_) {
    while (!peer.ahead.empty() && peer.ahead.front().head.round <= round_) {
      const Ahead next = std::move(peer.ahead.front());
      peer.ahead.pop_front();
      static_cast<void>(apply(peer, next.head, next.bytes, now));
    }
  }
  std::uint32_t newest_round = 0;
  for (const Peer& peer : peers_) {
    if (is_known(peer)) newest_round = std::max(newest_round, newest(peer));
  }
  if (newest_round < round_ + 2) return;
  const Peer* with = nullptr;
  for (Peer& peer : peers_) {
    while (!peer.ahead.empty()) {
      const Ahead next = std::move(peer.ahead.front());
      peer.ahead.pop_front();
      static_cast<void>(apply(peer, next.head, next.bytes, now));
    }
    if (is_known(peer) && (with == nullptr || peer.round > with->round)) with = &peer;
  }
  if (with != nullptr && with->round >= round_ + 2) catch_up(*with, with->round - 1, now);
}

void CoTrainRounds::catch_up(const Peer& with, std::uint32_t round, TimeNs now) {
  for (const CoTrainPeer& p : trainer_.peers()) {
    if (p.node != with.node) continue;
    const std::vector<double> theirs = p.y;
    if (joined_ && round - round_ <= kRoundsBehindMax) {
      trainer_.adopt(theirs);
    } else {
      // The copies that others may hold are of another model. A new attempt makes them ask again.
      if (told_) ++attempt_;
      told_ = false;
      trainer_.begin_anew(theirs, trainer_.epoch());
    }
    break;
  }
  round_ = round;
  mixed_.clear();
  waiting_since_ = now;
}

TimeNs CoTrainRounds::tick(TimeNs now) {
  TimeNs next = kNever;
  if (finished()) return next;
  settle(now);
  for (Peer& peer : peers_) {
    const bool known = is_known(peer);
    if (known && (in_round_ || !is_late(peer))) continue;
    if (!known) ask(peer, Kind::kAsk, now);
    if (known && now - waiting_since_ >= kAskEvery) ask(peer, Kind::kAskNewer, now);
    next = std::min(next, std::max(peer.asked_at, waiting_since_) + kAskEvery);
    const TimeNs given_up = (known ? waiting_since_ : peer.since) + config_.wait;
    if (given_up > now) next = std::min(next, given_up);
  }
  return std::max(next, now + kMillisecond);
}

bool CoTrainRounds::may_begin(TimeNs now) const {
  if (in_round_ || finished()) return false;
  std::size_t at_work = 0;
  bool waiting = false;
  for (const Peer& peer : peers_) {
    const bool known = is_known(peer);
    if (known && newest(peer) >= round_) ++at_work;
    if (known && is_late(peer)) waiting = waiting || now < waiting_since_ + config_.wait;
    if (!known) waiting = waiting || now < peer.since + config_.wait;
  }
  return at_work >= config_.peers_min && !waiting;
}

void CoTrainRounds::begin() {
  LAIRD_REQUIRE(!in_round_, "a round begins after the last has ended");
  std::vector<NodeId> without;
  std::vector<NodeId> with;
  // Sums of a few floats are exact in double, so the order of the peers, which differs between
  // boards, does not matter.
  double losses = static_cast<double>(loss_);
  for (const Peer& peer : peers_) {
    const bool present = is_known(peer) && peer.round == round_;
    (present ? with : without).push_back(peer.node);
    if (present) losses += static_cast<double>(peer.loss);
  }
  const auto is_in = [](const std::vector<NodeId>& list, NodeId node) {
    return std::find(list.begin(), list.end(), node) != list.end();
  };
  const bool lost_one =
      std::any_of(mixed_.begin(), mixed_.end(), [&](NodeId node) { return !is_in(with, node); });
  const bool one_sided = std::any_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    return is_in(with, peer.node) && peer.mixed_us != is_in(mixed_, peer.node);
  });
  if (lost_one || one_sided) trainer_.restart();
  if (round_ > 0) group_loss_ = losses / static_cast<double>(with.size() + 1);
  joined_ = joined_ || !with.empty();
  mixed_ = std::move(with);
  in_round_ = true;
  trainer_.mix(without);
}

void CoTrainRounds::end(const std::vector<double>& gradient, double loss, TimeNs now) {
  LAIRD_REQUIRE(in_round_, "a round ends after it began");
  trainer_.track(gradient);
  loss_ = static_cast<float>(loss);
  ++round_;
  in_round_ = false;
  waiting_since_ = now;
  send({0, true, {}}, Kind::kDifference, round_, trainer_.message());
  settle(now);
}

}  // namespace laird::consensus
