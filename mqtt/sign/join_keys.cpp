#include "mqtt/sign/join_keys.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "mqtt/sign/pem_files.hpp"

namespace laird::mqtt {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::DigestContext;
using openssl::fail_openssl;
using openssl::Pkey;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Bio reading(std::string_view pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<Pkey> private_key(std::string_view pem) {
  const Bio bio = reading(pem);
  char none[] = "";
  Pkey key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, none) : nullptr);
  if (!key) return fail_openssl(Code::kInvalid, "this is not a private key in PEM");
  return key;
}

Certificate certificate(std::string_view pem) {
  const Bio bio = reading(pem);
  return Certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr);
}

Result<std::string> der_of(EVP_PKEY* key) {
  unsigned char* out = nullptr;
  const int size = i2d_PUBKEY(key, &out);
  if (size <= 0) return fail_openssl(Code::kIo, "this key has no public part");
  std::string text(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
  OPENSSL_free(out);
  return text;
}

bool is_p256(EVP_PKEY* key) {
  char group[32] = {};
  return key != nullptr && EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) == 1 &&
         std::string_view(group) == "prime256v1";
}

bool verifies(EVP_PKEY* key, std::string_view text, std::string_view signature) {
  const DigestContext context(EVP_MD_CTX_new());
  const bool good = key != nullptr && context &&
                    EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
                    EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                                     text.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

Result<NewKey> make_board_key() {
  const Pkey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const Bio bio(BIO_new(BIO_s_secmem()));
  if (!key || !bio ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return fail_openssl(Code::kIo, "cannot make a key");
  }
  auto der = der_of(key.get());
  LAIRD_TRY(der);
  return NewKey{openssl::bytes_of(bio.get()), std::move(*der)};
}

Result<std::string> public_part(std::string_view key_pem) {
  const auto key = private_key(key_pem);
  LAIRD_TRY(key);
  return der_of(key->get());
}

Result<std::string> sign_text(std::string_view key_pem, std::string_view text) {
  const auto key = private_key(key_pem);
  LAIRD_TRY(key);
  const DigestContext context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key->get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes(text), text.size()) != 1) {
    return fail_openssl(Code::kIo, "cannot sign");
  }
  std::string out(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                     bytes(text), text.size()) != 1) {
    return fail_openssl(Code::kIo, "cannot sign");
  }
  out.resize(size);
  return out;
}

bool fits_key(std::string_view public_key, std::string_view text, std::string_view signature) {
  const unsigned char* from = bytes(public_key);
  const Pkey key(d2i_PUBKEY(nullptr, &from, static_cast<long>(public_key.size())));
  ERR_clear_error();
  // What follows the key would give one key several fingerprints.
  const bool whole = from == bytes(public_key) + public_key.size();
  if (!whole || !is_p256(key.get())) return false;
  const auto again = der_of(key.get());
  return again && *again == public_key && verifies(key.get(), text, signature);
}

bool fits_certificate(std::string_view cert_pem, std::string_view text,
                      std::string_view signature) {
  const Certificate cert = certificate(cert_pem);
  ERR_clear_error();
  return cert && verifies(X509_get0_pubkey(cert.get()), text, signature);
}

Status check_issued(std::string_view cert_pem, std::string_view ca_pem, std::string_view public_key,
                    std::string_view node) {
  const Certificate cert = certificate(cert_pem);
  const Certificate ca = certificate(ca_pem);
  if (!cert || !ca) return fail_openssl(Code::kInvalid, "this is not a certificate in PEM");
  if (X509_verify(cert.get(), X509_get0_pubkey(ca.get())) != 1) {
    return fail_openssl(Code::kInvalid, "the certificate was not issued by the fleet's authority");
  }
  const auto key = der_of(X509_get0_pubkey(cert.get()));
  LAIRD_TRY(key);
  if (*key != public_key) return fail(Code::kInvalid, "the certificate is of another key");
  if (openssl::common_name_of(cert.get()) != node) {
    return fail(Code::kInvalid, "the certificate is of another name");
  }
  if ((X509_get_extended_key_usage(cert.get()) & XKU_SSL_CLIENT) == 0) {
    return fail(Code::kInvalid, "the certificate is not for a client");
  }
  return {};
}

}  // namespace laird::mqtt
