#include "mqtt/sign/tls_files.hpp"

#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include "mqtt/sign/pem_files.hpp"

namespace laird::mqtt {
namespace {

using openssl::fail_openssl;
using openssl::read_certificate;

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
  const auto secret = openssl::read_private_key(key);
  LAIRD_TRY(secret);
  struct stat info {};
  if (::stat(key.c_str(), &info) == 0 && (info.st_mode & 07) != 0) {
    return fail(Code::kPermission, key + " may be read by everybody: chmod o-rwx it");
  }
  if (X509_check_private_key(own->get(), secret->get()) != 1) {
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
  std::string name = openssl::common_name_of(own->get());
  if (name.empty()) return fail(Code::kInvalid, cert + " names nobody: it has no common name");
  return name;
}

}  // namespace laird::mqtt
