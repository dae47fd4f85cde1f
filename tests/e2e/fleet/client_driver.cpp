// Puts mqtt::Client into the hands of a test: options as JSON in the first argument, orders as JSON
// lines on standard input, what happens as JSON lines on standard output. Bytes are base64.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/time.hpp"
#include "json/value.hpp"
#include "mqtt/client/client.hpp"
#include "mqtt/codec/base64.hpp"
#include "os/line_splitter.hpp"

namespace {

using laird::json::Kind;
using laird::json::Value;
using laird::mqtt::Class;
using laird::mqtt::Client;
using laird::mqtt::Outgoing;

std::string text(const Value& from, const char* key) {
  const Value* found = from.find(key, Kind::kString);
  return found == nullptr ? std::string() : found->as_string();
}

std::int64_t number(const Value& from, const char* key, std::int64_t otherwise) {
  const Value* found = from.find(key, Kind::kInteger);
  return found == nullptr ? otherwise : found->as_integer();
}

bool flag(const Value& from, const char* key) {
  const Value* found = from.find(key, Kind::kBool);
  return found != nullptr && found->as_bool();
}

Class class_of(const std::string& name) {
  if (name == "peer") return Class::kPeer;
  if (name == "state") return Class::kState;
  if (name == "event") return Class::kEvent;
  if (name == "reply") return Class::kReply;
  return Class::kTelemetry;
}

Outgoing outgoing(const Value& from) {
  Outgoing out;
  out.topic = text(from, "topic");
  out.payload = from.find("payload64") != nullptr
                    ? laird::mqtt::from_base64(text(from, "payload64")).value_or("")
                    : text(from, "payload");
  out.kind = class_of(text(from, "kind"));
  out.retained = flag(from, "retained");
  out.qos = static_cast<std::uint8_t>(number(from, "qos", 0));
  out.expiry_s = static_cast<std::uint32_t>(number(from, "expiry_s", 0));
  out.response_topic = text(from, "response_topic");
  out.correlation = laird::mqtt::from_base64(text(from, "correlation64")).value_or("");
  return out;
}

laird::mqtt::Options options(const Value& from) {
  laird::mqtt::Options out;
  for (const Value& broker : from.find("brokers")->items())
    out.brokers.push_back(broker.as_string());
  out.client_id = text(from, "client_id");
  out.name = out.client_id;
  out.ca = text(from, "ca");
  out.cert = text(from, "cert");
  out.key = text(from, "key");
  out.insecure_lab = flag(from, "insecure_lab");
  if (const Value* will = from.find("will")) out.will = outgoing(*will);
  out.will_delay_s = static_cast<std::uint32_t>(number(from, "will_delay_s", 0));
  out.retry_max_s = static_cast<std::uint32_t>(number(from, "retry_max_s", 1));
  out.retry_jitter_s = 0;
  out.keep_session = from.find("keep_session") == nullptr || flag(from, "keep_session");
  if (const Value* filters = from.find("subscriptions")) {
    for (const Value& filter : filters->items())
      out.subscriptions.emplace_back(filter.as_string(), 1);
  }
  return out;
}

void say(const Value& value) {
  std::printf("%s\n", laird::json::to_text(value).c_str());
  std::fflush(stdout);
}

Value event(const char* name) { return Value::object().set("ev", name); }

void tell(Client& client) {
  const Client::Batch batch = client.take();
  for (const auto& m : batch.messages) {
    say(event("message")
            .set("topic", m.topic)
            .set("payload64", laird::mqtt::to_base64(m.payload))
            .set("retained", m.retained)
            .set("response_topic", m.response_topic)
            .set("correlation64", laird::mqtt::to_base64(m.correlation)));
  }
  for (const std::string& problem : batch.problems) {
    say(event("problem").set("text", problem));
  }
  if (batch.link_changed) {
    say(event("link").set("connected", batch.connected).set("why", batch.why));
  }
}

std::int64_t resident_kb() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  file >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

void tell_counters(const Client& client) {
  const laird::mqtt::Counters c = client.counters();
  Value out = event("counters");
  const auto put = [&out](const char* key, std::uint64_t n) { out.set(key, n); };
  put("connects", c.connects);
  put("sent", c.sent);
  put("refused", c.refused);
  put("received", c.received);
  put("oversized", c.oversized);
  put("inbox_dropped", c.inbox_dropped);
  Value dropped = Value::array();
  for (const std::uint64_t n : c.dropped) dropped.add(n);
  out.set("dropped", std::move(dropped));
  out.set("rss_kb", resident_kb());
  say(out);
}

// False: the last order.
bool obey(Client& client, const Value& order) {
  const std::string op = text(order, "op");
  if (op == "publish") client.publish(outgoing(order));
  if (op == "subscribe" && !client.subscribe(text(order, "filter"), 1)) say(event("refused"));
  if (op == "unsubscribe" && !client.unsubscribe(text(order, "filter"))) say(event("refused"));
  if (op == "counters") tell_counters(client);
  if (op == "flood") {
    Outgoing message = outgoing(order);
    for (std::int64_t i = 0; i < number(order, "count", 0); ++i) client.publish(message);
    say(event("flooded"));
  }
  if (op == "close") {
    Outgoing last;
    if (const Value* word = order.find("last_word")) last = outgoing(*word);
    client.close(std::move(last), number(order, "wait_ms", 2000) * laird::kMillisecond);
    say(event("closed"));
    return false;
  }
  return op != "leave";
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto given = laird::json::parse(argc == 2 ? argv[1] : "", "options");
  if (!given) {
    std::fprintf(stderr, "client_driver: %s\n", given.error().text().c_str());
    return 2;
  }
  auto client = Client::create(options(*given));
  if (!client) {
    say(event("refused").set("text", client.error().text()));
    return 1;
  }
  say(event("created"));
  laird::LineSplitter lines(1024 * 1024, laird::Overlong::kSkip);
  while (true) {
    pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {(*client)->ready_fd(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) return 1;
    if (fds[1].revents != 0) tell(**client);
    if (fds[0].revents == 0) continue;
    char chunk[65536];
    const ssize_t n = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (n <= 0) return 0;
    std::string_view left(chunk, static_cast<std::size_t>(n));
    while (const auto line = lines.next(left)) {
      const auto order = laird::json::parse(*line, "order");
      if (!order || !obey(**client, *order)) return order ? 0 : 2;
    }
  }
}
