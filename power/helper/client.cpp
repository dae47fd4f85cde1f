#include "power/helper/client.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "os/child_process.hpp"
#include "os/fd.hpp"

namespace laird::power::priv {

Result<Client> Client::spawn(const std::string& program,
                             const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno(errno, "no socket for the privileged helper");
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  ChildSpec spec;
  spec.argv = {program};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.input = theirs.get();
  spec.output = theirs.get();
  spec.error = ChildSpec::kInherit;
  const Result<pid_t> pid = start_child(spec);
  LAIRD_TRY(pid);
  Client out = over(ours.release());
  out.pid_ = *pid;
  return out;
}

Result<Client> Client::connect(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return fail(Code::kInvalid, "the socket's path is too long: " + socket_path);
  }
  socket_path.copy(address.sun_path, socket_path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno(errno, "socket");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(fd);
    return fail_errno(error, "cannot reach the privileged helper at " + socket_path);
  }
  return over(fd);
}

Client Client::over(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return Client(fd, -1);
}

Client::Client(Client&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      pid_(std::exchange(other.pid_, -1)),
      gone_(other.gone_),
      lines_(std::move(other.lines_)),
      answers_(std::move(other.answers_)),
      asked_(std::move(other.asked_)) {}

Client::~Client() {
  if (fd_ >= 0) ::close(fd_);
  // The helper restores on hang-up; it is given that time, not killed.
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

Status Client::send(const std::string& request) {
  if (gone_) return fail(Code::kUnavailable, "the privileged helper is gone");
  if (asked_.size() >= kOutstandingMax) {
    return fail(Code::kFull, "the privileged helper has not answered yet");
  }
  const std::string line = request + "\n";
  const ssize_t n = ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
  if (n == static_cast<ssize_t>(line.size())) {
    asked_.push_back(request);
    return {};
  }
  if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) gone_ = true;
  return fail(Code::kUnavailable, "the privileged helper does not listen");
}

std::optional<Reply> Client::poll() {
  std::array<char, 1024> block;
  while (answers_.empty() && !gone_) {
    const ssize_t n = ::recv(fd_, block.data(), block.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    if (n > 0) {
      lines_.feed(std::string_view(block.data(), static_cast<std::size_t>(n)),
                  [this](std::string_view line) { answers_.emplace_back(line); });
    }
    gone_ = n <= 0 || lines_.overlong() > 0;
  }
  if (answers_.empty() || asked_.empty()) return std::nullopt;
  Reply out;
  out.request = std::move(asked_.front());
  asked_.pop_front();
  out.text = std::move(answers_.front());
  answers_.pop_front();
  out.ok = out.text.starts_with("ok ");
  if (out.ok) out.value = std::strtoll(out.text.c_str() + 3, nullptr, 10);
  return out;
}

}  // namespace laird::power::priv
