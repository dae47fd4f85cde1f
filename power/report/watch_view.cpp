#include "power/report/watch_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/duration.hpp"

namespace laird::power {
namespace {

constexpr std::size_t kTextColumns = 52;  // what stands left of the sparkline

}  // namespace

std::string sparkline(const std::deque<double>& values, bool from_zero) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty()) return {};
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const double low = from_zero ? std::min(0.0, *lowest) : *lowest;
  const double span = *highest - low;
  std::string out;
  for (const double v : values) {
    const double part = span > 0 ? (v - low) / span : 0;
    out += kBlocks[std::clamp(std::lround(part * 7), 0L, 7L)];
  }
  return out;
}

void WatchView::put(const std::string& name, const char* unit, int decimals, bool from_zero,
                    double value) {
  Row* row = nullptr;
  for (Row& known : rows_) {
    if (known.name == name) row = &known;
  }
  if (row == nullptr) {
    if (rows_.size() >= kRowsMax) return;
    rows_.push_back(Row{name, unit, decimals, from_zero, true, {}, value, value});
    row = &rows_.back();
  }
  row->fresh = true;
  row->low = std::min(row->low, value);
  row->high = std::max(row->high, value);
  row->values.push_back(value);
  if (row->values.size() > kHistoryMax) row->values.pop_front();
}

void WatchView::add(const PowerReading& reading) {
  for (Row& row : rows_) row.fresh = false;
  rule_ = reading.total_rule;
  if (reading.total_mw) {
    put("total", "W", 2, false, static_cast<double>(*reading.total_mw) * 1e-3);
  }
  for (const RailReading& rail : reading.rails) {
    put(rail.name, "W", 2, false, static_cast<double>(rail.mw) * 1e-3);
  }
  if (reading.cpu_load_permille) put("cpu load", "%", 0, true, *reading.cpu_load_permille * 0.1);
  if (reading.gpu_load_permille) put("gpu load", "%", 0, true, *reading.gpu_load_permille * 0.1);
  if (reading.gpu_clock_mhz) put("gpu clock", "MHz", 0, true, *reading.gpu_clock_mhz);
  if (reading.memory_used_bytes) {
    put("memory", "MB", 0, false, static_cast<double>(*reading.memory_used_bytes) / 1e6);
  }
  if (const auto hot = reading.hottest_mc()) {
    put("hottest", "C", 1, false, static_cast<double>(*hot) * 1e-3);
  }
}

std::string WatchView::screen(const Meter& meter, const ReaderStatus& status,
                              std::size_t columns) const {
  char text[256];
  std::string out =
      board_.title + "   power from " + std::string(name(status.source)) + ": " + status.detail;
  out.resize(std::min(out.size(), columns));
  out += "\n";
  std::snprintf(text, sizeof text, "%-18s %9s      %8s %8s", "", "now", "lowest", "highest");
  out += text;
  const std::size_t room = columns > kTextColumns + 1 ? columns - kTextColumns - 1 : 0;
  for (const Row& row : rows_) {
    std::snprintf(text, sizeof text, "\n%-18.18s ", row.name.c_str());
    out += text;
    if (row.fresh) {
      std::snprintf(text, sizeof text, "%9.*f", row.decimals, row.values.back());
    } else {
      std::snprintf(text, sizeof text, "%9s", "-");  // gone from the newest reading
    }
    out += text;
    std::snprintf(text, sizeof text, " %-4s %8.*f %8.*f  ", row.unit.c_str(), row.decimals, row.low,
                  row.decimals, row.high);
    out += text;
    std::deque<double> recent = row.values;
    while (recent.size() > room) recent.pop_front();
    out += sparkline(recent, row.from_zero);
  }
  const MeterTotals& m = meter.totals();
  std::snprintf(text, sizeof text, "\n\nenergy %.1f J over %s, mean %.2f W; gaps %llu, %s",
                m.board.joules(), spoken(m.metered_ns).c_str(), m.mean_mw().value_or(0) * 1e-3,
                static_cast<unsigned long long>(m.gaps), spoken(m.unmetered_ns).c_str());
  out += text;
  std::string rule = "\ntotal is " + rule_;
  rule.resize(std::min(rule.size(), columns));
  return out + rule + "\n";
}

}  // namespace laird::power
