#include "tests/virtual/fake_trainers.hpp"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/exact_math.hpp"
#include "json/value.hpp"

namespace laird::test {
namespace {

double number(const json::Value& object, std::string_view name, double fallback) {
  const json::Value* found = object.find(name);
  return found == nullptr || !found->is_number() ? fallback : found->as_double();
}

}  // namespace

Result<agent::Process> FakeTrainers::start(const agent::ProcessSpec& spec, const agent::Cgroup*) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return fail_errno(errno, "socketpair");
  }
  auto trainer = std::make_unique<Trainer>();
  trainer->socket = Fd(pair[1]);
  trainer->task = spec.task;
  const int pid = next_pid_++;
  trainers_.emplace(pid, std::move(trainer));
  agent::Process out;
  out.id = pid;
  out.socket = Fd(pair[0]);
  return out;
}

void FakeTrainers::pump() {
  for (auto& [pid, trainer] : trainers_) {
    char block[4096];
    while (trainer->socket && !trainer->hung) {
      const ssize_t n = ::recv(trainer->socket.get(), block, sizeof block, 0);
      if (n == 0) end(*trainer, 3 << 8);  // the agent is gone
      if (n <= 0) break;
      trainer->lines.feed(
          std::string_view(block, static_cast<std::size_t>(n)),
          [&, &who = *trainer, id = pid](std::string_view line, bool) { hear(who, id, line); });
    }
  }
}

void FakeTrainers::hear(Trainer& trainer, int pid, std::string_view line) {
  if (trainer.ended) return;
  const Result<json::Value> message = json::parse(line, "agent");
  if (!message) return;
  const json::Value* type = message->find("type", json::Kind::kString);
  if (type == nullptr) return;
  const std::string& what = type->as_string();
  if (what == "start") {
    begin(trainer, pid, line);
  } else if (what == "run") {
    stop_working(trainer);
    trainer.until = static_cast<std::uint64_t>(number(*message, "until", 0));
    work(pid);
  } else if (what == "pause" || what == "checkpoint" || what == "stop") {
    stop_working(trainer);
    if (what != "checkpoint") trainer.until = trainer.samples;
    keep_checkpoint(trainer);
    say(trainer, R"({"type":"checkpointed","samples":)" + std::to_string(trainer.samples) +
                     R"(,"loss":)" + loss_of(trainer) + "}");
    if (what == "stop") end(trainer, 0);
    if (what == "checkpoint") work(pid);
  }
}

void FakeTrainers::begin(Trainer& trainer, int pid, std::string_view line) {
  const Result<json::Value> message = json::parse(line, "agent");
  const json::Value* params = message->find("params", json::Kind::kObject);
  if (params != nullptr) {
    trainer.speed = number(*params, "speed", trainer.speed);
    trainer.start = number(*params, "start", trainer.start);
    trainer.end = number(*params, "end", trainer.end);
    trainer.scale = number(*params, "scale", trainer.scale);
    trainer.planned = static_cast<std::uint64_t>(number(*params, "planned", 0));
  }
  trainer.report_every =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(number(*message, "report_every", 1)));
  trainer.samples = checkpoints_[trainer.task];
  trainer.until = trainer.samples;
  // A moment to load.
  time_.after(chance_.between(10 * kMillisecond, 2 * kSecond), [self = self_, pid] {
    if (*self == nullptr) return;
    const auto found = (*self)->trainers_.find(pid);
    if (found == (*self)->trainers_.end() || found->second->ended) return;
    Trainer& me = *found->second;
    me.ready = true;
    (*self)->say(me, R"({"type":"ready","v":1,"samples":)" + std::to_string(me.samples) +
                         R"(,"loss":)" + (me.samples == 0 ? "null" : (*self)->loss_of(me)) +
                         R"(,"resumed":)" + (me.samples == 0 ? "false" : "true") +
                         R"(,"planned_samples":)" +
                         (me.planned == 0 ? "null" : std::to_string(me.planned)) + "}");
  });
}

// Plans the next report: after report_every samples, or where the allowance ends.
void FakeTrainers::work(int pid) {
  Trainer& trainer = *trainers_.at(pid);
  if (trainer.ended || trainer.frozen || trainer.samples >= trainer.until) return;
  trainer.stretch = std::min(trainer.report_every, trainer.until - trainer.samples);
  trainer.since = time_.now();
  const auto takes = static_cast<DurationNs>(static_cast<double>(trainer.stretch) / trainer.speed *
                                             static_cast<double>(kSecond));
  time_.after(std::max<DurationNs>(takes, kMicrosecond),
              [self = self_, pid, plan = ++trainer.plan] {
                if (*self == nullptr) return;
                const auto found = (*self)->trainers_.find(pid);
                if (found == (*self)->trainers_.end()) return;
                Trainer& me = *found->second;
                if (me.ended || me.plan != plan || me.stretch == 0) return;
                me.samples += me.stretch;
                me.stretch = 0;
                const bool done = me.planned != 0 && me.samples >= me.planned;
                if (!me.hung) {
                  (*self)->say(me, R"({"type":"progress","samples":)" + std::to_string(me.samples) +
                                       R"(,"loss":)" + (*self)->loss_of(me) + "}");
                  if (done) {
                    (*self)->say(me, R"({"type":"done","samples":)" + std::to_string(me.samples) +
                                         R"(,"loss":)" + (*self)->loss_of(me) + "}");
                    me.until = me.samples;
                  }
                }
                (*self)->work(pid);
              });
}

// What it did of the stretch under way counts.
void FakeTrainers::stop_working(Trainer& trainer) {
  if (trainer.stretch == 0) return;
  const double passed_s =
      static_cast<double>(time_.now() - trainer.since) / static_cast<double>(kSecond);
  trainer.samples +=
      std::min(trainer.stretch, static_cast<std::uint64_t>(passed_s * trainer.speed));
  trainer.stretch = 0;
  ++trainer.plan;
}

std::string FakeTrainers::loss_of(const Trainer& trainer) const {
  const double left = exact::exp(-static_cast<double>(trainer.samples) / trainer.scale);
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", trainer.end + (trainer.start - trainer.end) * left);
  return text;
}

void FakeTrainers::say(Trainer& trainer, const std::string& line) {
  if (!trainer.socket) return;
  const std::string with_end = line + "\n";
  // Little is under way at a time; a socket that is full or closed is the agent's affair.
  static_cast<void>(
      ::send(trainer.socket.get(), with_end.data(), with_end.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  if (poller_ != nullptr) poller_->touch();
}

void FakeTrainers::keep_checkpoint(Trainer& trainer) {
  checkpoints_[trainer.task] = trainer.samples;
}

void FakeTrainers::end(Trainer& trainer, int status) {
  if (trainer.ended) return;
  stop_working(trainer);
  trainer.ended = true;
  trainer.status = status;
  trainer.socket.reset();
  if (poller_ != nullptr) poller_->touch();
}

void FakeTrainers::signal_all(int pid, int signal) {
  const auto found = trainers_.find(pid);
  if (found == trainers_.end()) return;
  Trainer& trainer = *found->second;
  if (signal == SIGKILL || signal == SIGTERM) end(trainer, signal);
  if (signal == SIGSTOP && !trainer.frozen) {
    stop_working(trainer);
    trainer.frozen = true;
  }
  if (signal == SIGCONT && trainer.frozen) {
    trainer.frozen = false;
    work(pid);
  }
}

bool FakeTrainers::has_ended(int pid) {
  const auto found = trainers_.find(pid);
  return found != trainers_.end() && found->second->ended;
}

agent::Ending FakeTrainers::collect(int pid) {
  const auto found = trainers_.find(pid);
  if (found == trainers_.end()) return {};
  end(*found->second, SIGKILL);
  const int status = found->second->status;
  trainers_.erase(found);
  return {status, ""};
}

bool FakeTrainers::any_ended() const {
  return std::any_of(trainers_.begin(), trainers_.end(),
                     [](const auto& entry) { return entry.second->ended; });
}

bool FakeTrainers::any_working() const {
  return std::any_of(trainers_.begin(), trainers_.end(),
                     [](const auto& entry) { return entry.second->stretch > 0; });
}

std::vector<std::string> FakeTrainers::at_work() const {
  std::vector<std::string> out;
  for (const auto& [pid, trainer] : trainers_) {
    if (trainer->stretch > 0 && !trainer->frozen && !trainer->ended) out.push_back(trainer->task);
  }
  return out;
}

FakeTrainers::Trainer* FakeTrainers::some() {
  if (trainers_.empty()) return nullptr;
  auto at = trainers_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(chance_.below(trainers_.size())));
  return at->second.get();
}

void FakeTrainers::crash_one() {
  if (Trainer* trainer = some()) end(*trainer, SIGSEGV);
}

void FakeTrainers::hang_one() {
  if (Trainer* trainer = some()) {
    trainer->hung = true;
    stop_working(*trainer);
  }
}

}  // namespace laird::test
