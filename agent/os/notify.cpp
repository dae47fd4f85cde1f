#include "agent/os/notify.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "os/fd.hpp"

namespace laird::agent {
namespace {

constexpr std::int64_t kWatchdogUsecMax = 3'600'000'000;

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string out = value == nullptr ? "" : value;
  ::unsetenv(name);
  return out;
}

}  // namespace

bool leads_to_journald(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info {};
  if (stream == nullptr || ::fstat(fd, &info) != 0) return false;
  return stream == std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

Notifier::Notifier() : socket_(take_variable("NOTIFY_SOCKET")) {
  const std::string usec = take_variable("WATCHDOG_USEC");
  const std::string pid = take_variable("WATCHDOG_PID");
  std::int64_t wait = 0;
  std::from_chars(usec.data(), usec.data() + usec.size(), wait);
  const bool ours = pid.empty() || pid == std::to_string(::getpid());
  if (ours && wait > 0 && wait <= kWatchdogUsecMax) watchdog_every_ = wait * 1000 / 3;
}

void Notifier::hand_on() const {
  if (!socket_.empty()) ::setenv("NOTIFY_SOCKET", socket_.c_str(), 1);
  if (watchdog_every_ > 0) {
    ::setenv("WATCHDOG_USEC", std::to_string(watchdog_every_ * 3 / 1000).c_str(), 1);
  }
}

void Notifier::say(std::string_view text) const {
  sockaddr_un address{};
  if (socket_.size() < 2 || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  // "@name" is a socket of the abstract kind.
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  ::sendto(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace laird::agent
