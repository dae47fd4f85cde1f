#include "agent/trainer_host/trainer.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/core/state/limits.hpp"
#include "base/require.hpp"
#include "json/value.hpp"
#include "trainer_protocol/from_agent.hpp"

namespace laird::agent {
namespace {

// A trainer may make the agent read this much; beyond it waits in the kernel until the next refill,
// and so does the trainer.
constexpr std::size_t kBytesPerRefill = 16 * 1024;
constexpr DurationNs kRefillEvery = 250 * kMillisecond;
// Messages other than progress, in the same time; a trainer at work sends one or two.
constexpr int kMessagesPerRefill = 32;
constexpr std::size_t kOutgoingMax = 256 * 1024;
// A co-training task's trainer also says what is for other boards.
constexpr std::size_t kToPeersBytesPerRefill = 512 * 1024;
constexpr int kToPeersPerRefill = 256;
// Other boards' words leave room for the agent's own.
constexpr std::size_t kPeerOutgoingMax = kOutgoingMax - 16 * 1024;
constexpr std::size_t kLogLineMax = 2048;

static_assert(trainer_protocol::kSamplesMax == core::kSamplesMax);
static_assert(trainer_protocol::kNodeBytesMax == core::kNameBytesMax);

std::size_t line_max(bool in_fleet) {
  return in_fleet ? trainer_protocol::kToPeersLineMax : trainer_protocol::kLineToAgentMax;
}

}  // namespace

Trainer::Trainer(TrainerHost& host, core::ProcessRef process, core::TaskSpec spec, bool lines_only,
                 std::unique_ptr<Cgroup> group, Process handle, const std::string& log)
    : host_(host),
      ref_(process),
      spec_(std::move(spec)),
      in_fleet_(spec_.cotrain),
      lines_only_(lines_only),
      group_(std::move(group)),
      handle_(std::move(handle)),
      log_(log),
      lines_(line_max(in_fleet_), Overlong::kSkip),
      output_lines_(kLogLineMax, Overlong::kCut) {
  refill_allowance();
}

Trainer::~Trainer() {
  close_socket();
  close_output();
  if (refill_ != 0) host_.loop.cancel(refill_);
  stop_looking();
  if (group_ != nullptr) group_->kill_all();
}

void Trainer::leave_group() {
  if (group_ == nullptr) return;
  group_.reset();
  // What the group was told is told to the process.
  if (frozen_) host_.processes.signal_all(handle_.id, SIGSTOP);
}

void Trainer::begin(const std::string& folder, const std::string& warm) {
  folder_ = folder;
  // Runs of a recurring task share a log.
  if (!spec_.run_of.empty()) log_.write("laird: " + spec_.name + " begins\n");
  watch_output();
  if (group_ != nullptr && spec_.memory_bytes > 0) {
    static_cast<void>(group_->limit_memory(spec_.memory_bytes));
  }
  if (lines_only_) {
    close_socket();
    set_frozen(true);
    enter(LifeEvent::kReady);
    host_.emit(core::TrainerReady{ref_, 0, spec_.planned_samples});
    return;
  }
  watch_socket();
  Result<json::Value> params = json::parse(spec_.params, "params");
  send(line_of(trainer_protocol::Start{spec_.name, folder,
                                       params ? std::move(*params) : json::Value::object(),
                                       spec_.report_every, spec_.seed, 1, warm}));
}

void Trainer::run(const core::RunTrainer& command) {
  until_ = command.until;
  enter(LifeEvent::kGranted);
  pace_.granted(host_.loop.now(), samples_, until_);
  limit(command.cpu_milli);
  if (lines_only_) {
    set_frozen(false);
  } else {
    send(line_of(trainer_protocol::Run{until_}));
  }
}

void Trainer::limit(std::uint32_t cpu_milli) {
  if (group_ == nullptr || cpu_milli == cpu_milli_) return;
  cpu_milli_ = cpu_milli;
  static_cast<void>(group_->limit_cpu(cpu_milli_));
}

void Trainer::freeze_for_duty(bool frozen) {
  if (stage_ == LifeStage::kDying) return;  // a frozen process does not die
  duty_frozen_ = frozen;
  apply_frozen();
}

void Trainer::pause() {
  if (!lines_only_) {
    ask(line_of(trainer_protocol::Pause{}));
    return;
  }
  set_frozen(true);
  host_.emit(core::TrainerCheckpointed{ref_, 0});
}

void Trainer::checkpoint() {
  if (!lines_only_) ask(line_of(trainer_protocol::Checkpoint{}));
}

void Trainer::export_model() {
  if (lines_only_) return;
  export_asked_ = true;
  ask(line_of(
      trainer_protocol::Export{folder_ + "/" + std::string(trainer_protocol::kExportFile)}));
}

void Trainer::stop() {
  told_to_go_ = true;
  if (!lines_only_) {
    ask(line_of(trainer_protocol::Stop{}));
    return;
  }
  set_frozen(false);
  host_.processes.signal_all(handle_.id, SIGTERM);
}

void Trainer::kill() {
  told_to_go_ = true;
  enter(LifeEvent::kKilled);
  host_.processes.signal_all(handle_.id, SIGKILL);
  if (group_ != nullptr) group_->kill_all();
}

std::string Trainer::ended(const Ending& ending) {
  refill_at_ = kNever;
  bytes_left_ = 4 * kBytesPerRefill;
  if (handle_.socket) read_socket();
  bytes_left_ = 4 * kBytesPerRefill;
  for (std::size_t before = 0; handle_.output && before != bytes_left_;) {
    before = bytes_left_;
    read_output();
  }
  flush_progress();
  stop_looking();
  const int status = ending.status;
  const int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  const std::string why = ending.why.empty() ? why_ended(code) : ending.why;
  if (!why.empty()) host_.emit(core::TrainerFailed{ref_, core::clipped(why)});
  // The only way in which a trainer that just prints can say that its work is done.
  if (lines_only_ && code == 0) host_.emit(core::TrainerDone{ref_});
  host_.emit(core::TrainerExited{ref_, code});
  return why;
}

std::string Trainer::why_ended(std::int32_t code) const {
  if (told_to_go_ || (lines_only_ && code == 0)) return {};
  TrainerEnd end;
  end.code = code;
  end.memory_limit_bytes = spec_.memory_bytes;
  if (group_ != nullptr) end.memory = group_->memory_use();
  end.last_line = last_words_.line();
  return end_words(end);
}

void Trainer::tell(const std::string& line, bool may_drop) {
  if (lines_only_ || stage_ == LifeStage::kStarting || stage_ == LifeStage::kDying) return;
  if (may_drop && outgoing_.size() + line.size() > kPeerOutgoingMax) return;
  send(line);
}

void Trainer::close_socket() {
  if (!handle_.socket) return;
  host_.loop.forget(handle_.socket.get());
  socket_watched_ = 0;
  handle_.socket.reset();
}

void Trainer::close_output() {
  if (!handle_.output) return;
  host_.loop.forget(handle_.output.get());
  output_watched_ = 0;
  handle_.output.reset();
}

void Trainer::set_frozen(bool frozen) {
  grant_frozen_ = frozen;
  apply_frozen();
}

void Trainer::apply_frozen() {
  const bool frozen = grant_frozen_ || duty_frozen_;
  if (frozen == frozen_) return;
  frozen_ = frozen;
  if (group_ != nullptr && group_->freeze(frozen)) return;
  host_.processes.signal_all(handle_.id, frozen ? SIGSTOP : SIGCONT);
}

void Trainer::breach(const std::string& why) {
  close_socket();
  host_.emit(core::TrainerFailed{ref_, core::clipped(why)});
}

bool Trainer::said(LifeEvent event) {
  const std::optional<LifeStage> next = next_stage(stage_, event);
  if (!next) {
    breach("its trainer broke the protocol: it said \"" + std::string(name(event)) +
           (stage_ == LifeStage::kStarting ? "\" before it was ready"
                                           : "\" when it was ready already"));
    return false;
  }
  stage_ = *next;
  return true;
}

void Trainer::enter(LifeEvent event) {
  const std::optional<LifeStage> next = next_stage(stage_, event);
  LAIRD_REQUIRE(next.has_value(), "the agent tells a trainer only what its stage of life allows");
  stage_ = *next;
}

void Trainer::send(const std::string& line) {
  if (!handle_.socket) return;
  if (outgoing_.size() + line.size() > kOutgoingMax) {
    breach("its trainer does not read its commands");
    return;
  }
  outgoing_ += line;
  write_socket();
}

void Trainer::write_socket() {
  while (!outgoing_.empty()) {
    const ssize_t n = ::send(handle_.socket.get(), outgoing_.data(), outgoing_.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) break;
    outgoing_.erase(0, static_cast<std::size_t>(n));
  }
  watch_socket();
}

void Trainer::watch_socket() {
  if (!handle_.socket) return;
  const bool may_read = bytes_left_ > 0 && !on_rounds_;
  std::uint32_t events = may_read ? static_cast<std::uint32_t>(EPOLLIN) : 0u;
  if (!outgoing_.empty()) events |= EPOLLOUT;
  watch(handle_.socket.get(), socket_watched_, events,
        [this](std::uint32_t ready) { on_socket(ready); });
}

void Trainer::watch_output() {
  if (!handle_.output) return;
  watch(handle_.output.get(), output_watched_, bytes_left_ > 0 ? EPOLLIN : 0u,
        [this](std::uint32_t) { read_output(); });
}

void Trainer::watch(int fd, std::uint32_t& watched, std::uint32_t events, Loop::Ready ready) {
  if (events == watched) return;
  if (events == 0) {
    host_.loop.forget(fd);
  } else if (watched != 0) {
    host_.loop.change(fd, events);
  } else if (!host_.loop.watch(fd, events, std::move(ready))) {
    return;
  }
  watched = events;
}

void Trainer::on_socket(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) write_socket();
  if (handle_.socket && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_socket();
}

bool Trainer::read_some(Fd& fd, char* block, std::size_t size, std::size_t& got) {
  got = 0;
  const TimeNs now = host_.loop.now();
  if (now >= refill_at_) {
    refill_allowance();
    refill_at_ = now + kRefillEvery;
  }
  if (bytes_left_ == 0) return true;  // not the end: the other stream used up the allowance
  const ssize_t n = ::read(fd.get(), block, std::min(size, bytes_left_));
  if (n == 0) return false;
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  got = static_cast<std::size_t>(n);
  bytes_left_ -= got;
  return true;
}

void Trainer::refill_allowance() {
  bytes_left_ = in_fleet_ ? kToPeersBytesPerRefill : kBytesPerRefill;
  messages_left_ = kMessagesPerRefill;
  to_peers_left_ = kToPeersPerRefill;
}

void Trainer::await_refill() {
  watch_socket();
  watch_output();
  if (refill_ != 0) return;
  refill_ = host_.loop.at(refill_at_, [this] {
    refill_ = 0;
    refill_allowance();
    watch_socket();
    watch_output();
  });
}

void Trainer::ask(const std::string& line) {
  is_answering_ = true;
  on_rounds_ = false;
  send(line);
}

void Trainer::read_socket() {
  char block[4096];
  std::size_t got = 0;
  has_heard_ = false;
  do {
    if (!read_some(handle_.socket, block, sizeof block, got)) close_socket();
    lines_.feed(std::string_view(block, got), [this](std::string_view line) {
      if (!handle_.socket) return;
      const Result<TrainerMessage> message = trainer_protocol::parse_trainer_line(line);
      if (message) return on_message(*message);
      if (export_asked_ && trainer_protocol::parse_exported_line(line)) return on_exported(line);
      breach("its trainer broke the protocol: " + message.error().context);
    });
    if (handle_.socket && lines_.overlong() > 0) {  // without waiting for its newline
      breach("its trainer sent a line longer than " + std::to_string(line_max(in_fleet_)) +
             " bytes");
    }
    // Less than there was room for: nothing is left. If that was wrong, the loop says so.
  } while (got == sizeof block && handle_.socket && bytes_left_ > 0);
  settle();
  if (bytes_left_ == 0) await_refill();
}

void Trainer::on_message(const TrainerMessage& message) {
  using Type = TrainerMessage::Type;
  if (message.type == Type::kProgress) {
    on_progress(message);
    return;
  }
  if (message.type == Type::kToPeers) {
    on_to_peers(message);
    return;
  }
  if (--messages_left_ < 0) {
    breach("its trainer floods the agent with messages");
    return;
  }
  flush_progress();
  is_answering_ = false;
  switch (message.type) {
    case Type::kReady:
      if (!said(LifeEvent::kReady)) return;
      samples_ = message.samples;
      host_.emit(core::TrainerReady{ref_, message.samples, message.planned_samples});
      break;
    case Type::kCheckpointed:
      if (!said(LifeEvent::kCheckpointed)) return;
      host_.emit(core::TrainerCheckpointed{ref_, message.samples});
      break;
    case Type::kDone:
      if (!said(LifeEvent::kDone)) return;
      host_.emit(core::TrainerDone{ref_});
      break;
    case Type::kError: breach("its trainer reported: " + message.text); break;
    case Type::kYield: on_yield(message); break;
    case Type::kPromoted: on_promoted(message); break;
    case Type::kMeter: on_meter(); break;
    case Type::kGroup: on_group(message); break;
    case Type::kProgress:
    case Type::kToPeers: break;
  }
}

// Whether it went well is seen by who looks for the files; a problem stands in the task's log too.
void Trainer::on_exported(std::string_view line) {
  export_asked_ = false;
  const Result<trainer_protocol::Exported> exported = trainer_protocol::parse_exported_line(line);
  if (exported && !exported->problem.empty()) {
    log_.write("laird: no model was exported: " + core::clipped(exported->problem) + "\n");
  }
}

void Trainer::on_promoted(const TrainerMessage& message) {
  if (spec_.promotes.empty()) {
    breach("its trainer speaks of a promotion, but its task is none");
    return;
  }
  if (!said(LifeEvent::kDone)) return;
  const trainer_protocol::Promoted& told = message.promoted;
  core::Promotion out;
  out.choice = told.choice;
  out.agreement = told.agreement;
  out.latency_us_p50 = told.latency_us_p50;
  out.latency_us_p95 = told.latency_us_p95;
  out.latency_us_p99 = told.latency_us_p99;
  out.rows_per_s = told.rows_per_s;
  out.bytes = told.bytes;
  out.note = core::clipped(told.note);
  host_.emit(core::TrainerPromoted{ref_, std::move(out)});
}

void Trainer::on_meter() {
  if (spec_.promotes.empty()) {
    breach("its trainer asks for the meter, but its task is no promotion");
    return;
  }
  trainer_protocol::Metered told;
  told.problem = "nothing meters this board";
  if (host_.meter) told = host_.meter(ref_.key);
  send(line_of(told));
}

void Trainer::on_yield(const TrainerMessage& message) {
  if (!in_fleet_) {
    breach("its trainer gives its lane back, but its task is no co-training task");
    return;
  }
  const bool was_working = stage_ == LifeStage::kWorking;
  if (!said(LifeEvent::kYielded)) return;
  // Once a grant: what comes after it belongs to none.
  if (was_working) host_.emit(core::TrainerYielded{ref_, message.for_ns});
}

void Trainer::on_to_peers(const TrainerMessage& message) {
  if (!in_fleet_) {
    breach("its trainer speaks to other boards, but its task is no co-training task");
    return;
  }
  if (--to_peers_left_ < 0) {
    breach("its trainer floods the other boards with messages");
    return;
  }
  if (!said(LifeEvent::kSpokeToPeers)) return;
  if (host_.to_peers) host_.to_peers(ref_.key, message.to, message.bytes);
}

void Trainer::on_group(const TrainerMessage& message) {
  if (!in_fleet_) {
    breach("its trainer speaks of a group, but its task is no co-training task");
    return;
  }
  if (!said(LifeEvent::kSpokeToPeers)) return;
  if (host_.group) host_.group(ref_.key, message.group);
  if (message.group.note == group_note_) return;
  group_note_ = message.group.note;
  host_.emit(core::GroupNoted{ref_, core::clipped(group_note_)});
}

void Trainer::on_progress(const TrainerMessage& message) {
  // It may finish the batch that crosses the limit; whatever it counts after that it took.
  if (!lines_only_ && stage_ == LifeStage::kIdle && message.samples > samples_) {
    breach("its trainer goes on working without a grant");
    return;
  }
  const bool is_spent = stage_ == LifeStage::kWorking && message.samples >= until_;
  if (!said(is_spent ? LifeEvent::kGrantSpent : LifeEvent::kReported)) return;
  samples_ = message.samples;
  pending_ = message;
  has_pending_ = true;
  has_heard_ = true;
  if (!is_spent) return;
  on_rounds_ = false;
  flush_progress();
}

void Trainer::flush_progress() {
  if (!has_pending_) return;
  has_pending_ = false;
  const TimeNs now = host_.loop.now();
  pace_.heard(now, pending_.samples);
  pace_.went_on(now);
  if (lines_only_ && pending_.samples >= until_) set_frozen(true);
  host_.emit(core::TrainerProgressed{ref_, pending_.samples, pending_.loss});
}

void Trainer::settle() {
  const TimeNs now = host_.loop.now();
  if (has_pending_) pace_.heard(now, pending_.samples);
  if (has_pending_ && pace_.is_due(now)) {
    flush_progress();
  } else if (has_pending_ && !lines_only_ && !in_fleet_ && !is_answering_) {
    on_rounds_ = true;
  }
  if (!has_heard_) on_rounds_ = false;  // silent: whenever it speaks again will do
  stop_looking();
  const ReportPace::Look next = pace_.next_look(now, samples_);
  if (next.watch) on_rounds_ = false;
  if (has_pending_ || on_rounds_) {
    look_ = host_.loop.at(on_rounds_ ? next.at : pace_.due_at(), [this] { look(); });
  }
  watch_socket();
}

void Trainer::look() {
  look_ = 0;
  has_heard_ = false;
  if (on_rounds_ && handle_.socket) {
    read_socket();
  } else {
    settle();
  }
}

void Trainer::stop_looking() {
  if (look_ != 0) host_.loop.cancel(look_);
  look_ = 0;
}

void Trainer::read_output() {
  char block[4096];
  std::size_t got = 0;
  has_heard_ = false;
  if (!read_some(handle_.output, block, sizeof block, got)) {
    close_output();
    return;
  }
  log_.write(std::string_view(block, got));
  last_words_.add(std::string_view(block, got));
  if (lines_only_) {
    output_lines_.feed(std::string_view(block, got), [this](std::string_view line) {
      if (const auto progress = trainer_protocol::parse_progress_line(line)) on_message(*progress);
    });
  }
  if (lines_only_) settle();
  if (bytes_left_ == 0) await_refill();
}

}  // namespace laird::agent
