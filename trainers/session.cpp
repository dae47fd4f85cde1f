#include "trainers/session.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "os/line_splitter.hpp"
#include "os/whole_file.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"
#include "trainers/export/export_model.hpp"
#include "trainers/model/checkpoint.hpp"
#include "trainers/model/cotrain.hpp"
#include "trainers/model/group_words.hpp"
#include "trainers/model/training.hpp"

namespace laird::trainers {
namespace {

namespace protocol = trainer_protocol;

TimeNs steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr DurationNs kYieldAfter = 30 * kMillisecond;  // a round's messages are usually faster
constexpr DurationNs kYieldMin = 20 * kMillisecond;
constexpr DurationNs kYieldMax = kSecond;  // doubled up to this while nothing comes
// What a group has done together is kept so often, whether the agent asks or not.
constexpr DurationNs kKeepEvery = 3 * kSecond;
constexpr DurationNs kTellGroupEvery = kSecond;
constexpr DurationNs kTellGroupAtOnce = 50 * kMillisecond;

// Notes on stderr end up in the agent's log: a peer that sends garbage must not fill it.
class Notes {
 public:
  explicit Notes(Kind kind) : kind_(kind) {}

  void add(const std::string& text) {
    if (count_ >= kMax) return;
    ++count_;
    std::fprintf(stderr, "laird-train %s: %s%s\n", std::string(name(kind_)).c_str(), text.c_str(),
                 count_ == kMax ? " (further notes are not shown)" : "");
  }

 private:
  static constexpr int kMax = 100;
  Kind kind_;
  int count_ = 0;
};

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}

  enum class Got : std::uint8_t { kLine, kNothing, kClosed, kOverlong };

  // The next line; kNothing when none comes until `until` (0: at once). The view is good until the
  // next call.
  [[nodiscard]] Got receive(TimeNs until, std::string_view& line) {
    for (;;) {
      const std::optional<std::string_view> next = lines_.next(left_);
      if (lines_.overlong() > 0) return Got::kOverlong;
      if (next) {
        line = *next;
        return Got::kLine;
      }
      const ssize_t n = ::recv(fd_, block_.data(), block_.size(), MSG_DONTWAIT);
      if (n > 0) {
        left_ = std::string_view(block_.data(), static_cast<std::size_t>(n));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return Got::kClosed;
      if (until <= steady_now()) return Got::kNothing;
      wait_for(POLLIN, until);
    }
  }

  // Waits for room: an agent that does not read holds its trainer back. False: the agent is gone.
  [[nodiscard]] bool send(std::string_view line) {
    while (!line.empty()) {
      const ssize_t n = ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        line.remove_prefix(static_cast<std::size_t>(n));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
      wait_for(POLLOUT, kNever);
    }
    return true;
  }

 private:
  void wait_for(short events, TimeNs until) const {
    pollfd entry{fd_, events, 0};
    const DurationNs left = std::min(until - steady_now(), kHour) / kMillisecond + 1;
    (void)::poll(&entry, 1, until == kNever ? -1 : static_cast<int>(std::max<DurationNs>(left, 0)));
  }

  int fd_;
  std::array<char, 16 * 1024> block_;
  std::string_view left_;  // what of the block is still to be cut into lines
  LineSplitter lines_{protocol::kLineFromAgentMax, Overlong::kSkip};
};

class Session {
 public:
  Session(int fd, Kind kind) : socket_(fd), kind_(kind), notes_(kind) {}

  int run() {
    while (!exit_) {
      TimeNs due = training_ == nullptr ? kNever : training_->tick(steady_now());
      send_shares();
      keep_group();
      if (exit_) break;
      const bool work = training_ != nullptr && training_->may_advance(limit_);
      due = std::min(due, yield_if_waiting(work));
      std::string_view line;
      switch (socket_.receive(work ? 0 : due, line)) {
        case Socket::Got::kLine: take(line); break;
        case Socket::Got::kClosed: return kExitAgentGone;
        case Socket::Got::kOverlong:
          leave_with_error("a line from the agent is longer than " +
                           std::to_string(protocol::kLineFromAgentMax) + " bytes");
          break;
        case Socket::Got::kNothing:
          if (work) advance();
          break;
      }
    }
    return *exit_;
  }

 private:
  void send(const std::string& line) {
    if (!socket_.send(line)) exit_ = kExitAgentGone;
  }

  // Whoever waits for other boards does not keep the lane from other tasks, nor use up what a power
  // cap leaves of it. Gives the time at which to look again.
  TimeNs yield_if_waiting(bool work) {
    const bool waits =
        !work && training_ != nullptr && training_->samples() < limit_ && !training_->finished();
    if (!waits) {
      if (work) yield_for_ = kYieldMin;
      waiting_since_ = kNever;
      return kNever;
    }
    const TimeNs now = steady_now();
    waiting_since_ = std::min(waiting_since_, now);
    if (now < waiting_since_ + kYieldAfter) return waiting_since_ + kYieldAfter;
    waiting_since_ = kNever;
    limit_ = 0;
    send(protocol::yield_line(yield_for_));
    yield_for_ = std::min(2 * yield_for_, kYieldMax);
    return kNever;
  }

  void send_shares() {
    if (training_ == nullptr) return;
    for (const Share& share : training_->take_shares())
      send(protocol::share_line(share.to, share.bytes));
  }

  void leave_with_error(const std::string& message) {
    notes_.add(message);
    exit_ = kExitError;
    send(protocol::error_line(message));
  }

  void take(std::string_view line) {
    Result<protocol::FromAgent> message = protocol::parse_from_agent(line);
    if (!message) {
      const bool is_start = message.error().context.starts_with("start:");
      if (is_start && training_ == nullptr) return leave_with_error(message.error().context);
      return notes_.add("ignored a line from the agent: " + message.error().context);
    }
    if (auto* start = std::get_if<protocol::Start>(&*message)) return begin(*start);
    if (training_ == nullptr) {
      return leave_with_error("the first message must be \"start\"");
    }
    if (const auto* run = std::get_if<protocol::Run>(&*message)) return set_limit(run->until);
    if (const auto* peers = std::get_if<protocol::Peers>(&*message)) return set_peers(*peers);
    if (const auto* peer = std::get_if<protocol::Peer>(&*message)) return hear(*peer);
    if (const auto* request = std::get_if<protocol::Export>(&*message)) return hand_over(*request);
    const bool pausing = std::holds_alternative<protocol::Pause>(*message);
    if (pausing) limit_ = 0;
    const bool stopping = std::holds_alternative<protocol::Stop>(*message);
    if (stopping && in_group_) tell_group(true);
    if (!write_checkpoint(pausing)) return;
    // Behind the checkpoint: on a slow disk the agent may not wait for it.
    if (stopping) leave_parcels();
    send(protocol::checkpointed_line(training_->samples(), training_->loss()));
    if (stopping && !exit_) exit_ = kExitStopped;
  }

  void hand_over(const protocol::Export& request) {
    const datasets::Dataset* held_out = training_->held_out_rows();
    const TrainingRun& run = *training_;
    const ExportSource source{.info = run.info(),
                              .read = [&run](std::uint64_t first, std::span<float> out) -> Status {
                                run.read_weights(first, out);
                                return {};
                              },
                              .task = task_,
                              .samples = run.samples(),
                              .loss = run.loss(),
                              .rows = held_out != nullptr ? held_out : &run.training_rows(),
                              .rows_from = held_out != nullptr ? "held-out" : "training"};
    const Result<Exported> done = export_model(source, {.path = request.path});
    protocol::Exported answer;
    answer.samples = run.samples();
    if (done) {
      for (const std::string& note : done->notes) notes_.add(note);
      answer.path = request.path;
      answer.sha256 = done->model.onnx.sha256;
      answer.bytes = done->model.onnx.bytes;
    } else {
      answer.problem = done.error().context;
      notes_.add("no model was exported: " + answer.problem);
    }
    send(protocol::exported_line(answer));
  }

  void set_peers(const protocol::Peers& peers) {
    if (const Status s = training_->set_peers(peers); !s) {
      return notes_.add("ignored a line from the agent: " + s.error().context);
    }
    if (in_group_) finish_with_group();
  }

  // The others' messages may have ended the run: the last loss first, it may be the target.
  void finish_with_group() {
    if (!training_->finished() || told_end_) return;
    told_end_ = true;
    tell_group(true);
    // What was done since the last report is not counted: there may be no grant to count it under.
    if (training_->loss()) send(protocol::progress_line(told_samples_, *training_->loss()));
    finish();
  }

  void keep_group() {
    if (training_ == nullptr || !in_group_) return;
    finish_with_group();
    tell_group(false);
    const TimeNs now = steady_now();
    if (now - kept_at_ < kKeepEvery || training_->finished()) return;
    kept_at_ = now;
    const Bytes state = training_->save();
    const std::uint64_t digest =
        digest_of({reinterpret_cast<const char*>(state.data()), state.size()});
    if (saved_ && *saved_ == digest) return;
    saved_ = digest;
    if (const Status s = folder_->save(state); !s) {
      leave_with_error(s.error().context + "; make room or fix the task's folder");
    }
  }

  // Who takes part is told when it changes; how far the group is, now and then.
  void tell_group(bool at_once) {
    const TimeNs now = steady_now();
    if (!at_once && now - told_group_at_ < kTellGroupAtOnce) return;
    std::optional<GroupStatus> group = training_->group();
    if (!group || group == told_group_) return;
    const bool changed = !told_group_ || group->note != told_group_->note;
    if (!at_once && !changed && now - told_group_at_ < kTellGroupEvery) return;
    // Whom a round waits for is worth a word only if it waits for long.
    told_group_at_ = now;
    send(protocol::group_line(*group));
    told_group_ = std::move(group);
  }

  void leave_parcels() {
    const std::vector<Bytes> parcels = training_->parcels();
    if (parcels.empty()) return;
    const Bytes file = parcels_file(parcels);
    const std::string path = task_folder_ + "/" + std::string(protocol::kParcelsFile);
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (const Status s = write_whole_file(path, text); !s) notes_.add(s.error().context);
  }

  void hear(const protocol::Peer& peer) {
    if (const Status s = training_->hear(peer.from, peer.bytes); !s) {
      notes_.add("from " + peer.from.substr(0, 40) + ": " + s.error().context);
    }
    if (in_group_) finish_with_group();
  }

  // A run by itself, or one with the other boards.
  [[nodiscard]] static Result<std::unique_ptr<TrainingRun>> make(const Params& params,
                                                                 const protocol::Start& start) {
    if (params.fleet) {
      Result<std::unique_ptr<CotrainRun>> made =
          CotrainRun::create(params, start.seed, start.folder);
      LAIRD_TRY(made);
      return std::unique_ptr<TrainingRun>(std::move(*made));
    }
    Result<Training> made = Training::create(params, start.seed);
    LAIRD_TRY(made);
    return std::unique_ptr<TrainingRun>(std::make_unique<Training>(std::move(*made)));
  }

  void begin(const protocol::Start& start) {
    if (training_ != nullptr) return notes_.add("ignored a second \"start\"");
    std::vector<config::Problem> problems;
    const Params params = read_params(kind_, start.params, "params", problems);
    if (!problems.empty()) {
      std::string all;
      for (const config::Problem& p : problems) {
        all += (all.empty() ? "params: " : "; ") + p.path + ": " + p.what;
      }
      return leave_with_error(all);
    }
    Result<std::unique_ptr<TrainingRun>> made = make(params, start);
    if (!made) return leave_with_error(made.error().context);
    training_ = std::move(*made);
    in_group_ = params.fleet.has_value();
    static_cast<void>(training_->tick(steady_now()));
    folder_ = std::make_unique<CheckpointFolder>(start.folder);
    task_folder_ = start.folder;
    report_every_ = start.report_every;
    task_ = start.task;
    std::vector<std::string> passed_over;
    const bool resumed = folder_->load(
        [this](std::string_view payload) { return training_->restore(payload); }, passed_over);
    for (const std::string& why : passed_over) notes_.add(why);
    if (!resumed && !passed_over.empty()) notes_.add("starting afresh");
    if (!resumed && !start.warm.empty()) begin_warm(start.warm);
    told_samples_ = training_->samples();
    send(protocol::ready_line(training_->samples(), training_->loss(), resumed,
                              training_->planned()));
    if (training_->finished()) finish();
  }

  void begin_warm(const std::string& folder) {
    std::vector<std::string> passed_over;
    const bool begun = CheckpointFolder(folder).load(
        [this](std::string_view payload) { return training_->begin_with(payload); }, passed_over);
    for (const std::string& why : passed_over) notes_.add(why);
    notes_.add(begun ? "begins with the model of the run before"
                     : "begins without the model of the run before");
  }

  void set_limit(std::uint64_t until) {
    limit_ = until;
    if (training_->finished()) return finish();
    // The agent waits for the end of a grant: say so also when it was reached before it came.
    if (training_->samples() >= limit_ && training_->loss()) report();
  }

  void advance() {
    if (const Status s = training_->advance(limit_); !s) {
      return leave_with_error(s.error().context);
    }
    // What was said before the report leaves before it: `done` may be the answer to the report.
    send_shares();
    const bool at_limit = training_->samples() >= limit_ || training_->finished();
    if (in_group_) tell_group(training_->finished());
    if (at_limit || training_->unreported() >= report_every_) report();
    if (!training_->finished()) return;
    told_end_ = true;
    finish();
  }

  void report() {
    const Report r = training_->take_report();
    told_samples_ = r.samples;
    send(protocol::progress_line(r.samples, r.loss));
  }

  void finish() {
    send(protocol::done_line(training_->samples(), training_->loss().value_or(0.0)));
  }

  // A run that waits for other boards is paused again and again with nothing new to keep.
  [[nodiscard]] bool write_checkpoint(bool unless_same) {
    const Bytes state = training_->save();
    const std::uint64_t digest =
        digest_of({reinterpret_cast<const char*>(state.data()), state.size()});
    if (unless_same && saved_ && *saved_ == digest) return true;
    saved_ = digest;
    if (const Status s = folder_->save(state); !s) {
      leave_with_error(s.error().context + "; make room or fix the task's folder");
      return false;
    }
    return true;
  }

  Socket socket_;
  Kind kind_;
  Notes notes_;
  std::optional<int> exit_;
  std::unique_ptr<TrainingRun> training_;
  std::optional<std::uint64_t> saved_;  // digest of the checkpoint on the disk
  std::unique_ptr<CheckpointFolder> folder_;
  std::string task_;
  std::string task_folder_;
  std::optional<GroupStatus> told_group_;
  TimeNs told_group_at_ = -kHour;
  TimeNs kept_at_ = 0;
  bool told_end_ = false;
  std::uint64_t told_samples_ = 0;
  bool in_group_ = false;
  std::uint64_t report_every_ = 1;
  std::uint64_t limit_ = 0;
  TimeNs waiting_since_ = kNever;  // with an allowance, for other boards
  DurationNs yield_for_ = kYieldMin;
};

}  // namespace

int run_session(int fd, Kind kind) { return Session(fd, kind).run(); }

}  // namespace laird::trainers
