#include "mqtt/sign/pem_files.hpp"

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <cerrno>

namespace laird::mqtt::openssl {

Result<Bio> open_file(const std::string& path, const char* what) {
  struct stat info {};
  if (path.empty()) return fail(Code::kInvalid, std::string("no file is named for the ") + what);
  if (::stat(path.c_str(), &info) != 0) {
    return fail_errno(errno, std::string("the ") + what + " " + path);
  }
  Bio bio(BIO_new_file(path.c_str(), "r"));
  if (!bio)
    return fail_openssl(Code::kPermission, std::string("cannot read the ") + what + " " + path);
  return bio;
}

Result<Certificate> read_certificate(const std::string& path, const char* what) {
  const auto bio = open_file(path, what);
  LAIRD_TRY(bio);
  Certificate out(PEM_read_bio_X509(bio->get(), nullptr, nullptr, nullptr));
  if (!out) return fail_openssl(Code::kInvalid, path + " is not a certificate in PEM");
  return out;
}

Result<Pkey> read_private_key(const std::string& path) {
  const auto bio = open_file(path, "private key");
  LAIRD_TRY(bio);
  // An empty passphrase: OpenSSL must not ask the terminal for one.
  char none[] = "";
  Pkey out(PEM_read_bio_PrivateKey(bio->get(), nullptr, nullptr, none));
  if (!out) {
    return fail_openssl(Code::kInvalid,
                        path + " is not a private key in PEM, without a passphrase");
  }
  return out;
}

Result<std::string> raw_public_part(EVP_PKEY* key) {
  std::string out(32, '\0');
  std::size_t size = out.size();
  if (EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(out.data()), &size) != 1 ||
      size != out.size()) {
    return fail_openssl(Code::kInvalid, "this key has no public part");
  }
  return out;
}

std::string common_name_of(const X509* cert) {
  char text[256] = {};
  const int size =
      X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, text, sizeof text);
  return size <= 0 ? std::string() : std::string(text, static_cast<std::size_t>(size));
}

std::string serial_text(const ASN1_INTEGER* serial) {
  const std::unique_ptr<BIGNUM, Release<BN_free>> number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* text = number ? BN_bn2hex(number.get()) : nullptr;
  if (text == nullptr) return {};
  std::string out = text;
  OPENSSL_free(text);
  return out;
}

}  // namespace laird::mqtt::openssl
