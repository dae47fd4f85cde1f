#include "tests/virtual/operator.hpp"

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::test {
namespace {

constexpr std::int64_t kWallStartMs = 1'800'000'000'000;
constexpr std::int64_t kValidMs = 120'000;
constexpr DurationNs kAgainAfter = 15 * kSecond;
constexpr const char* kFleet = "lab";

mqtt::Options options_of() {
  mqtt::Options out;
  out.client_id = Operator::kName;
  out.subscriptions = {{mqtt::reply_stem(kFleet, Operator::kName) + "/+", 1}};
  return out;
}

std::string text_of(const json::Value& object, std::string_view name) {
  const json::Value* found = object.find(name, json::Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

}  // namespace

Operator::Operator(Timeline& time, FakeBroker& broker)
    : time_(time), key_(*mqtt::SigningKey::generate()) {
  connection_ = std::make_unique<FakeConnection>(broker, options_of(), 0, [this](bool something) {
    if (!something) return;
    // Outside the broker's own call.
    time_.after(0, [this] {
      for (const mqtt::Incoming& message : connection_->take().messages) hear(message);
    });
  });
}

std::string Operator::key() const { return mqtt::to_base64(key_.public_key()); }

std::string Operator::sealed(const std::string& board, const std::string& verb,
                             const std::string& id, json::Value body, std::int64_t valid_ms) const {
  mqtt::Command command;
  command.id = id;
  command.fleet = kFleet;
  command.to = board;
  command.verb = verb;
  command.issued_ms = kWallStartMs + time_.now() / kMillisecond;
  command.expires_ms = valid_ms == 0 ? 0 : command.issued_ms + valid_ms;
  command.body = std::move(body);
  const std::string text = mqtt::to_signed_text(command);
  return mqtt::to_text(mqtt::Envelope{text, kName, *key_.sign(mqtt::signing_input(text))});
}

void Operator::command(const std::string& board, const std::string& verb, json::Value body,
                       Answered answered) {
  const std::string id = "c-" + std::to_string(next_id_++);
  Asked asked;
  asked.board = board;
  asked.message.topic = mqtt::command_topic(kFleet, board, verb);
  asked.message.payload = sealed(board, verb, id, std::move(body), kValidMs);
  asked.message.kind = mqtt::Class::kReply;
  asked.message.qos = 1;
  asked.message.response_topic = mqtt::reply_topic(kFleet, kName, board);
  asked.message.correlation = id;
  asked.expires = time_.now() + kValidMs * kMillisecond;
  asked.answered = std::move(answered);
  sent_.push_back({time_.now(), board, asked.message});
  asked_[id] = std::move(asked);
  send_again(id);
}

void Operator::repeat(const std::string& board, DurationNs ago) {
  const TimeNs until = time_.now() - ago;
  for (const Sent& sent : sent_) {
    const bool then = sent.at <= until && sent.at > until - kValidMs * kMillisecond;
    if (then && sent.board == board) connection_->publish(sent.message);
  }
}

void Operator::send_again(const std::string& id) {
  const auto found = asked_.find(id);
  if (found == asked_.end()) return;
  if (time_.now() >= found->second.expires) {
    const Asked asked = std::move(found->second);
    asked_.erase(found);
    asked.answered("no answer", "");
    return;
  }
  connection_->publish(found->second.message);
  time_.after(kAgainAfter, [this, id] { send_again(id); });
}

void Operator::hear(const mqtt::Incoming& message) {
  const auto found = asked_.find(message.correlation);
  if (found == asked_.end()) return;
  const Result<json::Value> reply = json::parse(message.payload, "reply");
  if (!reply) return;
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  asked.answered(text_of(*reply, "code"), text_of(*reply, "text"));
}

void Operator::set_budget(json::Value body) {
  mqtt::Outgoing message;
  message.topic = mqtt::config_topic(kFleet, mqtt::kEveryone);
  message.payload = sealed(std::string(mqtt::kEveryone), "config",
                           "b-" + std::to_string(next_id_++), std::move(body), 0);
  message.kind = mqtt::Class::kState;
  message.retained = true;
  message.qos = 1;
  connection_->publish(std::move(message));
}

}  // namespace laird::test
