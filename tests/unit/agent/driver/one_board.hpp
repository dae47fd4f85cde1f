// A real agent in a temporary folder, with a clock moved by hand: for the parts that
// stand between the agent and the outside.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "agent/agent.hpp"
#include "agent/commands/settings_changes.hpp"
#include "agent/os/process.hpp"
#include "agent/settings/settings_loader.hpp"
#include "agent/settings/settings_store.hpp"
#include "tests/harness/unit.hpp"

namespace laird::test {

class HandClock final : public Clock {
 public:
  [[nodiscard]] TimeNs boot_ns() override { return boot; }
  [[nodiscard]] TimeNs wall_ns() override {
    const TimeNs read = wall;
    pass(std::exchange(stall, 0));
    return read;
  }
  void pass(DurationNs time) {
    boot += time;
    wall += time;
  }

  DurationNs stall = 0;  // how long the process stands still after it next reads the wall clock
  TimeNs boot = kHour;
  TimeNs wall = 1'800'000'000 * kSecond;
};

// Trainers that never say a word.
class SilentProcesses final : public agent::Processes {
 public:
  [[nodiscard]] Result<agent::Process> start(const agent::ProcessSpec&,
                                             const agent::Cgroup*) override {
    agent::Process out;
    out.id = next_id_++;
    return out;
  }
  void signal_all(int, int) override {}
  [[nodiscard]] bool has_ended(int) override { return false; }
  agent::Ending collect(int) override { return {}; }

 private:
  int next_id_ = 1;
};

// Starts nothing but the agent: no cgroups, no power readings, trainers that are none.
class OneBoard {
 public:
  // `fleet`: that section of the config; empty: the board is alone.
  explicit OneBoard(const std::string& fleet = "", DurationNs stall = 0,
                    const std::string& node = "n-1") {
    clock.stall = stall;
    const std::string path = folder.path() + "/laird.json";
    std::ofstream(path) << R"({"node": ")" << node << R"(", "state_dir": "state", "cgroups": false,
        "control_socket": "none", "power": {"source": "none"},
        "board": {"lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}], "memory": "1GB"},
        "trainers": {"linear": {"exec": ["/bin/true"]}})"
                        << (fleet.empty() ? "" : ", \"fleet\": " + fleet) << "}";
    std::vector<config::Problem> problems;
    settings = agent::load_settings(path, problems);
    layers.settings = settings;
    layers.config_path = path;
    layers.base = agent::read_config(path, problems);
    for (const config::Problem& p : problems) TEST_FAIL_MESSAGE(p.text().c_str());
    Result<std::unique_ptr<agent::Loop>> made = agent::Loop::create(clock);
    TEST_ASSERT_TRUE(made.has_value());
    loop = std::move(*made);
    start();
  }

  // The agent, anew after the first time: what it knew it knows from its journal.
  void start() {
    config.reset();
    agent.reset();
    auto created =
        agent::Agent::create(*loop, machine, settings, [](agent::LogLevel, const std::string&) {});
    TEST_ASSERT_TRUE_MESSAGE(created.has_value(), created ? "" : created.error().context.c_str());
    agent = std::move(*created);
    agent->process();
    config = std::make_unique<agent::SettingsChanges>(
        *loop, *agent, layers, agent::SettingsStore(settings.state_dir), [] {},
        [](agent::LogLevel, const std::string&) {});
  }

  TemporaryFolder folder;
  HandClock clock;
  agent::Settings settings;
  SilentProcesses processes;
  agent::Machine machine = agent::this_machine(clock, processes);
  std::unique_ptr<agent::Loop> loop;
  std::unique_ptr<agent::Agent> agent;
  agent::LayeredSettings layers;
  std::unique_ptr<agent::SettingsChanges> config;
};

}  // namespace laird::test
