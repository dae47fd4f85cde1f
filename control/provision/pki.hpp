// A fleet's certificates in a folder:
//
//   index.json                 the fleet, and every certificate ever issued
//   ca.crt ca.key crl.pem      the authority; its key never leaves this folder
//   broker/                    server.crt server.key
//   nodes/<id>/                ca.crt node.crt node.key; of a board that joined by itself no key
//   operators/<name>/          ca.crt op.crt op.key signing.key signing.pub
//
// Folders have mode 0700, keys 0600. A certificate is entered in the index before it is written, so
// that there is none that cannot be revoked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "control/provision/secure_files.hpp"
#include "mqtt/sign/authority.hpp"

namespace laird::control {

struct PkiEntry {
  std::string serial;
  std::string name;
  mqtt::Role role = mqtt::Role::kNode;
  std::int64_t not_after_s = 0;
  std::int64_t revoked_at_s = 0;  // 0: it is good
  // Of a board that joined by itself, else empty: what it calls its own serial number, and the
  // fingerprint of the key that it made.
  std::string board_serial = {};
  std::string fingerprint = {};
};

struct PkiIndex {
  std::string fleet;
  std::vector<PkiEntry> entries;
  std::uint64_t list_number = 0;  // of the newest list of revoked certificates
};

struct PkiInit {
  std::string folder;
  std::string fleet;
  std::vector<std::string> broker_hosts;
  std::int64_t authority_days = 3'650;
  std::int64_t broker_days = 825;
  IfThere if_there = IfThere::kRefuse;
};

struct PkiMade {
  std::string folder;              // where it is
  std::vector<std::string> files;  // what it holds
  std::string aside;               // where what stood there is now; empty when nothing did
  std::string signing_public_key;  // of an operator: base64, for the boards' config
};

[[nodiscard]] Result<PkiMade> pki_init(const PkiInit& what);
[[nodiscard]] Result<PkiIndex> pki_index(const std::string& folder);
// With kReplace the earlier certificates of the name are revoked.
[[nodiscard]] Result<PkiMade> pki_issue(const std::string& folder, const mqtt::Subject& subject,
                                        IfThere if_there);
// A certificate for the key that a board has made; the key is on the board alone. The name must be
// new unless `if_there` is kReplace.
struct JoiningBoard {
  std::string name;
  std::string serial;
  std::string public_key;  // DER
};
[[nodiscard]] Result<PkiMade> pki_admit(const std::string& folder, const JoiningBoard& board,
                                        IfThere if_there);
// A certificate by which boards may ask for one of their own, and its key: not kept in the folder,
// because it goes into images. Earlier ones stay good until they expire or "join" is revoked.
[[nodiscard]] Result<mqtt::Issued> pki_issue_join(const std::string& folder, std::int64_t days);
// Revokes all certificates of a name and writes the list again. Returns how many there were.
[[nodiscard]] Result<std::size_t> pki_revoke(const std::string& folder, const std::string& name);

}  // namespace laird::control
