#include "control/fleet/fleet_client.hpp"

#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "mqtt/codec/join.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/tls_files.hpp"

namespace laird::control {
namespace {

using json::Value;
using mqtt::TopicKind;

constexpr std::size_t kClientNameMax = 32;
constexpr std::size_t kRandomDigits = 8;
constexpr std::size_t kInboxMax = 100'000;
constexpr std::size_t kInboxBytesMax = std::size_t{256} << 20;
constexpr DurationNs kMarkerEvery = kSecond;
constexpr DurationNs kGoodbye = kSecond;
constexpr DurationNs kPollMax = 200 * kMillisecond;
constexpr DurationNs kSendAgainAfter = 3 * kSecond;
constexpr int kSendAgainMax = 3;
constexpr std::size_t kProblemsMax = 64;
constexpr std::uint32_t kAnswerKeptS = 30 * 86'400;
// What stays open for days is content with less, and bounded more tightly.
constexpr ViewLimits kLiveLimits{2'000, 12'000};
constexpr std::size_t kLiveInboxMax = 20'000;
constexpr std::size_t kLiveInboxBytesMax = std::size_t{64} << 20;

DurationNs left_of(SteadyTime until) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(until -
                                                              std::chrono::steady_clock::now())
      .count();
}

std::vector<std::pair<std::string, int>> filters(const std::string& fleet, const std::string& name,
                                                 Listen listen) {
  std::vector<std::pair<std::string, int>> out = {{mqtt::reply_topic(fleet, name, "+"), 1}};
  if (listen == Listen::kNothing) return out;
  // With QoS 0 the broker sends these and the marker behind them in one order. A report that is
  // lost is followed by the next within seconds.
  for (const TopicKind kind : {TopicKind::kStatus, TopicKind::kInfo, TopicKind::kReport}) {
    out.emplace_back(mqtt::node_topic(fleet, "+", kind), 0);
  }
  out.emplace_back(mqtt::node_topic(fleet, "+", TopicKind::kTask, "+"), 0);
  out.emplace_back(mqtt::config_topic(fleet, mqtt::kEveryone), 0);
  if (listen == Listen::kLive) {
    out.emplace_back(mqtt::node_topic(fleet, "+", TopicKind::kTelemetry, "power"), 0);
  }
  if (listen == Listen::kJoin) out.emplace_back(mqtt::join_ask_topic(fleet), 0);
  if (listen == Listen::kEvents || listen == Listen::kJoin || listen == Listen::kLive) {
    out.emplace_back(mqtt::node_topic(fleet, "+", TopicKind::kEvent, "+"), 1);
  }
  out.emplace_back(mqtt::command_topic(fleet, name, "hello"), 0);
  return out;
}

}  // namespace

std::int64_t unix_ms_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

SteadyTime after(DurationNs wait) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(wait);
}

std::string random_hex(std::size_t digits) {
  std::string bytes(digits, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::abort();  // a system without random numbers cannot make unique ids
    have += static_cast<std::size_t>(n);
  }
  for (char& c : bytes) c = "0123456789abcdef"[static_cast<unsigned char>(c) % 16];
  return bytes;
}

FleetClient::FleetClient(Access access, std::string name, ViewLimits limits)
    : access_(std::move(access)), name_(std::move(name)), view_(limits) {
  marker_topic_ = mqtt::command_topic(access_.fleet, name_, "hello");
}

FleetClient::~FleetClient() {
  if (client_) client_->close({}, kGoodbye);
}

Result<std::unique_ptr<FleetClient>> FleetClient::open(Access access, Listen listen,
                                                       DurationNs timeout) {
  LAIRD_TRY(complete(access));
  const std::string name =
      access.op.substr(0, kClientNameMax - kRandomDigits - 1) + "-" + random_hex(kRandomDigits);
  const bool live = listen == Listen::kLive;
  std::unique_ptr<FleetClient> self(
      new FleetClient(std::move(access), name, live ? kLiveLimits : ViewLimits{}));
  mqtt::Options options;
  options.brokers = self->access_.brokers;
  options.client_id = name;
  options.name = self->access_.op;
  if (!self->access_.cert.empty()) {
    auto certified = mqtt::common_name(self->access_.cert);
    LAIRD_TRY(certified);
    options.name = std::move(*certified);
  }
  options.ca = self->access_.ca;
  options.cert = self->access_.cert;
  options.key = self->access_.key;
  options.insecure_lab = self->access_.insecure_lab;
  options.keep_session = false;
  options.subscriptions = filters(self->access_.fleet, name, listen);
  options.inbox_max = live ? kLiveInboxMax : kInboxMax;
  options.inbox_bytes_max = live ? kLiveInboxBytesMax : kInboxBytesMax;
  options.retry_jitter_s = 0;
  auto client = mqtt::Client::create(std::move(options));
  LAIRD_TRY(client);
  self->client_ = std::move(*client);
  const SteadyTime until = after(timeout);
  if (!self->wait(until, [&] { return self->client_->connected(); })) {
    return fail(Code::kUnavailable, "no broker answers (" + self->access_.brokers.front() +
                                        (self->access_.brokers.size() > 1 ? ", ..." : "") + ")" +
                                        (self->why_.empty() ? "" : ": " + self->why_) +
                                        "; `lairctl doctor` looks further");
  }
  if (listen != Listen::kNothing) {
    LAIRD_TRY(self->sync(until));
  }
  return self;
}

mqtt::Outgoing FleetClient::marker() const {
  mqtt::Outgoing out;
  out.topic = marker_topic_;
  out.payload = "{}";
  out.kind = mqtt::Class::kEvent;
  out.qos = 1;
  out.expiry_s = 10;
  return out;
}

// The retained messages come once more: what is not among them is gone. They come from the first
// acknowledged subscription on, while the link counts as up only after the last: so it is from the
// loss of the link on that what comes is new.
void FleetClient::on_link_lost() {
  if (seen_connects_ == 0 || beginning_) return;
  view_.begin_again();
  beginning_ = true;
  marked_ = false;
}

void FleetClient::on_link_up() {
  if (seen_connects_++ == 0) return;
  on_link_lost();  // unless it came and went between two looks, this was done before
  beginning_ = false;
  publish(marker());
}

// A broker does not tell when it has sent the last retained message. So lairctl sends a marker to
// itself after the subscriptions, on a topic that no board listens to: when the marker comes back,
// every retained message has come before it.
Status FleetClient::sync(SteadyTime until) {
  while (left_of(until) > 0) {
    publish(marker());
    const SteadyTime next = std::min(until, after(kMarkerEvery));
    if (wait(next, [this] { return marked_; })) return {};
  }
  std::string told;
  for (const std::string& problem : problems_) told += "; " + problem;
  return fail(Code::kUnavailable,
              "the broker took the connection but gives back nothing: does its ACL name '" +
                  access_.op + "' as an operator of fleet '" + access_.fleet + "'?" + told);
}

bool FleetClient::wait(SteadyTime until, const std::function<bool()>& done) {
  for (;;) {
    take();
    if (done()) return true;
    send_again();
    const DurationNs left = left_of(until);
    if (left <= 0) return false;
    // Counters change without the file becoming readable, so `done` is asked now and then too.
    const DurationNs slice = std::min(left, kPollMax);
    pollfd ready{client_->ready_fd(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>((slice + kMillisecond - 1) / kMillisecond));
  }
}

void FleetClient::take() {
  mqtt::Client::Batch batch = client_->take();
  if (batch.link_changed) why_ = batch.why;
  if (batch.link_changed) batch.connected ? on_link_up() : on_link_lost();
  for (std::string& problem : batch.problems) {
    if (problems_.size() < kProblemsMax) problems_.push_back(std::move(problem));
  }
  for (const mqtt::Incoming& message : batch.messages) {
    if (message.topic == marker_topic_) {
      if (!marked_ && seen_connects_ > 1) view_.drop_unseen();
      marked_ = true;
      continue;
    }
    // A board asks again and again; what the broker has kept is nobody's who is there.
    if (message.topic == mqtt::join_ask_topic(access_.fleet)) {
      if (!message.retained && asks_.size() < kAsksMax) asks_.push_back(message.payload);
      continue;
    }
    const auto topic = mqtt::parse_topic(message.topic);
    if (!topic || topic->fleet != access_.fleet) continue;
    if (topic->kind != TopicKind::kReply) {
      view_.take(*topic, message.payload);
      continue;
    }
    auto reply = mqtt::parse_reply(message.payload);
    if (!reply || topic->name != name_) continue;
    // The board is the one of the topic, whatever the reply says: the broker lets a board write
    // only below its own name.
    reply->node = topic->node;
    unanswered_.erase(message.correlation);
    // The first reply counts. A command that arrives twice is answered twice, the second time with
    // "done before".
    // Replies to what was never asked, or is forgotten, are not kept.
    const auto asked = replies_.find(message.correlation);
    if (asked != replies_.end()) asked->second.emplace(topic->node, std::move(*reply));
  }
}

void FleetClient::send_again() {
  const SteadyTime now = std::chrono::steady_clock::now();
  for (auto& [id, waiting] : unanswered_) {
    if (waiting.left == 0 || now < waiting.again_at) continue;
    --waiting.left;
    waiting.again_at = after(kSendAgainAfter);
    publish(waiting.message);
  }
}

void FleetClient::publish(mqtt::Outgoing message) {
  ++published_;
  client_->publish(std::move(message));
}

Status FleetClient::load_key() {
  if (key_) return {};
  if (access_.signing_key.empty()) {
    return fail(Code::kInvalid,
                "no signing key is configured: boards obey signed commands only; give "
                "\"signing_key\" or \"credentials\" in the config, or --credentials");
  }
  auto key = mqtt::SigningKey::load(access_.signing_key);
  LAIRD_TRY(key);
  key_ = std::make_unique<mqtt::SigningKey>(std::move(*key));
  return {};
}

Result<std::string> FleetClient::seal(const mqtt::Command& command) {
  LAIRD_TRY(load_key());
  mqtt::Envelope envelope;
  envelope.signed_text = mqtt::to_signed_text(command);
  envelope.op = access_.op;
  auto signature = key_->sign(mqtt::signing_input(envelope.signed_text));
  LAIRD_TRY(signature);
  envelope.signature = std::move(*signature);
  std::string out = mqtt::to_text(envelope);
  if (out.size() > mqtt::kPayloadBytesMax) {
    return fail(Code::kInvalid, "the command has " + std::to_string(out.size()) +
                                    " bytes when signed; at most " +
                                    std::to_string(mqtt::kPayloadBytesMax) + " can be sent");
  }
  return out;
}

Result<SentCommand> FleetClient::send(const std::string& to, const std::string& verb, Value body,
                                      DurationNs valid_for) {
  mqtt::Command command;
  command.id = name_ + "-" + random_hex(16);
  command.fleet = access_.fleet;
  command.to = to;
  command.verb = verb;
  command.issued_ms = unix_ms_now();
  const std::int64_t valid_ms =
      std::clamp<std::int64_t>(valid_for / kMillisecond, 1'000, mqtt::kCommandLifeMaxMs);
  command.expires_ms = command.issued_ms + valid_ms;
  command.body = std::move(body);
  const SteadyTime dead_at = after((valid_ms + mqtt::kClockSkewMaxMs) * kMillisecond);
  auto text = seal(command);
  LAIRD_TRY(text);
  mqtt::Outgoing out;
  out.topic = mqtt::command_topic(access_.fleet, to, verb);
  out.payload = std::move(*text);
  out.kind = mqtt::Class::kReply;
  out.qos = 1;
  out.expiry_s = static_cast<std::uint32_t>((valid_ms + 999) / 1'000);
  out.response_topic = to == mqtt::kEveryone ? mqtt::reply_stem(access_.fleet, name_)
                                             : mqtt::reply_topic(access_.fleet, name_, to);
  out.correlation = command.id;
  replies_[command.id];
  // A change of settings is judged by what is in force before it is known to be a repetition.
  if (verb != "config") unanswered_[command.id] = {out, after(kSendAgainAfter), kSendAgainMax};
  publish(std::move(out));
  return SentCommand{command.id, to, dead_at};
}

void FleetClient::forget(const std::string& id) {
  unanswered_.erase(id);
  replies_.erase(id);
}

const Replies& FleetClient::replies(const std::string& id) const {
  static const Replies none;
  const auto found = replies_.find(id);
  return found == replies_.end() ? none : found->second;
}

Result<mqtt::Reply> FleetClient::ask(const std::string& to, const std::string& verb, Value body,
                                     DurationNs timeout) {
  const auto sent = send(to, verb, std::move(body), timeout);
  LAIRD_TRY(sent);
  if (!wait(after(timeout), [&] { return replies(sent->id).count(to) != 0; })) {
    return fail(Code::kUnavailable,
                to + " did not answer in time" + (connected() ? "" : " (no link to the broker)"));
  }
  // Nobody asks for it again, and a long pull has thousands.
  mqtt::Reply reply = replies(sent->id).at(to);
  replies_.erase(sent->id);
  unanswered_.erase(sent->id);
  return reply;
}

Result<Replies> FleetClient::ask_all(const std::string& verb, Value body,
                                     const std::set<std::string>& boards, DurationNs timeout) {
  const auto sent = send(std::string(mqtt::kEveryone), verb, std::move(body), timeout);
  LAIRD_TRY(sent);
  wait(after(timeout), [&] {
    const auto& have = replies(sent->id);
    return std::all_of(boards.begin(), boards.end(),
                       [&](const std::string& board) { return have.count(board) != 0; });
  });
  return replies(sent->id);
}

Result<std::vector<SentCommand>> FleetClient::send_each(const std::string& verb, const Value& body,
                                                        const std::set<std::string>& boards,
                                                        DurationNs timeout) {
  std::vector<SentCommand> sent;
  for (const std::string& board : boards) {
    auto one = send(board, verb, body, timeout);
    LAIRD_TRY(one);
    sent.push_back(std::move(*one));
  }
  wait(after(timeout), [&] { return replies_to(sent).size() == sent.size(); });
  return sent;
}

Result<Replies> FleetClient::ask_each(const std::string& verb, const Value& body,
                                      const std::set<std::string>& boards, DurationNs timeout) {
  const auto sent = send_each(verb, body, boards, timeout);
  LAIRD_TRY(sent);
  return replies_to(*sent);
}

Replies FleetClient::replies_to(const std::vector<SentCommand>& commands) const {
  Replies out;
  for (const SentCommand& command : commands) {
    const auto& have = replies(command.id);
    if (const auto found = have.find(command.to); found != have.end()) out.insert(*found);
  }
  return out;
}

Status FleetClient::publish_budget(const Value& budget, DurationNs timeout) {
  mqtt::Command command;
  command.id = name_ + "-" + random_hex(16);
  command.fleet = access_.fleet;
  command.to = std::string(mqtt::kEveryone);
  command.verb = "config";
  command.issued_ms = unix_ms_now();
  command.body = budget;
  auto text = seal(command);
  LAIRD_TRY(text);
  const std::uint64_t refused = client_->counters().refused;
  mqtt::Outgoing out;
  out.topic = mqtt::config_topic(access_.fleet, mqtt::kEveryone);
  out.payload = std::move(*text);
  out.kind = mqtt::Class::kState;
  out.retained = true;
  out.qos = 1;
  publish(std::move(out));
  const auto rev = number_at(budget, "rev");
  const auto arrived = [&] {
    return client_->counters().refused > refused ||
           (view_.budget() && rev && view_.budget()->rev == static_cast<std::int64_t>(*rev) &&
            budget_is_mine());
  };
  if (!wait(after(timeout), arrived)) {
    return fail(Code::kUnavailable, "the broker did not take the budget in time");
  }
  if (client_->counters().refused > refused) {
    return fail(Code::kRefused, "the broker's ACL does not let '" + access_.op +
                                    "' write the budget; run `lairctl broker config` again");
  }
  return {};
}

bool FleetClient::budget_is_mine() const {
  if (!view_.budget() || !key_) return false;
  return mqtt::verify(key_->public_key(), mqtt::signing_input(view_.budget()->signed_text),
                      view_.budget()->signature);
}

// Until everything that was sent is acknowledged.
Status FleetClient::settle(SteadyTime until) {
  const auto settled = [&] {
    const mqtt::Counters now = client_->counters();
    return now.sent + now.refused >= published_;
  };
  if (wait(until, settled)) return {};
  return fail(Code::kUnavailable, "the broker did not acknowledge in time");
}

Status FleetClient::publish_revocations(const std::string& pem, DurationNs timeout) {
  mqtt::Outgoing out;
  out.topic = mqtt::revocations_topic(access_.fleet);
  out.payload = mqtt::revocations_text(pem);
  out.kind = mqtt::Class::kState;
  out.retained = true;
  out.qos = 1;
  if (out.payload.size() > mqtt::kPayloadBytesMax) {
    return fail(Code::kFull, "the list of revoked certificates has " +
                                 std::to_string(out.payload.size()) + " bytes; at most " +
                                 std::to_string(mqtt::kPayloadBytesMax) +
                                 " can be sent: found the fleet anew with `pki init --force`");
  }
  const std::uint64_t refused = client_->counters().refused;
  publish(std::move(out));
  return published_well(refused, timeout);
}

Status FleetClient::published_well(std::uint64_t refused_before, DurationNs timeout) {
  LAIRD_TRY(settle(after(timeout)));
  if (client_->counters().refused == refused_before) return {};
  return fail(Code::kRefused, "the broker's ACL does not let '" + access_.op +
                                  "' publish it; run `lairctl broker config` again");
}

Status FleetClient::answer_asks(const std::map<std::string, std::string>& answers,
                                DurationNs timeout) {
  const std::uint64_t refused = client_->counters().refused;
  for (const auto& [to, text] : answers) {
    mqtt::Outgoing out;
    out.topic = mqtt::join_answer_topic(access_.fleet, to);
    out.payload = text;
    out.kind = mqtt::Class::kEvent;
    out.retained = true;
    out.qos = 1;
    out.expiry_s = kAnswerKeptS;
    if (text.size() > mqtt::kPayloadBytesMax) {
      return fail(Code::kFull, "an answer of " + std::to_string(text.size()) +
                                   " bytes cannot be sent: the config names too many founders");
    }
    publish(std::move(out));
    // One by one: the outbox keeps only so many.
    LAIRD_TRY(published_well(refused, timeout));
  }
  return {};
}

Result<bool> FleetClient::is_forbidden(const std::string& topic, DurationNs timeout) {
  // Everything sent before must be acknowledged first: otherwise its acknowledgement would be taken
  // for that of this message.
  LAIRD_TRY(settle(after(timeout)));
  const mqtt::Counters before = client_->counters();
  mqtt::Outgoing out;
  out.topic = topic;
  out.payload = "{}";
  out.kind = mqtt::Class::kEvent;
  out.qos = 1;
  out.expiry_s = 1;
  publish(std::move(out));
  const auto answered = [&] {
    const mqtt::Counters now = client_->counters();
    return now.refused > before.refused || now.sent > before.sent;
  };
  if (!wait(after(timeout), answered)) {
    return fail(Code::kUnavailable, "the broker did not acknowledge in time");
  }
  return client_->counters().refused > before.refused;
}

}  // namespace laird::control
