// Brings power readings to the core, whatever they come from; never holds up the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/core/state/state.hpp"
#include "agent/os/log.hpp"
#include "agent/os/loop.hpp"
#include "power/readers/modelled_reader.hpp"
#include "power/readers/open_reader.hpp"

namespace laird::agent {

class PowerFeed {
 public:
  using Emit = std::function<void(core::EventBody)>;

  // `state` shows what runs; a modelled board draws power by it.
  [[nodiscard]] static Result<std::unique_ptr<PowerFeed>> open(Loop& loop,
                                                               const power::ReaderOptions& options,
                                                               const power::Board& board,
                                                               const core::State& state, Emit emit,
                                                               Log log);
  ~PowerFeed();
  PowerFeed(const PowerFeed&) = delete;
  PowerFeed& operator=(const PowerFeed&) = delete;
  [[nodiscard]] std::string describe() const;
  // After each step of the core: a modelled board follows what runs from one moment to the next.
  void on_stepped();

 private:
  PowerFeed(Loop& loop, const core::State& state, Emit emit, Log log)
      : loop_(loop), state_(state), emit_(std::move(emit)), log_(std::move(log)) {}
  void poll();
  void arm();
  void show_load(TimeNs now);
  void note_gpu(TimeNs now);

  Loop& loop_;
  const core::State& state_;
  Emit emit_;
  Log log_;
  std::string gpu_noted_;  // where GPU load came from when it was last said
  std::unique_ptr<power::Reader> reader_;
  power::ModelledReader* modelled_ = nullptr;  // reader_, when it is one
  Loop::TimerId timer_ = 0;
};

}  // namespace laird::agent
