#include "base/error.hpp"

#include <cerrno>
#include <cstring>

namespace laird {

std::string_view name(Code code) {
  switch (code) {
    case Code::kInvalid: return "invalid";
    case Code::kNotFound: return "not found";
    case Code::kRefused: return "refused";
    case Code::kExists: return "already there";
    case Code::kFull: return "full";
    case Code::kUnavailable: return "unavailable";
    case Code::kCorrupt: return "damaged";
    case Code::kPermission: return "not permitted";
    case Code::kIo: return "i/o error";
  }
  return "unknown";
}

std::string Error::text() const {
  std::string out(name(code));
  if (!context.empty()) {
    out += ": ";
    out += context;
  }
  return out;
}

tl::unexpected<Error> fail_errno(int errno_value, std::string context) {
  Code code = Code::kIo;
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR: code = Code::kNotFound; break;
    case EACCES:
    case EPERM:
    case EROFS: code = Code::kPermission; break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: code = Code::kFull; break;
    case EEXIST: code = Code::kExists; break;
    case EAGAIN: code = Code::kUnavailable; break;
    default: break;
  }
  context += ": ";
  context += std::strerror(errno_value);
  return fail(code, std::move(context));
}

}  // namespace laird
