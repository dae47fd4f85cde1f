#include "agent/shell/trainer_process.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/shell/fleet_task.hpp"

namespace laird::shell {
namespace {

constexpr DurationNs kRefillEvery = 250 * kMillisecond;
constexpr std::size_t kOutgoingMax = 256 * 1024;
// A fleet task's trainer also says what is for other boards.
constexpr std::size_t kSharedBytesPerRefill = 512 * 1024;
// Other boards' words leave room for the agent's own.
constexpr std::size_t kPeerOutgoingMax = kOutgoingMax - 16 * 1024;
// Reports closer together than this are merged into the later one before they reach the journal.
constexpr DurationNs kProgressEvery = 50 * kMillisecond;

}  // namespace

TrainerProcess::TrainerProcess(TrainerHands hands, core::ProcessRef process, core::TaskSpec spec,
                               bool lines_only, std::unique_ptr<Cgroup> group, Process handle,
                               const std::string& folder)
    : hands_(std::move(hands)),
      ref_(process),
      spec_(std::move(spec)),
      in_fleet_(is_fleet_task(spec_)),
      lines_only_(lines_only),
      group_(std::move(group)),
      handle_(std::move(handle)),
      log_(folder + "/trainer.log"),
      lines_(in_fleet_ ? kShareLineMax : kTrainerLineMax) {
  refill_allowance();
}

TrainerProcess::~TrainerProcess() {
  close_socket();
  close_output();
  if (refill_ != 0) hands_.loop.cancel(refill_);
  if (flush_ != 0) hands_.loop.cancel(flush_);
  if (group_ != nullptr) group_->kill_all();
}

void TrainerProcess::kill_group() { ::kill(-handle_.pid, SIGKILL); }

void TrainerProcess::begin(const std::string& folder) {
  watch_output();
  if (group_ != nullptr && spec_.memory_bytes > 0) {
    static_cast<void>(group_->limit_memory(spec_.memory_bytes));
  }
  if (lines_only_) {
    close_socket();
    set_frozen(true);
    hands_.emit(core::TrainerReady{ref_, 0, spec_.planned_samples});
    return;
  }
  watch_socket();
  send(start_line(spec_, folder, 1));
}

void TrainerProcess::run(const core::RunTrainer& command) {
  until_ = command.until;
  grant_reported_ = false;
  limit(command.cpu_milli);
  if (lines_only_) {
    set_frozen(false);
  } else {
    send(run_line(until_));
  }
}

void TrainerProcess::limit(std::uint32_t cpu_milli) {
  if (group_ == nullptr || cpu_milli == cpu_milli_) return;
  cpu_milli_ = cpu_milli;
  static_cast<void>(group_->limit_cpu(cpu_milli_));
}

void TrainerProcess::freeze_for_duty(bool frozen) {
  if (dying_) return;  // a frozen process does not die
  duty_frozen_ = frozen;
  apply_frozen();
}

void TrainerProcess::pause() {
  if (!lines_only_) {
    send(plain_line("pause"));
    return;
  }
  set_frozen(true);
  hands_.emit(core::TrainerCheckpointed{ref_, 0});
}

void TrainerProcess::checkpoint() {
  if (!lines_only_) send(plain_line("checkpoint"));
}

void TrainerProcess::stop() {
  if (!lines_only_) {
    send(plain_line("stop"));
    return;
  }
  set_frozen(false);
  ::kill(-handle_.pid, SIGTERM);
}

void TrainerProcess::kill() {
  dying_ = true;
  ::kill(-handle_.pid, SIGKILL);
  if (group_ != nullptr) group_->kill_all();
}

void TrainerProcess::ended(int wait_status) {
  bytes_left_ = 4 * kTrainerBytesPerRefill;
  if (handle_.socket) read_socket();
  bytes_left_ = 4 * kTrainerBytesPerRefill;
  for (std::size_t before = 0; handle_.output && before != bytes_left_;) {
    before = bytes_left_;
    read_output();
  }
  flush_progress();
  const int code = WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  // The only way in which a trainer that just prints can say that its work is done.
  if (lines_only_ && code == 0) hands_.emit(core::TrainerDone{ref_});
  hands_.emit(core::TrainerExited{ref_, code});
}

void TrainerProcess::tell(const std::string& line, bool may_drop) {
  if (lines_only_ || !is_ready_) return;
  if (may_drop && outgoing_.size() + line.size() > kPeerOutgoingMax) return;
  send(line);
}

void TrainerProcess::replace_by(const core::StartTrainer& next, core::TaskSpec spec) {
  next_start_ = next;
  next_spec_ = std::move(spec);
  has_next_ = true;
}

void TrainerProcess::close_socket() {
  if (!handle_.socket) return;
  hands_.loop.forget(handle_.socket.get());
  socket_watched_ = false;
  handle_.socket.reset();
}

void TrainerProcess::close_output() {
  if (!handle_.output) return;
  hands_.loop.forget(handle_.output.get());
  output_watched_ = false;
  handle_.output.reset();
}

void TrainerProcess::set_frozen(bool frozen) {
  grant_frozen_ = frozen;
  apply_frozen();
}

void TrainerProcess::apply_frozen() {
  const bool frozen = grant_frozen_ || duty_frozen_;
  if (frozen == frozen_) return;
  frozen_ = frozen;
  if (group_ != nullptr && group_->freeze(frozen)) return;
  ::kill(-handle_.pid, frozen ? SIGSTOP : SIGCONT);
}

void TrainerProcess::breach(const std::string& why) {
  close_socket();
  hands_.emit(core::TrainerFailed{ref_, core::clipped(why)});
}

void TrainerProcess::send(const std::string& line) {
  if (!handle_.socket) return;
  if (outgoing_.size() + line.size() > kOutgoingMax) {
    breach("its trainer does not read its commands");
    return;
  }
  outgoing_ += line;
  write_socket();
}

void TrainerProcess::write_socket() {
  while (!outgoing_.empty()) {
    const ssize_t n = ::send(handle_.socket.get(), outgoing_.data(), outgoing_.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) break;
    outgoing_.erase(0, static_cast<std::size_t>(n));
  }
  watch_socket();
}

void TrainerProcess::watch_socket() {
  if (!handle_.socket) return;
  std::uint32_t events = bytes_left_ > 0 ? static_cast<std::uint32_t>(EPOLLIN) : 0u;
  if (!outgoing_.empty()) events |= EPOLLOUT;
  watch(handle_.socket.get(), socket_watched_, events,
        [this](std::uint32_t ready) { on_socket(ready); });
}

void TrainerProcess::watch_output() {
  if (!handle_.output) return;
  watch(handle_.output.get(), output_watched_, bytes_left_ > 0 ? EPOLLIN : 0u,
        [this](std::uint32_t) { read_output(); });
}

void TrainerProcess::watch(int fd, bool& watched, std::uint32_t events, Loop::Ready ready) {
  if (events == 0) {
    hands_.loop.forget(fd);
    watched = false;
  } else if (watched) {
    hands_.loop.change(fd, events);
  } else {
    watched = hands_.loop.watch(fd, events, std::move(ready)).has_value();
  }
}

void TrainerProcess::on_socket(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) write_socket();
  if (handle_.socket && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_socket();
}

bool TrainerProcess::read_some(Fd& fd, char* block, std::size_t size, std::size_t& got) {
  got = 0;
  if (bytes_left_ == 0) return true;  // not the end: the other stream used up the allowance
  const ssize_t n = ::read(fd.get(), block, std::min(size, bytes_left_));
  if (n == 0) return false;
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  got = static_cast<std::size_t>(n);
  bytes_left_ -= got;
  if (refill_ == 0) {
    refill_ = hands_.loop.after(kRefillEvery, [this] { refill(); });
  }
  return true;
}

void TrainerProcess::refill_allowance() {
  bytes_left_ = in_fleet_ ? kSharedBytesPerRefill : kTrainerBytesPerRefill;
  messages_left_ = kTrainerMessagesPerRefill;
  shares_left_ = kTrainerSharesPerRefill;
}

void TrainerProcess::refill() {
  refill_ = 0;
  refill_allowance();
  watch_socket();
  watch_output();
}

void TrainerProcess::read_socket() {
  char block[4096];
  std::size_t got = 0;
  do {
    if (!read_some(handle_.socket, block, sizeof block, got)) {
      close_socket();
      return;
    }
    lines_.feed(std::string_view(block, got), [this](std::string_view line, bool overlong) {
      if (!handle_.socket || overlong) return;
      const Result<TrainerMessage> message = parse_trainer_line(line);
      if (message) return on_message(*message);
      breach("its trainer broke the protocol: " + message.error().context);
    });
    if (handle_.socket && lines_.overlong() > 0) {  // without waiting for its newline
      breach("its trainer sent a line longer than " +
             std::to_string(in_fleet_ ? kShareLineMax : kTrainerLineMax) + " bytes");
    }
  } while (got > 0 && handle_.socket && bytes_left_ > 0);
  if (bytes_left_ == 0) watch_socket();
}

void TrainerProcess::on_message(const TrainerMessage& message) {
  using Type = TrainerMessage::Type;
  if (message.type == Type::kProgress) {
    on_progress(message);
    return;
  }
  if (message.type == Type::kShare) {
    on_share(message);
    return;
  }
  if (--messages_left_ < 0) {
    breach("its trainer floods the agent with messages");
    return;
  }
  flush_progress();
  switch (message.type) {
    case Type::kReady:
      is_ready_ = true;
      samples_ = message.samples;
      hands_.emit(core::TrainerReady{ref_, message.samples, message.planned_samples});
      break;
    case Type::kCheckpointed: hands_.emit(core::TrainerCheckpointed{ref_, message.samples}); break;
    case Type::kDone: hands_.emit(core::TrainerDone{ref_}); break;
    case Type::kError: breach("its trainer reported: " + message.text); break;
    case Type::kYield: on_yield(message); break;
    case Type::kProgress:
    case Type::kShare: break;
  }
}

void TrainerProcess::on_yield(const TrainerMessage& message) {
  if (!in_fleet_) {
    breach("its trainer gives its lane back, but its task is no fleet task");
    return;
  }
  if (grant_reported_) return;
  grant_reported_ = true;
  hands_.emit(core::TrainerYielded{ref_, message.for_ns});
}

void TrainerProcess::on_share(const TrainerMessage& message) {
  if (!in_fleet_) {
    breach("its trainer speaks to other boards, but its task is no fleet task");
    return;
  }
  if (--shares_left_ < 0) {
    breach("its trainer floods the other boards with messages");
    return;
  }
  if (hands_.share) hands_.share(ref_.key, message.to, message.bytes);
}

void TrainerProcess::on_progress(const TrainerMessage& message) {
  // It may finish the batch that crosses the limit; whatever it counts after that it took.
  if (is_ready_ && grant_reported_ && message.samples > samples_) {
    breach("its trainer goes on working without a grant");
    return;
  }
  samples_ = message.samples;
  pending_ = message;
  has_pending_ = true;
  const TimeNs now = boot_now_ns();
  const bool ends_grant = message.samples >= until_ && !grant_reported_;
  if (ends_grant || now - progress_at_ >= kProgressEvery) {
    grant_reported_ = message.samples >= until_;
    flush_progress();
    return;
  }
  if (flush_ == 0) {
    flush_ = hands_.loop.after(progress_at_ + kProgressEvery - now, [this] {
      flush_ = 0;
      flush_progress();
    });
  }
}

void TrainerProcess::flush_progress() {
  if (!has_pending_) return;
  has_pending_ = false;
  progress_at_ = boot_now_ns();
  if (flush_ != 0) {
    hands_.loop.cancel(flush_);
    flush_ = 0;
  }
  if (lines_only_ && pending_.samples >= until_) set_frozen(true);
  hands_.emit(core::TrainerProgressed{ref_, pending_.samples, pending_.loss});
}

void TrainerProcess::read_output() {
  char block[4096];
  std::size_t got = 0;
  if (!read_some(handle_.output, block, sizeof block, got)) {
    close_output();
    return;
  }
  log_.write(std::string_view(block, got));
  if (lines_only_) {
    output_lines_.feed(std::string_view(block, got), [this](std::string_view line, bool) {
      if (const auto progress = parse_progress_line(line)) on_message(*progress);
    });
  }
  if (bytes_left_ == 0) watch_output();
}

}  // namespace laird::shell
