// Any bytes are refused or come apart into what makes the same bytes again: packets of peers, the
// bodies of each kind, and base64.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/coop.hpp"
#include "mqtt/codec/limits.hpp"

namespace {

using namespace laird::mqtt;

// The tags of a packet for many are about a hash, and stand before the body.
void try_many(std::string_view bytes, const CoopPacket& packet) {
  const auto many = parse_many_packet(bytes);
  if (!many || many->counter != packet.counter || many->body != packet.body) std::abort();
  const std::size_t count = many->recipients.size() / kManyRecipientBytes;
  if (count == 0 || count > kManyRecipientsMax) std::abort();
  std::string again = unsealed_packet(packet.kind, many->counter, {});
  again += static_cast<char>(count);
  again.append(many->recipients).append(many->body);
  if (again != bytes || many->covered != covered_of_many(many->counter, many->body)) std::abort();
  const std::string_view tag = many->tag_for("n-1");
  if (!tag.empty() && tag.size() != kPeerTagBytes) std::abort();
}

void try_packet(std::string_view bytes) {
  const auto packet = parse_packet(bytes);
  if (!packet) return;
  if (packet->sealed && packet->kind == CoopKind::kModelToAll) return try_many(bytes, *packet);
  std::string again;
  if (packet->sealed) {
    again = unsealed_packet(packet->kind, packet->counter, packet->body);
    if (again != packet->covered) std::abort();
    again += packet->tag;
  } else {
    again = plain_packet(packet->kind, packet->body);
  }
  if (again != bytes || coop_version_of(bytes) != kCoopVersion) std::abort();
}

void try_bodies(std::string_view bytes) {
  if (const auto messages = parse_frames(bytes)) {
    CoopWriter writer;
    bool fits = true;
    for (const std::string_view message : *messages) fits = fits && writer.add(message);
    if (fits && writer.take() != bytes) std::abort();
  }
  if (const auto part = parse_model_body(bytes)) {
    if (model_body(part->task, part->bytes) != bytes) std::abort();
  }
  if (const auto key = parse_key_body(bytes)) {
    if (key_body(*key) != bytes) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_packet(bytes);
  try_bodies(bytes);
  if (const auto raw = from_base64(bytes)) {
    if (to_base64(*raw) != bytes) std::abort();
  }
  if (from_base64(to_base64(bytes)) != bytes) std::abort();
  return 0;
}
