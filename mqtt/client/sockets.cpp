#include "mqtt/client/sockets.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace laird::mqtt {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The port of the other end of a TCP connection; 0 for anything else.
std::uint16_t peer_port(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return 0;
  sockaddr_storage peer{};
  size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return 0;
  if (peer.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&peer)->sin_port);
  }
  if (peer.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&peer)->sin6_port);
  }
  return 0;
}

}  // namespace

std::size_t tend_connections(const std::vector<std::uint16_t>& ports) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/fd"));
  if (!folder) return 0;
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const int fd = std::atoi(entry->d_name);
    if (fd < 3 || fd == ::dirfd(folder.get())) continue;
    const std::uint16_t port = peer_port(fd);
    if (port == 0 || std::find(ports.begin(), ports.end(), port) == ports.end()) continue;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ++count;
  }
  return count;
}

}  // namespace laird::mqtt
