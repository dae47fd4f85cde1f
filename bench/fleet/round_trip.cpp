// The way of a command and back: an operator signs, sends and waits; a board checks the signature
// and everything else and answers. Both are our client, in two threads; the broker is between them.
//
//   fleet_round_trip BROKER PKI NODE COUNT     one line: count, p50, p90, p99, max in ms, failures
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "mqtt/client/client.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/sign/ed25519.hpp"

namespace {

using laird::mqtt::Class;
using laird::mqtt::Client;
using laird::mqtt::Outgoing;
using Clock = std::chrono::steady_clock;

constexpr int kWaitMs = 5'000;

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<Client> connect(const std::string& broker, const std::string& at,
                                const std::string& stem, const std::string& id,
                                const std::string& filter) {
  laird::mqtt::Options options;
  options.brokers = {broker};
  options.client_id = id;
  options.ca = at + "/ca.crt";
  options.cert = at + "/" + stem + ".crt";
  options.key = at + "/" + stem + ".key";
  options.keep_session = false;
  options.subscriptions = {{filter, 1}};
  auto client = Client::create(std::move(options));
  if (!client) {
    std::fprintf(stderr, "fleet_round_trip: %s\n", client.error().text().c_str());
    std::exit(1);
  }
  while (!(*client)->connected()) {
    pollfd one{(*client)->ready_fd(), POLLIN, 0};
    ::poll(&one, 1, 100);
    (void)(*client)->take();
  }
  return std::move(*client);
}

void answer_all(Client& client, const std::string& node,
                const std::vector<laird::mqtt::Operator>& operators, const std::atomic<bool>& end) {
  while (!end) {
    pollfd one{client.ready_fd(), POLLIN, 0};
    ::poll(&one, 1, 100);
    for (const auto& message : client.take().messages) {
      const auto topic = laird::mqtt::parse_topic(message.topic);
      if (!topic) continue;
      laird::mqtt::Circumstances now;
      now.fleet = "lab";
      now.node = node;
      now.now_ms = unix_ms();
      now.operators = &operators;
      now.verify = &laird::mqtt::verify;
      const auto command = laird::mqtt::accept(message.payload, *topic, now);
      laird::mqtt::Reply reply;
      reply.node = node;
      reply.id = command ? command->id : "";
      reply.code = command ? laird::mqtt::ReplyCode::kOk : command.error().code;
      Outgoing out;
      out.topic = message.response_topic;
      out.payload = to_text(reply);
      out.kind = Class::kReply;
      out.qos = 1;
      out.correlation = message.correlation;
      client.publish(std::move(out));
    }
  }
}

// In ms; below 0 when there was no good answer.
double once(Client& client, const laird::mqtt::SigningKey& key, const std::string& node, int n) {
  const auto begin = Clock::now();
  laird::mqtt::Command command;
  command.id = "c-" + std::to_string(n);
  command.fleet = "lab";
  command.to = node;
  command.verb = "ping";
  command.issued_ms = unix_ms();
  command.expires_ms = command.issued_ms + 60'000;
  const std::string text = to_signed_text(command);
  const auto signature = key.sign(laird::mqtt::signing_input(text));
  if (!signature) return -1.0;
  Outgoing out;
  out.topic = laird::mqtt::command_topic("lab", node, "ping");
  out.payload = to_text(laird::mqtt::Envelope{text, "op-bench", *signature});
  out.kind = Class::kEvent;
  out.qos = 1;
  out.expiry_s = 60;
  out.response_topic = laird::mqtt::reply_topic("lab", "op-bench", node);
  out.correlation = command.id;
  client.publish(std::move(out));
  while (Clock::now() - begin < std::chrono::milliseconds(kWaitMs)) {
    pollfd one{client.ready_fd(), POLLIN, 0};
    ::poll(&one, 1, kWaitMs);
    for (const auto& message : client.take().messages) {
      if (message.correlation != command.id) continue;
      const auto reply = laird::mqtt::parse_reply(message.payload);
      const auto took = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
      return reply && reply->code == laird::mqtt::ReplyCode::kOk ? took : -1.0;
    }
  }
  return -1.0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: fleet_round_trip BROKER PKI NODE COUNT\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const std::string pki = argv[2];
  const std::string node = argv[3];
  const auto key = laird::mqtt::SigningKey::load(pki + "/operators/op-bench/signing.key");
  if (!key) {
    std::fprintf(stderr, "fleet_round_trip: %s\n", key.error().text().c_str());
    return 1;
  }
  const std::vector<laird::mqtt::Operator> operators = {{"op-bench", key->public_key(), {"*"}}};
  const auto board = connect(argv[1], pki + "/nodes/" + node, "node", node,
                             laird::mqtt::command_topic("lab", node, "+"));
  const auto client = connect(argv[1], pki + "/operators/op-bench", "op", "op-bench",
                              laird::mqtt::reply_topic("lab", "op-bench", "+"));
  std::atomic<bool> end = false;
  std::thread answers([&] { answer_all(*board, node, operators, end); });
  std::vector<double> times;
  int failures = 0;
  for (int i = 0; i < std::atoi(argv[4]); ++i) {
    const double ms = once(*client, *key, node, i);
    if (ms < 0) {
      ++failures;
    } else {
      times.push_back(ms);
    }
  }
  end = true;
  answers.join();
  std::sort(times.begin(), times.end());
  const auto at = [&times](double q) {
    return times.empty()
               ? -1.0
               : times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
  };
  std::printf("%zu %.2f %.2f %.2f %.2f %d\n", times.size(), at(0.5), at(0.9), at(0.99), at(1.0),
              failures);
  return failures == 0 ? 0 : 1;
}
