#include "power/readers/sysfs/sysfs_sampler.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace laird::power {
namespace {

// The number that follows `key` in text such as "MemTotal:   123 kB".
std::optional<std::int64_t> number_after(const std::string& text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t digit = text.find_first_not_of(" \t", at + key.size());
  if (digit == std::string::npos) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + digit, text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace

SampleFile::SampleFile(const std::string& path) {
  if (!path.empty()) fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

SampleFile::SampleFile(SampleFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

SampleFile& SampleFile::operator=(SampleFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

SampleFile::~SampleFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<std::int64_t> SampleFile::integer() const {
  if (fd_ < 0) return std::nullopt;
  std::array<char, 32> block{};
  const ssize_t n = ::pread(fd_, block.data(), block.size(), 0);
  if (n <= 0) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(block.data(), block.data() + n, value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::string SampleFile::text(std::size_t limit) const {
  std::string out;
  if (fd_ < 0) return out;
  out.resize(limit);
  const ssize_t n = ::pread(fd_, out.data(), limit, 0);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

SysfsSampler::SysfsSampler(std::string root, const Board& board)
    : root_(std::move(root)),
      board_(board),
      stat_(root_ + "/proc/stat"),
      meminfo_(root_ + "/proc/meminfo") {}

void SysfsSampler::rescan(TimeNs at) {
  const DurationNs wait = missing_ ? missing_wait_ns_ : kRescanNs;
  if (at - scanned_at_ < wait) return;
  scanned_at_ = at;
  SysfsInventory found = discover_sysfs(root_);
  const bool news = !found.same_channels(inventory_);
  missing_wait_ns_ =
      missing_ && !news ? std::min(2 * missing_wait_ns_, kRescanMissingMaxNs) : kRescanFirstNs;
  // A rail that stopped reading may be back under the same path: then reopen too.
  if (!missing_ && !news) return;
  inventory_ = std::move(found);
  channels_.clear();
  for (const Channel& channel : inventory_.channels) {
    channels_.push_back(
        OpenChannel{channel, SampleFile(channel.path), SampleFile(channel.current_path)});
  }
  zones_.clear();
  for (const Zone& zone : inventory_.zones) zones_.emplace_back(zone.path);
  cpu_clocks_.clear();
  for (const std::string& path : inventory_.cpu_clocks) cpu_clocks_.emplace_back(path);
  gpu_clock_ = SampleFile(inventory_.gpu_clock);
  gpu_load_ = SampleFile(inventory_.gpu_load);
  missing_ = channels_.empty();
}

void SysfsSampler::read_rails(PowerReading& out) {
  for (const OpenChannel& open : channels_) {
    const std::optional<std::int64_t> first = open.first.integer();
    std::optional<std::int64_t> mw;
    switch (open.channel.kind) {
      case ChannelKind::kMilliwatts: mw = first; break;
      case ChannelKind::kMicrowatts:
        if (first) mw = *first / 1000;
        break;
      case ChannelKind::kVoltsTimesAmps: {
        const std::optional<std::int64_t> current = open.current.integer();
        // Both within what the chip can show, so that the product cannot overflow.
        const bool sane =
            first && current && std::abs(*first) < 1'000'000 && std::abs(*current) < 10'000'000;
        if (sane) mw = *first * *current / 1000;
        break;
      }
    }
    if (!mw || *mw < 0) {
      missing_ = missing_ || !mw;
      continue;
    }
    out.rails.push_back(RailReading{open.channel.rail, *mw});
    out.source = open.channel.source;
  }
}

void SysfsSampler::read_cpu(PowerReading& out) {
  std::int64_t fastest = 0;
  std::int32_t on = 0;
  for (const SampleFile& file : cpu_clocks_) {
    const std::optional<std::int64_t> khz = file.integer();
    if (!khz) continue;  // a core that is off has no clock
    fastest = std::max(fastest, *khz);
    ++on;
  }
  if (on > 0) {
    out.cpu_cores_on = on;
    out.cpu_clock_mhz = static_cast<std::int32_t>(std::min<std::int64_t>(fastest / 1000, 100'000));
  }
  // "cpu  user nice system idle iowait irq softirq steal ..."
  const std::string stat = stat_.text(512);
  if (!stat.starts_with("cpu ")) return;
  std::int64_t total = 0;
  std::int64_t idle = 0;
  const char* p = stat.data() + 4;
  const char* end = stat.data() + std::min(stat.find('\n'), stat.size());
  for (int field = 0; field < 8; ++field) {
    while (p < end && *p == ' ') ++p;
    std::int64_t value = 0;
    const auto parsed = std::from_chars(p, end, value);
    if (parsed.ec != std::errc{}) return;
    p = parsed.ptr;
    total += value;
    if (field == 3 || field == 4) idle += value;
  }
  const std::int64_t busy = total - idle;
  if (cpu_total_ >= 0 && total > cpu_total_ && busy >= cpu_busy_) {
    out.cpu_load_permille =
        static_cast<std::int32_t>((busy - cpu_busy_) * 1000 / (total - cpu_total_));
  }
  cpu_busy_ = busy;
  cpu_total_ = total;
}

void SysfsSampler::read_memory(PowerReading& out) {
  const std::string text = meminfo_.text(1024);
  const auto total = number_after(text, "MemTotal:");
  const auto available = number_after(text, "MemAvailable:");
  if (total) out.memory_total_bytes = *total * 1024;
  if (total && available) out.memory_used_bytes = (*total - *available) * 1024;
}

PowerReading SysfsSampler::sample(TimeNs at) {
  rescan(at);
  PowerReading out;
  out.at = at;
  read_rails(out);
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    const std::optional<std::int64_t> milli = zones_[i].integer();
    if (milli && is_real_zone(inventory_.zones[i].name, *milli)) {
      out.zones.push_back(ZoneReading{inventory_.zones[i].name, *milli});
    }
  }
  read_cpu(out);
  if (const auto hz = gpu_clock_.integer()) {
    out.gpu_clock_mhz =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(*hz / 1'000'000, 0, 100'000));
  }
  if (const auto load = gpu_load_.integer(); load && *load >= 0 && *load <= 1000) {
    out.gpu_load_permille = static_cast<std::int32_t>(*load);
  }
  read_memory(out);
  apply_total(board_, out);
  return out;
}

}  // namespace laird::power
