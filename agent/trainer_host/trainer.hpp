// One trainer process: what it says and prints, what it is told, its group. The pool's own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/core/state/effect.hpp"
#include "agent/os/bounded_log.hpp"
#include "agent/os/cgroup.hpp"
#include "agent/os/loop.hpp"
#include "agent/os/process.hpp"
#include "agent/trainer_host/end_words.hpp"
#include "agent/trainer_host/report_pace.hpp"
#include "agent/trainer_host/trainer_host.hpp"
#include "agent/trainer_host/trainer_life.hpp"
#include "os/line_splitter.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::agent {

using trainer_protocol::TrainerMessage;

class Trainer {
 public:
  // `host` outlives it; what the trainer prints goes to the file `log`.
  Trainer(TrainerHost& host, core::ProcessRef process, core::TaskSpec spec, bool lines_only,
          std::unique_ptr<Cgroup> group, Process handle, const std::string& log);

  ~Trainer();
  // It could not be put into its control group: from now on it is held by signals.
  void leave_group();
  // `folder` is the task's own; `warm` that with an earlier model to begin with, or empty.
  void begin(const std::string& folder, const std::string& warm = {});
  void run(const core::RunTrainer& command);
  void limit(std::uint32_t cpu_milli);
  // The part of the duty cycle in which nothing runs. One frozen between grants stays so.
  void freeze_for_duty(bool frozen);
  void pause();
  void checkpoint();
  // Asks for the model as files in the task's folder.
  void export_model();
  void stop();
  void kill();
  // The process is gone: read what it said last, then report its end. Returns why it ended, if it
  // was not told to and more is known than its code.
  std::string ended(const Ending& ending);
  // Another board's word, for a trainer that is there to hear it.
  void tell(const std::string& line, bool may_drop);

  [[nodiscard]] const core::ProcessRef& ref() const { return ref_; }
  [[nodiscard]] const std::string& task_name() const { return spec_.name; }
  [[nodiscard]] std::string log_name() const { return spec_.log_name(); }
  [[nodiscard]] int news() const { return handle_.news; }
  // A start that has to wait until this process is gone.
  struct NextStart {
    core::StartTrainer command;
    core::TaskSpec spec;
    bool fresh = false;
    core::TaskKey warm_from = 0;
  };
  void replace_by(NextStart next) { next_start_ = std::move(next); }
  [[nodiscard]] const std::optional<NextStart>& next_start() const { return next_start_; }

 private:
  void close_socket();
  void close_output();
  void set_frozen(bool frozen);
  void apply_frozen();
  void breach(const std::string& why);
  // What it said leads on to the next stage of its life, or is a breach; false then.
  [[nodiscard]] bool said(LifeEvent event);
  // What the agent did.
  void enter(LifeEvent event);
  void send(const std::string& line);
  void write_socket();
  void watch_socket();
  void watch_output();
  // A descriptor nobody may read now is taken out of the loop: a hang-up cannot be masked, and
  // would be reported again and again until somebody may.
  void watch(int fd, std::uint32_t& watched, std::uint32_t events, Loop::Ready ready);
  void on_socket(std::uint32_t events);
  // Reads within the allowance; false when the stream has ended.
  bool read_some(Fd& fd, char* block, std::size_t size, std::size_t& got);
  void refill_allowance();
  void await_refill();
  // Tells it to do what it answers, and listens for that.
  void ask(const std::string& line);
  void read_socket();
  void on_message(const TrainerMessage& message);
  // Once a grant: what comes after it belongs to none.
  void on_yield(const TrainerMessage& message);
  void on_to_peers(const TrainerMessage& message);
  void on_group(const TrainerMessage& message);
  void on_exported(std::string_view line);
  void on_promoted(const TrainerMessage& message);
  void on_meter();
  // The end of a grant goes through at once; other reports by the pace.
  void on_progress(const TrainerMessage& message);
  void flush_progress();
  // After what was there has been read: the latest report goes on now, or at the next look.
  void settle();
  void look();
  void stop_looking();
  void read_output();
  // Why it ended, where that is more than its code says; empty when it was told to.
  [[nodiscard]] std::string why_ended(std::int32_t code) const;

  TrainerHost& host_;
  core::ProcessRef ref_;
  core::TaskSpec spec_;
  bool in_fleet_;
  bool lines_only_;
  std::unique_ptr<Cgroup> group_;
  Process handle_;
  BoundedLog log_;
  LastWords last_words_;
  LineSplitter lines_;
  LineSplitter output_lines_;
  std::string outgoing_;
  std::uint32_t socket_watched_ = 0;  // for these events; 0: not in the loop
  std::uint32_t output_watched_ = 0;
  std::size_t bytes_left_ = 0;
  int messages_left_ = 0;
  int to_peers_left_ = 0;
  std::string group_note_;
  TimeNs refill_at_ = 0;
  Loop::TimerId refill_ = 0;  // once the allowance is used up
  ReportPace pace_;
  Loop::TimerId look_ = 0;
  bool on_rounds_ = false;     // its socket is read when the pace says so, and not watched
  bool is_answering_ = false;  // it was asked for something, and the answer does not wait
  LifeStage stage_ = LifeStage::kStarting;
  std::uint64_t until_ = 0;
  std::uint64_t samples_ = 0;
  std::uint32_t cpu_milli_ = 0;
  bool grant_frozen_ = false;  // one that only prints, between its grants
  bool duty_frozen_ = false;
  bool frozen_ = false;
  TrainerMessage pending_;
  bool has_pending_ = false;
  bool has_heard_ = false;  // a report, since the last look
  bool told_to_go_ = false;
  bool export_asked_ = false;
  std::string folder_;
  std::optional<NextStart> next_start_;
};

}  // namespace laird::agent
