#include "control/fleet/confirm.hpp"

#include <algorithm>

namespace laird::control {
namespace {

using json::Kind;
using json::Value;
using mqtt::ReplyCode;

// What a board may take to stop its trainers, restart and join, besides the time that it waits for
// the confirmation.
constexpr DurationNs kRestartAllowance = 45 * kSecond;
constexpr DurationNs kAskAgainAfter = 3 * kSecond;
constexpr DurationNs kLookEvery = 200 * kMillisecond;
constexpr DurationNs kOpenFor = 3 * kSecond;

std::vector<std::string> new_brokers(const Value& data) {
  std::vector<std::string> out;
  const Value* list = data.find("changes", Kind::kArray);
  if (list == nullptr) return out;
  for (const Value& change : list->items()) {
    const Value* key = change.find("key", Kind::kString);
    const Value* to = change.find("to", Kind::kArray);
    if (key == nullptr || to == nullptr || key->as_string() != "fleet.brokers") continue;
    for (const Value& broker : to->items()) {
      if (broker.is(Kind::kString)) out.push_back(broker.as_string());
    }
  }
  return out;
}

}  // namespace

Result<Replies> ConfigChange::run(const Value& body, const std::set<std::string>& boards) {
  std::map<std::string, std::int64_t> epochs;
  for (const auto& [id, board] : client_.view().boards()) epochs[id] = board.epoch;
  const auto sent = client_.send_each("config", body, boards, timeout_);
  LAIRD_TRY(sent);
  settled_ = client_.replies_to(*sent);
  waiting_.clear();
  for (const SentCommand& command : *sent) {
    const auto reply = settled_.find(command.to);
    if (reply == settled_.end() || reply->second.code != ReplyCode::kOk) continue;
    if (reply->second.data.find("trial", Kind::kString) == nullptr) continue;
    waiting_[command.to] = {command.id, epochs[command.to], "", {}};
    if (brokers_.empty()) brokers_ = new_brokers(reply->second.data);
  }
  const SteadyTime until = after(within_ + kRestartAllowance);
  while (!waiting_.empty() && std::chrono::steady_clock::now() < until) {
    client_.wait(after(kLookEvery), [] { return false; });
    look(client_);
    open_new_link();
    if (there_ == nullptr) continue;
    there_->wait(after(kLookEvery), [] { return false; });
    look(*there_);
  }
  for (const auto& [board, waiting] : waiting_) {
    mqtt::Reply& reply = settled_[board];
    reply.code = ReplyCode::kUnavailable;
    reply.text = "did not come back; it reverts by itself";
  }
  return settled_;
}

// A board that was told to use another broker is confirmed over that broker.
void ConfigChange::open_new_link() {
  if (brokers_.empty() || waiting_.empty() || there_ != nullptr) return;
  Access access = client_.access();
  access.brokers = brokers_;
  if (auto opened = FleetClient::open(access, Listen::kStates, kOpenFor)) {
    there_ = std::move(*opened);
  }
}

void ConfigChange::look(FleetClient& over) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    auto& [board, waiting] = *at;
    const auto& replies = over.replies(waiting.asked);
    const auto reply = replies.find(board);
    const bool early = reply != replies.end() && reply->second.code == ReplyCode::kRefused &&
                       !reply->second.text.starts_with("reverted");
    if (reply != replies.end() && !early) {
      mqtt::Reply& last = settled_[board];
      last.code = reply->second.code;
      last.text = reply->second.text;
      // The board took the change and then reverted it. That is a failure, not a refusal.
      if (last.code == ReplyCode::kRefused) last.code = ReplyCode::kUnavailable;
      at = waiting_.erase(at);
      continue;
    }
    const auto seen = over.view().boards().find(board);
    const bool back = seen != over.view().boards().end() && seen->second.is_live() &&
                      seen->second.epoch > waiting.epoch;
    if (back && std::chrono::steady_clock::now() >= waiting.ask_again) {
      const auto sent =
          over.send(board, "config", Value::object().set("confirm", waiting.id), timeout_);
      if (sent) waiting.asked = sent->id;
      waiting.ask_again = after(kAskAgainAfter);
    }
    ++at;
  }
}

}  // namespace laird::control
