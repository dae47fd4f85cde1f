// The rungs of the throttle ladder that need root: the GPU's highest clock and the power mode, set
// through the privileged helper, read back, and reported to the core with their rounding.
//
// Whatever is set here is put back by the helper when this program ends, however it ends, and the
// core asks for full levels again at its next start.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "agent/os/log.hpp"
#include "agent/os/loop.hpp"
#include "power/helper/client.hpp"
#include "power/model/board.hpp"

namespace laird::agent {

class PowerKnobs {
 public:
  using Emit = std::function<void(core::EventBody)>;

  // `helper` is a program with its arguments, or the path of a socket a helper listens on; empty
  // for none. Waits for the helper's first answers: some seconds for the first, as the helper may
  // have a power mode to put back, a second for each other. Never fails: a knob that does not
  // answer is not offered.
  [[nodiscard]] static std::unique_ptr<PowerKnobs> open(Loop& loop,
                                                        const std::vector<std::string>& helper,
                                                        const power::Board& board, Emit emit,
                                                        Log log);
  ~PowerKnobs();
  PowerKnobs(const PowerKnobs&) = delete;
  PowerKnobs& operator=(const PowerKnobs&) = delete;

  // Marks the rungs that can be used, with their levels.
  void offer(power::GovernorConfig& governor) const;
  void set(const core::SetPowerKnob& command);
  // "GPU clock in 5 steps, power modes 0 2", for the log.
  [[nodiscard]] std::string describe() const;

 private:
  struct Mode {
    std::int64_t id = 0;
    std::int32_t level_permille = power::kLevelFull;
  };

  PowerKnobs(Loop& loop, const std::vector<std::string>& helper, const power::Board& board,
             Emit emit, Log log);
  [[nodiscard]] bool connect();
  void hang_up();
  [[nodiscard]] std::vector<std::int64_t> ask(const std::string& request, int wait_ms);
  void find_modes(const power::Board& board);
  void on_readable();
  void on_reply(const power::priv::Reply& reply);
  void on_clock_range(const power::priv::Reply& reply);
  void on_clock_set(const power::priv::Reply& reply);
  void on_mode_set(const power::priv::Reply& reply);
  void report(power::Rung rung, power::KnobResult outcome, std::int32_t permille, std::string note);
  void send(power::Rung rung, const std::string& request);
  [[nodiscard]] std::int32_t level_of_clock(std::int64_t hz) const;

  Loop& loop_;
  std::vector<std::string> helper_;
  Emit emit_;
  Log log_;
  std::unique_ptr<power::priv::Client> client_;
  std::vector<std::int64_t> clocks_hz_;  // ascending
  std::vector<Mode> modes_;              // ascending by level, the last the one in force at first
  std::int64_t clock_wanted_hz_ = 0;
  std::int64_t clock_hz_ = 0;  // as last read back; 0 before
};

}  // namespace laird::agent
