#include "estimators/cuda/bank_device.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace laird::estimators {
namespace {

constexpr std::size_t kCalibrationFilters = 32;
constexpr std::size_t kCalibrationReports = 16;

// Banks of plausible constants with reports that fall; what they are changes nothing of the time.
class Calibration {
 public:
  [[nodiscard]] static Result<Calibration> make(std::size_t banks) {
    std::vector<BankHypothesis> all;
    for (std::size_t f = 0; f < kCalibrationFilters; ++f) {
      const double i = static_cast<double>(f + 1);
      all.push_back({0.05 * i, -0.3, 0.001 * i, 0.1 * i, 1.0, 1.0 / double(kCalibrationFilters)});
    }
    auto kind = BankKind::make(all, {-0.3, 1.0, 1.0}, 0.01);
    LAIRD_TRY(kind);
    Calibration out;
    out.kind_ = std::make_unique<BankKind>(std::move(*kind));
    for (std::size_t n = 0; n < kCalibrationReports; ++n) {
      out.kept_.push_back({0.1, -0.03 * static_cast<double>(n), 1e-3});
    }
    out.banks_.assign(banks, Bank(*out.kind_));
    for (Bank& bank : out.banks_) out.all_.push_back({&bank, 1, out.kept_});
    return out;
  }
  [[nodiscard]] std::span<const BankRebuild> all() const { return all_; }

 private:
  std::unique_ptr<BankKind> kind_;
  std::vector<BankReport> kept_;
  std::vector<Bank> banks_;
  std::vector<BankRebuild> all_;
};

// The least disturbed of some repetitions.
[[nodiscard]] Result<double> time_of(BankEngine& engine, std::span<const BankRebuild> all,
                                     const std::function<TimeNs()>& now) {
  constexpr int kWarmUps = 2;
  constexpr int kRepetitions = 5;
  double best = 0.0;
  for (int i = 0; i < kWarmUps + kRepetitions; ++i) {
    const TimeNs begin = now();
    const Status done = rebuild_banks(all, engine);
    LAIRD_TRY(done);
    const auto spent = static_cast<double>(now() - begin);
    if (i >= kWarmUps) best = i == kWarmUps ? spent : std::min(best, spent);
  }
  return best;
}

}  // namespace

Result<EngineCost> measure_engine(BankEngine& engine, const std::function<TimeNs()>& now) {
  constexpr std::array<std::size_t, 2> kBanks = {4, 256};
  std::array<double, 2> spent{};
  std::array<double, 2> updates{};
  for (std::size_t i = 0; i < kBanks.size(); ++i) {
    const auto banks = Calibration::make(kBanks[i]);
    LAIRD_TRY(banks);
    const auto time = time_of(engine, banks->all(), now);
    LAIRD_TRY(time);
    spent[i] = *time;
    updates[i] = static_cast<double>(updates_of(banks->all()));
  }
  EngineCost cost;
  cost.update_ns = std::max(0.0, spent[1] - spent[0]) / (updates[1] - updates[0]);
  cost.launch_ns = std::max(0.0, spent[0] - cost.update_ns * updates[0]);
  return cost;
}

std::size_t crossover(const EngineCost& first, const EngineCost& second) {
  if (second.update_ns >= first.update_ns) {
    const bool always = second.update_ns == first.update_ns && second.launch_ns < first.launch_ns;
    return always ? 0 : kNeverUpdates;
  }
  const double meet = (second.launch_ns - first.launch_ns) / (first.update_ns - second.update_ns);
  if (!(meet < 1e15)) return kNeverUpdates;
  return static_cast<std::size_t>(std::max(0.0, std::ceil(meet)));
}

struct BankDevice::Stage {
  Stage(BankEngine& engine, const BankKind& of)
      : kind(&of),
        tiles(engine, of.tiles()),
        constants(engine, of.tiles()),
        scratch(engine, of.filters()),
        reports(engine, 1),
        spans(engine, 1) {}
  explicit operator bool() const { return tiles && constants && scratch && reports && spans; }

  const BankKind* kind;
  EngineArray<BankTile> tiles;
  EngineArray<BankConstantsTile> constants;
  EngineArray<double> scratch;
  EngineArray<BankReport> reports;
  EngineArray<BankSpan> spans;
};

BankDevice::~BankDevice() { close_gpu(); }

BankDevice::BankDevice(DeviceChoice choice, DeviceWorld world)
    : choice_(choice), world_(std::move(world)), cpu_(cpu_bank_engine()) {
  if (choice_ == DeviceChoice::kAuto) {
    if (const auto cost = measure_engine(*cpu_, world_.now)) cpu_cost_ = *cost;
  }
}

std::optional<std::string> BankDevice::remark() { return std::exchange(remark_, std::nullopt); }

void BankDevice::give_up(const std::string& why) {
  close_gpu();
  refused_ = true;
  remark_ = "banks are computed on the CPU (" + std::string(cpu_->name()) + "): " + why;
}

void BankDevice::open_gpu() {
  const std::int64_t available = world_.available_bytes();
  const std::int64_t spare = std::min(available, world_.unclaimed_bytes());
  if (spare < kContextBytes) {
    // No reason to give up for good: a task that ends frees memory.
    if (choice_ == DeviceChoice::kGpu) {
      remark_ = "banks are computed on the CPU for now: a context of the GPU needs " +
                std::to_string(kContextBytes / 1'000'000) + " MB, and " +
                std::to_string(std::max<std::int64_t>(spare, 0) / 1'000'000) + " MB are free";
    }
    return;
  }
  auto device = CudaDevice::open(world_.plugin, world_.driver);
  if (!device) return give_up(device.error().context);
  const std::string name = (*device)->name();
  auto engine = cuda_bank_engine(std::move(*device));
  const auto cost = measure_engine(*engine, world_.now);
  if (!cost) return give_up(cost.error().context);
  context_bytes_ = std::max<std::int64_t>(0, available - world_.available_bytes());
  from_updates_ = choice_ == DeviceChoice::kGpu ? 0 : crossover(cpu_cost_, *cost);
  if (from_updates_ == kNeverUpdates) return give_up("it is faster here than " + name);
  gpu_ = std::move(engine);
  used_ = world_.now();
  remark_ = "batches of " + std::to_string(from_updates_) + " updates and more are computed on " +
            name + ", whose context took " + std::to_string(context_bytes_ / 1'000'000) + " MB";
}

BankEngine& BankDevice::engine_for(std::size_t updates) {
  if (choice_ == DeviceChoice::kCpu || refused_ || updates == 0) return *cpu_;
  const bool pays =
      choice_ == DeviceChoice::kGpu || cpu_cost_.of(updates) >= static_cast<double>(kOpenFrom);
  if (gpu_ == nullptr && pays) open_gpu();
  if (gpu_ == nullptr || updates < from_updates_) return *cpu_;
  used_ = world_.now();
  return *gpu_;
}

void BankDevice::rebuild(std::span<const BankRebuild> all) {
  BankEngine& engine = engine_for(updates_of(all));
  const Status done = rebuild_banks(all, engine);
  if (done) return;
  if (&engine != cpu_.get()) {
    give_up(done.error().context);
    if (rebuild_banks(all, *cpu_)) return;
  }
  // Not even the CPU had the memory for all at once: one after the other, which needs little.
  for (const BankRebuild& one : all) {
    one.bank->follow(one.generation, {});
    one.bank->follow(one.generation, one.kept);
  }
}

// Makes room for one bank of the kind in memory that the GPU reaches; kept, since a launch for each
// report would otherwise allocate for each report.
bool BankDevice::stage(const BankKind& kind) {
  if (stage_ != nullptr && stage_->kind == &kind) return true;
  stage_ = std::make_unique<Stage>(*gpu_, kind);
  if (!*stage_) {
    stage_.reset();
    return false;
  }
  std::copy_n(kind.constants().data(), kind.tiles(), stage_->constants.data());
  stage_->spans[0] = {0, 1};
  return true;
}

bool BankDevice::step(const BankKind& kind, std::span<BankTile> tiles, const BankReport& report) {
  if (refused_ || choice_ == DeviceChoice::kCpu) return false;
  // Automatically, no single bank is worth a launch that takes longer than all of it on the CPU.
  if (choice_ == DeviceChoice::kAuto && (gpu_ == nullptr || kind.filters() < from_updates_)) {
    return false;
  }
  if (gpu_ == nullptr) open_gpu();
  if (gpu_ == nullptr || !stage(kind)) return false;
  std::copy_n(tiles.data(), tiles.size(), stage_->tiles.data());
  stage_->reports[0] = report;
  const BankWork work = {stage_->tiles.data(),   stage_->constants.data(),
                         stage_->scratch.data(), stage_->reports.data(),
                         stage_->spans.data(),   1,
                         kind.tiles(),           kind.share()};
  if (const Status done = gpu_->step(work); !done) {
    give_up(done.error().context);
    return false;
  }
  std::copy_n(stage_->tiles.data(), tiles.size(), tiles.data());
  used_ = world_.now();
  return true;
}

void BankDevice::try_at_start() {
  if (choice_ == DeviceChoice::kGpu && gpu_ == nullptr && !refused_) open_gpu();
}

void BankDevice::close_gpu() {
  stage_.reset();
  gpu_.reset();
}

void BankDevice::rest() {
  if (gpu_ == nullptr) return;
  const bool idle = world_.now() - used_ >= kIdle;
  const bool needed = world_.unclaimed_bytes() < context_bytes_;
  if (!idle && !needed) return;
  close_gpu();
  remark_ = idle ? "the context of the GPU was idle and is given back"
                 : "the context of the GPU is given back: its memory is needed";
}

}  // namespace laird::estimators
