// The files of the broker: a mosquitto.conf, and an ACL that lets each name read and write exactly
// its part of the topic tree. These are texts only; broker_command.cpp writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

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

}  // namespace laird::control
