#include "control/commands/tasks/end_hook.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "control/screen/output.hpp"
#include "control/screen/rows.hpp"
#include "os/child_process.hpp"
#include "os/fd.hpp"

extern char** environ;

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr std::string_view kEnds[] = {"succeeded", "missed", "exhausted", "failed", "cancelled"};
// A pipe takes so much without a reader.
constexpr std::size_t kEventBytesMax = 32 * 1024;

std::string text_in(const EventView& event, const char* key) {
  const Value* found = event.event.find(key, Kind::kString);
  return found == nullptr ? std::string() : harmless(found->as_string());
}

// The event as one line, at the reading end of a pipe.
Fd as_input(const EventView& event) {
  std::string line = json::to_text(event_json(event)) + "\n";
  if (line.size() > kEventBytesMax) line = "{}\n";
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  Fd reading(ends[0]);
  const Fd writing(ends[1]);
  if (::write(writing.get(), line.data(), line.size()) < 0) return {};
  return reading;
}

}  // namespace

Status EndHook::check_program(const std::string& path) {
  std::error_code error;
  if (path.find('/') != std::string::npos && std::filesystem::is_regular_file(path, error) &&
      ::access(path.c_str(), X_OK) == 0) {
    return {};
  }
  return fail(Code::kInvalid, "--exec: '" + path +
                                  "' is no path of a program that can be run; give one with a '/', "
                                  "like ./tell or /usr/local/bin/tell, and no words for a shell");
}

EndHook::~EndHook() {
  if (child_ <= 0) return;
  ::kill(-child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

bool EndHook::is_end(const EventView& event) {
  const std::string state = text_in(event, "state");
  if (text_in(event, "task").empty()) return false;
  for (const std::string_view end : kEnds) {
    if (state == end) return true;
  }
  return false;
}

void EndHook::take(const EventView& event) {
  if (waiting_.size() < kEndsWaitingMax) return waiting_.push_back(event);
  say(program_ + " is not told of " + text_in(event, "task") + " on " + event.board + ": " +
      std::to_string(kEndsWaitingMax) + " ends wait to be told already");
}

void EndHook::go_on() {
  if (child_ > 0) {
    int status = 0;
    const pid_t ended = ::waitpid(child_, &status, WNOHANG);
    if (ended == 0 && std::chrono::steady_clock::now() < until_) return;
    if (ended == 0) {
      ::kill(-child_, SIGKILL);
      while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
      }
      say(program_ + ": killed, it took too long to be told of the end of " + about_);
      child_ = 0;
    } else {
      collect(status);
    }
  }
  if (child_ > 0 || waiting_.empty()) return;
  const EventView next = std::move(waiting_.front());
  waiting_.pop_front();
  start(next);
}

void EndHook::start(const EventView& event) {
  about_ = text_in(event, "task") + " on " + event.board;
  ChildSpec spec;
  spec.argv = {program_};
  spec.environment.emplace();
  for (char** entry = environ; *entry != nullptr; ++entry) spec.environment->emplace_back(*entry);
  for (const char* key : {"task", "state", "reason", "ts"}) {
    std::string name(key);
    for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
    spec.environment->push_back("LAIRD_" + name + "=" + text_in(event, key));
  }
  spec.environment->push_back("LAIRD_NODE=" + event.board);
  const Fd input = as_input(event);
  spec.input = input ? input.get() : ChildSpec::kNull;
  spec.output = ChildSpec::kInherit;
  spec.error = ChildSpec::kInherit;
  spec.own_session = true;
  const Result<pid_t> started = start_child(spec);
  if (!started)
    return say(program_ + " was not told of " + about_ + ": " + started.error().context);
  child_ = *started;
  until_ = after(most_);
}

void EndHook::collect(int status) {
  child_ = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  say(program_ + ": " +
      (WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                         : "ended by signal " + std::to_string(WTERMSIG(status))) +
      " when it was told of " + about_);
}

void EndHook::finish() {
  while (busy()) {
    go_on();
    if (busy()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace laird::control
