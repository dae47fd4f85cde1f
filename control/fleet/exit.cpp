#include "control/fleet/exit.hpp"

#include <cstdio>

namespace laird::control {

int exit_code_of(const Error& error) {
  switch (error.code) {
    case Code::kInvalid: return kUsage;
    case Code::kNotFound: return kNotFound;
    case Code::kRefused:
    case Code::kExists:
    case Code::kFull:
    case Code::kPermission: return kRefused;
    case Code::kUnavailable: return kTimedOut;
    default: return kFailed;
  }
}

int complain(const Error& error) {
  std::fprintf(stderr, "lairctl: %s\n", error.text().c_str());
  return exit_code_of(error);
}

}  // namespace laird::control
