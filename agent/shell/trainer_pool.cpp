#include "agent/shell/trainer_pool.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "agent/shell/bounded_log.hpp"
#include "agent/shell/fleet_task.hpp"
#include "agent/shell/line_buffer.hpp"
#include "agent/shell/process.hpp"
#include "agent/shell/trainer_message.hpp"

namespace laird::shell {
namespace {

// A trainer may make the agent read this much; beyond it waits in the kernel until the next refill,
// and so does the trainer.
constexpr std::size_t kBytesPerRefill = 16 * 1024;
constexpr DurationNs kRefillEvery = 250 * kMillisecond;
// Messages other than progress, in the same time; a trainer at work sends one or two.
constexpr int kMessagesPerRefill = 32;
constexpr std::size_t kOutgoingMax = 256 * 1024;
// A fleet task's trainer also says what is for other boards.
constexpr std::size_t kSharedBytesPerRefill = 512 * 1024;
constexpr int kSharesPerRefill = 256;
// Other boards' words leave room for the agent's own.
constexpr std::size_t kPeerOutgoingMax = kOutgoingMax - 16 * 1024;
constexpr std::size_t kLogLineMax = 2048;
// Reports closer together than this are merged into the later one before they reach the journal.
constexpr DurationNs kProgressEvery = 50 * kMillisecond;
// Of the freezer's duty cycle: shorter than any timeout, longer than a batch usually takes.
constexpr DurationNs kDutyPeriod = 100 * kMillisecond;

}  // namespace

class TrainerPool::Trainer {
 public:
  Trainer(TrainerPool& pool, core::ProcessRef process, core::TaskSpec spec, bool lines_only,
          std::unique_ptr<Cgroup> group, Process handle, const std::string& folder)
      : pool_(pool),
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

  ~Trainer() {
    close_socket();
    close_output();
    if (refill_ != 0) pool_.loop_.cancel(refill_);
    if (flush_ != 0) pool_.loop_.cancel(flush_);
    if (group_ != nullptr) group_->kill_all();
  }

  // Ends what the process started and left behind. Only while it is not reaped: until then its
  // number, which is also its group's, cannot belong to anybody else.
  void kill_group() { ::kill(-handle_.pid, SIGKILL); }

  void begin(const std::string& folder) {
    watch_output();
    if (group_ != nullptr && spec_.memory_bytes > 0) {
      static_cast<void>(group_->limit_memory(spec_.memory_bytes));
    }
    if (lines_only_) {
      close_socket();
      set_frozen(true);
      pool_.emit_(core::TrainerReady{ref_, 0, spec_.planned_samples});
      return;
    }
    watch_socket();
    send(start_line(spec_, folder, 1));
  }

  void run(const core::RunTrainer& command) {
    until_ = command.until;
    grant_reported_ = false;
    limit(command.cpu_milli);
    if (lines_only_) {
      set_frozen(false);
    } else {
      send(run_line(until_));
    }
  }

  void limit(std::uint32_t cpu_milli) {
    if (group_ == nullptr || cpu_milli == cpu_milli_) return;
    cpu_milli_ = cpu_milli;
    static_cast<void>(group_->limit_cpu(cpu_milli_));
  }

  // The part of the duty cycle in which nothing runs. One frozen between grants stays so.
  void freeze_for_duty(bool frozen) {
    if (dying_) return;  // a frozen process does not die
    duty_frozen_ = frozen;
    apply_frozen();
  }

  void pause() {
    if (!lines_only_) {
      send(plain_line("pause"));
      return;
    }
    set_frozen(true);
    pool_.emit_(core::TrainerCheckpointed{ref_, 0});
  }

  void checkpoint() {
    if (!lines_only_) send(plain_line("checkpoint"));
  }

  void stop() {
    if (!lines_only_) {
      send(plain_line("stop"));
      return;
    }
    set_frozen(false);
    ::kill(-handle_.pid, SIGTERM);
  }

  void kill() {
    dying_ = true;
    ::kill(-handle_.pid, SIGKILL);
    if (group_ != nullptr) group_->kill_all();
  }

  // The process is gone: read what it said last, then report its end.
  void ended(int wait_status) {
    bytes_left_ = 4 * kBytesPerRefill;
    if (handle_.socket) read_socket();
    bytes_left_ = 4 * kBytesPerRefill;
    for (std::size_t before = 0; handle_.output && before != bytes_left_;) {
      before = bytes_left_;
      read_output();
    }
    flush_progress();
    const int code = WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    // The only way in which a trainer that just prints can say that its work is done.
    if (lines_only_ && code == 0) pool_.emit_(core::TrainerDone{ref_});
    pool_.emit_(core::TrainerExited{ref_, code});
  }

  // Another board's word, for a trainer that is there to hear it.
  void tell(const std::string& line, bool may_drop) {
    if (lines_only_ || !is_ready_) return;
    if (may_drop && outgoing_.size() + line.size() > kPeerOutgoingMax) return;
    send(line);
  }

  [[nodiscard]] const core::ProcessRef& ref() const { return ref_; }
  [[nodiscard]] int pid() const { return handle_.pid; }
  void replace_by(const core::StartTrainer& next, core::TaskSpec spec) {
    next_start_ = next;
    next_spec_ = std::move(spec);
    has_next_ = true;
  }
  [[nodiscard]] bool has_next() const { return has_next_; }
  [[nodiscard]] const core::StartTrainer& next_start() const { return next_start_; }
  [[nodiscard]] const core::TaskSpec& next_spec() const { return next_spec_; }

 private:
  void close_socket() {
    if (!handle_.socket) return;
    pool_.loop_.forget(handle_.socket.get());
    socket_watched_ = false;
    handle_.socket.reset();
  }
  void close_output() {
    if (!handle_.output) return;
    pool_.loop_.forget(handle_.output.get());
    output_watched_ = false;
    handle_.output.reset();
  }

  void set_frozen(bool frozen) {
    grant_frozen_ = frozen;
    apply_frozen();
  }
  void apply_frozen() {
    const bool frozen = grant_frozen_ || duty_frozen_;
    if (frozen == frozen_) return;
    frozen_ = frozen;
    if (group_ != nullptr && group_->freeze(frozen)) return;
    ::kill(-handle_.pid, frozen ? SIGSTOP : SIGCONT);
  }

  void breach(const std::string& why) {
    close_socket();
    pool_.emit_(core::TrainerFailed{ref_, core::clipped(why)});
  }

  void send(const std::string& line) {
    if (!handle_.socket) return;
    if (outgoing_.size() + line.size() > kOutgoingMax) {
      breach("its trainer does not read its commands");
      return;
    }
    outgoing_ += line;
    write_socket();
  }

  void write_socket() {
    while (!outgoing_.empty()) {
      const ssize_t n = ::send(handle_.socket.get(), outgoing_.data(), outgoing_.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n <= 0) break;
      outgoing_.erase(0, static_cast<std::size_t>(n));
    }
    watch_socket();
  }

  void watch_socket() {
    if (!handle_.socket) return;
    std::uint32_t events = bytes_left_ > 0 ? static_cast<std::uint32_t>(EPOLLIN) : 0u;
    if (!outgoing_.empty()) events |= EPOLLOUT;
    watch(handle_.socket.get(), socket_watched_, events,
          [this](std::uint32_t ready) { on_socket(ready); });
  }

  void watch_output() {
    if (!handle_.output) return;
    watch(handle_.output.get(), output_watched_, bytes_left_ > 0 ? EPOLLIN : 0u,
          [this](std::uint32_t) { read_output(); });
  }

  // A descriptor nobody may read now is taken out of the loop: a hang-up cannot be masked, and
  // would be reported again and again until the next refill.
  void watch(int fd, bool& watched, std::uint32_t events, Loop::Ready ready) {
    if (events == 0) {
      pool_.loop_.forget(fd);
      watched = false;
    } else if (watched) {
      pool_.loop_.change(fd, events);
    } else {
      watched = pool_.loop_.watch(fd, events, std::move(ready)).has_value();
    }
  }

  void on_socket(std::uint32_t events) {
    if ((events & EPOLLOUT) != 0) write_socket();
    if (handle_.socket && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_socket();
  }

  // Reads within the allowance; false when the stream has ended.
  bool read_some(Fd& fd, char* block, std::size_t size, std::size_t& got) {
    got = 0;
    if (bytes_left_ == 0) return true;  // not the end: the other stream used up the allowance
    const ssize_t n = ::read(fd.get(), block, std::min(size, bytes_left_));
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    got = static_cast<std::size_t>(n);
    bytes_left_ -= got;
    if (refill_ == 0) {
      refill_ = pool_.loop_.after(kRefillEvery, [this] { refill(); });
    }
    return true;
  }

  void refill_allowance() {
    bytes_left_ = in_fleet_ ? kSharedBytesPerRefill : kBytesPerRefill;
    messages_left_ = kMessagesPerRefill;
    shares_left_ = kSharesPerRefill;
  }

  void refill() {
    refill_ = 0;
    refill_allowance();
    watch_socket();
    watch_output();
  }

  void read_socket() {
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

  void on_message(const TrainerMessage& message) {
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
        pool_.emit_(core::TrainerReady{ref_, message.samples, message.planned_samples});
        break;
      case Type::kCheckpointed:
        pool_.emit_(core::TrainerCheckpointed{ref_, message.samples});
        break;
      case Type::kDone: pool_.emit_(core::TrainerDone{ref_}); break;
      case Type::kError: breach("its trainer reported: " + message.text); break;
      case Type::kYield: on_yield(message); break;
      case Type::kProgress:
      case Type::kShare: break;
    }
  }

  // Once a grant: what comes after it belongs to none.
  void on_yield(const TrainerMessage& message) {
    if (!in_fleet_) {
      breach("its trainer gives its lane back, but its task is no fleet task");
      return;
    }
    if (grant_reported_) return;
    grant_reported_ = true;
    pool_.emit_(core::TrainerYielded{ref_, message.for_ns});
  }

  void on_share(const TrainerMessage& message) {
    if (!in_fleet_) {
      breach("its trainer speaks to other boards, but its task is no fleet task");
      return;
    }
    if (--shares_left_ < 0) {
      breach("its trainer floods the other boards with messages");
      return;
    }
    if (pool_.shared_) pool_.shared_(ref_.key, message.to, message.bytes);
  }

  // The end of a grant goes through at once; other reports at most every kProgressEvery.
  void on_progress(const TrainerMessage& message) {
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
      flush_ = pool_.loop_.after(progress_at_ + kProgressEvery - now, [this] {
        flush_ = 0;
        flush_progress();
      });
    }
  }

  void flush_progress() {
    if (!has_pending_) return;
    has_pending_ = false;
    progress_at_ = boot_now_ns();
    if (flush_ != 0) {
      pool_.loop_.cancel(flush_);
      flush_ = 0;
    }
    if (lines_only_ && pending_.samples >= until_) set_frozen(true);
    pool_.emit_(core::TrainerProgressed{ref_, pending_.samples, pending_.loss});
  }

  void read_output() {
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

  TrainerPool& pool_;
  core::ProcessRef ref_;
  core::TaskSpec spec_;
  bool in_fleet_;
  bool lines_only_;
  std::unique_ptr<Cgroup> group_;
  Process handle_;
  BoundedLog log_;
  LineBuffer lines_;
  LineBuffer output_lines_{kLogLineMax};
  std::string outgoing_;
  bool socket_watched_ = false;
  bool output_watched_ = false;
  std::size_t bytes_left_ = kBytesPerRefill;
  int messages_left_ = kMessagesPerRefill;
  int shares_left_ = kSharesPerRefill;
  Loop::TimerId refill_ = 0;
  Loop::TimerId flush_ = 0;
  std::uint64_t until_ = 0;
  bool grant_reported_ = true;  // the end of the grant has gone through
  bool is_ready_ = false;       // it said so itself: never of one that only prints
  std::uint64_t samples_ = 0;
  std::uint32_t cpu_milli_ = 0;
  bool grant_frozen_ = false;  // one that only prints, between its grants
  bool duty_frozen_ = false;
  bool frozen_ = false;
  bool dying_ = false;
  TrainerMessage pending_;
  bool has_pending_ = false;
  TimeNs progress_at_ = 0;
  // A start that has to wait until this process is gone.
  bool has_next_ = false;
  core::StartTrainer next_start_;
  core::TaskSpec next_spec_;
};

TrainerPool::TrainerPool(Loop& loop, std::map<std::string, TrainerProgram> programs,
                         std::string tasks_folder, CgroupTree* groups, Emit emit, Log log)
    : loop_(loop),
      programs_(std::move(programs)),
      tasks_folder_(std::move(tasks_folder)),
      groups_(groups),
      emit_(std::move(emit)),
      log_(std::move(log)) {}

TrainerPool::~TrainerPool() {
  if (duty_timer_ != 0) loop_.cancel(duty_timer_);
  kill_everything();
}

TrainerPool::Trainer* TrainerPool::find(const core::ProcessRef& process) {
  for (auto& [pid, trainer] : running_) {
    if (trainer->ref().key == process.key && trainer->ref().attempt == process.attempt) {
      return trainer.get();
    }
  }
  return nullptr;
}

void TrainerPool::start(const core::StartTrainer& command, const core::TaskSpec& spec) {
  // An earlier process of the task may still be dying: two must never write one checkpoint.
  for (auto& [pid, trainer] : running_) {
    if (trainer->ref().key != command.key) continue;
    trainer->kill();
    trainer->replace_by(command, spec);
    return;
  }
  start_now(command, spec);
}

void TrainerPool::start_now(const core::StartTrainer& command, const core::TaskSpec& spec) {
  const auto refuse = [&](const std::string& why) {
    emit_(core::TrainerFailed{core::ProcessRef{command.key, command.attempt}, core::clipped(why)});
  };
  const auto program = programs_.find(spec.trainer);
  if (program == programs_.end()) {
    refuse("trainer '" + spec.trainer + "' is no longer on the allow-list");
    return;
  }
  const std::string folder = tasks_folder_ + "/" + spec.name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    refuse("cannot create " + folder + ": " + error.message());
    return;
  }
  std::unique_ptr<Cgroup> group = groups_ == nullptr ? nullptr : groups_->create(spec.name);
  ProcessSpec process;
  process.argv = program->second.argv;
  process.env = program->second.env;
  process.folder = folder;
  process.memory_bytes = spec.memory_bytes;
  Result<Process> started = start_process(process, group.get());
  if (!started) {
    refuse(started.error().context);
    return;
  }
  // Outside its group it is held by signals, like on a board without groups.
  if (!started->in_group) group.reset();
  const int pid = started->pid;
  auto trainer = std::make_unique<Trainer>(*this, core::ProcessRef{command.key, command.attempt},
                                           spec, program->second.lines_only, std::move(group),
                                           std::move(*started), folder);
  Trainer& running = *trainer;
  running_.emplace(pid, std::move(trainer));
  log_("task " + spec.name + ": started " + process.argv[0] + " as process " + std::to_string(pid) +
       ", attempt " + std::to_string(command.attempt));
  running.begin(folder);
}

void TrainerPool::run(const core::RunTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->run(command);
}
void TrainerPool::pause(const core::PauseTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->pause();
}
void TrainerPool::checkpoint(const core::CheckpointTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->checkpoint();
}
void TrainerPool::stop(const core::StopTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->stop();
}
void TrainerPool::kill(const core::KillTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->kill();
}

void TrainerPool::limit(const core::LimitTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->limit(command.cpu_milli);
}

void TrainerPool::tell(core::TaskKey key, const std::string& line, bool may_drop) {
  for (auto& [pid, trainer] : running_) {
    if (trainer->ref().key == key) trainer->tell(line, may_drop);
  }
}

void TrainerPool::set_duty(const core::SetFreezerDuty& command) {
  run_permille_ = std::clamp(command.run_permille, 0, power::kLevelFull);
  if (run_permille_ < power::kLevelFull && duty_timer_ == 0) turn_duty();
}

// One half of the cycle ends and the other begins; with nothing to hold back it stays thawed.
void TrainerPool::turn_duty() {
  duty_timer_ = 0;
  const bool full = run_permille_ >= power::kLevelFull;
  duty_frozen_ = !full && !duty_frozen_;
  for (auto& [pid, trainer] : running_) trainer->freeze_for_duty(duty_frozen_);
  if (full) return;
  const std::int32_t part = duty_frozen_ ? power::kLevelFull - run_permille_ : run_permille_;
  duty_timer_ = loop_.after(std::max(kMillisecond, kDutyPeriod / power::kLevelFull * part),
                            [this] { turn_duty(); });
}

void TrainerPool::reap() {
  // Each known child on its own: waiting for "any" would steal children of other parts.
  for (auto at = running_.begin(); at != running_.end();) {
    siginfo_t info{};
    const int seen =
        ::waitid(P_PID, static_cast<id_t>(at->first), &info, WEXITED | WNOHANG | WNOWAIT);
    if (seen != 0 || info.si_pid != at->first) {
      ++at;
      continue;
    }
    at->second->kill_group();
    int status = 0;
    ::waitpid(at->first, &status, 0);
    std::unique_ptr<Trainer> gone = std::move(at->second);
    at = running_.erase(at);
    gone->ended(status);
    const bool has_next = gone->has_next();
    const core::StartTrainer next = gone->next_start();
    const core::TaskSpec spec = gone->next_spec();
    gone.reset();
    if (has_next) {
      start_now(next, spec);
      at = running_.begin();
    }
  }
}

void TrainerPool::kill_everything() {
  for (auto& [pid, trainer] : running_) trainer->kill();
  for (auto& [pid, trainer] : running_) ::waitpid(pid, nullptr, 0);
  running_.clear();
}

}  // namespace laird::shell
