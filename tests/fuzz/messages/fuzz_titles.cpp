// What peers say about titles: whatever comes is refused or taken, and what a desk then is can be
// written and read back. Half of the inputs are honest packets with a few bytes changed.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/core/step/titles/title_body.hpp"
#include "consensus/titles/desk.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

Sight sight_of(NodeId self) {
  Sight out;
  out.self = {self, 1};
  out.fenced = false;
  for (NodeId n = 1; n <= 3; ++n) {
    if (n != self) out.near.push_back({{n, 1}, false});
  }
  out.keepers = {1, 3};
  out.tick = kAskTicks;
  return out;
}

std::string honest(std::uint8_t kind) {
  TitleDesk giver;
  const Sight from = sight_of(1);
  giver.follow(from);
  core::TitleBody body;
  body.spec.name = "t";
  body.spec.trainer = "x";
  body.spec.movable = true;
  body.files = {{"checkpoint.bin", "abc"}};
  static_cast<void>(giver.titles().issue(giver.view(from), core::encode_title_body(body)));
  TitlePackets out;
  giver.tick(from, {}, out);
  return out.empty() ? std::string() : out[kind % out.size()].bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string packet(reinterpret_cast<const char*>(data + 2), size - 2);
  if (data[0] % 2 == 1) {
    std::string changed = honest(data[1]);
    for (std::size_t i = 0; i + 1 < packet.size() && !changed.empty(); i += 2) {
      changed[static_cast<std::uint8_t>(packet[i]) % changed.size()] = packet[i + 1];
    }
    packet = std::move(changed);
  }
  TitleDesk desk;
  const Sight own = sight_of(2);
  TitlePackets out;
  const auto willing = [](const TitleMessage& m) {
    return core::decode_title_body(m.body).has_value();
  };
  for (int again = 0; again < 2; ++again) {
    static_cast<void>(desk.take(own, 1, packet, willing, out));
    desk.tick(own, {3}, out);
  }
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  desk.archive(writer);
  TitleDesk back;
  Archive reader = Archive::reader(bytes);
  back.archive(reader);
  if (reader.failed() || !reader.at_end()) std::abort();
  static_cast<void>(core::decode_title_body(packet));
  return 0;
}
