#include "power/readers/nvml/gpu_probe.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "power/readers/reader.hpp"

namespace laird::power::nvml {
namespace {

constexpr auto kPartingPatience = std::chrono::milliseconds(200);
// Without a count of seconds: whoever logs a change of it says it once.
constexpr const char* kHangs = "NVML does not answer, a call hangs";

}  // namespace

struct GpuProbe::Shared {
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  Sample sample;
  std::string detail = "NVML has not answered yet";
  TimeNs answered_at = 0;
  bool asked = false;
  bool stop = false;
  bool finished = false;

  void keep(const Result<Sample>& got, const std::string& driver) {
    answered_at = monotonic_now();
    asked = true;
    sample = got ? *got : Sample{};
    if (!got) {
      detail = got.error().context;
    } else {
      detail = "NVML" + (driver.empty() ? "" : ", driver " + driver);
      if (!sample.missing.empty()) detail += "; not given: " + sample.missing;
    }
    changed.notify_all();
  }

  // One thread's life. The lock is held except while the library is asked.
  void run(const std::string& name, DurationNs period_ns) {
    std::unique_ptr<Library> library;
    DurationNs retry_ns = kRetryMin;
    std::unique_lock lock(mutex);
    while (!stop) {
      lock.unlock();
      Result<Sample> got = fail(Code::kUnavailable, "");
      if (library == nullptr) {
        Result<std::unique_ptr<Library>> opened = Library::open(name);
        if (opened) library = std::move(*opened);
        if (!opened) got = tl::make_unexpected(opened.error());
      }
      if (library != nullptr) got = library->sample();
      const std::string driver = library == nullptr ? "" : library->driver();
      if (!got) library.reset();
      lock.lock();
      keep(got, driver);
      const DurationNs wait = got ? period_ns : retry_ns;
      retry_ns = got ? kRetryMin : std::min(2 * retry_ns, kRetryMax);
      changed.wait_for(lock, std::chrono::nanoseconds(wait), [this] { return stop; });
    }
    lock.unlock();
    library.reset();
    lock.lock();
    finished = true;
    changed.notify_all();
  }
};

GpuProbe::GpuProbe(const std::string& library, DurationNs period_ns)
    : shared_(std::make_shared<Shared>()), period_ns_(std::max(period_ns, kPeriodMin)) {
  shared_->answered_at = monotonic_now();
  std::thread([shared = shared_, library, period = period_ns_] {
    shared->run(library, period);
  }).detach();
}

GpuProbe::~GpuProbe() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPartingPatience, [this] { return shared_->finished; });
}

Finding GpuProbe::finding(TimeNs now) const {
  const std::lock_guard lock(shared_->mutex);
  Finding out{shared_->sample, shared_->detail, shared_->asked};
  const DurationNs age = now - shared_->answered_at;
  // Between two tries at a library that fails, silence is what is expected.
  const bool failing = shared_->asked && !shared_->sample.has_any();
  if (age <= 3 * period_ns_ + kSecond + (failing ? kRetryMax : 0)) return out;
  out.sample = {};
  out.detail = kHangs;
  return out;
}

Finding GpuProbe::first_finding(DurationNs patience) const {
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, std::chrono::nanoseconds(patience),
                              [this] { return shared_->asked; });
  }
  Finding out = finding(monotonic_now());
  if (!out.asked) out.detail = kHangs;
  return out;
}

}  // namespace laird::power::nvml
