#include "mqtt/sign/tls_files.hpp"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <cerrno>

#include "mqtt/sign/openssl.hpp"

namespace laird::mqtt {
namespace {

using openssl::Certificate;
using openssl::fail_openssl;

Result<openssl::Bio> open_file(const std::string& path, const char* what) {
  struct stat info {};
  if (path.empty()) return fail(Code::kInvalid, std::string("no file is named for the ") + what);
  if (::stat(path.c_str(), &info) != 0) {
    return fail_errno(errno, std::string("the ") + what + " " + path);
  }
  openssl::Bio bio(BIO_new_file(path.c_str(), "r"));
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

Status check_dates(const X509* cert, const std::string& path) {
  if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0) {
    return fail(Code::kInvalid, path + " is not valid yet: is this machine's clock right?");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0) {
    return fail(Code::kInvalid, path + " has expired: lairctl pki issue makes a new one");
  }
  return {};
}

}  // namespace

Status check_tls_files(const std::string& ca, const std::string& cert, const std::string& key) {
  const auto authority = read_certificate(ca, "CA certificate");
  LAIRD_TRY(authority);
  const auto own = read_certificate(cert, "certificate");
  LAIRD_TRY(own);
  const auto bio = open_file(key, "private key");
  LAIRD_TRY(bio);
  char none[] = "";
  const openssl::Pkey secret(PEM_read_bio_PrivateKey(bio->get(), nullptr, nullptr, none));
  if (!secret) {
    return fail_openssl(Code::kInvalid, key + " is not a private key in PEM, without a passphrase");
  }
  struct stat info {};
  if (::stat(key.c_str(), &info) == 0 && (info.st_mode & 07) != 0) {
    return fail(Code::kPermission, key + " may be read by everybody: chmod o-rwx it");
  }
  if (X509_check_private_key(own->get(), secret.get()) != 1) {
    return fail_openssl(Code::kInvalid, key + " is not the key of " + cert);
  }
  LAIRD_TRY(check_dates(authority->get(), ca));
  LAIRD_TRY(check_dates(own->get(), cert));
  EVP_PKEY* signer = X509_get0_pubkey(authority->get());
  const bool issued = X509_verify(own->get(), signer) == 1;
  ERR_clear_error();
  if (!issued) return fail(Code::kInvalid, cert + " was not issued by " + ca);
  return {};
}

Result<std::int64_t> valid_for_s(const std::string& cert) {
  const auto own = read_certificate(cert, "certificate");
  LAIRD_TRY(own);
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(own->get())) != 1) {
    return fail_openssl(Code::kInvalid, cert + " has no date of expiry");
  }
  return std::int64_t{days} * 86'400 + seconds;
}

Result<std::string> common_name(const std::string& cert) {
  const auto own = read_certificate(cert, "certificate");
  LAIRD_TRY(own);
  char text[256] = {};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(own->get()), NID_commonName,
                                             text, sizeof text);
  if (size <= 0) return fail(Code::kInvalid, cert + " names nobody: it has no common name");
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace laird::mqtt
