#include "power/readers/sysfs/sysfs_reader.hpp"

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "power/readers/sysfs/sysfs_sampler.hpp"

namespace laird::power {

TimeNs monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

struct SysfsReader::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<PowerReading> mailbox;
  bool stop = false;
  bool finished = false;
  TimeNs last_at = INT64_MIN / 2;
  std::size_t channels = 0;
  std::string notes;
  int event_fd = -1;

  ~Shared() {
    if (event_fd >= 0) ::close(event_fd);
  }
};

namespace {

constexpr auto kPartingPatience = std::chrono::milliseconds(200);

}  // namespace

SysfsReader::SysfsReader(std::string root, const Board& board, DurationNs period_ns)
    : shared_(std::make_shared<Shared>()), period_ns_(period_ns) {
  shared_->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::thread([shared = shared_, sampler = SysfsSampler(std::move(root), board),
               period_ns]() mutable {
    std::unique_lock lock(shared->mutex);
    auto next = std::chrono::steady_clock::now();
    while (!shared->stop) {
      lock.unlock();
      PowerReading reading = sampler.sample(monotonic_now());
      lock.lock();
      if (shared->mailbox.size() >= kMailboxMax) shared->mailbox.pop_front();
      shared->last_at = reading.at;
      shared->channels = sampler.inventory().channels.size();
      shared->notes.clear();
      for (const std::string& note : sampler.inventory().notes) shared->notes += "; " + note;
      shared->mailbox.push_back(std::move(reading));
      const std::uint64_t one = 1;
      // Full only when nobody has polled for ages; the mailbox then holds the newest anyway.
      (void)!::write(shared->event_fd, &one, sizeof one);
      next += std::chrono::nanoseconds(period_ns);
      // After a hang the missed readings are not made up for.
      next = std::max(next, std::chrono::steady_clock::now());
      shared->changed.wait_until(lock, next, [&] { return shared->stop; });
    }
    shared->finished = true;
    shared->changed.notify_all();
  }).detach();
}

SysfsReader::~SysfsReader() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPartingPatience, [&] { return shared_->finished; });
}

std::optional<PowerReading> SysfsReader::poll(TimeNs) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->mailbox.empty()) {
    std::uint64_t drained = 0;
    (void)!::read(shared_->event_fd, &drained, sizeof drained);
    return std::nullopt;
  }
  PowerReading out = std::move(shared_->mailbox.front());
  shared_->mailbox.pop_front();
  return out;
}

int SysfsReader::fd() const { return shared_->event_fd; }

TimeNs SysfsReader::next_poll_at(TimeNs now) const { return now + period_ns_; }

ReaderStatus SysfsReader::status(TimeNs now) const {
  const std::lock_guard lock(shared_->mutex);
  ReaderStatus out;
  out.source = Source::kHwmon;
  out.working = now - shared_->last_at <= 3 * period_ns_ + kSecond && shared_->channels > 0;
  out.detail = std::to_string(shared_->channels) + " rails in sysfs" + shared_->notes;
  if (shared_->channels == 0) out.detail = "no power sensor in sysfs" + shared_->notes;
  if (shared_->last_at > 0 && now - shared_->last_at > 3 * period_ns_ + kSecond) {
    out.detail += "; no answer for " + std::to_string((now - shared_->last_at) / kSecond) +
                  " s, a read hangs";
  }
  return out;
}

}  // namespace laird::power
