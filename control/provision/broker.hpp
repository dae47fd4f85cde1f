// The files of the broker: a mosquitto.conf, and an ACL that lets each name read and write exactly
// its part of the topic tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "control/provision/pki.hpp"

namespace laird::control {

struct BrokerOptions {
  std::string folder;  // absolute: where the files will stand
  std::string listen;  // an address of this machine; empty: all of them
  std::uint16_t port = 8883;
  std::string user;         // whom mosquitto becomes when started as root; empty: its default
  std::string data_folder;  // where it keeps retained messages over a restart; empty: nowhere
};

[[nodiscard]] std::string broker_config(const BrokerOptions& options);

// `operators` are the names of those whose certificate is valid.
[[nodiscard]] std::string broker_acl(const std::string& fleet,
                                     const std::vector<std::string>& operators);

struct BrokerFile {
  std::string name;
  std::string content;
  mode_t mode = 0600;
};

// All files of the folder, from the folder of the fleet's certificates.
[[nodiscard]] Result<std::vector<BrokerFile>> broker_files(const std::string& pki,
                                                           const BrokerOptions& options);

}  // namespace laird::control
