// What boards of a group say to each other: messages cut into fragments, models a little at a time.
#include <algorithm>

#include "consensus/cotrain/group_rounds.hpp"

namespace laird::consensus {
namespace {

constexpr std::uint8_t kVersion = 3;
constexpr std::uint8_t kUrgentBit = 8;  // of the kind's nibble
constexpr DurationNs kAnswerEvery = kSecond;
// Of models under way: so many messages at once, so often. An agent takes 1.5 MB a second.
constexpr std::size_t kParcelsAtOnce = 4;
constexpr DurationNs kModelKept = kMinute;
constexpr DurationNs kPartsLate = 500 * kMillisecond;
constexpr DurationNs kPartsGivenUp = 20 * kSecond;
constexpr std::size_t kMissingMost = 64;  // fragments that are asked for at once
// An honest board asks every kPartsLate; two of its questions may come closer together.
constexpr DurationNs kPartsAgain = kPartsLate / 2;

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

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes written(Contribution contribution) {
  Bytes out;
  Archive ar = Archive::writer(out);
  ar(contribution);
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Result<GroupRounds::Head> GroupRounds::parse_head(std::string_view& bytes) {
  if (bytes.size() < kFragmentHeadBytes) {
    return fail(Code::kInvalid, "a co-training message cut short");
  }
  const auto first = get<std::uint8_t>(bytes);
  const unsigned kind = first & 7U;
  if (first >> 4 != kVersion || kind > static_cast<unsigned>(Kind::kYours)) {
    return fail(Code::kInvalid, "a co-training message of an unknown version or kind");
  }
  Head head;
  head.kind = static_cast<Kind>(kind);
  head.urgent = (first & kUrgentBit) != 0;
  head.boards = get<std::uint8_t>(bytes);
  head.lineage = get<std::uint64_t>(bytes);
  head.round = get<std::uint32_t>(bytes);
  head.digest = get<std::uint32_t>(bytes);
  head.fragment = get<std::uint16_t>(bytes);
  head.fragments = get<std::uint16_t>(bytes);
  if (head.round > kRoundMax || head.fragment >= head.fragments ||
      bytes.size() > kFragmentBytesMax) {
    return fail(Code::kInvalid, "a co-training message with numbers no round can have");
  }
  return head;
}

void GroupRounds::send(const std::string& to, Kind kind, std::uint32_t round, std::string_view body,
                       bool urgent) {
  for (Bytes& bytes : fragments_of(kind, round, body, urgent)) {
    outgoing_.push_back({to, std::move(bytes)});
  }
}

std::vector<Bytes> GroupRounds::fragments_of(Kind kind, std::uint32_t round, std::string_view body,
                                             bool urgent) const {
  const std::size_t count =
      std::max<std::size_t>(1, (body.size() + kFragmentBytesMax - 1) / kFragmentBytesMax);
  // A contribution names the model that it was worked out at.
  const bool of_before = kind == Kind::kContribution && round == model_.round();
  const std::uint32_t digest = of_before ? digest_before_ : model_.digest();
  std::vector<Bytes> out;
  for (std::size_t fragment = 0; fragment < count; ++fragment) {
    const std::string_view part =
        body.substr(std::min(body.size(), fragment * kFragmentBytesMax), kFragmentBytesMax);
    Bytes bytes;
    bytes.reserve(kFragmentHeadBytes + part.size());
    put(bytes, static_cast<std::uint8_t>(kVersion << 4 | (urgent ? kUrgentBit : 0) |
                                         static_cast<std::uint8_t>(kind)));
    put(bytes, static_cast<std::uint8_t>(model_.boards().size()));
    put(bytes, model_.lineage());
    put(bytes, round);
    put(bytes, digest);
    put(bytes, static_cast<std::uint16_t>(fragment));
    put(bytes, static_cast<std::uint16_t>(count));
    bytes.insert(bytes.end(), part.begin(), part.end());
    out.push_back(std::move(bytes));
  }
  return out;
}

std::vector<Bytes> GroupRounds::parcels() const {
  if (!model_.known()) return {};
  const Bytes body = model_.save();
  return fragments_of(Kind::kModel, model_.round(), text(body), false);
}

GroupRounds::Fragments GroupRounds::model_fragments(TimeNs now) {
  model_sent_at_ = now;
  const bool same =
      model_sent_ != nullptr && sent_round_ == model_.round() && sent_digest_ == model_.digest();
  if (!same) model_sent_ = std::make_shared<const std::vector<Bytes>>(parcels());
  sent_round_ = model_.round();
  sent_digest_ = model_.digest();
  return model_sent_;
}

void GroupRounds::send_model(const std::string& to, Peer& peer, TimeNs now) {
  if (now - peer.answered_at < kAnswerEvery) return;
  const bool under_way = std::any_of(parcels_.begin(), parcels_.end(),
                                     [&](const Parcel& parcel) { return parcel.to == to; });
  if (under_way) return;
  peer.answered_at = now;
  if (const auto theirs = now_.find(to); theirs != now_.end()) {
    const Bytes body = written(theirs->second);
    const auto yours = std::make_shared<const std::vector<Bytes>>(
        fragments_of(Kind::kYours, model_.round() + 1, text(body), false));
    for (std::size_t k = 0; k < yours->size(); ++k) parcels_.push_back({to, yours, k});
  }
  const Fragments model = model_fragments(now);
  for (std::size_t k = 0; k < model->size(); ++k) parcels_.push_back({to, model, k});
  send_parcels(now);
}

void GroupRounds::send_parcels(TimeNs now) {
  if (now - parcels_at_ < kParcelsEvery) return;
  if (!parcels_.empty()) parcels_at_ = now;
  for (std::size_t k = 0; k < kParcelsAtOnce && !parcels_.empty(); ++k) {
    const Parcel& next = parcels_.front();
    if (next.of == model_sent_) note_model_sent(next.to, now);
    outgoing_.push_back({next.to, (*next.of)[next.index]});
    parcels_.pop_front();
  }
  if (parcels_.empty() && now - model_sent_at_ > kModelKept) model_sent_.reset();
}

// A model is kept from its last part on, not the first: a long one takes longer to send.
void GroupRounds::note_model_sent(const std::string& to, TimeNs now) {
  model_sent_at_ = now;
  for (auto& [name, peer] : peers_) {
    if (to.empty() || to == name) peer.got = {model_sent_->size(), now};
  }
}

bool GroupRounds::is_arriving(const Peer& peer, Kind kind, TimeNs now) const {
  const auto found = peer.assembling.find(kind);
  return found != peer.assembling.end() && now - found->second.heard_at < kPartsGivenUp;
}

// What of a long message is missing is asked for when nothing more of it has come for a moment.
void GroupRounds::ask_for_missing(TimeNs now) {
  for (auto& [name, peer] : peers_) {
    std::erase_if(peer.assembling,
                  [&](const auto& a) { return now - a.second.heard_at >= kPartsGivenUp; });
    for (auto& [kind, a] : peer.assembling) {
      if (now - a.heard_at < kPartsLate || now - a.asked_at < kPartsLate) continue;
      a.asked_at = now;
      Bytes body;
      put(body, static_cast<std::uint8_t>(kind));
      put(body, a.head.lineage);
      put(body, a.head.round);
      put(body, a.head.digest);
      std::size_t asked = 0;
      for (std::size_t k = 0; k < a.have.size() && asked < kMissingMost; ++k) {
        if (a.have[k]) continue;
        put(body, static_cast<std::uint16_t>(k));
        ++asked;
      }
      send(name, Kind::kAsk, model_.round(), text(body));
    }
  }
}

void GroupRounds::take_missing(const std::string& from, std::string_view body, TimeNs now) {
  constexpr std::size_t kHead = 1 + 8 + 4 + 4;
  // Without a part there is nothing to send, and cutting a long message up is work.
  if (body.size() < kHead + 2 || (body.size() - kHead) % 2 != 0 || !model_.known()) return;
  const auto number = get<std::uint8_t>(body);
  const auto lineage = get<std::uint64_t>(body);
  const auto round = get<std::uint32_t>(body);
  const auto digest = get<std::uint32_t>(body);
  const bool known = number <= static_cast<std::uint8_t>(Kind::kYours);
  if (!known || lineage != model_.lineage() || body.size() / 2 > kMissingMost) return;
  const bool under_way = std::any_of(parcels_.begin(), parcels_.end(),
                                     [&](const Parcel& parcel) { return parcel.to == from; });
  if (under_way) return;
  const auto kind = static_cast<Kind>(number);
  TimeNs& resent_at = peers_[from].parts_resent_at.try_emplace(kind, -kHour).first->second;
  if (now - resent_at < kPartsAgain) return;
  resent_at = now;
  const Fragments of = asked_fragments(from, kind, round, digest);
  if (of == nullptr && kind == Kind::kModel) return send_model(from, peers_[from], now);
  while (of != nullptr && !body.empty()) {
    const std::size_t index = get<std::uint16_t>(body);
    if (index < of->size()) parcels_.push_back({from, of, index});
  }
  send_parcels(now);
}

// What a board asks for parts of, as it was sent; none if it is not known any more.
GroupRounds::Fragments GroupRounds::asked_fragments(const std::string& by, Kind kind,
                                                    std::uint32_t round,
                                                    std::uint32_t digest) const {
  const bool is_now = round == model_.round() + 1 && digest == model_.digest();
  const bool is_before = round == model_.round() && digest == digest_before_;
  const auto cut = [&](std::string_view body) {
    return std::make_shared<const std::vector<Bytes>>(fragments_of(kind, round, body, false));
  };
  switch (kind) {
    case Kind::kModel:
      return sent_round_ == round && sent_digest_ == digest ? model_sent_ : nullptr;
    case Kind::kContribution: {
      const std::string& own = is_now ? own_now_ : own_before_;
      return (is_now || is_before) && !own.empty() ? cut(own) : nullptr;
    }
    case Kind::kYours: {
      const auto theirs = now_.find(by);
      return is_now && theirs != now_.end() ? cut(text(written(theirs->second))) : nullptr;
    }
    case Kind::kAsk:
    case Kind::kVote: break;
  }
  return nullptr;
}

std::string GroupRounds::note() const {
  if (!model_.known()) return "waits for the other boards";
  std::vector<std::string> names;
  for (const GroupBoard& board : model_.boards()) names.push_back(board.name);
  std::string out = std::string(kMadeBy) + joined(names);
  for (const Absence& a : model_.absences()) {
    out += "; without " + a.name;
    out += a.to == 0 ? " since round " + std::to_string(a.from)
                     : " in rounds " + std::to_string(a.from) + " to " + std::to_string(a.to);
  }
  for (const GroupBoard& board : model_.boards()) {
    if (board.since > 0)
      out += "; " + board.name + " since round " + std::to_string(board.since + 1);
  }
  return out;
}

}  // namespace laird::consensus
