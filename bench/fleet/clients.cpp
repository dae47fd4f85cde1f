// Some of a fleet's boards in one process, as the broker sees them: connected with their own
// certificates, each publishing a report every 5 s, telemetry every second and a ledger message to
// four peers every second, and hearing its peers. Prints a line a second:
//
//   <unix ms> up <connected> sent <peer messages> heard <peer messages> late_max <ms> dropped <n>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "mqtt/client/client.hpp"
#include "mqtt/codec/topics.hpp"

namespace {

using laird::mqtt::Class;
using laird::mqtt::Client;
using laird::mqtt::node_topic;
using laird::mqtt::Outgoing;
using laird::mqtt::TopicKind;
using Clock = std::chrono::steady_clock;

constexpr int kPeers = 4;
constexpr int kPhases = 20;  // a second is cut into so many, so that boards do not speak in chorus

struct Board {
  std::string id;
  std::unique_ptr<Client> client;
  bool up = false;
};

struct Tally {
  std::uint64_t sent = 0;
  std::uint64_t heard = 0;
  std::int64_t late_max_us = 0;
  std::uint64_t dropped = 0;
};

// Of the machine: the same in all processes on it.
std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
      .count();
}

std::string id_of(int n) { return "n-" + std::to_string(n); }

std::unique_ptr<Client> connect(const std::string& id, const std::string& broker,
                                const std::string& pki) {
  const std::string at = pki + "/nodes/" + id;
  laird::mqtt::Options options;
  options.brokers = {broker};
  options.client_id = id;
  options.ca = at + "/ca.crt";
  options.cert = at + "/node.crt";
  options.key = at + "/node.key";
  options.will.topic = node_topic("lab", id, TopicKind::kStatus);
  options.will.payload = R"({"s":"laird.status/1.0","state":"lost","epoch":1,"ts":""})";
  options.will.qos = 1;
  options.will.retained = true;
  options.subscriptions = {{laird::mqtt::command_topic("lab", id, "+"), 1},
                           {laird::mqtt::command_topic("lab", "all", "+"), 1},
                           {laird::mqtt::config_topic("lab", "all"), 1},
                           {node_topic("lab", "+", TopicKind::kCoop, id), 0}};
  auto client = Client::create(std::move(options));
  if (!client) {
    std::fprintf(stderr, "fleet_clients: %s\n", client.error().text().c_str());
    std::exit(1);
  }
  return std::move(*client);
}

void speak(const Board& board, int number, int count, std::int64_t second, Tally& tally) {
  Outgoing out;
  out.topic = node_topic("lab", board.id, TopicKind::kTelemetry, "power");
  out.payload = std::string(200, 't');
  out.expiry_s = 10;
  board.client->publish(out);
  if (second % 5 == number % 5) {
    out.topic = node_topic("lab", board.id, TopicKind::kReport);
    out.payload = std::string(700, 'r');
    out.kind = Class::kState;
    out.retained = true;
    out.qos = 1;
    out.expiry_s = 0;
    board.client->publish(out);
  }
  if (!board.up) return;
  for (int k = 1; k <= kPeers; ++k) {
    Outgoing peer;
    peer.topic = node_topic("lab", board.id, TopicKind::kCoop, id_of((number + k * 7) % count));
    const std::int64_t at = now_us();
    peer.payload = std::string(60, 'c');
    std::memcpy(peer.payload.data(), &at, sizeof at);
    peer.kind = Class::kPeer;
    peer.expiry_s = 2;
    peer.json = false;
    board.client->publish(std::move(peer));
    ++tally.sent;
  }
}

void hear(Board& board, Tally& tally) {
  const Client::Batch batch = board.client->take();
  if (batch.link_changed) board.up = batch.connected;
  tally.dropped += batch.dropped;
  for (const auto& message : batch.messages) {
    std::int64_t at = 0;
    if (message.payload.size() != 60) continue;
    std::memcpy(&at, message.payload.data(), sizeof at);
    ++tally.heard;
    tally.late_max_us = std::max(tally.late_max_us, now_us() - at);
  }
}

void tell(const std::vector<Board>& boards, Tally& tally) {
  std::size_t up = 0;
  for (const Board& board : boards) up += board.up ? 1 : 0;
  const auto unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  std::printf("%lld up %zu sent %llu heard %llu late_max %.1f dropped %llu\n",
              static_cast<long long>(unix_ms), up, static_cast<unsigned long long>(tally.sent),
              static_cast<unsigned long long>(tally.heard),
              static_cast<double>(tally.late_max_us) / 1e3,
              static_cast<unsigned long long>(tally.dropped));
  std::fflush(stdout);
  tally.late_max_us = 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: fleet_clients BROKER PKI FIRST HERE ALL\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const int first = std::atoi(argv[3]);
  const int here = std::atoi(argv[4]);
  const int all = std::atoi(argv[5]);
  std::vector<Board> boards;
  for (int i = 0; i < here; ++i) {
    boards.push_back({id_of(first + i), connect(id_of(first + i), argv[1], argv[2]), false});
  }
  std::vector<pollfd> fds{{0, POLLIN, 0}};
  for (const Board& board : boards) fds.push_back({board.client->ready_fd(), POLLIN, 0});
  Tally tally;
  const auto begin = Clock::now();
  for (std::int64_t phase = 0;; ++phase) {
    const auto next = begin + std::chrono::milliseconds(1000 / kPhases) * phase;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now());
      if (left.count() <= 0) break;
      ::poll(fds.data(), fds.size(), static_cast<int>(left.count()));
      if (fds[0].revents != 0) return 0;  // the driver closed it
      for (std::size_t i = 0; i < boards.size(); ++i) {
        if (fds[i + 1].revents != 0) hear(boards[i], tally);
      }
    }
    for (std::size_t i = 0; i < boards.size(); ++i) {
      const int number = first + static_cast<int>(i);
      if (number % kPhases == phase % kPhases) {
        speak(boards[i], number, all, phase / kPhases, tally);
      }
    }
    if (phase % kPhases == 0) tell(boards, tally);
  }
}
