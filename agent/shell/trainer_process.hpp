// One trainer: its process, socket, output and control group, from its start to its end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/core/command.hpp"
#include "agent/core/event.hpp"
#include "agent/core/task.hpp"
#include "agent/shell/bounded_log.hpp"
#include "agent/shell/cgroup.hpp"
#include "agent/shell/line_buffer.hpp"
#include "agent/shell/loop.hpp"
#include "agent/shell/process.hpp"
#include "agent/shell/trainer_message.hpp"

namespace laird::shell {

// A trainer may make the agent read this much; beyond it waits in the kernel until the next refill,
// and so does the trainer.
inline constexpr std::size_t kTrainerBytesPerRefill = 16 * 1024;
// Messages other than progress, in the same time; a trainer at work sends one or two.
inline constexpr int kTrainerMessagesPerRefill = 32;
inline constexpr int kTrainerSharesPerRefill = 256;
inline constexpr std::size_t kTrainerLogLineMax = 2048;

// What a trainer needs of whoever keeps it.
struct TrainerHands {
  Loop& loop;
  std::function<void(core::EventBody)> emit;
  // To one board, or with an empty name to all neighbours.
  std::function<void(core::TaskKey key, const std::string& to, std::string_view bytes)> share;
};

class TrainerProcess {
 public:
  TrainerProcess(TrainerHands hands, core::ProcessRef process, core::TaskSpec spec, bool lines_only,
                 std::unique_ptr<Cgroup> group, Process handle, const std::string& folder);
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;
  ~TrainerProcess();

  // Ends what the process started and left behind. Only while it is not reaped: until then its
  // number, which is also its group's, cannot belong to anybody else.
  void kill_group();
  void begin(const std::string& folder);
  void run(const core::RunTrainer& command);
  void limit(std::uint32_t cpu_milli);

  // The part of the duty cycle in which nothing runs. One frozen between grants stays so.
  void freeze_for_duty(bool frozen);
  void pause();
  void checkpoint();
  void stop();
  void kill();

  // The process is gone: read what it said last, then report its end.
  void ended(int wait_status);

  // Another board's word, for a trainer that is there to hear it.
  void tell(const std::string& line, bool may_drop);

  [[nodiscard]] const core::ProcessRef& ref() const { return ref_; }
  void replace_by(const core::StartTrainer& next, core::TaskSpec spec);
  [[nodiscard]] bool has_next() const { return has_next_; }
  [[nodiscard]] const core::StartTrainer& next_start() const { return next_start_; }
  [[nodiscard]] const core::TaskSpec& next_spec() const { return next_spec_; }

 private:
  void close_socket();
  void close_output();
  void set_frozen(bool frozen);
  void apply_frozen();
  void breach(const std::string& why);
  void send(const std::string& line);
  void write_socket();
  void watch_socket();
  void watch_output();

  // A descriptor nobody may read now is taken out of the loop: a hang-up cannot be masked, and
  // would be reported again and again until the next refill.
  void watch(int fd, bool& watched, std::uint32_t events, Loop::Ready ready);
  void on_socket(std::uint32_t events);

  // Reads within the allowance; false when the stream has ended.
  bool read_some(Fd& fd, char* block, std::size_t size, std::size_t& got);
  void refill_allowance();
  void refill();
  void read_socket();
  void on_message(const TrainerMessage& message);

  // Once a grant: what comes after it belongs to none.
  void on_yield(const TrainerMessage& message);
  void on_share(const TrainerMessage& message);

  // The end of a grant goes through at once; other reports at most every kProgressEvery.
  void on_progress(const TrainerMessage& message);
  void flush_progress();
  void read_output();

  TrainerHands hands_;
  core::ProcessRef ref_;
  core::TaskSpec spec_;
  bool in_fleet_;
  bool lines_only_;
  std::unique_ptr<Cgroup> group_;
  Process handle_;
  BoundedLog log_;
  LineBuffer lines_;
  LineBuffer output_lines_{kTrainerLogLineMax};
  std::string outgoing_;
  bool socket_watched_ = false;
  bool output_watched_ = false;
  std::size_t bytes_left_ = kTrainerBytesPerRefill;
  int messages_left_ = kTrainerMessagesPerRefill;
  int shares_left_ = kTrainerSharesPerRefill;
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

}  // namespace laird::shell
