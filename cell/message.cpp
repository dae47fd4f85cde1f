#include "cell/message.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace laird::cell {
namespace {

constexpr std::size_t kNameBytesMax = 32;
constexpr std::size_t kTextBytesMax = 1024;

void take_control(const msghdr& header, Received& out) {
  for (const cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred who{};
      std::memcpy(&who, CMSG_DATA(part), sizeof who);
      out.sender = who.pid;
    }
    if (part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      out.fds.emplace_back(fd);
    }
  }
}

}  // namespace

void Request::archive(Archive& ar) {
  ar.text(trainer, kNameBytesMax);
  ar.text(task, kNameBytesMax);
  ar(memory_bytes);
  ar(fresh, check);
  ar(warm_from);
  ar(spec);
}

void Report::archive(Archive& ar) {
  ar.bounded(kind, Kind::kEnded);
  ar(pid, guards, in_group, status);
  ar.text(text, kTextBytesMax);
}

Status send_bytes(int socket, const Bytes& bytes, std::span<const int> fds) {
  if (bytes.size() > kMessageBytesMax || fds.size() > kDescriptorsMax) {
    return fail(Code::kInvalid, "a message to a trainer's cell is too long");
  }
  iovec data{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno(errno, "a trainer's cell does not listen");
  return {};
}

Result<Received> receive(int socket) {
  Received out;
  out.bytes.resize(kMessageBytesMax);
  iovec data{out.bytes.data(), out.bytes.size()};
  alignas(cmsghdr)
      std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int)) + CMSG_SPACE(sizeof(ucred))>
          control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t n = -1;
  do {
    n = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return fail(Code::kUnavailable, "nothing to read");
  }
  if (n < 0 && errno != ECONNRESET) return fail_errno(errno, "a trainer's cell cannot be heard");
  take_control(header, out);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return fail(Code::kInvalid, "a message of a trainer's cell is too long");
  }
  out.ended = n <= 0;
  out.bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

}  // namespace laird::cell
