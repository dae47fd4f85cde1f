#include "agent/trainer_host/door_check.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "agent/core/state/event.hpp"

namespace laird::agent {
namespace {

constexpr int kAtOnceMax = 4;
constexpr std::size_t kSaidMax = 4096;
constexpr const char* kFolder = "laird-check-";

// The lines of it as one text, without the name of standard input in front of each: "-:1: ".
std::string words_of(std::string said) {
  std::string out;
  while (!said.empty()) {
    const std::size_t end = std::min(said.find('\n'), said.size());
    std::string line = said.substr(0, end);
    said.erase(0, end + 1);
    const std::size_t name_end = line.starts_with("-:") ? line.find(": ") : std::string::npos;
    if (name_end != std::string::npos) line.erase(0, name_end + 2);
    if (!line.empty()) out += (out.empty() ? "" : "; ") + line;
  }
  return out;
}

}  // namespace

DoorCheck::DoorCheck(Loop& loop, Processes& processes, std::string tasks_folder, DurationNs wait)
    : loop_(loop), processes_(processes), tasks_folder_(std::move(tasks_folder)), wait_(wait) {}

DoorCheck::~DoorCheck() {
  for (auto& [id, running] : running_) {
    running->done = nullptr;
    if (running->timer != 0) loop_.cancel(running->timer);
    for (const int fd :
         {running->process.socket.get(), running->process.output.get(), running->process.news}) {
      if (fd >= 0) loop_.forget(fd);
    }
    static_cast<void>(processes_.collect(id));
  }
}

std::string DoorCheck::free_folder() const {
  for (int i = 0; i < kAtOnceMax; ++i) {
    const std::string name = kFolder + std::to_string(i);
    const bool used = std::any_of(running_.begin(), running_.end(),
                                  [&](const auto& one) { return one.second->folder == name; });
    if (!used) return name;
  }
  return "";
}

void DoorCheck::check(const core::TaskSpec& spec, const TrainerProgram& program, Done done) {
  const std::string folder = free_folder();
  if (wait_ <= 0 || folder.empty() || !processes_.can_check() || check_command(program).empty()) {
    done("");
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(tasks_folder_, error);
  ProcessSpec wanted;
  wanted.trainer = spec.trainer;
  wanted.task = folder;
  wanted.memory_bytes = spec.memory_bytes;
  wanted.fresh = true;
  wanted.check = true;
  Result<Process> started = processes_.start(wanted, nullptr);
  if (!started) {
    done("");
    return;
  }
  auto running = std::make_unique<Running>();
  running->process = std::move(*started);
  running->folder = folder;
  running->to_send = spec.params;
  running->done = std::move(done);
  const int id = running->process.id;
  Running& one = *running;
  running_.emplace(id, std::move(running));
  one.timer = loop_.after(wait_, [this, id] { give_up(id); });
  const auto on_output = [this, &one](std::uint32_t) { read(one); };
  static_cast<void>(loop_.watch(one.process.output.get(), EPOLLIN, on_output));
  static_cast<void>(
      loop_.watch(one.process.news, EPOLLIN, [this, id](std::uint32_t) { look(id); }));
  static_cast<void>(
      loop_.watch(one.process.socket.get(), EPOLLOUT, [this, &one](std::uint32_t) { send(one); }));
}

void DoorCheck::send(Running& running) {
  const int socket = running.process.socket.get();
  while (!running.to_send.empty()) {
    const ssize_t n =
        ::send(socket, running.to_send.data(), running.to_send.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) break;
    running.to_send.erase(0, static_cast<std::size_t>(n));
  }
  loop_.forget(socket);
  ::shutdown(socket, SHUT_WR);
}

void DoorCheck::read(Running& running) {
  std::array<char, 4096> block{};
  const ssize_t n = ::read(running.process.output.get(), block.data(), block.size());
  if (n > 0) {
    running.said.append(block.data(), static_cast<std::size_t>(n));
    if (running.said.size() > kSaidMax) running.said.resize(kSaidMax);
  } else if (n == 0) {
    loop_.forget(running.process.output.get());
    running.process.output.reset();
  }
}

void DoorCheck::look(int id) {
  if (processes_.has_ended(id)) end(id);
}

void DoorCheck::give_up(int id) {
  Running& running = *running_.at(id);
  running.timer = 0;
  running.is_late = true;
  processes_.signal_all(id, SIGKILL);
}

void DoorCheck::end(int id) {
  const auto found = running_.find(id);
  const std::unique_ptr<Running> running = std::move(found->second);
  running_.erase(found);
  if (running->timer != 0) loop_.cancel(running->timer);
  if (!running->to_send.empty()) loop_.forget(running->process.socket.get());
  loop_.forget(running->process.news);
  const Ending ending = processes_.collect(id);
  for (std::size_t before = 1; running->process.output && before != running->said.size();) {
    before = running->said.size();
    read(*running);
  }
  if (running->process.output) loop_.forget(running->process.output.get());
  std::error_code error;
  std::filesystem::remove_all(tasks_folder_ + "/" + running->folder, error);
  // One that was ended, by us, by the system or by its cell, has not spoken.
  const bool spoke = !running->is_late && ending.why.empty() && WIFEXITED(ending.status);
  const bool refuses = spoke && WEXITSTATUS(ending.status) != 0 && !running->said.empty();
  running->done(refuses ? core::clipped(words_of(running->said)) : "");
}

}  // namespace laird::agent
