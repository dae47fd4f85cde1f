// Any bytes as an announced key, as a packet at the guard, and as a list of revoked certificates:
// they are refused, and nothing else happens.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "agent/fleet/peer_guard.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/sign/authority.hpp"

namespace {

using namespace laird;

struct Fleet {
  Fleet() : authority(*mqtt::Authority::create("lab", 1000)) {
    std::string at = std::filesystem::temp_directory_path().string() + "/laird-fuzz-XXXXXX";
    if (::mkdtemp(at.data()) == nullptr) std::abort();
    folder = at;
    const auto write = [&](const std::string& name, const std::string& text) {
      std::ofstream(folder + "/" + name) << text;
      return folder + "/" + name;
    };
    const mqtt::Issued issued = *authority.issue({"n-1", mqtt::Role::kNode, {}, 900});
    files = {write("ca.crt", *authority.cert_pem()), write("n-1.crt", issued.cert_pem),
             write("n-1.key", issued.key_pem)};
  }
  ~Fleet() { std::filesystem::remove_all(folder); }

  mqtt::Authority authority;
  std::string folder;
  mqtt::TlsFiles files;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fleet fleet;
  static agent::PeerGuard guard(
      "n-1", std::move(*mqtt::PeerIdentity::open(fleet.files, "lab", "n-1", 1)), kSecond,
      {[](const std::string&, std::string) {}, [](const std::string&) {}});
  static TimeNs now = kHour;
  now += 10 * kSecond;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const agent::PeerGuard::Moment moment{now, 1'800'000'000, 1'000, true};
  if (guard.open("n-2", bytes, moment)) std::abort();
  if (guard.open("n-2", mqtt::plain_packet(mqtt::CoopKind::kKey, bytes), moment)) std::abort();
  if (guard.totals()[agent::CoopResult::kKeyTaken] != 0) std::abort();
  if (mqtt::Revocations::parse(bytes, fleet.files.ca)) std::abort();
  if (const auto pem = mqtt::parse_revocations(bytes)) {
    if (mqtt::Revocations::parse(*pem, fleet.files.ca)) std::abort();
  }
  return 0;
}
