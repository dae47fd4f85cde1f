#include "mqtt/sign/authority.hpp"

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "config/schema.hpp"
#include "mqtt/sign/pem_files.hpp"

namespace laird::mqtt {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::fail_openssl;
using openssl::Pkey;
using Bignum = std::unique_ptr<BIGNUM, openssl::Release<BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, openssl::Release<X509_EXTENSION_free>>;
using Integer = std::unique_ptr<ASN1_INTEGER, openssl::Release<ASN1_INTEGER_free>>;
using Time = std::unique_ptr<ASN1_TIME, openssl::Release<ASN1_TIME_free>>;

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kDaysMax = 36'500;
// Certificates are valid from a little before they are made, because the clock of a board that uses
// one at once may be behind.
constexpr std::int64_t kBackdatedS = 3'600;
constexpr std::size_t kHostsMax = 32;

Pkey new_key() { return Pkey(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")); }

// 127 random bits: RFC 5280 wants at least 64 and positive.
bool set_random_serial(X509* cert, std::string& shown) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);
  const Bignum number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  if (!number || BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(cert)) == nullptr) {
    return false;
  }
  shown = openssl::serial_text(X509_get0_serialNumber(cert));
  return !shown.empty();
}

bool set_name(X509* cert, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
                                    -1, 0) == 1;
}

bool add(X509* cert, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(cert, extension.get(), -1) == 1;
}

bool set_times(X509* cert, std::int64_t now_s, std::int64_t not_after_s) {
  return ASN1_TIME_set(X509_getm_notBefore(cert), now_s - kBackdatedS) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(cert), not_after_s) != nullptr;
}

Result<std::string> pem_of(X509* cert) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), cert) != 1) {
    return fail_openssl(Code::kIo, "cannot write the certificate");
  }
  return openssl::bytes_of(bio.get());
}

Result<std::string> pem_of(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_secmem()));
  if (!bio ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return fail_openssl(Code::kIo, "cannot write the key");
  }
  return openssl::bytes_of(bio.get());
}

bool is_address(const std::string& host) {
  ASN1_OCTET_STRING* parsed = a2i_IPADDRESS(host.c_str());
  ERR_clear_error();
  if (parsed == nullptr) return false;
  ASN1_OCTET_STRING_free(parsed);
  return true;
}

// The value of a subjectAltName as OpenSSL's config syntax has it; that syntax gives commas and
// others a meaning, so nothing but plain names and addresses may come through.
Result<std::string> alternative_names(const std::vector<std::string>& hosts) {
  if (hosts.empty() || hosts.size() > kHostsMax) {
    return fail(Code::kInvalid, "a broker needs 1 to " + std::to_string(kHostsMax) +
                                    " names or addresses it is reached by");
  }
  std::string out;
  for (const std::string& host : hosts) {
    const bool address = is_address(host);
    const bool plain = !host.empty() && host.size() <= 253 &&
                       host.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789.-_") == std::string::npos;
    if (!address && !plain) return fail(Code::kInvalid, "'" + host + "' is no host name");
    out += (out.empty() ? "" : ",") + std::string(address ? "IP:" : "DNS:") + host;
  }
  return out;
}

}  // namespace

std::string_view name(Role role) {
  switch (role) {
    case Role::kNode: return "node";
    case Role::kOperator: return "operator";
    case Role::kBroker: return "broker";
    case Role::kJoin: return "join";
  }
  return "";
}

struct Authority::Parts {
  Certificate cert;
  Pkey key;

  // `certified` has at least its public part.
  [[nodiscard]] Result<Issued> certify(const Subject& subject, EVP_PKEY* certified) const;
};

Authority::Authority(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;
Authority::~Authority() = default;

Result<Authority> Authority::create(std::string_view fleet, std::int64_t days) {
  if (!config::is_name(fleet)) {
    return fail(Code::kInvalid, "a fleet's name is 1 to 32 of a-z, 0-9 and -");
  }
  if (days < 1 || days > kDaysMax) return fail(Code::kInvalid, "days must be 1 to 36500");
  auto parts = std::make_unique<Parts>(Parts{Certificate(X509_new()), new_key()});
  X509* cert = parts->cert.get();
  const std::int64_t now_s = std::time(nullptr);
  std::string serial;
  const bool made = cert != nullptr && parts->key && X509_set_version(cert, X509_VERSION_3) == 1 &&
                    set_random_serial(cert, serial) &&
                    set_name(cert, "laird fleet " + std::string(fleet)) &&
                    X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
                    set_times(cert, now_s, now_s + days * kDayS) &&
                    X509_set_pubkey(cert, parts->key.get()) == 1 &&
                    add(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    add(cert, cert, NID_subject_key_identifier, "hash") &&
                    X509_sign(cert, parts->key.get(), EVP_sha256()) > 0;
  if (!made) return fail_openssl(Code::kIo, "cannot make the authority");
  return Authority(std::move(parts));
}

Result<Authority> Authority::parse(std::string_view cert_pem, std::string_view key_pem) {
  const Bio cert_bio(BIO_new_mem_buf(cert_pem.data(), static_cast<int>(cert_pem.size())));
  const Bio key_bio(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
  if (!cert_bio || !key_bio) return fail_openssl(Code::kIo, "no memory");
  char none[] = "";
  auto parts = std::make_unique<Parts>();
  parts->cert.reset(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr));
  parts->key.reset(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, none));
  if (!parts->cert || !parts->key) {
    return fail_openssl(Code::kInvalid, "the authority's certificate or key is not PEM");
  }
  if (X509_check_private_key(parts->cert.get(), parts->key.get()) != 1) {
    return fail_openssl(Code::kInvalid, "the authority's key is not that of its certificate");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(parts->cert.get())) < 0) {
    return fail(Code::kInvalid, "the authority has expired: make a new one with pki init");
  }
  return Authority(std::move(parts));
}

Result<Issued> Authority::issue(const Subject& subject) const {
  const Pkey key = new_key();
  if (!key) return fail_openssl(Code::kIo, "cannot make a key");
  auto out = parts_->certify(subject, key.get());
  LAIRD_TRY(out);
  auto key_pem = pem_of(key.get());
  LAIRD_TRY(key_pem);
  out->key_pem = std::move(*key_pem);
  return out;
}

Result<Issued> Authority::issue_for(const Subject& subject, std::string_view public_key) const {
  const auto* from = reinterpret_cast<const unsigned char*>(public_key.data());
  const Pkey key(d2i_PUBKEY(nullptr, &from, static_cast<long>(public_key.size())));
  if (!key) return fail_openssl(Code::kInvalid, "this is not a public key");
  return parts_->certify(subject, key.get());
}

Result<Issued> Authority::Parts::certify(const Subject& subject, EVP_PKEY* certified) const {
  if (!config::is_name(subject.name)) {
    return fail(Code::kInvalid, "'" + subject.name + "' is no name: use 1 to 32 of a-z, 0-9 and -");
  }
  if (subject.days < 1 || subject.days > kDaysMax) {
    return fail(Code::kInvalid, "days must be 1 to 36500");
  }
  const bool broker = subject.role == Role::kBroker;
  std::string names;
  if (broker) {
    auto given = alternative_names(subject.hosts);
    LAIRD_TRY(given);
    names = std::move(*given);
  }
  X509* issuer = cert.get();
  const Certificate made(X509_new());
  X509* made_cert = made.get();
  Issued out;
  const std::int64_t now_s = std::time(nullptr);
  out.not_after_s = now_s + subject.days * kDayS;
  const bool good =
      made_cert != nullptr && X509_set_version(made_cert, X509_VERSION_3) == 1 &&
      set_random_serial(made_cert, out.serial) && set_name(made_cert, subject.name) &&
      X509_set_issuer_name(made_cert, X509_get_subject_name(issuer)) == 1 &&
      set_times(made_cert, now_s, out.not_after_s) && X509_set_pubkey(made_cert, certified) == 1 &&
      add(made_cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      add(made_cert, issuer, NID_key_usage, "critical,digitalSignature") &&
      add(made_cert, issuer, NID_ext_key_usage, broker ? "serverAuth" : "clientAuth") &&
      add(made_cert, issuer, NID_subject_key_identifier, "hash") &&
      add(made_cert, issuer, NID_authority_key_identifier, "keyid:always") &&
      (!broker || add(made_cert, issuer, NID_subject_alt_name, names)) &&
      X509_sign(made_cert, key.get(), EVP_sha256()) > 0;
  if (!good) return fail_openssl(Code::kIo, "cannot make the certificate of " + subject.name);
  auto cert_pem = pem_of(made_cert);
  LAIRD_TRY(cert_pem);
  out.cert_pem = std::move(*cert_pem);
  return out;
}

Result<std::string> Authority::revocation_list(const std::vector<Revoked>& revoked,
                                               std::uint64_t number) const {
  const openssl::RevocationList list(X509_CRL_new());
  const Time now(ASN1_TIME_set(nullptr, std::time(nullptr) - kBackdatedS));
  X509_CRL* crl = list.get();
  bool good = crl != nullptr && now && X509_CRL_set_version(crl, X509_CRL_VERSION_2) == 1 &&
              X509_CRL_set_issuer_name(crl, X509_get_subject_name(parts_->cert.get())) == 1 &&
              X509_CRL_set1_lastUpdate(crl, now.get()) == 1 &&
              X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(parts_->cert.get())) == 1;
  for (const Revoked& one : revoked) {
    if (!good) break;
    BIGNUM* parsed = nullptr;
    const bool hexadecimal =
        BN_hex2bn(&parsed, one.serial.c_str()) == static_cast<int>(one.serial.size());
    const Bignum digits(parsed);
    if (!hexadecimal || !digits) return fail(Code::kCorrupt, "'" + one.serial + "' is no serial");
    const Integer serial(BN_to_ASN1_INTEGER(digits.get(), nullptr));
    const Time at(ASN1_TIME_set(nullptr, one.at_s));
    X509_REVOKED* entry = X509_REVOKED_new();
    good = serial && at && entry != nullptr &&
           X509_REVOKED_set_serialNumber(entry, serial.get()) == 1 &&
           X509_REVOKED_set_revocationDate(entry, at.get()) == 1 &&
           X509_CRL_add0_revoked(crl, entry) == 1;
    if (!good) X509_REVOKED_free(entry);
  }
  const Integer told(ASN1_INTEGER_new());
  good = good && told && ASN1_INTEGER_set_uint64(told.get(), number) == 1 &&
         X509_CRL_add1_ext_i2d(crl, NID_crl_number, told.get(), 0, 0) == 1;
  good = good && X509_CRL_sort(crl) == 1 && X509_CRL_sign(crl, parts_->key.get(), EVP_sha256()) > 0;
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!good || !bio || PEM_write_bio_X509_CRL(bio.get(), crl) != 1) {
    return fail_openssl(Code::kIo, "cannot make the list of revoked certificates");
  }
  return openssl::bytes_of(bio.get());
}

Result<std::string> Authority::cert_pem() const { return pem_of(parts_->cert.get()); }
Result<std::string> Authority::key_pem() const { return pem_of(parts_->key.get()); }

}  // namespace laird::mqtt
