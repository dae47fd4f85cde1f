#include "mqtt/sign/peer_keys.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <utility>

#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/pem_files.hpp"

namespace laird::mqtt {
namespace {

using openssl::Certificate;
using openssl::fail_openssl;
using openssl::Pkey;
using Mac = std::unique_ptr<EVP_MAC, openssl::Release<EVP_MAC_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, openssl::Release<EVP_MAC_CTX_free>>;
using Kdf = std::unique_ptr<EVP_KDF, openssl::Release<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, openssl::Release<EVP_KDF_CTX_free>>;

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kDigestBytes = 32;
constexpr std::string_view kSalt = "laird-coop-v2";
constexpr std::string_view kClientIdLabel = "laird-client-id-v1";
constexpr std::size_t kClientIdBytes = 8;

using Secret = std::array<unsigned char, kSecretBytes>;
using Digest = std::array<unsigned char, kDigestBytes>;

struct Wiped {
  ~Wiped() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  Secret bytes{};
};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

MacContext hmac_with(std::string_view key) {
  const Mac mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  MacContext out(mac ? EVP_MAC_CTX_new(mac.get()) : nullptr);
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, sizeof digest - 1),
      OSSL_PARAM_construct_end()};
  if (!out || EVP_MAC_init(out.get(), bytes_of(key), key.size(), params) != 1) out.reset();
  return out;
}

bool hmac(EVP_MAC_CTX* context, std::string_view covered, Digest& out) {
  std::size_t size = 0;
  return context != nullptr && EVP_MAC_update(context, bytes_of(covered), covered.size()) == 1 &&
         EVP_MAC_final(context, out.data(), &size, out.size()) == 1 && size == out.size();
}

Result<std::string> der_of(X509* cert) {
  unsigned char* made = nullptr;
  const int size = i2d_X509(cert, &made);
  if (size <= 0) return fail_openssl(Code::kInvalid, "cannot write the certificate");
  std::string out(reinterpret_cast<char*>(made), static_cast<std::size_t>(size));
  OPENSSL_free(made);
  return out;
}

// Ed25519 and Ed448 hash the message themselves, and refuse a digest beside that.
const EVP_MD* digest_for(const EVP_PKEY* key) {
  const int kind = EVP_PKEY_base_id(key);
  return kind == EVP_PKEY_ED25519 || kind == EVP_PKEY_ED448 ? nullptr : EVP_sha256();
}

Result<std::string> sign_with(EVP_PKEY* key, std::string_view message) {
  const openssl::DigestContext context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, digest_for(key), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes_of(message), message.size()) != 1) {
    return fail_openssl(Code::kInvalid, "the private key cannot sign");
  }
  std::string out(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                     bytes_of(message), message.size()) != 1) {
    return fail_openssl(Code::kInvalid, "the private key cannot sign");
  }
  out.resize(size);
  return out;
}

bool is_signed_with(X509* cert, std::string_view message, std::string_view signature) {
  const openssl::DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY* key = X509_get0_pubkey(cert);
  const bool good =
      context && key != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, digest_for(key), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message),
                       message.size()) == 1;
  ERR_clear_error();
  return good;
}

bool exchange(EVP_PKEY* own, std::string_view theirs, Secret& out) {
  const Pkey other(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, bytes_of(theirs), theirs.size()));
  const openssl::PkeyContext context(EVP_PKEY_CTX_new(own, nullptr));
  std::size_t size = out.size();
  // A point of low order would give zeros; OpenSSL refuses it here.
  const bool good = other && context && EVP_PKEY_derive_init(context.get()) == 1 &&
                    EVP_PKEY_derive_set_peer(context.get(), other.get()) == 1 &&
                    EVP_PKEY_derive(context.get(), out.data(), &size) == 1 && size == out.size();
  ERR_clear_error();
  return good;
}

bool hkdf(const Secret& secret, const std::string& info, Secret& out) {
  const Kdf kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContext context(kdf ? EVP_KDF_CTX_new(kdf.get()) : nullptr);
  char digest[] = "SHA256";
  const auto bytes = [](const char* name, const void* data, std::size_t size) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<void*>(data), size);
  };
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, sizeof digest - 1),
      bytes(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      bytes(OSSL_KDF_PARAM_SALT, kSalt.data(), kSalt.size()),
      bytes(OSSL_KDF_PARAM_INFO, info.data(), info.size()), OSSL_PARAM_construct_end()};
  return context && EVP_KDF_derive(context.get(), out.data(), out.size(), params) == 1;
}

// One end of a pair.
struct End {
  std::string_view node;
  std::uint64_t start = 0;
  std::string_view key;
};

std::string info_of(std::string_view fleet, const End& from, const End& to) {
  std::string out;
  for (const std::string_view text : {fleet, from.node, to.node}) {
    out += static_cast<char>(text.size());
    out += text;
  }
  for (const std::uint64_t start : {from.start, to.start}) {
    for (int i = 0; i < 8; ++i) out += static_cast<char>(start >> (8 * i));
  }
  out.append(from.key).append(to.key);
  return out;
}

Result<MacKey> key_between(const Secret& secret, std::string_view fleet, const End& from,
                           const End& to) {
  Wiped key;
  if (!hkdf(secret, info_of(fleet, from, to), key.bytes)) {
    return fail_openssl(Code::kIo, "cannot derive a key");
  }
  return MacKey::make({reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()});
}

}  // namespace

struct MacKey::Context {
  MacContext ready;  // holds the key; each tag starts from it
};

MacKey::MacKey() = default;
MacKey::MacKey(MacKey&&) noexcept = default;
MacKey& MacKey::operator=(MacKey&&) noexcept = default;
MacKey::~MacKey() = default;

Result<MacKey> MacKey::make(std::string_view key) {
  MacKey out;
  out.context_ = std::make_unique<Context>(Context{hmac_with(key)});
  if (!out.context_->ready) return fail_openssl(Code::kIo, "OpenSSL has no HMAC-SHA256");
  return out;
}

std::string MacKey::tag(std::string_view covered) const {
  Digest digest{};
  // Without a key: the one it has, from the beginning.
  if (!context_ || EVP_MAC_init(context_->ready.get(), nullptr, 0, nullptr) != 1 ||
      !hmac(context_->ready.get(), covered, digest)) {
    return {};
  }
  return {reinterpret_cast<const char*>(digest.data()), kPeerTagBytes};
}

bool MacKey::fits(std::string_view covered, std::string_view given) const {
  const std::string right = tag(covered);
  return right.size() == kPeerTagBytes && given.size() == right.size() &&
         CRYPTO_memcmp(right.data(), given.data(), right.size()) == 0;
}

struct PeerIdentity::Parts {
  Certificate authority;
  Pkey own;  // X25519, of this start
  std::string own_public;
  std::string fleet;
  std::string node;
  std::uint64_t start = 0;
};

PeerIdentity::PeerIdentity(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PeerIdentity::PeerIdentity(PeerIdentity&&) noexcept = default;
PeerIdentity& PeerIdentity::operator=(PeerIdentity&&) noexcept = default;
PeerIdentity::~PeerIdentity() = default;

Result<PeerIdentity> PeerIdentity::open(const TlsFiles& files, std::string fleet, std::string node,
                                        std::uint64_t start) {
  auto authority = openssl::read_certificate(files.ca, "CA certificate");
  LAIRD_TRY(authority);
  const auto cert = openssl::read_certificate(files.cert, "certificate");
  LAIRD_TRY(cert);
  const auto signer = openssl::read_private_key(files.key);
  LAIRD_TRY(signer);
  if (const std::string name = openssl::common_name_of(cert->get()); name != node) {
    return fail(Code::kInvalid, files.cert + " is the certificate of '" + name +
                                    "', and this board is '" + node +
                                    "': no peer would believe it; give it its own certificate");
  }
  Pkey own(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  if (!own) return fail_openssl(Code::kIo, "cannot make an X25519 key");
  auto own_public = openssl::raw_public_part(own.get());
  LAIRD_TRY(own_public);
  const auto der = der_of(cert->get());
  LAIRD_TRY(der);
  const auto signature =
      sign_with(signer->get(), key_signing_input(fleet, node, start, *own_public));
  LAIRD_TRY(signature);
  const std::string body = key_body({start, *own_public, *der, *signature});
  if (body.size() > kKeyBodyBytesMax) {
    return fail(Code::kInvalid, files.cert + " is too long to be announced to peers");
  }
  PeerIdentity out(
      std::make_unique<Parts>(Parts{std::move(*authority), std::move(own), std::move(*own_public),
                                    std::move(fleet), std::move(node), start}));
  out.announcement_ = plain_packet(CoopKind::kKey, body);
  out.serial_ = openssl::serial_text(X509_get0_serialNumber(cert->get()));
  return out;
}

Result<CheckedKey> PeerIdentity::check(const std::string& node, const KeyAnnouncement& told,
                                       std::int64_t now_s) const {
  const unsigned char* at = bytes_of(told.certificate);
  const unsigned char* const end = at + told.certificate.size();
  const Certificate cert(d2i_X509(nullptr, &at, static_cast<long>(told.certificate.size())));
  if (!cert || at != end) return fail_openssl(Code::kInvalid, "its certificate is none");
  if (openssl::common_name_of(cert.get()) != node) {
    return fail(Code::kRefused, "its certificate is that of '" +
                                    openssl::common_name_of(cert.get()).substr(0, 32) + "'");
  }
  X509* authority = parts_->authority.get();
  const bool issued =
      X509_NAME_cmp(X509_get_issuer_name(cert.get()), X509_get_subject_name(authority)) == 0 &&
      X509_check_purpose(cert.get(), X509_PURPOSE_SSL_CLIENT, 0) == 1 &&
      X509_verify(cert.get(), X509_get0_pubkey(authority)) == 1;
  ERR_clear_error();
  if (!issued) return fail(Code::kRefused, "its certificate is not one of the fleet's authority");
  std::time_t now = now_s;
  if (X509_cmp_time(X509_get0_notBefore(cert.get()), &now) > 0) {
    return fail(Code::kRefused, "its certificate is not valid yet: are the boards' clocks right?");
  }
  if (X509_cmp_time(X509_get0_notAfter(cert.get()), &now) < 0) {
    return fail(Code::kRefused, "its certificate has expired: lairctl pki issue makes a new one");
  }
  const std::string input = key_signing_input(parts_->fleet, node, told.start, told.key);
  if (!is_signed_with(cert.get(), input, told.signature)) {
    return fail(Code::kRefused, "its key is not signed by its certificate");
  }
  std::tm until{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(cert.get()), &until) != 1) {
    return fail_openssl(Code::kInvalid, "its certificate has no date of expiry");
  }
  return CheckedKey{told.start, std::string(told.key),
                    openssl::serial_text(X509_get0_serialNumber(cert.get())),
                    static_cast<std::int64_t>(::timegm(&until))};
}

Result<PairKeys> PeerIdentity::pair_with(const std::string& node, const CheckedKey& peer) const {
  Wiped secret;
  if (!exchange(parts_->own.get(), peer.key, secret.bytes)) {
    return fail(Code::kRefused, "its key is none of X25519");
  }
  const End self{parts_->node, parts_->start, parts_->own_public};
  const End other{node, peer.start, peer.key};
  auto out = key_between(secret.bytes, parts_->fleet, self, other);
  LAIRD_TRY(out);
  auto in = key_between(secret.bytes, parts_->fleet, other, self);
  LAIRD_TRY(in);
  return PairKeys{std::move(*out), std::move(*in)};
}

Result<std::string> client_id_of(const std::string& node, const std::string& key_file) {
  const auto key = openssl::read_private_key(key_file);
  LAIRD_TRY(key);
  unsigned char* made = nullptr;
  const int size = i2d_PrivateKey(key->get(), &made);
  if (size <= 0) return fail_openssl(Code::kInvalid, key_file + " cannot be read as a key");
  const MacContext context =
      hmac_with({reinterpret_cast<char*>(made), static_cast<std::size_t>(size)});
  OPENSSL_clear_free(made, static_cast<std::size_t>(size));
  Digest digest{};
  if (!hmac(context.get(), kClientIdLabel, digest)) {
    return fail_openssl(Code::kIo, "OpenSSL has no HMAC-SHA256");
  }
  std::string out = node + "-";
  for (std::size_t i = 0; i < kClientIdBytes; ++i) {
    out += "0123456789abcdef"[digest[i] >> 4];
    out += "0123456789abcdef"[digest[i] & 15];
  }
  return out;
}

}  // namespace laird::mqtt
