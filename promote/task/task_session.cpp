#include "promote/task/task_session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "config/schema.hpp"
#include "models/model_file.hpp"
#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/fd.hpp"
#include "os/line_splitter.hpp"
#include "promote/shelf/shelf.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::promote {
namespace {

namespace protocol = trainer_protocol;
using json::Kind;
using json::Value;

constexpr int kExitStopped = 0;
constexpr int kExitError = 1;
constexpr int kExitAgentGone = 3;
constexpr DurationNs kSampleNs = 10 * kMillisecond;
constexpr std::size_t kWordsMax = 1024;
// A promotion has no loss: what is reported is not positive, so that nobody forecasts it.
constexpr double kNoLoss = 0.0;

// The processes that do the work, one after the other, each a session of its own.
class Worker {
 public:
  explicit Worker(std::vector<std::vector<std::string>> jobs) : jobs_(std::move(jobs)) {}
  ~Worker() { end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Status let_run(bool run) {
    if (run && pid_ <= 0) return start();
    if (pid_ > 0) ::kill(-pid_, run ? SIGCONT : SIGSTOP);
    return {};
  }

  // Whether the job has asked for the board's meter since it was last looked.
  [[nodiscard]] bool asks_meter() {
    std::array<char, 256> block{};
    if (!meter_) return false;
    const ssize_t n = ::recv(meter_.get(), block.data(), block.size(), MSG_DONTWAIT);
    return n > 0 && std::find(block.begin(), block.begin() + n, '\n') != block.begin() + n;
  }
  void tell_meter(const protocol::Metered& metered) {
    const std::string line = line_of(metered);
    if (meter_) static_cast<void>(!::send(meter_.get(), line.data(), line.size(), MSG_NOSIGNAL));
  }

  // True when all is done. What a job printed last is the error of one that failed.
  Result<bool> look() {
    if (pid_ <= 0) return next_ >= jobs_.size();
    listen();
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    ::kill(-pid_, SIGKILL);
    pid_ = -1;
    listen();
    output_.reset();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      if (WIFSIGNALED(status))
        words_ += "; it was ended by signal " + std::to_string(WTERMSIG(status));
      return fail(Code::kUnavailable, words_.empty() ? "it ended without a word" : words_);
    }
    if (next_ >= jobs_.size()) return true;
    LAIRD_TRY(start());
    return false;
  }

 private:
  Status start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "pipe");
    output_ = Fd(ends[0]);
    const Fd theirs(ends[1]);
    ChildSpec spec;
    spec.argv = jobs_[next_++];
    spec.output = ChildSpec::kInherit;
    spec.error = theirs.get();
    int meter[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, meter) != 0) {
      return fail_errno(errno, "socketpair");
    }
    meter_ = Fd(meter[0]);
    const Fd meter_theirs(meter[1]);
    spec.input = meter_theirs.get();
    spec.own_session = true;
    spec.dies_with_parent = true;
    const Result<pid_t> pid = start_child(spec);
    LAIRD_TRY(pid);
    pid_ = *pid;
    words_.clear();
    return {};
  }

  void listen() {
    std::array<char, 4096> block;
    for (;;) {
      const ssize_t n = output_ ? ::read(output_.get(), block.data(), block.size()) : 0;
      if (n <= 0) break;
      const std::string_view got(block.data(), static_cast<std::size_t>(n));
      std::fwrite(got.data(), 1, got.size(), stderr);
      lines_.feed(got, [this](std::string_view line) {
        if (!line.empty()) words_ = line;
      });
    }
  }

  void end() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  std::vector<std::vector<std::string>> jobs_;
  std::size_t next_ = 0;
  pid_t pid_ = -1;
  Fd output_;
  Fd meter_;
  LineSplitter lines_{kWordsMax, Overlong::kCut};
  std::string words_;
};

double number_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found != nullptr && found->is_number() ? found->as_double() : 0.0;
}

std::string text_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key, Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

// What the current version of a shelf is like, from its promoted.json.
Result<protocol::Promoted> summary_of(const std::string& shelf) {
  const std::optional<std::string> current = current_of(shelf);
  if (!current) return fail(Code::kNotFound, "nothing stands in " + shelf);
  const Result<Value> about = promoted_of(shelf, *current);
  LAIRD_TRY(about);
  protocol::Promoted out;
  out.choice = text_in(*about, "choice");
  out.note = text_in(*about, "reason");
  std::uint64_t model_bytes = 0;
  if (const Value* files = about->find("files", Kind::kArray)) {
    for (const Value& file : files->items()) {
      const auto bytes = static_cast<std::uint64_t>(number_in(file, "bytes"));
      if (text_in(file, "file") == "engine") out.bytes = bytes;
      if (text_in(file, "file") == protocol::kExportFile) model_bytes = bytes;
    }
  }
  if (out.bytes == 0) out.bytes = model_bytes;
  const Value* attempts = about->find("attempts", Kind::kArray);
  if (attempts == nullptr) return out;
  for (const Value& attempt : attempts->items()) {
    if (text_in(attempt, "precision") != out.choice) continue;
    if (const Value* verdict = attempt.find("verdict", Kind::kObject)) {
      out.agreement = number_in(*verdict, "agreement");
    }
    const Value* timings = attempt.find("timings", Kind::kArray);
    if (timings == nullptr || timings->items().empty()) continue;
    const Value& first = timings->items().front();
    out.latency_us_p50 = number_in(first, "latency_us_p50");
    out.latency_us_p95 = number_in(first, "latency_us_p95");
    out.latency_us_p99 = number_in(first, "latency_us_p99");
    for (const Value& timing : timings->items()) {
      out.rows_per_s = std::max(out.rows_per_s, number_in(timing, "rows_per_s"));
    }
  }
  return out;
}

// The samples of the model that was exported into the folder; nothing if there is none.
std::optional<std::uint64_t> exported_samples(const std::string& folder) {
  const std::string path = folder + "/model.json";
  const Result<std::string> text = config::read_file(path, models::kModelJsonBytesMax);
  if (!text) return std::nullopt;
  const Result<models::Model> model = models::parse_model(*text, path);
  if (!model || model->onnx.file != protocol::kExportFile) return std::nullopt;
  return model->samples;
}

class TaskSession {
 public:
  TaskSession(int fd, const TaskOptions& options) : fd_(fd), options_(options) {}

  int run() {
    while (!exit_) {
      pollfd entry{fd_, POLLIN, 0};
      const int ready =
          ::poll(&entry, 1, is_running_ ? static_cast<int>(kSampleNs / kMillisecond) : -1);
      if (ready < 0 && errno != EINTR) return kExitAgentGone;
      if (ready > 0) receive();
      if (!exit_ && is_running_) work();
    }
    return *exit_;
  }

 private:
  void send(const std::string& line) {
    std::string_view left = line;
    while (!left.empty()) {
      const ssize_t n = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        exit_ = kExitAgentGone;
        return;
      }
      left.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void leave_with_error(const std::string& why) {
    std::fprintf(stderr, "laird-promote: %s\n", why.c_str());
    send(protocol::error_line(why));
    exit_ = kExitError;
  }

  void receive() {
    std::array<char, 16 * 1024> block;
    const ssize_t n = ::recv(fd_, block.data(), block.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) exit_ = kExitAgentGone;
    if (n <= 0) return;
    lines_.feed(std::string_view(block.data(), static_cast<std::size_t>(n)),
                [this](std::string_view line) {
                  if (!exit_) take(line);
                });
  }

  void take(std::string_view line) {
    const Result<protocol::FromAgent> message = protocol::parse_from_agent(line);
    if (!message) {
      if (worker_ == nullptr && folder_.empty()) leave_with_error(message.error().context);
      return;
    }
    if (const auto* start = std::get_if<protocol::Start>(&*message)) return begin(*start);
    if (folder_.empty()) return leave_with_error("the first message must be \"start\"");
    if (const auto* run = std::get_if<protocol::Run>(&*message)) return grant(run->until);
    if (const auto* metered = std::get_if<protocol::Metered>(&*message)) {
      if (worker_ != nullptr) worker_->tell_meter(*metered);
      return;
    }
    const bool stops = std::holds_alternative<protocol::Stop>(*message);
    if (stops || std::holds_alternative<protocol::Pause>(*message)) hold();
    // A build that is cut short begins again; engines that are done already are in the cache.
    const bool checkpoint = std::holds_alternative<protocol::Checkpoint>(*message);
    if (stops || checkpoint || std::holds_alternative<protocol::Pause>(*message)) {
      send(protocol::checkpointed_line(0, std::nullopt));
    }
    if (stops && !exit_) {
      worker_.reset();
      exit_ = kExitStopped;
    }
  }

  void begin(const protocol::Start& start) {
    folder_ = start.folder;
    report_every_ = std::max<std::uint64_t>(1, start.report_every);
    const std::string model = folder_ + "/" + std::string(protocol::kExportFile);
    const auto wanted =
        static_cast<std::uint64_t>(std::max(0.0, number_in(start.params, "samples")));
    wanted_samples_ = wanted;
    std::vector<std::vector<std::string>> jobs;
    // The agent or its board went down before the trainer had written its model: what its
    // checkpoint has is the next best, for the trainers of ours that leave one.
    // A trainer that went on until it heard has more samples than it had at its target.
    const std::optional<std::uint64_t> has = exported_samples(folder_);
    if (!has || *has < wanted) {
      const std::string beside = options_.program.substr(0, options_.program.rfind('/') + 1);
      jobs.push_back({beside + "laird-train", "export", folder_, "-o", model});
    }
    jobs.push_back(build_job(model, start.params));
    worker_ = std::make_unique<Worker>(std::move(jobs));
    send(protocol::ready_line(0, std::nullopt, false, std::nullopt));
  }

  [[nodiscard]] std::vector<std::string> build_job(const std::string& model,
                                                   const Value& params) const {
    std::vector<std::string> out = {options_.program, "build", model,
                                    "--out",          shelf(), "--metered"};
    out.insert(out.end(), options_.build.begin(), options_.build.end());
    const Value* limits = params.find("limits", Kind::kObject);
    if (limits == nullptr) return out;
    for (const auto& [key, flag] : {std::pair("agreement_min", "--agreement-min"),
                                    std::pair("loss_change_max", "--loss-change-max")}) {
      const Value* number = limits->find(key);
      if (number == nullptr || !number->is_number()) continue;
      out.insert(out.end(), {flag, json::to_text(*number)});
    }
    std::string precisions;
    if (const Value* list = limits->find("precisions", Kind::kArray)) {
      for (const Value& item : list->items()) {
        if (!item.is(Kind::kString)) continue;
        precisions += (precisions.empty() ? "" : ",") + item.as_string();
      }
    }
    if (!precisions.empty()) out.insert(out.end(), {"--precisions", precisions});
    return out;
  }

  void grant(std::uint64_t until) {
    limit_ = until;
    if (samples_ >= limit_) return report();
    if (is_running_) return;
    if (const Status s = worker_->let_run(true); !s) return leave_with_error(s.error().context);
    is_running_ = true;
    counted_at_ = clock_.boot_ns();
  }

  void hold() {
    if (!is_running_) return;
    is_running_ = false;
    static_cast<void>(worker_->let_run(false));
  }

  void work() {
    const TimeNs now = clock_.boot_ns();
    const auto passed = static_cast<std::uint64_t>((now - counted_at_) / kSampleNs);
    counted_at_ += static_cast<DurationNs>(passed) * kSampleNs;
    samples_ = std::min(samples_ + passed, limit_);
    if (worker_->asks_meter()) send(protocol::meter_line());
    const Result<bool> done = worker_->look();
    if (!done) return leave_with_error(done.error().context);
    if (*done) return finish();
    if (samples_ >= limit_) hold();
    if (samples_ >= limit_ || samples_ - reported_ >= report_every_) report();
  }

  void report() {
    reported_ = samples_;
    send(protocol::progress_line(samples_, kNoLoss));
  }

  void finish() {
    is_running_ = false;
    Result<protocol::Promoted> out = summary_of(shelf());
    if (!out) return leave_with_error(out.error().context);
    const std::optional<std::uint64_t> has = exported_samples(folder_);
    if (has && *has < wanted_samples_) {
      out->note = "the model is of a checkpoint at " + std::to_string(*has) + " samples, of " +
                  std::to_string(wanted_samples_) + ": the board went down before it was written" +
                  (out->note.empty() ? "" : "; " + out->note);
    }
    send(protocol::promoted_line(samples_, *out));
  }

  [[nodiscard]] std::string shelf() const { return folder_ + "/promoted"; }

  int fd_;
  const TaskOptions& options_;
  SystemClock clock_;
  LineSplitter lines_{protocol::kLineFromAgentMax, Overlong::kSkip};
  std::optional<int> exit_;
  std::string folder_;
  std::unique_ptr<Worker> worker_;
  std::uint64_t wanted_samples_ = 0;
  std::uint64_t report_every_ = 1;
  std::uint64_t limit_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t reported_ = 0;
  bool is_running_ = false;
  TimeNs counted_at_ = 0;
};

}  // namespace

int run_task(int fd, const TaskOptions& options) { return TaskSession(fd, options).run(); }

}  // namespace laird::promote
