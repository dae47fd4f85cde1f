#include "control/provision/host_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/child_process.hpp"
#include "os/fd.hpp"

namespace laird::control {
namespace {

// A package lists some hundred files; a program that writes more than this is not the one we know.
constexpr std::size_t kTextMax = 4 * 1024 * 1024;

struct Stream {
  Fd from;
  Fd to;
  std::string text;

  [[nodiscard]] Status open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "make a pipe");
    from = Fd(ends[0]);
    to = Fd(ends[1]);
    return {};
  }

  // Takes what is there; closes at the end. Of a long text the beginning is kept.
  void take() {
    std::array<char, 16 * 1024> piece;
    const ssize_t n = ::read(from.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      from.reset();
      return;
    }
    text.append(piece.data(), static_cast<std::size_t>(n));
    if (text.size() > kTextMax) text.resize(kTextMax);
  }
};

// Reads both to their ends, whichever speaks first, so that the program never waits for room.
void drain(std::array<Stream, 2>& streams) {
  while (streams[0].from || streams[1].from) {
    std::array<pollfd, 2> waits = {pollfd{streams[0].from ? streams[0].from.get() : -1, POLLIN, 0},
                                   pollfd{streams[1].from ? streams[1].from.get() : -1, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents != 0) streams[i].take();
    }
  }
}

}  // namespace

Result<Ran> run_host_program(const std::vector<std::string>& argv) {
  std::array<Stream, 2> streams;
  for (Stream& stream : streams) LAIRD_TRY(stream.open());
  ChildSpec spec;
  spec.argv = argv;
  spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/nonexistent",
                      "DEBIAN_FRONTEND=noninteractive"};
  spec.output = streams[0].to.get();
  spec.error = streams[1].to.get();
  spec.dies_with_parent = true;
  const Result<pid_t> pid = start_child(spec);
  LAIRD_TRY(pid);
  for (Stream& stream : streams) stream.to.reset();
  drain(streams);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  Ran ran;
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ran.output = std::move(streams[0].text);
  ran.messages = std::move(streams[1].text);
  return ran;
}

}  // namespace laird::control
