#include "trainers/average/average_session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "os/whole_file.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"
#include "trainers/average/averager.hpp"
#include "trainers/average/channels.hpp"
#include "trainers/model/checkpoint.hpp"
#include "trainers/model/group_words.hpp"
#include "trainers/session.hpp"

namespace laird::trainers {
namespace {

namespace protocol = trainer_protocol;
using json::Kind;
using json::Value;

static_assert(std::endian::native == std::endian::little, "tensors travel as little-endian floats");

constexpr DurationNs kYieldAfter = 30 * kMillisecond;
constexpr DurationNs kYieldMin = 20 * kMillisecond;
constexpr DurationNs kYieldMax = kSecond;
// The group's model is kept so often, and for each MB of it: large models must not wear a card out.
constexpr DurationNs kKeepEvery = 3 * kSecond;
constexpr DurationNs kTellGroupEvery = kSecond;
constexpr DurationNs kTellGroupAtOnce = 50 * kMillisecond;
constexpr DurationNs kLastWords = 5 * kSecond;
// The agent takes 2 MiB a second; what waits for it longer than this waits with its maker.
constexpr std::size_t kToAgentHigh = 1 << 20;
constexpr int kNotesMax = 100;
constexpr std::string_view kFolder = "/group";

TimeNs steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A whole number of the message, or 0.
std::int64_t count_of(const Value& message, std::string_view key) {
  const Value* v = message.find(key, Kind::kInteger);
  return v != nullptr ? std::max<std::int64_t>(v->as_integer(), 0) : 0;
}

double number_of(const Value& message, std::string_view key) {
  const Value* v = message.find(key);
  return v != nullptr && v->is_number() ? v->as_double() : 0.0;
}

class AverageSession {
 public:
  explicit AverageSession(int agent)
      : from_agent_(agent, protocol::kLineFromAgentMax), to_agent_(agent), to_trainer_(1) {
    for (const int fd : {0, 1}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    ::fcntl(agent, F_SETFL, ::fcntl(agent, F_GETFL) | O_NONBLOCK);
  }

  int run() {
    while (!exit_) {
      const TimeNs due = work();
      if (!exit_ && !(to_agent_.flush() && to_trainer_.flush())) exit_ = kExitAgentGone;
      if (!exit_) wait(due);
    }
    say_last_words();
    if (leaving_.joinable()) {
      // The next agent's trainer may be at work in the folder already.
      if (*exit_ == kExitAgentGone) std::_Exit(*exit_);
      leaving_.join();
      for (const std::string& problem : problems_) note(problem);
    }
    return *exit_;
  }

 private:
  // What the group asks for now; gives the time at which to look again.
  TimeNs work() {
    if (averager_ == nullptr) return kNever;
    const TimeNs now = steady_now();
    TimeNs due = now + kYieldMin;
    if (to_agent_.bytes() < kToAgentHigh) {
      due = averager_->tick(now);
      for (const consensus::ToPeer& message : averager_->take_outgoing()) {
        to_agent_.put(protocol::share_line(message.to, text(message.bytes)));
      }
    }
    finish_with_group();
    if (std::optional<Averaged> answer = averager_->take_answer()) send_answer(*answer);
    tell_group(false);
    keep_group(false);
    return std::min(due, yield_if_waiting(now));
  }

  void send_answer(const Averaged& answer) {
    const std::size_t bytes = answer.parameters.size() * sizeof(float);
    Value line = Value::object();
    line.set("type", "averaged").set("round", answer.round).set("finished", answer.finished);
    line.set("limit", limit_);
    if (const std::optional<double> loss = averager_->loss()) line.set("loss", *loss);
    line.set("bytes", bytes);
    std::string whole = json::to_text(line) + "\n";
    whole.append(reinterpret_cast<const char*>(answer.parameters.data()), bytes);
    to_trainer_.put(std::move(whole));
    waiting_since_ = kNever;
    yield_for_ = kYieldMin;
  }

  // A trainer that waits for other boards does not keep the lane from other tasks.
  TimeNs yield_if_waiting(TimeNs now) {
    const bool waits = averager_->is_asked() && samples_ < limit_ && !averager_->finished();
    if (!waits) {
      waiting_since_ = kNever;
      return kNever;
    }
    waiting_since_ = std::min(waiting_since_, now);
    if (now < waiting_since_ + kYieldAfter) return waiting_since_ + kYieldAfter;
    waiting_since_ = kNever;
    limit_ = 0;
    to_agent_.put(protocol::yield_line(yield_for_), true);
    yield_for_ = std::min(2 * yield_for_, kYieldMax);
    return kNever;
  }

  void wait(TimeNs due) {
    if (from_agent_.closed()) {
      exit_ = kExitAgentGone;
      return;
    }
    const auto wants = [](const Outbox& out) {
      return out.empty() ? short{0} : static_cast<short>(POLLOUT);
    };
    std::array<pollfd, 4> entries{
        // What came behind "start" waits for it.
        pollfd{averager_ != nullptr ? from_agent_.wake_fd() : -1, POLLIN, 0}, pollfd{0, POLLIN, 0},
        pollfd{to_agent_.fd(), wants(to_agent_), 0},
        pollfd{to_trainer_.empty() ? -1 : to_trainer_.fd(), wants(to_trainer_), 0}};
    const DurationNs left = std::clamp<DurationNs>(due - steady_now(), 0, kHour);
    const int wait_ms =
        due == kNever ? -1 : static_cast<int>((left + kMillisecond - 1) / kMillisecond);
    if (::poll(entries.data(), entries.size(), wait_ms) < 0 && errno != EINTR) {
      return leave_with_error("poll: " + std::string(std::strerror(errno)));
    }
    if (entries[0].revents != 0) hear_agent();
    if (!exit_ && entries[1].revents != 0) hear_trainer();
  }

  // From the agent.

  void hear_agent() {
    // In turns: the trainer is not to wait for a whole model.
    for (int k = 0; k < 64 && !exit_; ++k) {
      const std::optional<std::string> line = from_agent_.take();
      if (!line) break;
      take_from_agent(*line);
    }
    if (from_agent_.overlong()) {
      leave_with_error("a line from the agent is longer than " +
                       std::to_string(protocol::kLineFromAgentMax) + " bytes");
    }
  }

  void take_from_agent(const std::string& line) {
    const Result<protocol::FromAgent> message = protocol::parse_from_agent(line);
    if (message) {
      if (const auto* peers = std::get_if<protocol::Peers>(&*message)) {
        return averager_->set_peers(*peers);
      }
      if (const auto* peer = std::get_if<protocol::Peer>(&*message)) {
        if (const Status s = averager_->hear(peer->from, peer->bytes); !s) {
          note("from " + peer->from.substr(0, 40) + ": " + s.error().context);
        }
        return;
      }
      if (const auto* run = std::get_if<protocol::Run>(&*message)) limit_ = run->until;
      if (std::holds_alternative<protocol::Pause>(*message)) limit_ = 0;
      if (std::holds_alternative<protocol::Stop>(*message)) {
        to_trainer_.put(line + "\n");
        tell_group(true);
        return leave_files();
      }
    }
    to_trainer_.put(line + "\n");
  }

  // From the trainer.

  void hear_trainer() {
    for (int k = 0; k < 64 && !exit_; ++k) {
      std::array<char, 64 * 1024> block;
      const ssize_t n = ::read(0, block.data(), block.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n <= 0) {
        exit_ = kExitStopped;  // it has ended, and the agent sees how
        return;
      }
      take_block(std::string_view(block.data(), static_cast<std::size_t>(n)));
    }
  }

  void take_block(std::string_view block) {
    while (!block.empty() && !exit_) {
      if (awaited_ > 0) {
        const std::size_t part = std::min(awaited_ - raw_.size(), block.size());
        raw_.append(block.substr(0, part));
        block.remove_prefix(part);
        if (raw_.size() == awaited_) ask();
        continue;
      }
      const std::size_t end = block.find('\n');
      line_.append(block.substr(0, end));
      if (line_.size() > protocol::kLineFromAgentMax) {
        return leave_with_error("the trainer's line is longer than " +
                                std::to_string(protocol::kLineFromAgentMax) + " bytes");
      }
      if (end == std::string_view::npos) return;
      block.remove_prefix(end + 1);
      take_from_trainer(std::exchange(line_, {}));
    }
  }

  void take_from_trainer(const std::string& line) {
    if (averager_ == nullptr) return begin(line);
    const Result<protocol::TrainerMessage> message = protocol::parse_trainer_line(line);
    using Type = protocol::TrainerMessage::Type;
    if (!message) {
      Result<Value> value = json::parse(line, "trainer");
      const Value* type = value ? value->find("type", Kind::kString) : nullptr;
      if (type != nullptr && type->as_string() == "average") return begin_question(*value);
      return to_agent_.put(line + "\n", true);  // the agent says what is wrong with it
    }
    const double loss = averager_->loss().value_or(message->loss);
    if (message->type != Type::kError) samples_ = std::max(samples_, message->samples);
    switch (message->type) {
      case Type::kProgress:
        return to_agent_.put(protocol::progress_line(message->samples, loss), true);
      case Type::kDone:
        // Behind what other boards need of this one: the agent ends the task at this word.
        finish_with_group();
        return to_agent_.put(protocol::done_line(message->samples, loss));
      case Type::kReady: is_ready_ = true; [[fallthrough]];
      default: return to_agent_.put(line + "\n", true);
    }
  }

  // The agent's first message, which the trainer has read before it gave its socket away.
  void begin(const std::string& line) {
    const Result<protocol::FromAgent> message = protocol::parse_from_agent(line);
    const auto* start = message ? std::get_if<protocol::Start>(&*message) : nullptr;
    if (start == nullptr) return leave_with_error("the first line must be the agent's \"start\"");
    std::vector<config::Problem> problems;
    const AverageParams params = read_average(start->params, "params", problems);
    if (!problems.empty()) {
      std::string all;
      for (const config::Problem& p : problems) {
        all += (all.empty() ? "params: " : "; ") + p.path + ": " + p.what;
      }
      return leave_with_error(all);
    }
    averager_ = std::make_unique<Averager>(params);
    task_folder_ = start->folder;
    const std::string folder = task_folder_ + std::string(kFolder);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return leave_with_error(folder + ": " + std::strerror(errno));
    }
    kept_ = std::make_unique<CheckpointFolder>(folder);
    std::vector<std::string> passed_over;
    static_cast<void>(kept_->load(
        [this](std::string_view payload) { return averager_->restore(payload); }, passed_over));
    for (const std::string& why : passed_over) note(why);
    kept_at_ = steady_now();
  }

  void begin_question(const Value& message) {
    const std::int64_t bytes = count_of(message, "bytes");
    constexpr std::size_t kMax = consensus::kGroupDimensionMax * sizeof(float);
    if (bytes == 0 || bytes % 4 != 0 || static_cast<std::size_t>(bytes) > kMax) {
      return leave_with_error("average: \"bytes\" must be 4 for each of 1 to " +
                              std::to_string(consensus::kGroupDimensionMax) + " weights");
    }
    const Value* rows = message.find("rows");
    if (rows == nullptr || !rows->is_number()) {
      return leave_with_error("average: \"rows\" must be a number: how much the board counts");
    }
    asked_ = {};
    asked_.rows = rows->as_double();
    asked_.judged.loss = number_of(message, "loss");
    if (const Value* judged = message.find("judged", Kind::kObject)) {
      asked_.judged.held_rows =
          static_cast<std::uint32_t>(std::min<std::int64_t>(count_of(*judged, "rows"), UINT32_MAX));
      asked_.judged.held_right = static_cast<std::uint32_t>(
          std::min<std::int64_t>(count_of(*judged, "right"), asked_.judged.held_rows));
      asked_.judged.held_loss = number_of(*judged, "loss");
    }
    awaited_ = static_cast<std::size_t>(bytes);
    raw_.clear();
    raw_.reserve(awaited_);
  }

  void ask() {
    asked_.parameters.resize(awaited_ / sizeof(float));
    std::memcpy(asked_.parameters.data(), raw_.data(), awaited_);
    std::string().swap(raw_);
    awaited_ = 0;
    if (const Status s = averager_->ask(std::exchange(asked_, {})); !s) {
      leave_with_error(s.error().context);
    }
  }

  // The group.

  // The loss comes first, as it may be the target.
  void finish_with_group() {
    if (told_end_ || !is_ready_ || !averager_->finished()) return;
    told_end_ = true;
    tell_group(true);
    keep_group(true);
    if (const std::optional<double> loss = averager_->loss()) {
      to_agent_.put(protocol::progress_line(samples_, *loss));
    }
  }

  void tell_group(bool at_once) {
    const TimeNs now = steady_now();
    if (!is_ready_ || (!at_once && now - told_group_at_ < kTellGroupAtOnce)) return;
    std::optional<protocol::GroupStatus> group = averager_->group();
    if (!group || group == told_group_) return;
    const bool changed = !told_group_ || group->note != told_group_->note;
    if (!at_once && !changed && now - told_group_at_ < kTellGroupEvery) return;
    told_group_at_ = now;
    to_agent_.put(protocol::group_line(*group), true);
    told_group_ = std::move(group);
  }

  void keep_group(bool at_once) {
    const TimeNs now = steady_now();
    const std::uint32_t round = averager_->round();
    if (round == kept_round_ || leaving_.joinable()) return;
    if (!at_once && now - kept_at_ < kKeepEvery + kept_for_) return;
    kept_at_ = now;
    kept_round_ = round;
    const Bytes state = averager_->save();
    if (state.empty()) return;
    kept_for_ = static_cast<DurationNs>(state.size() >> 20) * kKeepEvery;
    if (const Status s = kept_->save(state); !s) {
      leave_with_error(s.error().context + "; make room or fix the task's folder");
    }
  }

  // A disk may take longer for a large model than the agent waits for the trainer to stop. So the
  // trainer hears it first, and its last words pass while a thread writes.
  void leave_files() {
    if (leaving_.joinable()) return;
    static_cast<void>(to_trainer_.flush());
    Bytes parcels = parcels_file(averager_->parcels());
    Bytes group = averager_->round() == kept_round_ ? Bytes() : averager_->save();
    leaving_ = std::thread([this, parcels = std::move(parcels), group = std::move(group)] {
      const std::string path = task_folder_ + "/" + std::string(protocol::kParcelsFile);
      const Status left = parcels.empty() ? Status() : write_whole_file(path, text(parcels));
      const Status kept = group.empty() ? Status() : kept_->save(group);
      for (const Status* s : {&left, &kept}) {
        if (!*s) problems_.push_back(s->error().context);
      }
    });
  }

  void note(const std::string& what) {
    if (notes_ >= kNotesMax) return;
    ++notes_;
    std::fprintf(stderr, "laird-train average: %s%s\n", what.c_str(),
                 notes_ == kNotesMax ? " (further notes are not shown)" : "");
  }

  void leave_with_error(const std::string& message) {
    note(message);
    to_agent_.put(protocol::error_line(message), true);
    exit_ = kExitError;
  }

  // What the trainer said before it ended still reaches the agent.
  void say_last_words() {
    const TimeNs until = steady_now() + kLastWords;
    while (exit_ != kExitAgentGone && !to_agent_.empty() && steady_now() < until) {
      if (!to_agent_.flush()) return;
      pollfd entry{to_agent_.fd(), POLLOUT, 0};
      static_cast<void>(::poll(&entry, 1, 100));
    }
  }

  LineInbox from_agent_;
  Outbox to_agent_;
  Outbox to_trainer_;
  std::optional<int> exit_;
  int notes_ = 0;
  std::unique_ptr<Averager> averager_;
  std::unique_ptr<CheckpointFolder> kept_;
  std::string task_folder_;
  std::string line_;         // of the trainer, not yet whole
  std::string raw_;          // numbers behind a question
  std::size_t awaited_ = 0;  // how many bytes of them
  LocalSteps asked_;
  std::uint64_t limit_ = 0;
  std::uint64_t samples_ = 0;  // as the trainer told
  bool is_ready_ = false;
  bool told_end_ = false;
  std::optional<protocol::GroupStatus> told_group_;
  TimeNs told_group_at_ = -kHour;
  TimeNs kept_at_ = 0;
  DurationNs kept_for_ = 0;
  std::uint32_t kept_round_ = 0;
  TimeNs waiting_since_ = kNever;
  DurationNs yield_for_ = kYieldMin;
  std::thread leaving_;                // writes the files that stay, after "stop"
  std::vector<std::string> problems_;  // it met; read when it has ended
};

}  // namespace

int run_average_session(int agent) {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  return AverageSession(agent).run();
}

}  // namespace laird::trainers
