#include "os/agent_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "os/fd.hpp"

namespace laird {
namespace {

constexpr std::size_t kShownMax = 40;

Result<int> inherited(const std::string& text) {
  char* end = nullptr;
  const long fd = std::strtol(text.c_str(), &end, 10);
  struct stat info {};
  if (text.empty() || *end != '\0' || fd < 0 || fd > 1'000'000 ||
      ::fstat(static_cast<int>(fd), &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return fail(Code::kInvalid, "LAIRD_FD=" + text.substr(0, kShownMax) + " names no open socket");
  }
  static_cast<void>(::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC));
  return static_cast<int>(fd);
}

Result<int> connected(const std::string& path) {
  const std::string what = "LAIRD_TRAINER_SOCKET=" + path.substr(0, kShownMax);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(Code::kInvalid, what + " is too long");
  path.copy(address.sun_path, path.size());
  Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out || ::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)) {
    return fail_errno(errno, "cannot connect to " + what);
  }
  return out.release();
}

}  // namespace

std::optional<Result<int>> find_agent() {
  if (const char* number = std::getenv("LAIRD_FD")) return inherited(number);
  if (const char* path = std::getenv("LAIRD_TRAINER_SOCKET")) return connected(path);
  return std::nullopt;
}

}  // namespace laird
