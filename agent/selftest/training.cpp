// A training by a real agent in a folder of its own: a third of the time free, a third under a cap,
// a third free again. Its energy account is set against the meter, its model goes through TensorRT.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "agent/selftest/selftest.hpp"
#include "base/duration.hpp"
#include "os/child_process.hpp"
#include "os/fd.hpp"
#include "os/run_program.hpp"
#include "os/whole_file.hpp"
#include "power/model/meter.hpp"
#include "power/readers/open_reader.hpp"

namespace laird::agent::selftest {
namespace {

using json::Value;

constexpr const char* kTask = "selftest";
constexpr DurationNs kStartPatience = 30 * kSecond;
constexpr DurationNs kBuildPatience = 15 * kMinute;
constexpr DurationNs kIdle = 5 * kSecond;
constexpr std::size_t kAnswerMax = 1024 * 1024;
// Two integrals of the same meter, read at different moments.
constexpr double kEnergyTolerance = 0.03;
constexpr DurationNs kReadingPeriod = 500 * kMillisecond;
constexpr double kCapTolerance = 0.03;
// A cap can be judged when the training draws this much more than the idle board.
constexpr double kSpanMinMw = 400.0;

std::string text_of(double value, const char* unit) {
  char out[48];
  std::snprintf(out, sizeof out, "%.2f %s", value, unit);
  return out;
}

std::string end_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.size() > 300 ? text.substr(text.size() - 300) : text;
}

// Joules and the seconds they were counted over: the two counts begin and end with different
// readings.
struct Energy {
  double joules = 0;
  double seconds = 0;

  [[nodiscard]] double watts() const { return seconds > 0 ? joules / seconds : 0; }
};

Energy operator-(const Energy& a, const Energy& b) {
  return {a.joules - b.joules, a.seconds - b.seconds};
}

// The meter read by ourselves, beside the agent.
class OwnMeter {
 public:
  OwnMeter(const Options& options, const Board& board) {
    power::ReaderOptions wanted;
    wanted.root = options.root;
    wanted.program = options.tegrastats;
    Result<std::unique_ptr<power::Reader>> reader = power::open_reader(wanted, board.found.board);
    if (reader) reader_ = std::move(*reader);
  }
  void poll() {
    if (reader_ == nullptr) return;
    while (const std::optional<power::PowerReading> reading =
               reader_->poll(power::monotonic_now())) {
      if (!reading->total_mw) continue;
      const auto mw = static_cast<double>(*reading->total_mw);
      if (last_) {
        const double passed_s = static_cast<double>(reading->at - last_->first) / 1e9;
        energy_.joules += (last_->second + mw) / 2e3 * passed_s;
        energy_.seconds += passed_s;
      }
      last_ = {reading->at, mw};
      sum_mw_ += mw;
      ++count_;
    }
  }
  [[nodiscard]] bool works() const { return last_.has_value(); }
  [[nodiscard]] const Energy& energy() const { return energy_; }
  void forget_mean() { sum_mw_ = count_ = 0; }
  [[nodiscard]] double mean_mw() const { return count_ == 0 ? 0 : sum_mw_ / count_; }

 private:
  std::unique_ptr<power::Reader> reader_;
  std::optional<std::pair<TimeNs, double>> last_;
  Energy energy_;
  double sum_mw_ = 0;
  double count_ = 0;
};

class Agent {
 public:
  ~Agent() { stop(); }
  Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  [[nodiscard]] Status start(const std::string& folder, const Value& config) {
    socket_ = folder + "/state/laird.sock";
    const std::string path = folder + "/laird.json";
    LAIRD_TRY(write_whole_file(path, json::to_pretty_text(config)));
    log_ = Fd(::creat((folder + "/agent.log").c_str(), 0600));
    if (!log_) return fail_errno(errno, folder + "/agent.log");
    ChildSpec spec;
    spec.argv = {std::filesystem::read_symlink("/proc/self/exe").string(),
                 "run",
                 "--config",
                 path,
                 "--view",
                 "none"};
    spec.output = spec.error = log_.get();
    spec.own_session = true;
    spec.dies_with_parent = true;
    const Result<pid_t> pid = start_child(spec);
    LAIRD_TRY(pid);
    pid_ = *pid;
    return {};
  }
  // One request, one answer.
  [[nodiscard]] Result<Value> ask(const Value& request) const {
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (!fd || socket_.size() >= sizeof address.sun_path) {
      return fail(Code::kInvalid, "the socket's path is too long: " + socket_);
    }
    socket_.copy(address.sun_path, socket_.size());
    const timeval patience{10, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return fail_errno(errno, socket_);
    }
    const std::string line = json::to_text(request) + "\n";
    if (::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
      return fail_errno(errno, socket_);
    }
    std::string answer;
    for (char block[4096]; answer.empty() || answer.back() != '\n';) {
      const ssize_t n = ::recv(fd.get(), block, sizeof block, 0);
      if (n <= 0 || answer.size() > kAnswerMax) return fail(Code::kUnavailable, "no whole answer");
      answer.append(block, static_cast<std::size_t>(n));
    }
    return json::parse(answer, "the agent's answer");
  }
  [[nodiscard]] bool lives() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ > 0;
  }
  void stop() {
    if (!lives()) return;
    ::kill(pid_, SIGTERM);
    for (int i = 0; i < 200 && lives(); ++i) ::usleep(50'000);
    if (!lives()) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  std::string socket_;
  Fd log_;
  pid_t pid_ = -1;
};

Value config_for(const Options& options, const Board& board, const std::string& folder) {
  // What a board's GPU and memory are like is no matter here: a network that any of them can train.
  Value params = Value::object();
  params
      .set("data", Value::object()
                       .set("format", "synthetic")
                       .set("rows", 20000)
                       .set("features", 64)
                       .set("classes", 10))
      .set("hidden", Value::array().add(128))
      .set("epochs", 100000)
      .set("batch", 64);
  Value task = Value::object();
  task.set("name", kTask)
      .set("trainer", "mlp")
      .set("deadline", std::to_string(options.training / kSecond + 600) + "s")
      .set("target_loss", -1)
      .set("memory", "200MB")
      .set("report_every", 5000)
      .set("params", std::move(params));
  Value power = Value::object();
  power.set("source", "auto").set("every", std::to_string(kReadingPeriod / kMillisecond) + "ms");
  return Value::object()
      .set("node", "selftest-" + std::to_string(::getpid()))
      .set("state_dir", folder + "/state")
      .set("board", Value::object().set("name", board.found.board.name))
      .set("power", std::move(power))
      .set("tasks", Value::array().add(std::move(task)));
}

const Value* within(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* at = &value;
  for (const std::string_view key : path) {
    if (at == nullptr) return nullptr;
    at = at->find(key);
  }
  return at;
}

double number_at(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = within(value, path);
  return found != nullptr && found->is_number() ? found->as_double() : 0.0;
}

// The task's row of an answer.
const Value* task_row(const Value& answer) {
  const Value* tasks = answer.find("tasks", json::Kind::kArray);
  if (tasks == nullptr) return nullptr;
  for (const Value& row : tasks->items()) {
    const Value* name = row.find("name", json::Kind::kString);
    if (name != nullptr && name->as_string() == kTask) return &row;
  }
  return nullptr;
}

Value get(const char* what) { return Value::object().set("op", "get").set("what", what); }
Value cap(Value watts) { return Value::object().set("op", "cap").set("power_w", std::move(watts)); }

struct Phases {
  double idle_mw = 0;
  double free_mw = 0;
  double cap_mw = 0;  // 0: none was set
  double capped_mw = 0;
  Energy meter;    // as read here
  Energy account;  // as the agent counted it
  double samples = 0;
  double loss = 0;
};

class Training {
 public:
  Training(const Options& options, const Board& board, std::string folder)
      : options_(options), board_(board), folder_(std::move(folder)), meter_(options, board) {}

  [[nodiscard]] Status run() {
    pass(kIdle);
    seen_.idle_mw = meter_.mean_mw();
    LAIRD_TRY(agent_.start(folder_, config_for(options_, board_, folder_)));
    LAIRD_TRY(wait_for_samples());
    const Result<Energy> before = account();
    LAIRD_TRY(before);
    const Energy own_before = meter_.energy();
    // The trainer has warmed up by then.
    pass(options_.training / 6);
    meter_.forget_mean();
    pass(options_.training / 6);
    seen_.free_mw = meter_.mean_mw();
    LAIRD_TRY(capped_third());
    pass(options_.training / 3);
    const Result<Energy> after = account();
    LAIRD_TRY(after);
    seen_.meter = meter_.energy() - own_before;
    seen_.account = *after - *before;
    const Result<Value> last = agent_.ask(get("tasks"));
    LAIRD_TRY(last);
    if (const Value* row = task_row(*last)) {
      seen_.samples = number_at(*row, {"samples"});
      seen_.loss = number_at(*row, {"loss"});
    }
    agent_.stop();
    return {};
  }
  [[nodiscard]] const Phases& seen() const { return seen_; }
  [[nodiscard]] bool metered() const { return meter_.works(); }

 private:
  void pass(DurationNs time) {
    for (const TimeNs until = power::monotonic_now() + time; power::monotonic_now() < until;) {
      meter_.poll();
      ::usleep(50'000);
    }
  }
  // What the agent has counted so far.
  [[nodiscard]] Result<Energy> account() {
    const Result<Value> power = agent_.ask(get("power"));
    LAIRD_TRY(power);
    return Energy{number_at(*power, {"power", "energy_j"}),
                  number_at(*power, {"power", "metered_s"})};
  }
  [[nodiscard]] Status wait_for_samples() {
    for (const TimeNs until = power::monotonic_now() + kStartPatience;
         power::monotonic_now() < until && agent_.lives();) {
      pass(200 * kMillisecond);
      const Result<Value> tasks = agent_.ask(get("tasks"));
      if (!tasks) continue;
      const Value* row = task_row(*tasks);
      if (row != nullptr && number_at(*row, {"samples"}) > 0) return {};
    }
    return fail(Code::kUnavailable,
                "the training did not begin in 30 s: " + end_of(folder_ + "/agent.log"));
  }
  // Half-way between idle and free: a cap that the training must feel and can hold.
  [[nodiscard]] Status capped_third() {
    if (!metered() || seen_.free_mw - seen_.idle_mw < kSpanMinMw) {
      pass(options_.training / 3);
      return {};
    }
    seen_.cap_mw = (seen_.free_mw + seen_.idle_mw) / 2;
    const Result<Value> set = agent_.ask(cap(seen_.cap_mw / 1000));
    LAIRD_TRY(set);
    const Value* ok = set->find("ok", json::Kind::kBool);
    if (ok == nullptr || !ok->as_bool()) {
      return fail(Code::kRefused, "the agent refused a cap: " + json::to_text(*set));
    }
    pass(options_.training / 9);
    meter_.forget_mean();
    pass(options_.training * 2 / 9);
    seen_.capped_mw = meter_.mean_mw();
    const Result<Value> lifted = agent_.ask(cap(Value()));
    LAIRD_TRY(lifted);
    return {};
  }

  const Options& options_;
  const Board& board_;
  std::string folder_;
  OwnMeter meter_;
  Agent agent_;
  Phases seen_;
};

Finding judge_cap(const Phases& seen, bool metered) {
  if (!metered) return skipped("cap", "no power meter answers on this board");
  if (seen.cap_mw == 0) {
    return skipped("cap", "training drew " + text_of(seen.free_mw / 1000, "W") + ", idle " +
                              text_of(seen.idle_mw / 1000, "W") + ": too close to judge a cap by");
  }
  const std::string said = "under a cap of " + text_of(seen.cap_mw / 1000, "W") + " it drew " +
                           text_of(seen.capped_mw / 1000, "W") + " in the mean, free " +
                           text_of(seen.free_mw / 1000, "W");
  Finding out =
      seen.capped_mw <= seen.cap_mw * (1 + kCapTolerance)
          ? passed("cap", said)
          : failed("cap", said, "send the report: the governor's model of this board is off");
  out.measured.set("idle_mw", seen.idle_mw)
      .set("free_mw", seen.free_mw)
      .set("cap_mw", seen.cap_mw)
      .set("capped_mw", seen.capped_mw);
  return out;
}

Finding judge_energy(const Phases& seen, bool metered) {
  if (!metered || seen.meter.joules <= 0) {
    return skipped("energy", "no power meter answers on this board");
  }
  const std::string said = "the agent's account says " + text_of(seen.account.joules, "J") + " (" +
                           text_of(seen.account.watts(), "W") + "), the meter read beside it " +
                           text_of(seen.meter.joules, "J") + " (" +
                           text_of(seen.meter.watts(), "W") + ")";
  // Each side begins and ends with readings of its own: of the time between these two ends nobody
  // knows whether the board trained or rested.
  const double apart_s =
      std::abs(seen.account.seconds - seen.meter.seconds) + seconds(kReadingPeriod);
  const double span_w = std::max(seen.free_mw - seen.idle_mw, 0.0) / 1000;
  const double allowed_j = kEnergyTolerance * seen.meter.joules + apart_s * span_w;
  const double off_j = seen.account.watts() * seen.meter.seconds - seen.meter.joules;
  Finding out = std::abs(off_j) <= allowed_j ? passed("energy", said)
                                             : failed("energy", said, "send the report");
  out.measured.set("account_j", seen.account.joules)
      .set("account_s", seen.account.seconds)
      .set("meter_j", seen.meter.joules)
      .set("meter_s", seen.meter.seconds);
  return out;
}

Finding not_run(const std::string& check, const std::string& what, const Result<Ended>& ended) {
  if (!ended) return failed(check, what + ": " + ended.error().context, "");
  std::string words = ended->output;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  const std::size_t line = words.rfind('\n');
  return failed(check,
                what + (ended->timed_out ? " took longer than 15 minutes" : " failed") + ": " +
                    words.substr(line == std::string::npos ? 0 : line + 1),
                "");
}

// The model of the training becomes an engine, as a promotion would do it.
std::vector<Finding> check_tensorrt(const std::string& folder) {
  const std::string model = folder + "/model/model.onnx";
  std::error_code error;
  std::filesystem::create_directories(folder + "/model", error);
  const Result<Ended> exported = run_program(
      {program_beside("laird-train"), "export", folder + "/state/tasks/" + kTask, "-o", model},
      folder + "/export.log", kMinute);
  if (!exported || exported->code != 0) return {not_run("export", "laird-train export", exported)};
  std::vector<Finding> out = {passed("export", "the model is there as ONNX")};
  const Result<Ended> built =
      run_program({program_beside("laird-promote"), "build", model, "--out", folder + "/models"},
                  folder + "/promote.log", kBuildPatience);
  if (!built || built->code != 0) {
    out.push_back(not_run("tensorrt", "laird-promote build", built));
    return out;
  }
  std::string last = built->output;
  while (!last.empty() && last.back() == '\n') last.pop_back();
  const std::size_t line = last.rfind('\n');
  last = last.substr(line == std::string::npos ? 0 : line + 1);
  const bool without = last.find("no TensorRT") != std::string::npos;
  out.push_back(without ? skipped("tensorrt", last) : passed("tensorrt", last));
  out.back().measured.set("output", built->output);
  return out;
}

}  // namespace

std::vector<Finding> check_training(const Options& options, const Board& board,
                                    const std::string& folder) {
  Training training(options, board, folder);
  if (const Status done = training.run(); !done) {
    return {failed("training", done.error().context, "the agent's log is in the report")};
  }
  const Phases& seen = training.seen();
  char said[96];
  std::snprintf(said, sizeof said, "%.0f samples, loss %.4g", seen.samples, seen.loss);
  std::vector<Finding> out = {passed("training", said), judge_cap(seen, training.metered()),
                              judge_energy(seen, training.metered())};
  out.front().measured.set("samples", seen.samples).set("loss", seen.loss);
  for (Finding& finding : check_tensorrt(folder)) out.push_back(std::move(finding));
  return out;
}

}  // namespace laird::agent::selftest
