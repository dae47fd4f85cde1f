#include "control/fleet/local_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "os/fd.hpp"
#include "os/line_splitter.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kAnswerMax = 4 * 1024 * 1024;

Code code_named(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(Code::kIo); ++i) {
    if (name(static_cast<Code>(i)) == text) return static_cast<Code>(i);
  }
  return Code::kInvalid;
}

Result<std::string> read_line(int fd, std::chrono::steady_clock::time_point until) {
  LineSplitter lines(kAnswerMax, Overlong::kSkip);
  char block[8192];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd ready{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      return fail(Code::kUnavailable, "the agent did not answer in time; raise --timeout");
    }
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(Code::kUnavailable, "the agent closed the connection");
    std::string_view got(block, static_cast<std::size_t>(n));
    const auto line = lines.next(got);
    if (lines.overlong() > 0) return fail(Code::kInvalid, "the answer is too long");
    if (line) return std::string(*line);
  }
}

}  // namespace

Result<json::Value> ask(const std::string& socket_path, const json::Value& request,
                        DurationNs timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return fail(Code::kInvalid, "the socket's path is too long: " + socket_path);
  }
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return fail_errno(errno, "socket");
  // The limit holds for connecting too, because the queue of a stopped agent may be full.
  const timeval patience{static_cast<time_t>(timeout / kSecond),
                         static_cast<suseconds_t>(timeout % kSecond / kMicrosecond)};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    if (error == EACCES || error == EPERM) {
      return fail(Code::kPermission, "this user may not talk to the agent at " + socket_path +
                                         "; members of its group may: sudo usermod -aG laird USER, "
                                         "then log in anew");
    }
    const auto failed =
        fail_errno(error, "no agent answers at " + socket_path +
                              "; is it up (systemctl status laird), and is --socket right?");
    if (error == ENOENT || error == ECONNREFUSED) {
      return fail(Code::kUnavailable, failed.value().context);
    }
    return failed;
  }
  const std::string line = json::to_text(request) + "\n";
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t n = ::send(fd.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, "sending to the agent");
    sent += static_cast<std::size_t>(n);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout);
  const Result<std::string> text = read_line(fd.get(), until);
  LAIRD_TRY(text);
  json::ParseLimits limits;
  limits.bytes_max = kAnswerMax;
  Result<json::Value> answer = json::parse(*text, "answer", limits);
  if (!answer) return answer;
  const json::Value* ok = answer->find("ok", json::Kind::kBool);
  if (ok != nullptr && ok->as_bool()) return answer;
  const json::Value* error = answer->find("error", json::Kind::kString);
  const json::Value* code = answer->find("code", json::Kind::kString);
  return fail(code == nullptr ? Code::kInvalid : code_named(code->as_string()),
              error == nullptr ? "the agent refused without a reason" : error->as_string());
}

json::Value local_request(const char* verb) { return json::Value::object().set("op", verb); }

Result<std::vector<TaskView>> local_tasks(const Where& where) {
  auto answer = ask(where.socket, local_request("tasks"), where.timeout);
  LAIRD_TRY(answer);
  const json::Value* tasks = answer->find("tasks", json::Kind::kArray);
  if (tasks == nullptr) return fail(Code::kCorrupt, "the agent's answer has no tasks");
  std::vector<TaskView> out;
  for (const json::Value& task : tasks->items()) out.push_back({"", task});
  return out;
}

}  // namespace laird::control
