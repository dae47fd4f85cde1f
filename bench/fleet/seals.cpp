// What the seals of the boards' packets cost: processor time to seal, open and refuse a packet with
// one message of an edge, and to check a peer's key; and the bytes of such a packet on the wire.
// Plain packets, of a lab without certificates, in the same run.
//
//   bench_seals [REPETITIONS]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "agent/fleet/peer_guard.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/authority.hpp"

namespace {

using namespace laird;
using agent::PeerGuard;
using mqtt::CoopKind;

// A captured message of an edge has 13 bytes (docs/wire-ledger.md).
constexpr std::size_t kEdgeBytes = 13;
constexpr int kBatch = 1'000;
constexpr double kMessagesPerSecond = 16;  // eight neighbours, both ways, a tick a second
constexpr std::size_t kTopicBytes = sizeof "laird/v1/lab/node/n-1/coop/n-2" - 1;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Microseconds for one of a batch: the median and the range over the repetitions.
void measure(const char* what, int repetitions, const std::function<void()>& once,
             double per_second = kMessagesPerSecond) {
  std::vector<double> each;
  for (int i = 0; i < repetitions; ++i) {
    const double began = thread_seconds();
    for (int n = 0; n < kBatch; ++n) once();
    each.push_back((thread_seconds() - began) * 1e6 / kBatch);
  }
  std::sort(each.begin(), each.end());
  const double median = each[each.size() / 2];
  std::printf("%-28s %8.2f us  (%.2f to %.2f; %d x %d)   %.5f %% of a core at %g a second\n", what,
              median, each.front(), each.back(), repetitions, kBatch,
              median * 1e-6 * per_second * 100, per_second);
}

struct Keys {
  Keys() : authority(*mqtt::Authority::create("lab", 1000)) {
    std::string at = std::filesystem::temp_directory_path().string() + "/laird-bench-XXXXXX";
    if (::mkdtemp(at.data()) == nullptr) std::abort();
    folder = at;
  }
  ~Keys() { std::filesystem::remove_all(folder); }
  mqtt::PeerIdentity identity(const std::string& name) const {
    const mqtt::Issued issued = *authority.issue({name, mqtt::Role::kNode, {}, 900});
    const auto write = [&](const std::string& file, const std::string& text) {
      std::ofstream(folder + "/" + file) << text;
      return folder + "/" + file;
    };
    return *mqtt::PeerIdentity::open(
        {write("ca", *authority.cert_pem()), write(name + ".crt", issued.cert_pem),
         write(name + ".key", issued.key_pem)},
        "lab", name, 1);
  }
  mqtt::Authority authority;
  std::string folder;
};

// An MQTT 5 PUBLISH of QoS 0 with so many bytes of properties and payload.
std::size_t publish_bytes(std::size_t properties, std::size_t payload) {
  const std::size_t rest = 2 + kTopicBytes + 1 + properties + payload;
  return 1 + (rest < 128 ? 1 : 2) + rest;
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 21;
  const Keys keys;
  std::string to_two;
  std::string to_one;
  const auto keep = [](std::string& place) {
    return [&place](const std::string&, std::string packet) { place = std::move(packet); };
  };
  const auto silent = [](const std::string&) {};
  PeerGuard one("n-1", keys.identity("n-1"), kSecond, {keep(to_two), silent});
  PeerGuard two("n-2", keys.identity("n-2"), kSecond, {keep(to_one), silent});
  PeerGuard plain_one("n-1", std::nullopt, kSecond, {});
  PeerGuard plain_two("n-2", std::nullopt, kSecond, {});
  mqtt::CoopWriter writer;
  const auto body = [&writer] {
    static_cast<void>(writer.add(std::string(kEdgeBytes, 'e')));
    return writer.take();
  };
  // A second passes with each packet, so that none is above what a peer may send.
  TimeNs now = kHour;
  const auto moment = [&now] {
    now += kSecond;
    return PeerGuard::Moment{now, std::time(nullptr), 8, false};
  };
  static_cast<void>(one.seal("n-2", CoopKind::kLedger, body(), now));
  static_cast<void>(two.open("n-1", to_two, moment()));
  static_cast<void>(one.open("n-2", to_one, moment()));

  measure("seal, plain", repetitions,
          [&] { static_cast<void>(plain_one.seal("n-2", CoopKind::kLedger, body(), now)); });
  measure("seal", repetitions,
          [&] { static_cast<void>(one.seal("n-2", CoopKind::kLedger, body(), now)); });
  measure("seal and open, plain", repetitions, [&] {
    const auto packet = plain_one.seal("n-2", CoopKind::kLedger, body(), now);
    if (!plain_two.open("n-1", *packet, moment())) std::abort();
  });
  std::size_t sealed_bytes = 0;
  measure("seal and open", repetitions, [&] {
    const auto packet = one.seal("n-2", CoopKind::kLedger, body(), now);
    sealed_bytes = packet->size();
    if (!two.open("n-1", *packet, moment())) std::abort();
  });
  const std::string forged = *one.seal("n-2", CoopKind::kLedger, body(), now) + "x";
  measure("refuse a forged one", repetitions,
          [&] { static_cast<void>(two.open("n-1", forged, moment())); });
  const mqtt::PeerIdentity other = keys.identity("n-3");
  const auto told = *mqtt::parse_key_body(mqtt::parse_packet(other.announcement())->body);
  const mqtt::PeerIdentity self = keys.identity("n-4");
  measure(
      "check a key", std::min(repetitions, 3),
      [&] {
        const auto checked = self.check("n-3", told, std::time(nullptr));
        if (!checked || !self.pair_with("n-3", *checked)) std::abort();
      },
      0.01);

  // Version 1: a byte, two bytes of length; and properties that said what the payload is.
  const std::size_t before = 1 + 2 + kEdgeBytes;
  const std::size_t expiry = 5;
  const std::size_t typed = expiry + 2 + 3 + sizeof "application/octet-stream" - 1;
  std::printf(
      "bytes of an edge's message: payload %zu, was %zu; MQTT packet %zu, was %zu (%+.0f %%)\n"
      "bytes of an announced key: %zu, once for each pair and start\n",
      sealed_bytes, before, publish_bytes(expiry, sealed_bytes), publish_bytes(typed, before),
      100.0 * (static_cast<double>(publish_bytes(expiry, sealed_bytes)) /
                   static_cast<double>(publish_bytes(typed, before)) -
               1),
      other.announcement().size());
  return 0;
}
