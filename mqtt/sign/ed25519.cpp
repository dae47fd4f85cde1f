#include "mqtt/sign/ed25519.hpp"

#include <fcntl.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/pem_files.hpp"

namespace laird::mqtt {
namespace {

using openssl::fail_openssl;
using openssl::Pkey;

constexpr std::size_t kKeyFileBytesMax = 16 * 1024;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Reads a key file; the bytes are for the caller to wipe.
Result<std::string> read_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return fail_errno(errno, "open " + path);
  struct stat info {};
  std::string out(kKeyFileBytesMax, '\0');
  const bool stated = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t got = stated ? ::read(fd, out.data(), out.size()) : -1;
  ::close(fd);
  if (got < 0) return fail(Code::kIo, path + " cannot be read as a file");
  if ((info.st_mode & 077) != 0) {
    return fail(Code::kPermission, path + " may be read by others than its owner: chmod 600 it");
  }
  out.resize(static_cast<std::size_t>(got));
  return out;
}

}  // namespace

struct SigningKey::Key {
  Pkey pkey;
};

SigningKey::SigningKey(std::unique_ptr<Key> key, std::string public_key)
    : key_(std::move(key)), public_key_(std::move(public_key)) {}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

Result<SigningKey> SigningKey::generate() {
  Pkey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) return fail_openssl(Code::kIo, "cannot make an Ed25519 key");
  auto known = openssl::raw_public_part(key.get());
  LAIRD_TRY(known);
  return SigningKey(std::make_unique<Key>(Key{std::move(key)}), std::move(*known));
}

Result<SigningKey> SigningKey::load(const std::string& path) {
  auto text = read_private(path);
  LAIRD_TRY(text);
  const openssl::Bio bio(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  // An empty passphrase: OpenSSL must not ask the terminal for one.
  char none[] = "";
  Pkey key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, none) : nullptr);
  OPENSSL_cleanse(text->data(), text->size());
  if (!key || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    return fail_openssl(Code::kInvalid,
                        path + " is not an Ed25519 private key in PEM, without a passphrase");
  }
  auto known = openssl::raw_public_part(key.get());
  LAIRD_TRY(known);
  return SigningKey(std::make_unique<Key>(Key{std::move(key)}), std::move(*known));
}

Result<std::string> SigningKey::sign(std::string_view message) const {
  const openssl::DigestContext context(EVP_MD_CTX_new());
  std::string out(kSignatureBytes, '\0');
  std::size_t size = out.size();
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_->pkey.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                     bytes(message), message.size()) != 1 ||
      size != kSignatureBytes) {
    return fail_openssl(Code::kIo, "cannot sign");
  }
  return out;
}

Result<std::string> SigningKey::to_pem() const {
  const openssl::Bio bio(BIO_new(BIO_s_secmem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_->pkey.get(), nullptr, nullptr, 0,
                                            nullptr, nullptr) != 1) {
    return fail_openssl(Code::kIo, "cannot write the key");
  }
  return openssl::bytes_of(bio.get());
}

bool verify(std::string_view public_key, std::string_view message, std::string_view signature) {
  if (public_key.size() != kPublicKeyBytes || signature.size() != kSignatureBytes) return false;
  const Pkey key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(public_key), public_key.size()));
  const openssl::DigestContext context(EVP_MD_CTX_new());
  const bool good =
      key && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message),
                       message.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace laird::mqtt
