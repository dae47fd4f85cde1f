#include "consensus/ledger/edge.hpp"

#include <algorithm>

#include "consensus/quantizer.hpp"

namespace laird::consensus {

void Edge::archive(Archive& ar) {
  ar(peer);
  ar(edge_number);
  ar(closing);
  ar(peer_dead);
  if (ar.since(3)) ar(peer_silent);
  ar.run([this](auto& to) {
    to(sent, heard, seq, seq_heard, seq_acked, heard_at, fresh_at, closed_at);
    to(acked, reflected, price_seq, price, degree, urgency, terms_seq);
    for (SentEntry& e : sent_ring) to(e.seq, e.at, e.price, e.sent);
    for (HeardEntry& e : heard_ring) to(e.seq, e.sent);
  });
  if (ar.since(5)) {
    ar(claimed, limit, peer_limit, frozen, renewed);
  } else {
    claimed = heard;
  }
}

const SentEntry* Edge::sent_at(std::uint32_t s) const {
  const SentEntry& e = sent_ring[s % kRing];
  return s != 0 && e.seq == s ? &e : nullptr;
}

std::optional<Shares> Edge::stated(const EdgeBody& body) const {
  Shares total = body.sent;
  const bool grants = std::any_of(total.begin(), total.end(), [](Parts p) { return p != 0; });
  if (!body.sent_absolute) {
    if (!grants) {
      // The peer has granted nothing since a message that this end acknowledged. In the newest
      // message that confirms the count held here; in an older one it says nothing.
      if (body.seq <= seq_heard) return std::nullopt;
      return claimed;
    }
    const std::uint32_t base = body.seq - body.base_age;
    const HeardEntry& e = heard_ring[base % kRing];
    if (body.base_age >= body.seq || e.seq != base) return std::nullopt;
    for (std::size_t r = 0; r < kResources; ++r) total[r] += e.sent[r];
  }
  for (std::size_t r = 0; r < kResources; ++r) {
    if (total[r] > kNumberMax) return std::nullopt;
    // More than the whole cannot have come over an edge that is honest, less what went back.
    if (total[r] - sent[r] > kWhole) return std::nullopt;
    if (body.seq > seq_heard && total[r] < claimed[r]) return std::nullopt;
  }
  return total;
}

Parts Edge::given_most() const {
  Parts most = sent[0] - heard[0];
  for (std::size_t r = 1; r < kResources; ++r) most = std::max(most, sent[r] - heard[r]);
  return most;
}

void Edge::count_claims() {
  for (std::size_t r = 0; r < kResources; ++r) {
    heard[r] = std::max(heard[r], std::min(claimed[r], sent[r] + peer_limit));
  }
}

bool Edge::hear(const EdgeBody& body, TimeNs now) {
  const std::optional<Shares> total = stated(body);
  if (!total || body.ack > seq || body.seq == 0) return false;
  for (std::size_t r = 0; r < kResources; ++r) claimed[r] = std::max(claimed[r], (*total)[r]);
  count_claims();
  const SentEntry* mine = sent_at(body.ack);
  if (body.ack > seq_acked && mine != nullptr) {
    seq_acked = body.ack;
    fresh_at = std::max(fresh_at, mine->at);
    acked = mine->sent;
  }
  if (body.seq <= seq_heard) return true;
  seq_heard = body.seq;
  heard_at = now;
  heard_ring[body.seq % kRing] = {body.seq, *total};
  frozen |= body.frozen;
  if (body.has_terms) {
    degree = body.degree;
    for (std::size_t r = 0; r < kResources; ++r) {
      urgency[r] = std::max<std::uint16_t>(body.urgency[r], 1);
    }
  }
  if (mine != nullptr) reflected = mine->sent;
  if (body.price_absolute) {
    for (std::size_t r = 0; r < kResources; ++r) {
      price[r] = std::clamp(body.price[r], -kPriceMax, kPriceMax);
    }
    price_seq = body.seq;
  } else if (mine != nullptr) {
    for (std::size_t r = 0; r < kResources; ++r) {
      const Wide told = static_cast<Wide>(mine->price[r]) + price_difference(body.price_code[r]);
      price[r] = std::clamp(bounded(told), -kPriceMax, kPriceMax);
    }
    price_seq = body.seq;
  }
  return true;
}

void Edge::speak(const Prices& own, TimeNs now, EdgeBody& body) {
  ++seq;
  body.edge_number = edge_number;
  body.seq = seq;
  body.ack = seq_heard;
  body.frozen = frozen;
  SentEntry entry{seq, now, own, sent};
  // The peer decodes a price difference against the price in its own message `ack`. So a difference
  // is possible only if that message carried the price held here.
  body.price_absolute = seq_heard == 0 || price_seq != seq_heard;
  for (std::size_t r = 0; r < kResources; ++r) {
    if (body.price_absolute) {
      body.price[r] = own[r];
    } else {
      const int code = price_code(own[r] - price[r]);
      body.price_code[r] = static_cast<std::int16_t>(code);
      entry.price[r] = bounded(static_cast<Wide>(price[r]) + price_difference(code));
    }
  }
  const bool base_known = seq_acked != 0 && seq - seq_acked < kRing;
  const bool moved = sent != acked;
  body.sent_absolute = moved && !base_known;
  if (moved) {
    for (std::size_t r = 0; r < kResources; ++r) {
      body.sent[r] = base_known ? sent[r] - acked[r] : sent[r];
    }
    if (base_known) body.base_age = static_cast<std::uint8_t>(seq - seq_acked);
  }
  sent_ring[seq % kRing] = entry;
}

}  // namespace laird::consensus
