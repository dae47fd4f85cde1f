#include "control/serve/order_runner.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/harmless.hpp"
#include "os/child_process.hpp"

namespace laird::control::serve {
namespace {

// What the environment holds, but for what would lead the command to this machine's agent.
std::vector<std::string> environment() {
  std::vector<std::string> out = {"NO_COLOR=1"};
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view one(*at);
    if (!one.starts_with("LAIRD_SOCKET=") && !one.starts_with("NO_COLOR=")) out.emplace_back(one);
  }
  return out;
}

Result<Fd> file_with(const std::string& text) {
  Fd out(::memfd_create("order", MFD_CLOEXEC));
  if (!out) return fail_errno(errno, "the order's input");
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::write(out.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, "the order's input");
    at += static_cast<std::size_t>(n);
  }
  ::lseek(out.get(), 0, SEEK_SET);
  return out;
}

}  // namespace

OrderRunner::~OrderRunner() {
  for (auto& [number, run] : runs_) {
    ::kill(run.pid, SIGKILL);
    ::waitpid(run.pid, nullptr, 0);
  }
}

Result<std::uint64_t> OrderRunner::start(const Order& order, TimeNs now) {
  if (runs_.size() >= kOrdersMax) {
    return fail(Code::kFull, std::to_string(kOrdersMax) +
                                 " orders are under way; wait until one of them is done");
  }
  auto input = file_with(order.input);
  LAIRD_TRY(input);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "the order's output");
  Fd output(ends[0]);
  Fd write_end(ends[1]);
  // Only our end: the command writes as it always does.
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
  ChildSpec spec;
  spec.argv = {program_};
  spec.argv.insert(spec.argv.end(), order.arguments.begin(), order.arguments.end());
  spec.argv.insert(spec.argv.end(), access_.begin(), access_.end());
  spec.environment = environment();
  spec.input = input->get();
  spec.output = write_end.get();
  spec.error = write_end.get();
  spec.own_session = true;  // a Ctrl-C at the terminal ends the page, not what was promised
  const auto pid = start_child(spec);
  LAIRD_TRY(pid);
  Run run;
  run.pid = *pid;
  run.output = std::move(output);
  run.until = now + kOrderTimeMax;
  runs_.emplace(++last_, std::move(run));
  return last_;
}

std::vector<int> OrderRunner::files() const {
  std::vector<int> out;
  for (const auto& [number, run] : runs_) out.push_back(run.output.get());
  return out;
}

// True at the end of what it prints.
bool OrderRunner::read_some(Run& run) {
  char block[4096];
  for (;;) {
    const ssize_t n = ::read(run.output.get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno != EAGAIN;
    if (n == 0) return true;
    const std::size_t room = kOrderOutputMax - run.text.size();
    run.text.append(block, std::min(room, static_cast<std::size_t>(n)));
  }
}

OrderRunner::Done OrderRunner::ended(std::uint64_t number, Run& run, bool in_time) {
  if (!in_time) {
    ::kill(run.pid, SIGKILL);
    run.text += "no answer in time: look what became of it before you order it again\n";
  }
  int status = 0;
  while (::waitpid(run.pid, &status, 0) < 0 && errno == EINTR) {
  }
  Done out;
  out.number = number;
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 124;
  out.text = harmless_lines(run.text);
  while (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
  return out;
}

std::vector<OrderRunner::Done> OrderRunner::collect(TimeNs now) {
  std::vector<Done> out;
  for (auto at = runs_.begin(); at != runs_.end();) {
    const bool at_end = read_some(at->second);
    if (!at_end && now < at->second.until) {
      ++at;
      continue;
    }
    out.push_back(ended(at->first, at->second, at_end));
    at = runs_.erase(at);
  }
  return out;
}

}  // namespace laird::control::serve
