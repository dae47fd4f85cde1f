// Reads certificates and keys from PEM files; only for the sources of this folder.
#pragma once

#include <string>

#include "mqtt/sign/openssl.hpp"

namespace laird::mqtt::openssl {

// `what` names the file's part in errors: "certificate", "CA certificate", "private key".
[[nodiscard]] Result<Bio> open_file(const std::string& path, const char* what);
[[nodiscard]] Result<Certificate> read_certificate(const std::string& path, const char* what);
[[nodiscard]] Result<Pkey> read_private_key(const std::string& path);
// Of an Ed25519 or X25519 key: 32 raw bytes.
[[nodiscard]] Result<std::string> raw_public_part(EVP_PKEY* key);
// Empty when the certificate has no common name.
[[nodiscard]] std::string common_name_of(const X509* cert);
// Hexadecimal, capitals, as Issued::serial has it; empty on failure.
[[nodiscard]] std::string serial_text(const ASN1_INTEGER* serial);

}  // namespace laird::mqtt::openssl
