// The certificates of a made-up fleet, as files in a folder that goes with it.
#pragma once

#include <fstream>
#include <string>

#include "mqtt/sign/authority.hpp"
#include "mqtt/sign/peer_keys.hpp"
#include "tests/harness/unit.hpp"

namespace laird::test {

class FleetKeys {
 public:
  explicit FleetKeys(const std::string& fleet = "lab")
      : fleet_(fleet), authority_(*mqtt::Authority::create(fleet, 1000)) {
    write("ca.crt", *authority_.cert_pem());
  }

  // The files of a member; issued anew each time.
  mqtt::TlsFiles issue(const std::string& name, mqtt::Role role = mqtt::Role::kNode,
                       std::int64_t days = 900) {
    mqtt::Subject subject{name, role, {}, days};
    if (role == mqtt::Role::kBroker) subject.hosts = {"localhost"};
    const mqtt::Issued issued = *authority_.issue(subject);
    serial_ = issued.serial;
    return {path("ca.crt"), write(name + ".crt", issued.cert_pem),
            write(name + ".key", issued.key_pem)};
  }
  // Of the certificate issued last.
  [[nodiscard]] const std::string& serial() const { return serial_; }

  mqtt::PeerIdentity identity(const std::string& name, std::uint64_t start) {
    return *mqtt::PeerIdentity::open(issue(name), fleet_, name, start);
  }

  [[nodiscard]] std::string list(const std::vector<mqtt::Revoked>& revoked,
                                 std::uint64_t number) const {
    return *authority_.revocation_list(revoked, number);
  }
  [[nodiscard]] std::string path(const std::string& file) const {
    return folder_.path() + "/" + file;
  }
  std::string write(const std::string& file, const std::string& content) const {
    std::ofstream(path(file)) << content;
    return path(file);
  }

 private:
  const std::string fleet_;
  TemporaryFolder folder_;
  mqtt::Authority authority_;
  std::string serial_;
};

}  // namespace laird::test
