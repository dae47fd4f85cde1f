#include "agent/board_power/power_feed.hpp"

#include <sys/epoll.h>

#include <algorithm>

namespace laird::agent {
namespace {

// A reader that has nothing to say yet is asked again after this at the latest.
constexpr DurationNs kPollMin = 50 * kMillisecond;

}  // namespace

Result<std::unique_ptr<PowerFeed>> PowerFeed::open(Loop& loop, const power::ReaderOptions& options,
                                                   const power::Board& board,
                                                   const core::State& state, Emit emit, Log log) {
  std::unique_ptr<PowerFeed> feed(new PowerFeed(loop, state, std::move(emit), std::move(log)));
  if (options.kind == "modelled") {
    auto modelled = std::make_unique<power::ModelledReader>(board, options.period_ns);
    feed->modelled_ = modelled.get();
    feed->reader_ = std::move(modelled);
  } else {
    Result<std::unique_ptr<power::Reader>> opened = power::open_reader(options, board);
    LAIRD_TRY(opened);
    feed->reader_ = std::move(*opened);
  }
  if (feed->reader_->fd() >= 0) {
    PowerFeed* self = feed.get();
    const Status ok =
        loop.watch(feed->reader_->fd(), EPOLLIN, [self](std::uint32_t) { self->poll(); });
    LAIRD_TRY(ok);
  }
  feed->arm();
  return feed;
}

PowerFeed::~PowerFeed() {
  if (timer_ != 0) loop_.cancel(timer_);
  if (reader_ != nullptr && reader_->fd() >= 0) loop_.forget(reader_->fd());
}

std::string PowerFeed::describe() const {
  const power::ReaderStatus status = reader_->status(loop_.now());
  return status.detail.empty() ? std::string(power::name(status.source)) : status.detail;
}

void PowerFeed::arm() {
  if (timer_ != 0) loop_.cancel(timer_);
  timer_ = 0;
  const TimeNs now = loop_.now();
  if (reader_->status(now).ended) return;
  const DurationNs wait = std::clamp(reader_->next_poll_at(now) - now, kPollMin, kMinute);
  timer_ = loop_.after(wait, [this] {
    timer_ = 0;
    poll();
  });
}

void PowerFeed::show_load(TimeNs now) {
  // Lanes of one kind share one processor: each counts by its part of their cores.
  double cores[2] = {0, 0};
  double busy[2] = {0, 0};
  for (const core::Lane& lane : state_.lanes) {
    const auto kind = static_cast<std::size_t>(lane.config.kind);
    cores[kind] += lane.config.cores_milli;
    if (!lane.running.empty()) busy[kind] += lane.config.cores_milli;
  }
  power::ModelledLoad load;
  if (cores[0] > 0) load.gpu_use = busy[0] / cores[0];
  if (cores[1] > 0) load.cpu_use = busy[1] / cores[1];
  // Trainers held by quota or freezer use their lane only in part.
  const power::Governor& governor = state_.power.governor;
  const double held =
      governor.level(power::Rung::kCpuQuota) * 1e-3 * governor.level(power::Rung::kFreezer) * 1e-3;
  load.gpu_use *= held;
  load.cpu_use *= held;
  load.gpu_clock_permille = governor.level(power::Rung::kDevfreq);
  modelled_->set_load(now, load);
}

void PowerFeed::on_stepped() {
  if (modelled_ != nullptr) show_load(loop_.now());
}

// The library behind it answers, fails or hangs at its own time: each change is said once.
void PowerFeed::note_gpu(TimeNs now) {
  std::string gpu = reader_->status(now).gpu;
  if (gpu == gpu_noted_) return;
  gpu_noted_ = std::move(gpu);
  log_(LogLevel::kInfo, "GPU load: " + gpu_noted_);
}

void PowerFeed::poll() {
  const TimeNs now = loop_.now();
  note_gpu(now);
  if (modelled_ != nullptr) show_load(now);
  while (std::optional<power::PowerReading> reading = reader_->poll(now)) {
    emit_(core::PowerSampled{std::move(*reading)});
  }
  arm();
}

}  // namespace laird::agent
