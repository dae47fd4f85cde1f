// Owners for OpenSSL's objects and its last error as text; only for the sources of this folder.
#pragma once

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "base/error.hpp"

namespace laird::mqtt::openssl {

// Before main, in every program with a source of this folder: OpenSSL does not read openssl.cnf. A
// statically linked OpenSSL would find the file of the board's own, older OpenSSL there, which may
// name modules that are not ours.
inline const bool kSystemConfigIgnored =
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) == 1;

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};

using Bio = std::unique_ptr<BIO, Release<BIO_free_all>>;
using Pkey = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using PkeyContext = std::unique_ptr<EVP_PKEY_CTX, Release<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Release<EVP_MD_CTX_free>>;
using Certificate = std::unique_ptr<X509, Release<X509_free>>;
using RevocationList = std::unique_ptr<X509_CRL, Release<X509_CRL_free>>;

// Takes the newest error off OpenSSL's queue and empties it; "" when there is none.
[[nodiscard]] inline std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? std::string() : std::string(reason);
}

[[nodiscard]] inline tl::unexpected<Error> fail_openssl(Code code, std::string context) {
  const std::string why = last_error();
  return fail(code, why.empty() ? std::move(context) : std::move(context) + ": " + why);
}

// The bytes of a memory BIO; the BIO keeps them.
[[nodiscard]] inline std::string bytes_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size <= 0 ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

}  // namespace laird::mqtt::openssl
