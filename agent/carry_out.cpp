// What the core asks for, done: one line for each kind of effect.
#include <utility>

#include "agent/agent.hpp"
#include "agent/moving_tasks.hpp"

namespace laird::agent {

void Agent::carry_out(const core::Effect& command) {
  struct Do {
    Agent& a;
    void operator()(const core::StartTrainer& c) {
      const core::Task* task = a.state_.find_live(c.key);
      if (task != nullptr) {
        const bool placed = place_what_came(a.state_, *task, a.tasks_folder_, a.log_);
        a.pool_->start(c, task->spec, task->begins_afresh() && !placed, task->warm_from);
      }
    }
    void operator()(const core::RunTrainer& c) { a.pool_->run(c); }
    void operator()(const core::PreemptTrainer& c) { a.pool_->preempt(c); }
    void operator()(const core::CheckpointTrainer& c) { a.pool_->checkpoint(c); }
    void operator()(const core::StopTrainer& c) { a.pool_->stop(c); }
    void operator()(const core::KillTrainer& c) { a.pool_->kill(c); }
    void operator()(const core::ExportModel& c) { a.pool_->export_model(c); }
    void operator()(const core::WakeAt& c) { a.set_wake(c.at); }
    void operator()(const core::Answer& c) {
      const auto found = a.replies_.find(c.request);
      if (found == a.replies_.end()) return;
      const Reply reply = std::move(found->second);
      a.replies_.erase(found);
      if (reply) reply(c);
    }
    void operator()(const core::TaskChanged& c) {
      const core::Task* task = a.state_.find_any(c.key);
      if (task == nullptr) return;
      if (c.state == core::TaskState::kEnded) {
        a.models_->take(*task);
        const bool bad = c.outcome == core::Outcome::kFailed;
        a.log_(bad ? LogLevel::kWarning : LogLevel::kInfo,
               "task " + task->spec.name + ": " + std::string(core::name(c.outcome)) + ": " +
                   task->reason +
                   (bad ? "; its trainer's output is in " + a.pool_->log_of(task->spec.log_name())
                        : std::string()));
      }
      if (a.changed_) a.changed_(*task, c);
    }
    void operator()(const core::SendToPeer& c) {
      if (a.peers_.send) a.peers_.send(c);
    }
    void operator()(const core::SendTitle& c) {
      if (a.peers_.send_title) a.peers_.send_title(c);
    }
    void operator()(const core::SendRun& c) {
      if (a.peers_.send_run) a.peers_.send_run(c);
    }
    void operator()(const core::CopyCheckpoint& c) {
      const core::Task* task = a.state_.find_live(c.key);
      if (task != nullptr) a.post(read_to_travel(c, *task, a.tasks_folder_));
    }
    void operator()(const core::Notice& c) {
      a.log_(LogLevel::kInfo, std::string(core::name(c.kind)) + ": " + c.text);
      if (a.peers_.notice) a.peers_.notice(c);
    }
    void operator()(const core::LimitTrainer& c) { a.pool_->limit(c); }
    void operator()(const core::SetFreezerDuty& c) { a.pool_->set_duty(c); }
    void operator()(const core::SetPowerKnob& c) { a.knobs_->set(c); }
    void operator()(const core::ExitNow&) {
      if (const Status ok = a.journal_->close(a.state_); !ok) {
        a.log_(LogLevel::kWarning, "journal: " + ok.error().context);
      }
      a.finished_ = true;
    }
  };
  std::visit(Do{*this}, command.body);
}

}  // namespace laird::agent
