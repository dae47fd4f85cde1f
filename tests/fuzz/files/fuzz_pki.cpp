// Certificates, keys and an authority from files that are anything: each is refused with words, or
// is usable.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/require.hpp"
#include "mqtt/sign/authority.hpp"
#include "mqtt/sign/ed25519.hpp"
#include "mqtt/sign/tls_files.hpp"

namespace {

using namespace laird;

// A file in memory, by a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    LAIRD_REQUIRE(fd_ >= 0, "there is memory for a file");
    LAIRD_REQUIRE(::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
                  "and for its bytes");
    ::fchmod(fd_, 0600);
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

template <class T>
void check_words(const T& result) {
  if (!result) LAIRD_REQUIRE(!result.error().context.empty(), "a refusal has words");
}

// A real authority and one of its certificates, made once: mutations alone would not find one.
struct Real {
  mqtt::Authority authority = *mqtt::Authority::create("lab", 10);
  mqtt::Issued node = *authority.issue({"n-1", mqtt::Role::kNode, {}, 5});
  std::string ca = *authority.cert_pem();
  std::string ca_key = *authority.key_pem();
};

const Real& real() {
  static const Real made;
  return made;
}

// The input in the place of a part of a good file.
std::string patched(std::string good, std::string_view bytes) {
  if (bytes.size() < 2) return good;
  const std::size_t at = static_cast<std::uint8_t>(bytes[0]) * good.size() / 256;
  bytes.remove_prefix(1);
  return good.replace(at, bytes.size(), bytes);
}

void check_files(const std::string& ca, const std::string& cert, const std::string& key) {
  const MemoryFile ca_file(ca);
  const MemoryFile cert_file(cert);
  const MemoryFile key_file(key);
  check_words(mqtt::check_tls_files(ca_file.path(), cert_file.path(), key_file.path()));
  check_words(mqtt::valid_for_s(cert_file.path()));
  check_words(mqtt::common_name(cert_file.path()));
  const auto signing = mqtt::SigningKey::load(key_file.path());
  check_words(signing);
  if (signing) {
    const auto signature = signing->sign("text");
    LAIRD_REQUIRE(signature.has_value() && mqtt::verify(signing->public_key(), "text", *signature),
                  "a key that loads signs");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string text(bytes);
  check_files(text, text, text);
  check_files(patched(real().ca, bytes), patched(real().node.cert_pem, bytes),
              patched(real().node.key_pem, bytes));
  const auto authority =
      mqtt::Authority::parse(patched(real().ca, bytes), patched(real().ca_key, bytes));
  check_words(authority);
  if (authority) check_words(authority->revocation_list({}, 1));
  check_words(mqtt::Authority::parse(text, text));
  return 0;
}
