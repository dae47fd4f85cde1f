#include "mqtt/codec/coop.hpp"

#include <algorithm>
#include <utility>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::mqtt {
namespace {

constexpr std::uint8_t kPlainBit = 8;  // of the kind's nibble
constexpr std::uint8_t kVersionOneKinds = 2;

std::uint8_t first_byte(CoopKind kind, bool plain) {
  return static_cast<std::uint8_t>(kCoopVersion << 4 | static_cast<std::uint8_t>(kind) |
                                   (plain ? kPlainBit : 0));
}

void put_number(std::uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

// Takes a number of up to 63 bits off the front; none when it is cut, longer than it needs to be,
// or too large.
std::optional<std::uint64_t> take_number(std::string_view& from) {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < 63 && !from.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(from.front());
    from.remove_prefix(1);
    out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      if (byte == 0 && shift > 0) return std::nullopt;
      return out;
    }
  }
  return std::nullopt;
}

std::string_view take(std::string_view& from, std::size_t size) {
  const std::string_view out = from.substr(0, size);
  from.remove_prefix(out.size());
  return out;
}

}  // namespace

int coop_version_of(std::string_view payload) {
  if (payload.empty()) return 0;
  const auto first = static_cast<std::uint8_t>(payload.front());
  return first >= 1 && first <= kVersionOneKinds ? 1 : first >> 4;
}

Result<CoopPacket> parse_packet(std::string_view payload) {
  if (payload.size() > kPayloadBytesMax) return fail(Code::kInvalid, "a peer's packet too long");
  if (coop_version_of(payload) != kCoopVersion) {
    return fail(Code::kInvalid, "a peer's packet of another version");
  }
  const std::uint8_t first = static_cast<std::uint8_t>(payload.front()) & 0x0F;
  const bool plain = (first & kPlainBit) != 0;
  const std::uint8_t kind = first & static_cast<std::uint8_t>(~kPlainBit);
  if (kind > static_cast<std::uint8_t>(CoopKind::kRun)) {
    return fail(Code::kInvalid, "a peer's packet of an unknown kind");
  }
  CoopPacket out;
  out.kind = static_cast<CoopKind>(kind);
  out.sealed = !plain && out.kind != CoopKind::kKey;
  if (out.sealed && out.kind == CoopKind::kModelToAll) {
    const Result<ManyPacket> many = parse_many_packet(payload);
    LAIRD_TRY(many);
    out.counter = many->counter;
    out.body = many->body;
    return out;
  }
  if (plain && out.kind == CoopKind::kKey) return fail(Code::kInvalid, "a key without a signature");
  out.body = payload.substr(1);
  if (!out.sealed) return out;
  if (out.body.size() < kPeerTagBytes) return fail(Code::kInvalid, "a peer's packet cut");
  out.covered = payload.substr(0, payload.size() - kPeerTagBytes);
  out.tag = payload.substr(out.covered.size());
  out.body.remove_suffix(kPeerTagBytes);
  const std::optional<std::uint64_t> counter = take_number(out.body);
  if (!counter || *counter == 0) return fail(Code::kInvalid, "a peer's packet without a counter");
  out.counter = *counter;
  return out;
}

namespace {

// The first four bytes of the name's SHA-256.
std::string name_bytes(std::string_view board) {
  const std::string digits = sha256_of(board);
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i < 8; i += 2) {
    out += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  }
  return out;
}

}  // namespace

std::string_view ManyPacket::tag_for(std::string_view board) const {
  const std::string name = name_bytes(board);
  for (std::size_t at = 0; at + kManyRecipientBytes <= recipients.size();
       at += kManyRecipientBytes) {
    if (recipients.substr(at, name.size()) == name) {
      return recipients.substr(at + name.size(), kPeerTagBytes);
    }
  }
  return {};
}

std::string covered_of_many(std::uint64_t counter, std::string_view body) {
  std::string all;
  put_number(counter, all);
  all += body;
  return std::string(1, static_cast<char>(first_byte(CoopKind::kModelToAll, false))) +
         sha256_of(all);
}

Result<ManyPacket> parse_many_packet(std::string_view payload) {
  ManyPacket out;
  std::string_view rest = payload.substr(std::min<std::size_t>(1, payload.size()));
  const std::optional<std::uint64_t> counter = take_number(rest);
  if (!counter || *counter == 0 || rest.empty()) {
    return fail(Code::kInvalid, "a packet for many without a counter");
  }
  out.counter = *counter;
  const std::size_t count = static_cast<std::uint8_t>(rest.front());
  rest.remove_prefix(1);
  if (count == 0 || count > kManyRecipientsMax || rest.size() < count * kManyRecipientBytes) {
    return fail(Code::kInvalid, "a packet for many that is cut, or for none");
  }
  out.recipients = take(rest, count * kManyRecipientBytes);
  out.body = rest;
  out.covered = covered_of_many(out.counter, out.body);
  return out;
}

std::string many_packet(std::uint64_t counter, std::string_view body,
                        const std::vector<std::pair<std::string, std::string>>& tags) {
  std::string out(1, static_cast<char>(first_byte(CoopKind::kModelToAll, false)));
  put_number(counter, out);
  out += static_cast<char>(tags.size());
  for (const auto& [board, tag] : tags) out += name_bytes(board) + tag;
  out += body;
  return out;
}

std::string unsealed_packet(CoopKind kind, std::uint64_t counter, std::string_view body) {
  std::string out;
  out.reserve(1 + 9 + body.size() + kPeerTagBytes);
  out += static_cast<char>(first_byte(kind, false));
  put_number(counter, out);
  out += body;
  return out;
}

std::string plain_packet(CoopKind kind, std::string_view body) {
  std::string out(1, static_cast<char>(first_byte(kind, kind != CoopKind::kKey)));
  out += body;
  return out;
}

bool CoopWriter::add(std::string_view message) {
  if (message.empty() || message.size() > kCoopFrameBytesMax || frames_ == kCoopFramesMax ||
      bytes_.size() + 3 + message.size() > kCoopBodyBytesMax) {
    return false;
  }
  put_number(message.size(), bytes_);
  bytes_ += message;
  ++frames_;
  return true;
}

std::string CoopWriter::take() {
  frames_ = 0;
  return std::exchange(bytes_, {});
}

Result<std::vector<std::string_view>> parse_frames(std::string_view body) {
  std::vector<std::string_view> out;
  while (!body.empty()) {
    const std::optional<std::uint64_t> length = take_number(body);
    if (!length) return fail(Code::kInvalid, "a peer's packet cut in a length");
    if (*length == 0 || *length > kCoopFrameBytesMax || *length > body.size()) {
      return fail(Code::kInvalid, "a peer's message with a wrong length");
    }
    if (out.size() == kCoopFramesMax) return fail(Code::kInvalid, "too many messages in one");
    out.push_back(laird::mqtt::take(body, *length));
  }
  return out;
}

std::string model_body(std::string_view task, std::string_view bytes) {
  if (!config::is_name(task) || bytes.empty() || bytes.size() > kModelPartBytesMax) return {};
  std::string out(1, static_cast<char>(task.size()));
  out.append(task).append(bytes);
  return out;
}

Result<ModelPart> parse_model_body(std::string_view body) {
  if (body.empty()) return fail(Code::kInvalid, "an empty part of a model");
  const std::size_t length = static_cast<std::uint8_t>(body.front());
  body.remove_prefix(1);
  ModelPart out;
  out.task = take(body, length);
  out.bytes = body;
  if (out.task.size() != length || !config::is_name(out.task) || out.bytes.empty()) {
    return fail(Code::kInvalid, "a part of a model with a wrong name, or cut");
  }
  if (out.bytes.size() > kModelPartBytesMax) return fail(Code::kInvalid, "too long a part");
  return out;
}

std::string key_body(const KeyAnnouncement& from) {
  std::string out;
  put_number(from.start, out);
  out += from.key;
  out += static_cast<char>(from.certificate.size() & 0xFF);
  out += static_cast<char>(from.certificate.size() >> 8);
  out.append(from.certificate).append(from.signature);
  return out;
}

Result<KeyAnnouncement> parse_key_body(std::string_view body) {
  if (body.size() > kKeyBodyBytesMax) return fail(Code::kInvalid, "a key's announcement too long");
  const std::optional<std::uint64_t> start = take_number(body);
  if (!start || *start == 0 || body.size() < kPeerKeyBytes + 2) {
    return fail(Code::kInvalid, "a key's announcement cut");
  }
  KeyAnnouncement out;
  out.start = *start;
  out.key = take(body, kPeerKeyBytes);
  const std::size_t size = static_cast<std::uint8_t>(body[0]) |
                           static_cast<std::size_t>(static_cast<std::uint8_t>(body[1])) << 8;
  body.remove_prefix(2);
  out.certificate = take(body, size);
  out.signature = body;
  if (size == 0 || out.certificate.size() != size || out.signature.empty()) {
    return fail(Code::kInvalid, "a key's announcement with a cut certificate or no signature");
  }
  return out;
}

std::string key_signing_input(std::string_view fleet, std::string_view node, std::uint64_t start,
                              std::string_view key) {
  std::string out = "laird-key-v1\n";
  out.append(fleet).append("\n").append(node).append("\n");
  out.append(std::to_string(start)).append("\n").append(key);
  return out;
}

}  // namespace laird::mqtt
