// Ed25519 (RFC 8032): the operators' signatures on commands. OpenSSL stays behind this header.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird::mqtt {

// A private key. Its bytes are wiped when it is destroyed, and nothing here prints them.
class SigningKey {
 public:
  [[nodiscard]] static Result<SigningKey> generate();
  // A PKCS #8 PEM file as `lairctl pki` or `openssl genpkey -algorithm ed25519` writes it. Refuses
  // a file that others may read.
  [[nodiscard]] static Result<SigningKey> load(const std::string& path);

  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  // kSignatureBytes raw bytes.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;
  // kPublicKeyBytes raw bytes; boards have its base64 in their config.
  [[nodiscard]] const std::string& public_key() const { return public_key_; }
  // The private key as PKCS #8 PEM, for a file of mode 0600.
  [[nodiscard]] Result<std::string> to_pem() const;

 private:
  struct Key;
  SigningKey(std::unique_ptr<Key> key, std::string public_key);

  std::unique_ptr<Key> key_;
  std::string public_key_;
};

// Whether `signature` is a valid signature of `message` by the owner of the raw public key. Inputs
// of a wrong form are simply no valid signature.
[[nodiscard]] bool verify(std::string_view public_key, std::string_view message,
                          std::string_view signature);

}  // namespace laird::mqtt
