#include "agent/shell/power_feed.hpp"

#include <sys/epoll.h>

#include <algorithm>

namespace laird::shell {
namespace {

// A reader that has nothing to say yet is asked again after this at the latest.
constexpr DurationNs kPollMin = 50 * kMillisecond;

}  // namespace

Result<std::unique_ptr<PowerFeed>> PowerFeed::open(Loop& loop, const power::ReaderOptions& options,
                                                   const power::Board& board,
                                                   const core::State& state, Emit emit) {
  std::unique_ptr<PowerFeed> feed(new PowerFeed(loop, state, std::move(emit)));
  if (options.kind == "modelled") {
    auto modelled = std::make_unique<power::ModelledReader>(board, options.period_ns);
    feed->modelled_ = modelled.get();
    feed->reader_ = std::move(modelled);
  } else {
    Result<std::unique_ptr<power::Reader>> opened = power::open_reader(options, board);
    if (!opened) return tl::make_unexpected(opened.error());
    feed->reader_ = std::move(*opened);
  }
  if (feed->reader_->fd() >= 0) {
    PowerFeed* self = feed.get();
    const Status ok =
        loop.watch(feed->reader_->fd(), EPOLLIN, [self](std::uint32_t) { self->poll(); });
    if (!ok) return tl::make_unexpected(ok.error());
  }
  feed->arm();
  return feed;
}

PowerFeed::~PowerFeed() {
  if (timer_ != 0) loop_.cancel(timer_);
  if (reader_ != nullptr && reader_->fd() >= 0) loop_.forget(reader_->fd());
}

std::string PowerFeed::describe() const {
  const power::ReaderStatus status = reader_->status(power::monotonic_now());
  return std::string(power::name(status.source)) +
         (status.detail.empty() ? "" : ", " + status.detail);
}

void PowerFeed::arm() {
  if (timer_ != 0) loop_.cancel(timer_);
  timer_ = 0;
  const TimeNs now = power::monotonic_now();
  if (reader_->status(now).ended) return;
  const DurationNs wait = std::clamp(reader_->next_poll_at(now) - now, kPollMin, kMinute);
  timer_ = loop_.after(wait, [this] {
    timer_ = 0;
    poll();
  });
}

void PowerFeed::show_load(TimeNs now) {
  power::ModelledLoad load;
  for (const core::Lane& lane : state_.lanes) {
    if (lane.running.empty()) continue;
    (lane.config.kind == core::LaneKind::kGpu ? load.gpu_use : load.cpu_use) = 1.0;
  }
  modelled_->set_load(now, load);
}

void PowerFeed::poll() {
  const TimeNs now = power::monotonic_now();
  if (modelled_ != nullptr) show_load(now);
  while (std::optional<power::PowerReading> reading = reader_->poll(now)) {
    emit_(core::PowerSampled{std::move(*reading)});
  }
  arm();
}

}  // namespace laird::shell
