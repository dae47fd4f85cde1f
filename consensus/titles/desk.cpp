#include "consensus/titles/desk.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

enum class PacketKind : std::uint8_t { kMessage, kAsk, kSay };

template <class Body>
std::string packet_of(PacketKind kind, Body&& write) {
  Bytes bytes{static_cast<std::uint8_t>(kTitleWireVersion << 4 | static_cast<unsigned>(kind))};
  Archive ar = Archive::writer(bytes);
  write(ar);
  return std::string(bytes.begin(), bytes.end());
}

// At most so many, others at each turn.
std::vector<NodeId> some_of(std::vector<NodeId> nodes, std::uint64_t turn) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (nodes.size() <= kNodesAskedMax) return nodes;
  const std::size_t from = static_cast<std::size_t>(turn) * kNodesAskedMax % nodes.size();
  std::rotate(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(from), nodes.end());
  nodes.resize(kNodesAskedMax);
  return nodes;
}

}  // namespace

void TitleDesk::follow(const Sight& sight) {
  if (sight.self.valid()) titles_.begin(sight.self);
  if (sight.kept != nullptr) census_.look_at(*sight.kept);
  for (const Sight::Near& near : sight.near) census_.see(near.peer, near.dead);
}

RegisterView TitleDesk::view(const Sight& sight) const {
  RegisterView out;
  out.self = sight.self;
  out.fenced = sight.fenced || !sight.self.valid();
  out.living = census_.all_living();
  const Census* census = &census_;
  out.is_dead = [census](const Account& account) { return census->is_dead(account); };
  return out;
}

void TitleDesk::tick(const Sight& sight, const std::vector<NodeId>& wishes, TitlePackets& out) {
  follow(sight);
  TitleMessages messages;
  titles_.tick(view(sight), messages);
  std::size_t bodies = 0;
  std::erase_if(messages, [&bodies](const TitleMessage& m) {
    bodies += m.body.size();
    return !m.body.empty() && bodies > kBodyBytesPerTick;
  });
  send(messages, out);
  if (sight.kept != nullptr || sight.tick % kAskTicks != 0) return;
  std::vector<NodeId> nodes = titles_.concerns();
  nodes.insert(nodes.end(), wishes.begin(), wishes.end());
  nodes = some_of(std::move(nodes), sight.tick / kAskTicks);
  if (nodes.empty()) return;
  const std::string question =
      packet_of(PacketKind::kAsk, [&](Archive& ar) { ar.sequence(nodes, kNodesAskedMax); });
  for (const NodeId keeper : sight.keepers) {
    if (keeper != sight.self.node) out.push_back({keeper, question});
  }
}

void TitleDesk::send(const TitleMessages& messages, TitlePackets& out) {
  for (const TitleMessage& message : messages) {
    TitleMessage copy = message;
    out.push_back(
        {message.to.node, packet_of(PacketKind::kMessage, [&](Archive& ar) { copy.archive(ar); })});
  }
}

Status TitleDesk::take(const Sight& sight, NodeId from, std::string_view packet,
                       const Willing& willing, TitlePackets& out) {
  const auto corrupt = [](const char* what) { return fail(Code::kCorrupt, what); };
  if (packet.empty()) return corrupt("an empty packet");
  const auto first = static_cast<std::uint8_t>(packet[0]);
  if (first >> 4 != kTitleWireVersion) return corrupt("another version of the words on titles");
  const auto kind = static_cast<PacketKind>(first & 0x0f);
  Archive ar = Archive::reader(packet.substr(1));
  if (kind == PacketKind::kMessage) {
    TitleMessage message;
    message.archive(ar);
    if (ar.failed() || !ar.at_end()) return corrupt("a message on a title that does not decode");
    // Nobody speaks for another board.
    if (message.from.node != from || !message.from.valid()) {
      return corrupt("a message on a title in another board's name");
    }
    follow(sight);
    TitleMessages answers;
    titles_.take(view(sight), message, answers, willing);
    send(answers, out);
    return {};
  }
  if (kind == PacketKind::kAsk) {
    std::vector<NodeId> nodes;
    ar.sequence(nodes, kNodesAskedMax);
    if (ar.failed() || !ar.at_end()) return corrupt("a question that does not decode");
    if (sight.kept == nullptr) return {};
    std::vector<NodeWord> words;
    for (const NodeId node : nodes) words.push_back(word_of(*sight.kept, node));
    out.push_back({from, packet_of(PacketKind::kSay,
                                   [&](Archive& to) { to.sequence(words, kNodesAskedMax); })});
    return {};
  }
  if (kind == PacketKind::kSay) {
    std::vector<NodeWord> words;
    ar.sequence(words, kNodesAskedMax);
    if (ar.failed() || !ar.at_end()) return corrupt("an answer that does not decode");
    const auto& keepers = sight.keepers;
    if (std::find(keepers.begin(), keepers.end(), from) == keepers.end()) {
      return corrupt("an answer of a board that keeps no register");
    }
    for (const NodeWord& word : words) census_.hear(from, word, sight.words);
    return {};
  }
  return corrupt("a packet on titles of an unknown kind");
}

void TitleDesk::archive(Archive& ar) {
  ar(titles_);
  ar(census_);
}

}  // namespace laird::consensus
