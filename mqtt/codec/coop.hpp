// What boards say to one peer, as MQTT messages: packets.
//
// The first byte holds the version (high nibble) and the kind (low nibble). A sealed packet goes on
// with a counter in base 128 and the body, and ends with a tag over all bytes before it, made with
// a key that only the two boards have (mqtt/sign/peer_keys.hpp). A plain packet has neither counter
// nor tag: only boards without a certificate, in a lab, send and take such ones. The third kind
// announces the sender's key; its signature stands in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace laird::mqtt {

inline constexpr std::uint8_t kCoopVersion = 2;

enum class CoopKind : std::uint8_t {
  kLedger = 0,      // ledger messages of one tick
  kModel = 1,       // a part of a co-training task's model
  kKey = 2,         // the sender's key of this start of its agent
  kModelToAll = 3,  // a part of a model, for every board of the task's group
  kTitle = 4,       // one packet on titles (consensus/titles/desk.hpp)
  kRun = 5,         // a word on an earlier run (agent/core/step/runs/run_words.hpp)
};

// Of whatever bytes: the version that a program that speaks it would have written; 0: none is
// known. Version 1 had no nibbles: 1 was a ledger packet, 2 a part of a model.
[[nodiscard]] int coop_version_of(std::string_view payload);

struct CoopPacket {
  CoopKind kind = CoopKind::kLedger;
  bool sealed = false;
  std::uint64_t counter = 0;  // of a sealed one; never 0
  std::string_view covered;   // all bytes that the tag is about
  std::string_view body;
  std::string_view tag;
};

// Views into `payload`. Refuses another version, an unknown kind, and what is too short or too
// long.
[[nodiscard]] Result<CoopPacket> parse_packet(std::string_view payload);

// The bytes before the tag; whoever has the key appends the tag.
[[nodiscard]] std::string unsealed_packet(CoopKind kind, std::uint64_t counter,
                                          std::string_view body);
[[nodiscard]] std::string plain_packet(CoopKind kind, std::string_view body);

// The body of a ledger packet: for each message its length in base 128, and its bytes
// (consensus/codec.hpp).
class CoopWriter {
 public:
  // False when it does not fit any more: send what there is and begin anew. A message longer than
  // kCoopFrameBytesMax or empty fits none.
  [[nodiscard]] bool add(std::string_view message);
  [[nodiscard]] bool empty() const { return frames_ == 0; }
  // The body; the writer begins anew.
  [[nodiscard]] std::string take();

 private:
  std::string bytes_;
  std::size_t frames_ = 0;
};
// Views into `body`. Refuses cut or empty messages, and too many of them.
[[nodiscard]] Result<std::vector<std::string_view>> parse_frames(std::string_view body);

// The body of a part of a model: the length of the task's name, the name, and what its trainer gave
// (consensus/cotrain/group_rounds.hpp).
struct ModelPart {
  std::string_view task;
  std::string_view bytes;
};
// Empty when it does not fit or the task's name is none.
[[nodiscard]] std::string model_body(std::string_view task, std::string_view bytes);
// Views into `body`.
[[nodiscard]] Result<ModelPart> parse_model_body(std::string_view body);

// A packet for several boards: the first byte, the number in base 128, how many boards it is for (a
// byte), for each of them four bytes that name it and its tag, and the body. A tag is about the
// first byte and the SHA-256 of number and body, in hexadecimal digits, so whoever has one knows
// who sent all of it. A board's name is the first four bytes of its SHA-256.
struct ManyPacket {
  std::uint64_t counter = 0;
  std::string covered;          // what the tag is about
  std::string_view recipients;  // kManyRecipientBytes each
  std::string_view body;
  // The tag for that board; empty if the packet is not for it.
  [[nodiscard]] std::string_view tag_for(std::string_view board) const;
};
inline constexpr std::size_t kManyRecipientsMax = 64;
[[nodiscard]] Result<ManyPacket> parse_many_packet(std::string_view payload);
// What the tags are about, and the packet with them: (board, tag).
[[nodiscard]] std::string covered_of_many(std::uint64_t counter, std::string_view body);
[[nodiscard]] std::string many_packet(std::uint64_t counter, std::string_view body,
                                      const std::vector<std::pair<std::string, std::string>>& tags);

// The body of a packet that announces a key: the start of the agent in base 128, the X25519 key,
// the length of the certificate as 16 bits, low byte first, the certificate (DER), the signature.
struct KeyAnnouncement {
  std::uint64_t start = 0;       // grows at each start of the agent
  std::string_view key;          // kPeerKeyBytes raw bytes
  std::string_view certificate;  // DER
  std::string_view signature;    // by the certificate's key, of key_signing_input()
};
[[nodiscard]] std::string key_body(const KeyAnnouncement& from);
[[nodiscard]] Result<KeyAnnouncement> parse_key_body(std::string_view body);
[[nodiscard]] std::string key_signing_input(std::string_view fleet, std::string_view node,
                                            std::uint64_t start, std::string_view key);

}  // namespace laird::mqtt
