#include "agent/fleet/peer_inbox.hpp"

#include <algorithm>
#include <utility>

#include "consensus/codec.hpp"

namespace laird::agent {
namespace {

static_assert(PeerInbox::kMessagesPerPeerMax < core::kPeerMessagesMax);

constexpr std::size_t kOtherVersion = SIZE_MAX;  // in place of a kind
constexpr std::size_t kOtherVersionBytes = 8;

// Whether a later message of the kind from the same peer says all that an earlier one did.
bool replaces(const consensus::Body& body) {
  return std::holds_alternative<consensus::EdgeBody>(body) ||
         std::holds_alternative<consensus::RequestBody>(body) ||
         std::holds_alternative<consensus::StatementBody>(body);
}

}  // namespace

CoopResult PeerInbox::add(const std::string& from, std::string_view frame) {
  const Result<consensus::Message> message = consensus::decode(frame);
  if (message) {
    return keep(from, frame, message->body.index(), replaces(message->body));
  }
  // The core tells an operator which board speaks another version; its first bytes say that.
  if (!frame.empty() && static_cast<std::uint8_t>(frame[0]) >> 4 != consensus::kWireVersion) {
    static_cast<void>(keep(from, frame.substr(0, kOtherVersionBytes), kOtherVersion, true));
  }
  return CoopResult::kUndecoded;
}

CoopResult PeerInbox::keep(const std::string& from, std::string_view frame, std::size_t kind,
                           bool replaces_earlier) {
  CoopResult result = CoopResult::kOpened;
  std::size_t& count = by_peer_[from];
  if (replaces_earlier) {
    const auto earlier = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.kind == kind && kept.message.from == from;
    });
    if (earlier != kept_.end()) {
      kept_.erase(earlier);
      --count;
      result = CoopResult::kCrowded;
    }
  }
  if (count >= kMessagesPerPeerMax) {
    drop_oldest_of(from);
    result = CoopResult::kCrowded;
  } else if (kept_.size() >= core::kPeerMessagesMax) {
    const auto most =
        std::max_element(by_peer_.begin(), by_peer_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    drop_oldest_of(most->first);
    result = CoopResult::kCrowded;
  }
  kept_.push_back({{from, std::string(frame)}, kind});
  ++count;
  return result;
}

void PeerInbox::drop_oldest_of(const std::string& peer) {
  const auto oldest = std::find_if(kept_.begin(), kept_.end(),
                                   [&](const Kept& kept) { return kept.message.from == peer; });
  if (oldest == kept_.end()) return;
  kept_.erase(oldest);
  --by_peer_[peer];
}

CoopResult TitleInbox::add(const std::string& from, std::string_view packet) {
  if (packet.empty() || packet.size() > core::kTitlePacketBytesMax) return CoopResult::kUndecoded;
  std::size_t& count = by_peer_[from];
  if (count >= kPacketsPerPeerMax || kept_.size() >= core::kPeerMessagesMax ||
      bytes_ + packet.size() > kBytesMax) {
    return CoopResult::kCrowded;
  }
  ++count;
  bytes_ += packet.size();
  kept_.push_back({from, std::string(packet)});
  return CoopResult::kOpened;
}

std::vector<core::PeerMessage> TitleInbox::take() {
  by_peer_.clear();
  bytes_ = 0;
  return std::exchange(kept_, {});
}

std::vector<core::PeerMessage> PeerInbox::take() {
  std::vector<core::PeerMessage> out;
  out.reserve(kept_.size());
  for (Kept& kept : kept_) out.push_back(std::move(kept.message));
  kept_.clear();
  by_peer_.clear();
  return out;
}

}  // namespace laird::agent
