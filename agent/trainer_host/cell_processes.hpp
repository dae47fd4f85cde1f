// Trainers in cells of their own: each is started and held by a laird-cell, which root's socket
// activation starts, or the agent itself. One connection each; whoever hangs up ends the cell, so a
// trainer lives no longer than its agent.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "agent/os/log.hpp"
#include "agent/os/process.hpp"
#include "agent/settings/settings.hpp"
#include "cell/message.hpp"

namespace laird::agent {

class CellProcesses final : public Processes {
 public:
  // `settings` outlives it.
  CellProcesses(const Settings& settings, std::string config_path, Log log);
  ~CellProcesses() override;

  // Makes a cell with nothing in it, to learn which guards hold here. Waits for it, for as long as
  // a start takes.
  void try_guards();

  [[nodiscard]] Result<Process> start(const ProcessSpec& spec, const Cgroup* group) override;
  void signal_all(int id, int signal) override;
  [[nodiscard]] bool has_ended(int id) override;
  Ending collect(int id) override;
  [[nodiscard]] bool can_check() const override { return true; }
  [[nodiscard]] bool is_outside_group(int id) override;
  [[nodiscard]] std::optional<cell::Guards> guards() const override { return guards_; }

 private:
  struct Running {
    Fd control;
    int helper = -1;  // our child; -1: another's
    std::string task;
    bool wants_group = false;
    bool is_outside = false;
    bool has_ended = false;
    Ending ending{9, ""};  // until it is told: ended by whoever ended its cell
  };

  [[nodiscard]] Status connect(Running& to) const;
  void hear(Running& from);
  void take(Running& from, const cell::Report& report);

  const Settings& settings_;
  const std::string config_path_;
  const Log log_;
  const std::string helper_;
  std::map<int, Running> running_;
  std::optional<cell::Guards> guards_;
  int next_id_ = 1;
};

}  // namespace laird::agent
