// How boards know one another's messages: each has a key of its own for every other board and
// direction, which neither the broker nor a third board has.
//
// At each start of its agent a board makes an X25519 key, signs it with the key of its certificate
// and announces it (mqtt/codec/coop.hpp). Two boards that have each other's announcement derive
//   secret = X25519(own key, the other's)
//   key of A -> B = HKDF-SHA256(secret, salt "laird-coop-v2", info), 32 bytes
//   info = fleet, A, B (each behind its length, a byte), A's start, B's start (8 bytes each, low
//          byte first), A's X25519 key, B's
// and tag packets with the first 8 bytes of HMAC-SHA256. Fleet, direction, names and starts are in
// the derivation, so a tag says all of them; a start of either agent makes other keys. The X25519
// key is in memory only. OpenSSL stays behind this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "mqtt/codec/coop.hpp"

namespace laird::mqtt {

// A key that tags packets. Its bytes are wiped when it is destroyed.
class MacKey {
 public:
  MacKey();  // fits nothing
  [[nodiscard]] static Result<MacKey> make(std::string_view key);
  MacKey(MacKey&&) noexcept;
  MacKey& operator=(MacKey&&) noexcept;
  ~MacKey();

  // kPeerTagBytes bytes; empty only if the system has no memory left.
  [[nodiscard]] std::string tag(std::string_view covered) const;
  // In a time that does not depend on how much of the tag is right.
  [[nodiscard]] bool fits(std::string_view covered, std::string_view tag) const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

struct PairKeys {
  MacKey out;  // of this board to the other
  MacKey in;
};

// A peer's key whose signature, certificate and name were checked.
struct CheckedKey {
  std::uint64_t start = 0;
  std::string key;
  std::string serial;  // of the certificate
  std::int64_t not_after_s = 0;
};

struct TlsFiles {
  std::string ca;
  std::string cert;
  std::string key;
};

class PeerIdentity {
 public:
  // Makes the key of this start. `start` grows at each start of the agent.
  [[nodiscard]] static Result<PeerIdentity> open(const TlsFiles& files, std::string fleet,
                                                 std::string node, std::uint64_t start);
  PeerIdentity(PeerIdentity&&) noexcept;
  PeerIdentity& operator=(PeerIdentity&&) noexcept;
  ~PeerIdentity();

  // The packet that announces this board's key.
  [[nodiscard]] const std::string& announcement() const { return announcement_; }
  [[nodiscard]] const std::string& serial() const { return serial_; }

  // Whether `node` may have announced this: a certificate of the fleet's authority for a client, of
  // that name, valid at `now_s` (Unix time), and its key's signature. Revocation is the caller's.
  [[nodiscard]] Result<CheckedKey> check(const std::string& node, const KeyAnnouncement& told,
                                         std::int64_t now_s) const;
  [[nodiscard]] Result<PairKeys> pair_with(const std::string& node, const CheckedKey& peer) const;

 private:
  struct Parts;
  explicit PeerIdentity(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
  std::string announcement_;
  std::string serial_;
};

// The client id of a board at its broker: its name and 16 digits that only the owner of the private
// key can work out. A broker lets one client of an id in and throws the other out; nobody can throw
// out whom they cannot name.
[[nodiscard]] Result<std::string> client_id_of(const std::string& node,
                                               const std::string& key_file);

}  // namespace laird::mqtt
