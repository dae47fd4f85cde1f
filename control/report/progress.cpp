#include "control/report/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "base/duration.hpp"
#include "control/screen/output.hpp"

namespace laird::control {

void Progress::see(const std::string& what, std::uint64_t events) {
  const std::lock_guard<std::mutex> alone(mutex_);
  const TimeNs now = clock_.boot_ns();
  if (now - begun_ < kSecond) return;
  const bool tty = ::isatty(STDERR_FILENO) != 0;
  if (now - told_ < (tty ? 200 * kMillisecond : 5 * kSecond)) return;
  told_ = now;
  const std::string text = harmless(what) + ": " + std::to_string(events) + " events";
  std::fprintf(stderr, tty ? "\r\033[K%s" : "%s\n", text.c_str());
  shown_ = tty;
}

void Progress::clear() {
  const std::lock_guard<std::mutex> alone(mutex_);
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

void Progress::end(std::uint64_t events) {
  clear();
  const DurationNs took = clock_.boot_ns() - begun_;
  if (took < kSecond) return;
  const double rate = static_cast<double>(events) / seconds(took);
  say(std::to_string(events) + " events in " + spoken(took) + ", " +
      std::to_string(static_cast<std::int64_t>(rate)) + " a second");
}

}  // namespace laird::control
