#include "consensus/codec.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "consensus/codec_io.hpp"

namespace laird::consensus {
namespace {

using wire::list;
using wire::Reader;
using wire::Writer;

// One function per body describes its fields for both directions.

template <class Io, class A>
void account(Io& io, A& a) {
  io.u32(a.node);
  io.u32(a.incarnation, kIncarnationMax);
}

template <class Io, class S>
void shares(Io& io, S& s) {
  for (auto& p : s) io.parts(p);
}

template <class Io, class B>
void boolean(Io& io, B& v) {
  std::uint8_t b = v ? 1 : 0;
  io.u8(b);
  if constexpr (Io::kReading) {
    if (b > 1) io.fail();
    v = b == 1;
  }
}

template <class Io, class L>
void accounts(Io& io, L& items, std::size_t limit) {
  list(io, items, limit, [&](auto& a) { account(io, a); });
}

template <class Io, class S>
void signed_shares(Io& io, S& s) {
  for (auto& p : s) io.zigzag(p);
}

template <class Io, class B>
void ballot(Io& io, B& b) {
  io.u64(b.round);
  io.u32(b.node);
}

// The limits of the two ends of a tie.
struct Limits {
  Parts lower = 0;
  Parts upper = 0;
  bool operator==(const Limits&) const = default;
};

// The different limits of a register but 0, ascending. There are few (even_limit).
std::vector<Parts> limits_of(const Register& r) {
  std::vector<Parts> out;
  for (const Entry& e : r.entries) {
    for (const Tie& t : e.ties) {
      if (t.limit == 0) continue;
      const auto at = std::lower_bound(out.begin(), out.end(), t.limit);
      if (at == out.end() || *at != t.limit) out.insert(at, t.limit);
    }
  }
  return out;
}

// Each tie is written once, with its lower end, as the distance of the higher end in the list of
// entries. Its limits are written only if they differ from those of the tie before, and as places
// in a list. So a register of a thousand boards still fits into one message of a broker.
void ties(Writer& w, const Register& r) {
  const std::vector<Parts> limits = limits_of(r);
  w.varint(limits.size());
  for (const Parts p : limits) w.parts(p);
  const auto number = [&](Parts limit) {
    const auto at = std::lower_bound(limits.begin(), limits.end(), limit);
    return limit == 0 ? 0 : static_cast<std::uint64_t>(at - limits.begin()) + 1;
  };
  const auto& entries = r.entries;
  const auto place = [&](const Account& a) {
    return static_cast<std::size_t>(
        std::lower_bound(entries.begin(), entries.end(), a,
                         [](const Entry& e, const Account& b) { return e.account < b; }) -
        entries.begin());
  };
  Limits before;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& own = entries[i].ties;
    const auto upward = std::find_if(own.begin(), own.end(),
                                     [&](const Tie& t) { return entries[i].account < t.peer; });
    w.varint(static_cast<std::uint64_t>(own.end() - upward));
    std::size_t last = i;
    for (auto tie = upward; tie != own.end(); ++tie) {
      const std::size_t at = place(tie->peer);
      const Tie* back = at < entries.size() ? entries[at].tie_to(entries[i].account) : nullptr;
      const Limits both{tie->limit, back == nullptr ? 0 : back->limit};
      w.varint((at - last - 1) * 2 + (both != before ? 1 : 0));
      w.varint(tie->edge_number);
      if (both != before) {
        w.varint(number(both.lower));
        w.varint(number(both.upper));
      }
      before = both;
      last = at;
    }
  }
}

void ties(Reader& io, Register& r) {
  auto& entries = r.entries;
  std::vector<Parts> known(1 + io.count(0, kAccountsMax));
  std::vector<bool> used(known.size());
  for (std::size_t k = 1; k < known.size() && !io.failed(); ++k) {
    io.parts(known[k]);
    if (known[k] <= known[k - 1]) return io.fail();
  }
  const auto limit = [&](Parts& to) {
    const std::uint64_t number = io.varint();
    if (io.failed() || number >= known.size()) return io.fail();
    to = known[number];
    used[number] = true;
  };
  Limits limits;
  for (std::size_t i = 0; i < entries.size() && !io.failed(); ++i) {
    const std::size_t count = io.count(0, kEdgesMax);
    std::uint64_t last = i;
    for (std::size_t k = 0; k < count && !io.failed(); ++k) {
      const std::uint64_t head = io.varint();
      const std::uint64_t step = head / 2;
      std::uint32_t edge_number = 0;
      io.u32(edge_number);
      if (head % 2 != 0) {
        const Limits before = limits;
        limit(limits.lower);
        limit(limits.upper);
        if (limits == before) return io.fail();  // that has a shorter form
      }
      if (io.failed() || step >= entries.size() - last - 1) return io.fail();
      last += step + 1;
      Entry& other = entries[last];
      if (entries[i].ties.size() >= kEdgesMax || other.ties.size() >= kEdgesMax) return io.fail();
      entries[i].ties.push_back({other.account, edge_number, limits.lower});
      other.ties.push_back({entries[i].account, edge_number, limits.upper});
    }
  }
  if (std::find(used.begin() + 1, used.end(), false) != used.end()) io.fail();
}

template <class Io, class R>
void registered(Io& io, R& r) {
  io.u32(r.version);
  account(io, r.owner);
  io.u32(r.edges_opened);
  accounts(io, r.keepers, kKeepersMax);
  list(io, r.entries, kAccountsMax, [&](auto& e) {
    account(io, e.account);
    signed_shares(io, e.base);
    io.u8(e.quorum);
    io.u32(e.quorum_revision);
    boolean(io, e.dead);
    boolean(io, e.confirmed_dead);
    io.u32(e.changed);
  });
  ties(io, r);
  list(io, r.buried, kAccountsMax, [&](auto& g) {
    account(io, g.account);
    io.parts(g.debt);
  });
  list(io, r.closed, kAccountsMax, [&](auto& c) {
    account(io, c.by);
    account(io, c.peer);
    io.u32(c.edge_number);
    boolean(io, c.renewed);
  });
  if constexpr (Io::kReading) {
    if (!well_formed(r)) io.fail();
  }
}

// A list of keepers that is read must name at least one.
template <class Io, class L>
void keepers(Io& io, L& items) {
  accounts(io, items, kKeepersMax);
  if constexpr (Io::kReading) {
    if (items.empty()) io.fail();
  }
}

enum Flag : std::uint32_t {
  kTerms = 1,
  kPriceAbsolute = 2,
  kSentAbsolute = 4,
  kPriceAt = 3,      // bits 3-5: a price code other than 0 follows
  kPriceSignAt = 6,  // bits 6-8
  kSentAt = 9,       // bits 9-11: a grant count other than 0 follows
  kFrozen = 1U << 12,
};
constexpr std::uint32_t kFlagsMax = (1U << 13) - 1;
constexpr std::uint32_t kSentMask = 7U << kSentAt;

std::uint32_t edge_flags(const EdgeBody& b) {
  std::uint32_t flags = (b.has_terms ? kTerms : 0U) | (b.price_absolute ? kPriceAbsolute : 0U) |
                        (b.sent_absolute ? kSentAbsolute : 0U) | (b.frozen ? kFrozen : 0U);
  for (std::uint32_t r = 0; r < kResources; ++r) {
    if (!b.price_absolute && b.price_code[r] != 0) flags |= 1U << (kPriceAt + r);
    if (!b.price_absolute && b.price_code[r] < 0) flags |= 1U << (kPriceSignAt + r);
    if (b.sent[r] != 0) flags |= 1U << (kSentAt + r);
  }
  return flags;
}

bool edge_flags_fit(std::uint32_t flags) {
  for (std::uint32_t r = 0; r < kResources; ++r) {
    const bool price = (flags >> (kPriceAt + r)) & 1U;
    const bool sign = (flags >> (kPriceSignAt + r)) & 1U;
    if (sign && !price) return false;
    if ((flags & kPriceAbsolute) != 0 && price) return false;
  }
  return true;
}

// A grant has few significant binary digits (flow_floor): the number of its trailing zeros is
// written as one byte, and only the digits before them follow.
void put_grant(Writer& w, Parts v) {
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(v));
  w.byte(static_cast<std::uint8_t>(zeros));
  w.varint(static_cast<std::uint64_t>(v) >> zeros);
}

void get_grant(Reader& r, Parts& v) {
  const std::uint8_t zeros = r.byte();
  const std::uint64_t digits = r.varint();
  if (zeros > 61 || (digits & 1U) == 0 ||
      digits > (static_cast<std::uint64_t>(kNumberMax) >> zeros)) {
    r.fail();
    return;
  }
  v = static_cast<Parts>(digits << zeros);
}

void body(Writer& w, const EdgeBody& b) {
  const std::uint32_t flags = edge_flags(b);
  w.byte(static_cast<std::uint8_t>(flags & 0xFF));
  w.byte(static_cast<std::uint8_t>(flags >> 8));
  w.u32(b.edge_number);
  w.u32(b.seq);
  w.u32(b.ack);
  if (b.has_terms) {
    w.u8(b.degree);
    for (std::uint16_t u : b.urgency) w.varint(u);
  }
  const bool grants = (flags & kSentMask) != 0;
  if (grants && !b.sent_absolute) w.byte(b.base_age);
  for (std::size_t r = 0; r < kResources; ++r) {
    if (b.price_absolute) {
      w.zigzag(b.price[r]);
    } else if (b.price_code[r] != 0) {
      w.byte(static_cast<std::uint8_t>(b.price_code[r] < 0 ? -b.price_code[r] : b.price_code[r]));
    }
    if (b.sent[r] != 0) put_grant(w, b.sent[r]);
  }
}

void body(Reader& io, EdgeBody& b) {
  std::uint32_t flags = io.byte();
  flags |= static_cast<std::uint32_t>(io.byte()) << 8;
  if (flags > kFlagsMax || !edge_flags_fit(flags)) return io.fail();
  b.frozen = (flags & kFrozen) != 0;
  b.has_terms = (flags & kTerms) != 0;
  b.price_absolute = (flags & kPriceAbsolute) != 0;
  b.sent_absolute = (flags & kSentAbsolute) != 0;
  io.u32(b.edge_number);
  io.u32(b.seq);
  io.u32(b.ack);
  if (b.has_terms) {
    io.u8(b.degree);
    for (std::uint16_t& u : b.urgency) {
      std::uint32_t wide = 0;
      io.u32(wide, kUrgencyMax);
      u = static_cast<std::uint16_t>(wide);
    }
  }
  const bool grants = (flags & kSentMask) != 0;
  if (grants && !b.sent_absolute) {
    io.u8(b.base_age);
    if (b.base_age == 0 || b.base_age >= kRing) return io.fail();
  }
  for (std::uint32_t r = 0; r < kResources; ++r) {
    if (b.price_absolute) {
      io.zigzag(b.price[r]);
    } else if (((flags >> (kPriceAt + r)) & 1U) != 0) {
      const std::uint8_t size = io.byte();
      if (size == 0) return io.fail();
      const bool negative = ((flags >> (kPriceSignAt + r)) & 1U) != 0;
      b.price_code[r] = static_cast<std::int16_t>(negative ? -size : size);
    }
    if (((flags >> (kSentAt + r)) & 1U) != 0) get_grant(io, b.sent[r]);
  }
}

template <class Io, class L>
void closings(Io& io, L& items) {
  list(io, items, kEdgesMax, [&](auto& c) {
    account(io, c.peer);
    io.u32(c.edge_number);
    shares(io, c.sent);
    shares(io, c.heard);
  });
}

template <class Io, class B>
void statement(Io& io, B& b) {
  io.u32(b.version);
  io.u32(b.incarnation, kIncarnationMax);
  boolean(io, b.dead);
  boolean(io, b.confirmed_dead);
  io.u32(b.living);
  signed_shares(io, b.base);
  io.u8(b.quorum);
  io.u32(b.quorum_revision);
  list(io, b.ties, kEdgesMax, [&](auto& t) {
    account(io, t.peer);
    io.u32(t.edge_number);
    boolean(io, t.peer_dead);
    boolean(io, t.peer_silent);
    io.parts(t.limit);
    io.parts(t.peer_limit);
  });
  keepers(io, b.keepers);
}

template <class Io, class B>
void request(Io& io, B& b) {
  io.u32(b.version);
  io.u32(b.serial);
  io.u32(b.echo);
  io.u32(b.quorum_revision);
  io.u8(b.quorum);
  boolean(io, b.leave);
  list(io, b.wanted, kEdgesMax, [&](auto& n) { io.u32(n); });
  closings(io, b.closings);
  closings(io, b.renewals);
  accounts(io, b.silent, kEdgesMax);
}

// How far a vote has come: 0 is cast, 1 locked, 2 known as decided.
template <class Io, class B>
void vote_stage(Io& io, B& b) {
  std::uint32_t stage = b.decided ? 2 : b.locked ? 1 : 0;
  io.u32(stage, 2);
  if constexpr (Io::kReading) {
    b.locked = stage >= 1;
    b.decided = stage == 2;
  }
}

// What a promise tells of its author's lock: nothing, or where and on what.
template <class Io, class B>
void lock(Io& io, B& b) {
  std::size_t locks = b.digest == 0 ? 0 : 1;
  if constexpr (Io::kReading) {
    locks = io.count(0, 1);
  } else {
    io.count(locks, 1);
  }
  if (locks == 0) return;
  ballot(io, b.locked_at);
  io.digest(b.digest);
  list(io, b.locked, 1, [&](auto& r) { registered(io, r); });
  if constexpr (Io::kReading) {
    if (b.digest == 0) io.fail();  // it would be a second encoding
  }
}

template <class Io, class B>
void cast_votes(Io& io, B& b) {
  list(io, b.votes, kVotesToldMax, [&](auto& v) {
    ballot(io, v.ballot);
    io.digest(v.digest);
  });
}

template <class Io, class B>
void agreement_body(Io& io, B& b) {
  using T = std::remove_const_t<B>;
  if constexpr (std::is_same_v<T, PrepareBody>) {
    io.u32(b.version);
    ballot(io, b.ballot);
  } else if constexpr (std::is_same_v<T, AcceptedBody>) {
    io.u32(b.version);
    ballot(io, b.ballot);
    io.digest(b.digest);
    vote_stage(io, b);
  } else if constexpr (std::is_same_v<T, PromiseBody>) {
    io.u32(b.version);
    ballot(io, b.ballot);
    lock(io, b);
    cast_votes(io, b);
  } else if constexpr (std::is_same_v<T, AcceptBody>) {
    ballot(io, b.ballot);
    registered(io, b.value);
  } else if constexpr (std::is_same_v<T, RefusedBody>) {
    io.u32(b.version);
    ballot(io, b.promised);
  } else if constexpr (std::is_same_v<T, DecidedBody>) {
    registered(io, b.value);
  }
}

template <class Io, class B>
void plain_body(Io& io, B& b) {
  using T = std::remove_const_t<B>;
  if constexpr (std::is_same_v<T, RequestBody>) {
    request(io, b);
  } else if constexpr (std::is_same_v<T, StatementBody>) {
    statement(io, b);
  } else if constexpr (std::is_same_v<T, ReferBody>) {
    io.u32(b.version);
    keepers(io, b.keepers);
  } else if constexpr (std::is_same_v<T, ProbeBody>) {
    io.u32(b.version);
    io.u32(b.question);
  } else if constexpr (std::is_same_v<T, RollCallBody>) {
    io.u64(b.call);
  } else if constexpr (std::is_same_v<T, PresentBody>) {
    io.u64(b.call);
    io.u64(b.founding_epoch);
    io.u32(b.version);
    accounts(io, b.keepers, kKeepersMax);
    boolean(io, b.holds);
  } else if constexpr (std::is_same_v<T, FoundBody>) {
    io.u64(b.founding_epoch);
    accounts(io, b.accounts, kAccountsMax);
  } else if constexpr (std::is_same_v<T, FoundAckBody>) {
    io.u64(b.founding_epoch);
    boolean(io, b.all);
  } else if constexpr (std::is_same_v<T, RelayBody>) {
    account(io, b.from);
    request(io, b.request);
    if constexpr (Io::kReading) {
      if (!b.from.valid()) io.fail();
    }
  } else {
    agreement_body(io, b);
  }
}

void body_of(Writer& w, const Body& b) {
  std::visit(
      [&](const auto& each) {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, EdgeBody>) {
          body(w, each);
        } else {
          plain_body(w, each);
        }
      },
      b);
}

template <std::size_t I = 0>
bool body_by_kind(Reader& r, std::size_t kind, Body& out) {
  if constexpr (I == std::variant_size_v<Body>) {
    return false;
  } else {
    if (kind != I) return body_by_kind<I + 1>(r, kind, out);
    auto& each = out.emplace<I>();
    if constexpr (I == 0) {
      body(r, each);
    } else {
      plain_body(r, each);
    }
    return true;
  }
}

}  // namespace

void encode(const Message& message, Bytes& out) {
  Writer w(out);
  w.byte(static_cast<std::uint8_t>(kWireVersion << 4 | message.body.index()));
  w.u64(message.founding_epoch);
  if (message.body.index() != 0) w.u32(message.from_incarnation);
  body_of(w, message.body);
}

std::optional<std::uint8_t> other_wire_version(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto version = static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes.front()) >> 4);
  return version == kWireVersion ? std::nullopt : std::optional(version);
}

Result<Message> decode(std::string_view bytes) {
  if (bytes.size() > kMessageBytesMax) {
    return fail(Code::kInvalid, "ledger message of " + std::to_string(bytes.size()) +
                                    " bytes, at most " + std::to_string(kMessageBytesMax));
  }
  Reader r(bytes);
  const std::uint8_t first = r.byte();
  if (r.failed()) return fail(Code::kInvalid, "ledger message is empty");
  if (first >> 4 != kWireVersion) {
    return fail(Code::kInvalid, "ledger message of version " + std::to_string(first >> 4) +
                                    ", this agent speaks " + std::to_string(kWireVersion));
  }
  Message m;
  r.u64(m.founding_epoch);
  const bool on_edge = (first & 0x0F) == 0;
  if (!on_edge) r.u32(m.from_incarnation, kIncarnationMax);
  if (!body_by_kind(r, first & 0x0F, m.body)) {
    return fail(Code::kInvalid, "ledger message of unknown kind " + std::to_string(first & 0x0F));
  }
  if (r.failed() || (m.from_incarnation == 0 && !on_edge)) {
    return fail(Code::kInvalid, "ledger message is truncated or holds a value out of range");
  }
  if (!r.at_end()) return fail(Code::kInvalid, "ledger message has bytes after its end");
  return m;
}

}  // namespace laird::consensus
