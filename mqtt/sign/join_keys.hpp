// The signatures of joining: a board proves that it has the key it asks a certificate for, and the
// fleet's authority signs the answer. P-256 keys and ECDSA with SHA-256, as for TLS. OpenSSL stays
// behind this header.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "mqtt/codec/join.hpp"

namespace laird::mqtt {

struct NewKey {
  std::string key_pem;     // secret
  std::string public_key;  // DER
};

[[nodiscard]] Result<NewKey> make_board_key();
// The public part, DER, of a private key in PEM.
[[nodiscard]] Result<std::string> public_part(std::string_view key_pem);

// DER. `key_pem` is secret.
[[nodiscard]] Result<std::string> sign_text(std::string_view key_pem, std::string_view text);
// `public_key` is DER, of a P-256 key; any other key fits nothing.
[[nodiscard]] bool fits_key(std::string_view public_key, std::string_view text,
                            std::string_view signature);
// The same for the key of a certificate in PEM: the authority's.
[[nodiscard]] bool fits_certificate(std::string_view cert_pem, std::string_view text,
                                    std::string_view signature);

// Refuses what is not a certificate for a client's TLS, of `node`, with this public key, issued by
// the authority `ca_pem`. The clock is not asked: a board may have none that is right yet.
[[nodiscard]] Status check_issued(std::string_view cert_pem, std::string_view ca_pem,
                                  std::string_view public_key, std::string_view node);

}  // namespace laird::mqtt
