// Which device rebuilds banks: the CPU, until there is so much to do that a GPU's context pays.
//
// The choice changes nothing but the time it takes: both give the same bits. A context costs 100 MB
// or more and wakes the GPU's rail, so it is opened for a batch that would keep the CPU busy for
// kOpenFrom, counted in memory, and given back when it was not used for kIdle or when a task needs
// the memory. Whatever fails ends on the CPU with one sentence, and is not tried again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/time.hpp"
#include "estimators/bank/bank.hpp"
#include "estimators/bank/runner.hpp"
#include "estimators/cuda/engine.hpp"

namespace laird::estimators {

enum class DeviceChoice : std::uint8_t { kAuto, kCpu, kGpu };

// What the world tells the device.
struct DeviceWorld {
  std::string plugin;
  std::string driver = "libcuda.so.1";
  std::function<TimeNs()> now;
  // Of the machine: what a new process could have.
  std::function<std::int64_t()> available_bytes;
  // Of the memory for tasks: what no trainer has claimed. An open context is not taken off.
  std::function<std::int64_t()> unclaimed_bytes;
};

// How long a batch takes: launch + updates x each, in nanoseconds.
struct EngineCost {
  double launch_ns = 0.0;
  double update_ns = 0.0;
  [[nodiscard]] double of(std::size_t updates) const {
    return launch_ns + update_ns * static_cast<double>(updates);
  }
};
// The fastest of some repetitions at two sizes.
[[nodiscard]] Result<EngineCost> measure_engine(BankEngine& engine,
                                                const std::function<TimeNs()>& now);

inline constexpr std::size_t kNeverUpdates = static_cast<std::size_t>(-1);
// From how many filter updates on the second is faster.
[[nodiscard]] std::size_t crossover(const EngineCost& first, const EngineCost& second);

class BankDevice final : public BankRunner {
 public:
  static constexpr DurationNs kOpenFrom = 500 * kMillisecond;
  static constexpr DurationNs kIdle = 5 * kMinute;
  // Claimed for a context before it is opened.
  static constexpr std::int64_t kContextBytes = 256'000'000;

  BankDevice(DeviceChoice choice, DeviceWorld world);
  ~BankDevice() override;
  BankDevice(const BankDevice&) = delete;
  BankDevice& operator=(const BankDevice&) = delete;

  // Never fails: the CPU can always do it.
  void rebuild(std::span<const BankRebuild> all);
  // One report into one bank, of banks that live elsewhere (bank_step). False: the CPU does it.
  [[nodiscard]] bool step(const BankKind& kind, std::span<BankTile> tiles,
                          const BankReport& report) override;
  // Opens the context at once where the GPU is always to be used, so that what is missing is said
  // at the start.
  void try_at_start();
  // To be called now and then: gives the context back when it is idle or its memory is needed.
  void rest();

  [[nodiscard]] bool open() const { return gpu_ != nullptr; }
  // What an open context has taken of the machine's memory; 0 when there is none.
  [[nodiscard]] std::int64_t context_bytes() const { return open() ? context_bytes_ : 0; }
  // One sentence when there is something new to log; then nothing until there is again.
  [[nodiscard]] std::optional<std::string> remark();
  [[nodiscard]] const EngineCost& cpu_cost() const { return cpu_cost_; }
  // From how many updates on the GPU is used; kNeverUpdates until a context was measured.
  [[nodiscard]] std::size_t from_updates() const { return from_updates_; }

 private:
  [[nodiscard]] BankEngine& engine_for(std::size_t updates);
  void open_gpu();
  void close_gpu();
  void give_up(const std::string& why);
  [[nodiscard]] bool stage(const BankKind& kind);

  struct Stage;

  DeviceChoice choice_;
  DeviceWorld world_;
  std::unique_ptr<BankEngine> cpu_;
  std::unique_ptr<BankEngine> gpu_;
  std::unique_ptr<Stage> stage_;
  bool refused_ = false;
  std::size_t from_updates_ = kNeverUpdates;
  EngineCost cpu_cost_;
  std::int64_t context_bytes_ = 0;
  TimeNs used_ = 0;
  std::optional<std::string> remark_;
};

}  // namespace laird::estimators
