// What boards of a group say to each other: messages cut into fragments, models a little at a time.
#include <algorithm>

#include "consensus/cotrain/group_rounds.hpp"

namespace laird::consensus {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kUrgentBit = 8;  // of the kind's nibble
constexpr DurationNs kAnswerEvery = kSecond;
// Of models under way: so many messages at once, so often.
constexpr std::size_t kParcelsAtOnce = 8;

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

void GroupRounds::send_model(const std::string& to, Peer& peer, TimeNs now) {
  if (now - peer.answered_at < kAnswerEvery) return;
  const bool under_way = std::any_of(parcels_.begin(), parcels_.end(),
                                     [&](const ToPeer& parcel) { return parcel.to == to; });
  if (under_way) return;
  peer.answered_at = now;
  if (const auto theirs = now_.find(to); theirs != now_.end()) {
    Bytes body;
    Archive ar = Archive::writer(body);
    ar(theirs->second);
    for (Bytes& bytes : fragments_of(Kind::kYours, model_.round() + 1, text(body), false)) {
      parcels_.push_back({to, std::move(bytes)});
    }
  }
  for (Bytes& bytes : parcels()) parcels_.push_back({to, std::move(bytes)});
  send_parcels(now);
}

void GroupRounds::send_parcels(TimeNs now) {
  if (now - parcels_at_ < kParcelsEvery) return;
  if (!parcels_.empty()) parcels_at_ = now;
  for (std::size_t k = 0; k < kParcelsAtOnce && !parcels_.empty(); ++k) {
    outgoing_.push_back(std::move(parcels_.front()));
    parcels_.pop_front();
  }
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
