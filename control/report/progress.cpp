#include "control/report/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/duration.hpp"
#include "control/screen/output.hpp"
#include "os/clock.hpp"

namespace laird::control {

Progress::Progress()
    : Progress([clock = SystemClock()]() mutable { return clock.boot_ns(); },
               [](const std::string& text) {
                 static_cast<void>(std::fprintf(stderr, "%s", text.c_str()));
               },
               ::isatty(STDERR_FILENO) != 0) {}

Progress::Progress(std::function<TimeNs()> clock, std::function<void(const std::string&)> write,
                   bool terminal)
    : clock_(std::move(clock)), write_(std::move(write)), terminal_(terminal), begun_(clock_()) {}

void Progress::see(const std::string& what, std::uint64_t events) {
  const std::lock_guard<std::mutex> alone(mutex_);
  const TimeNs now = clock_();
  if (now - begun_ < kSecond) return;
  if (now - told_ < (terminal_ ? 200 * kMillisecond : 5 * kSecond)) return;
  told_ = now;
  const std::string text = harmless(what) + ": " + std::to_string(events) + " events";
  write_(terminal_ ? "\r\033[K" + text : text + "\n");
  shown_ = terminal_;
}

void Progress::clear() {
  const std::lock_guard<std::mutex> alone(mutex_);
  if (shown_) write_("\r\033[K");
  shown_ = false;
}

void Progress::end(std::uint64_t events) {
  clear();
  const DurationNs took = clock_() - begun_;
  if (took < kSecond) return;
  const double rate = static_cast<double>(events) / seconds(took);
  say(std::to_string(events) + " events in " + spoken(took) + ", " +
      std::to_string(static_cast<std::int64_t>(rate)) + " a second");
}

}  // namespace laird::control
