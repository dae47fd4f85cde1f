#include "mqtt/sign/revocations.hpp"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/pem_files.hpp"

namespace laird::mqtt {
namespace {

using Integer = std::unique_ptr<ASN1_INTEGER, openssl::Release<ASN1_INTEGER_free>>;

Result<std::int64_t> unix_time(const ASN1_TIME* time) {
  const std::unique_ptr<ASN1_TIME, openssl::Release<ASN1_TIME_free>> epoch(
      ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (!epoch || time == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) {
    return openssl::fail_openssl(Code::kInvalid, "the list of revoked certificates has no date");
  }
  return std::int64_t{days} * 86'400 + seconds;
}

}  // namespace

Result<Revocations> Revocations::parse(std::string_view pem, const std::string& ca) {
  if (pem.size() > kPayloadBytesMax) {
    return fail(Code::kInvalid, "the list of revoked certificates is too long");
  }
  const auto authority = openssl::read_certificate(ca, "CA certificate");
  LAIRD_TRY(authority);
  const openssl::Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const openssl::RevocationList list(
      bio ? PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!list) return openssl::fail_openssl(Code::kInvalid, "no list of revoked certificates");
  const bool signed_by_it =
      X509_CRL_verify(list.get(), X509_get0_pubkey(authority->get())) == 1 &&
      X509_NAME_cmp(X509_CRL_get_issuer(list.get()), X509_get_subject_name(authority->get())) == 0;
  ERR_clear_error();
  if (!signed_by_it) {
    return fail(Code::kRefused, "the list of revoked certificates is not signed by " + ca);
  }
  Revocations out;
  const auto issued = unix_time(X509_CRL_get0_lastUpdate(list.get()));
  LAIRD_TRY(issued);
  out.issued_s_ = *issued;
  const Integer number(static_cast<ASN1_INTEGER*>(
      X509_CRL_get_ext_d2i(list.get(), NID_crl_number, nullptr, nullptr)));
  if (number && ASN1_INTEGER_get_uint64(&out.number_, number.get()) != 1) {
    return openssl::fail_openssl(Code::kInvalid, "a list of revoked certificates of no number");
  }
  STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(list.get());
  for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
    std::string serial =
        openssl::serial_text(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(revoked, i)));
    if (!serial.empty()) out.serials_.insert(std::move(serial));
  }
  return out;
}

}  // namespace laird::mqtt
