// One life of the agent on one board: the driver, the ways in and the link to the fleet, in the
// order in which they are opened. The process around it (signals, log, screen) is run.cpp's; a test
// that owns time puts another world around it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.hpp"
#include "agent/commands/local_socket.hpp"
#include "agent/commands/settings_changes.hpp"
#include "agent/fleet/link.hpp"
#include "agent/machine.hpp"
#include "agent/settings/settings_store.hpp"
#include "agent/view/metrics_port.hpp"

namespace laird::agent {

class RunningAgent {
 public:
  // All of it outlives this.
  RunningAgent(Loop& loop, Machine& machine, const LayeredSettings& layers,
               const SettingsStore& store, std::string version, Log log)
      : loop_(loop),
        machine_(machine),
        layers_(layers),
        settings_(layers.settings),
        store_(store),
        version_(std::move(version)),
        log_(std::move(log)) {}

  // All that can fail is in here, so that settings on trial can be taken back.
  [[nodiscard]] Status open();
  // The tasks that the config names; known ones are left alone.
  void submit_configured_tasks();
  // Told of every change of a task, beside the fleet.
  void on_changed(Agent::Changed changed) { changed_ = std::move(changed); }
  // Works off everything queued; call after each round of the loop.
  void settle();

  // Starts to stop because other settings want another life.
  [[nodiscard]] bool wants_restart() const { return restart_; }
  [[nodiscard]] bool is_open() const { return agent_ != nullptr; }
  [[nodiscard]] Agent& agent() { return *agent_; }
  [[nodiscard]] const FleetLink* fleet() const { return fleet_.get(); }

 private:
  [[nodiscard]] Status open_ways_in();
  [[nodiscard]] Status open_metrics();
  void submit(const core::TaskSpec& spec);

  Loop& loop_;
  Machine& machine_;
  const LayeredSettings& layers_;
  const Settings& settings_;
  const SettingsStore& store_;
  const std::string version_;
  const Log log_;
  Agent::Changed changed_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<LocalSocket> local_;
  bool restart_ = false;
  std::optional<SettingsChanges> config_;
  std::unique_ptr<FleetLink> fleet_;
  core::OutcomeCounts ended_{};
  std::unique_ptr<MetricsPort> metrics_;
};

}  // namespace laird::agent
