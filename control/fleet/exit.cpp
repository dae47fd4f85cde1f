#include "control/fleet/exit.hpp"

#include "control/screen/output.hpp"

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
  say(error.text());
  return exit_code_of(error);
}

}  // namespace laird::control
