#include "agent/trainers/session.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "agent/trainers/checkpoint.hpp"
#include "agent/trainers/protocol.hpp"
#include "agent/trainers/training.hpp"

namespace laird::trainers {
namespace {

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

  // The next line; without `wait`, kNothing when none is there. The view is good until the next
  // call.
  [[nodiscard]] Got receive(bool wait, std::string_view& line) {
    for (;;) {
      if (const std::optional<std::string_view> next = lines_.next()) {
        line = *next;
        return Got::kLine;
      }
      if (lines_.overlong()) return Got::kOverlong;
      const auto [at, size] = lines_.space();
      const ssize_t n = ::recv(fd_, at, size, MSG_DONTWAIT);
      if (n > 0) {
        lines_.commit(static_cast<std::size_t>(n));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return Got::kClosed;
      if (!wait) return Got::kNothing;
      wait_for(POLLIN);
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
      wait_for(POLLOUT);
    }
    return true;
  }

 private:
  void wait_for(short events) const {
    pollfd entry{fd_, events, 0};
    (void)::poll(&entry, 1, -1);
  }

  int fd_;
  LineBuffer lines_;
};

class Session {
 public:
  Session(int fd, Kind kind) : socket_(fd), kind_(kind), notes_(kind) {}

  int run() {
    while (!exit_) {
      const bool work = training_ != nullptr && training_->may_advance(limit_);
      std::string_view line;
      switch (socket_.receive(!work, line)) {
        case Socket::Got::kLine: take(line); break;
        case Socket::Got::kClosed: return kExitAgentGone;
        case Socket::Got::kOverlong:
          leave_with_error("a line from the agent is longer than " +
                           std::to_string(kLineFromAgentMax) + " bytes");
          break;
        case Socket::Got::kNothing: advance(); break;
      }
    }
    return *exit_;
  }

 private:
  void send(const std::string& line) {
    if (!socket_.send(line)) exit_ = kExitAgentGone;
  }

  void leave_with_error(const std::string& message) {
    notes_.add(message);
    exit_ = kExitError;
    send(error_line(message));
  }

  void take(std::string_view line) {
    Result<Message> message = parse_message(line);
    if (!message) {
      const bool is_start = message.error().context.starts_with("start:");
      if (is_start && training_ == nullptr) return leave_with_error(message.error().context);
      return notes_.add("ignored a line from the agent: " + message.error().context);
    }
    if (auto* start = std::get_if<from_agent::Start>(&*message)) return begin(*start);
    if (training_ == nullptr) {
      return leave_with_error("the first message must be \"start\"");
    }
    if (const auto* run = std::get_if<from_agent::Run>(&*message)) return set_limit(run->until);
    if (std::holds_alternative<from_agent::Pause>(*message)) limit_ = 0;
    if (!write_checkpoint()) return;
    if (std::holds_alternative<from_agent::Stop>(*message) && !exit_) exit_ = kExitStopped;
  }

  void begin(const from_agent::Start& start) {
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
    Result<Training> made = Training::create(params, start.seed);
    if (!made) return leave_with_error(made.error().context);
    training_ = std::make_unique<Training>(std::move(*made));
    folder_ = std::make_unique<CheckpointFolder>(start.folder);
    report_every_ = start.report_every;
    std::vector<std::string> passed_over;
    const bool resumed = folder_->load(
        [this](std::string_view payload) { return training_->restore(payload); }, passed_over);
    for (const std::string& why : passed_over) notes_.add(why);
    if (!resumed && !passed_over.empty()) notes_.add("starting afresh");
    send(ready_line(training_->samples(), training_->loss(), resumed, training_->planned()));
    if (training_->finished()) finish();
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
    const bool at_limit = !training_->may_advance(limit_);
    if (at_limit || training_->unreported() >= report_every_) report();
    if (training_->finished()) finish();
  }

  void report() {
    const Report r = training_->take_report();
    send(progress_line(r.samples, r.loss));
  }

  void finish() { send(done_line(training_->samples(), training_->loss().value_or(0.0))); }

  [[nodiscard]] bool write_checkpoint() {
    if (const Status s = folder_->save(training_->save()); !s) {
      leave_with_error(s.error().context + "; make room or fix the task's folder");
      return false;
    }
    send(checkpointed_line(training_->samples(), training_->loss()));
    return true;
  }

  Socket socket_;
  Kind kind_;
  Notes notes_;
  std::optional<int> exit_;
  std::unique_ptr<Training> training_;
  std::unique_ptr<CheckpointFolder> folder_;
  std::uint64_t report_every_ = 1;
  std::uint64_t limit_ = 0;
};

}  // namespace

int run_session(int fd, Kind kind) { return Session(fd, kind).run(); }

}  // namespace laird::trainers
