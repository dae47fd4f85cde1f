#include "power/report/summary.hpp"

#include <algorithm>
#include <cstdio>

#include "base/duration.hpp"
#include "config/units.hpp"

namespace laird::power {
namespace {

constexpr std::size_t kTracesMax = 24;
constexpr std::size_t kHistogramKeysMax = 100'000;

double watts(double mw) { return mw * 1e-3; }
std::string energy_text(double joules) {
  if (joules >= 3.6e6) return plot::short_number(joules / 3.6e6) + " kWh";
  if (joules >= 3.6e4) return plot::short_number(joules / 3.6e3) + " Wh";
  return plot::short_number(joules) + " J";
}

std::string card(const std::string& value, const std::string& label) {
  return "<div class=card><b>" + plot::escaped(value) + "</b><span>" + plot::escaped(label) +
         "</span></div>";
}

std::string row(std::initializer_list<std::string> cells, const char* tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) {
    out += std::string("<") + tag + ">" + cell + "</" + tag + ">";
  }
  return out + "</tr>";
}

}  // namespace

void BucketedTrace::add(TimeNs at, double value) {
  if (count_ == 0) {
    origin_ = at;
    low_ = high_ = value;
  }
  if (at < origin_) return;  // a capture whose clock went back
  ++count_;
  sum_ += value;
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
  // A jump of years must not loop long: each widening doubles, so 60 are enough for any time.
  while (static_cast<std::uint64_t>((at - origin_) / width_) >= kBucketsMax) widen();
  const auto index = static_cast<std::size_t>((at - origin_) / width_);
  if (index >= buckets_.size()) buckets_.resize(index + 1);
  Bucket& bucket = buckets_[index];
  if (bucket.count == 0) bucket.low = bucket.high = value;
  bucket.low = std::min(bucket.low, value);
  bucket.high = std::max(bucket.high, value);
  bucket.sum += value;
  ++bucket.count;
}

void BucketedTrace::widen() {
  width_ *= 2;
  std::vector<Bucket> wide((buckets_.size() + 1) / 2);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& from = buckets_[i];
    Bucket& to = wide[i / 2];
    if (from.count == 0) continue;
    if (to.count == 0) {
      to.low = from.low;
      to.high = from.high;
    }
    to.low = std::min(to.low, from.low);
    to.high = std::max(to.high, from.high);
    to.sum += from.sum;
    to.count += from.count;
  }
  buckets_ = std::move(wide);
}

std::vector<plot::PlotPoint> BucketedTrace::points(double x_scale) const {
  std::vector<plot::PlotPoint> out;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    if (bucket.count == 0) continue;
    const double at =
        seconds(origin_ + width_ * static_cast<DurationNs>(i)) + 0.5 * seconds(width_);
    out.push_back(plot::PlotPoint{at * x_scale, bucket.low, bucket.high,
                                  bucket.sum / static_cast<double>(bucket.count)});
  }
  return out;
}

double BucketedTrace::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

BucketedTrace& ReportSummary::trace_of(std::vector<Named>& all, const std::string& name) {
  for (Named& entry : all) {
    if (entry.name == name) return entry.trace;
  }
  if (all.size() >= kTracesMax) return all.back().trace;
  all.push_back(Named{name, {}});
  return all.back().trace;
}

void ReportSummary::add(const PowerReading& reading) {
  if (!any_) first_at_ = reading.at;
  any_ = true;
  last_at_ = std::max(last_at_, reading.at);
  meter_.on_reading(reading);
  for (const RailReading& rail : reading.rails) {
    trace_of(rails_, rail.name).add(reading.at, watts(static_cast<double>(rail.mw)));
  }
  for (const ZoneReading& zone : reading.zones) {
    if (!is_real_zone(zone.name, zone.milli_c)) continue;
    trace_of(zones_, zone.name).add(reading.at, static_cast<double>(zone.milli_c) * 1e-3);
  }
  if (reading.gpu_load_permille) {
    trace_of(loads_, "GPU").add(reading.at, *reading.gpu_load_permille * 0.1);
  }
  if (reading.cpu_load_permille) {
    trace_of(loads_, "CPU").add(reading.at, *reading.cpu_load_permille * 0.1);
  }
  if (!reading.total_mw) return;
  rule_ = reading.total_rule;
  scope_ = reading.scope;
  total_.add(reading.at, watts(static_cast<double>(*reading.total_mw)));
  const std::int64_t key = *reading.total_mw / 10;
  if (totals_by_10mw_.size() < kHistogramKeysMax || totals_by_10mw_.contains(key)) {
    ++totals_by_10mw_[key];
  }
}

double ReportSummary::quantile_w(double q) const {
  std::uint64_t all = 0;
  for (const auto& [key, n] : totals_by_10mw_) all += n;
  std::uint64_t seen = 0;
  for (const auto& [key, n] : totals_by_10mw_) {
    seen += n;
    if (static_cast<double>(seen) >= q * static_cast<double>(all)) {
      return static_cast<double>(key) * 0.01;
    }
  }
  return 0;
}

std::vector<plot::Bar> ReportSummary::histogram() const {
  std::vector<plot::Bar> out;
  if (totals_by_10mw_.empty()) return out;
  const double low = static_cast<double>(totals_by_10mw_.begin()->first) * 0.01;
  const double high = static_cast<double>(totals_by_10mw_.rbegin()->first + 1) * 0.01;
  static constexpr int kBars = 48;
  // No narrower than the meter's step, or most bars would be empty for no reason of the board's.
  const double step = watts(static_cast<double>(meter_.totals().resolution_mw));
  const double width = std::max({(high - low) / kBars, step, 0.01});
  std::uint64_t all = 0;
  for (double at = low; at < high; at += width) out.push_back(plot::Bar{at, at + width, 0});
  for (const auto& [key, n] : totals_by_10mw_) {
    const double at = static_cast<double>(key) * 0.01;
    const auto index = static_cast<std::size_t>((at - low) / width);
    out[std::min(index, out.size() - 1)].value += static_cast<double>(n);
    all += n;
  }
  for (plot::Bar& bar : out) bar.value *= 100.0 / static_cast<double>(all);
  return out;
}

std::string ReportSummary::cards() const {
  const MeterTotals& m = meter_.totals();
  std::string out = "<div class=cards>";
  if (total_.empty()) {
    out += card("unknown", "total power");
  } else {
    out += card(energy_text(m.board.joules()), "energy");
    out += card(plot::short_number(watts(m.mean_mw().value_or(total_.mean() * 1e3))) + " W",
                "mean power");
    out += card(plot::short_number(quantile_w(0.5)) + " W", "median");
    out += card(plot::short_number(quantile_w(0.99)) + " W", "99th percentile");
    out += card(plot::short_number(total_.high()) + " W", "highest");
  }
  out += card(spoken(m.metered_ns), "metered");
  out += card(m.gaps == 0 ? "none" : std::to_string(m.gaps) + ", " + spoken(m.unmetered_ns),
              "gaps, not metered");
  return out + "</div>";
}

std::string ReportSummary::rail_table() const {
  std::string out = "<div class=scroll><table>";
  out += row({"rail", "feeds", "mean W", "lowest W", "highest W", "energy", "step"}, "th");
  for (const Named& entry : rails_) {
    const Rail* rail = board_.rail(entry.name);
    std::string energy = "-";
    for (const RailEnergy& metered : meter_.rails()) {
      if (metered.name == entry.name) energy = energy_text(metered.energy.joules());
    }
    out += row(
        {plot::escaped(entry.name), rail == nullptr ? "-" : std::string(name(rail->feeds)),
         plot::short_number(entry.trace.mean()), plot::short_number(entry.trace.low()),
         plot::short_number(entry.trace.high()), energy,
         rail == nullptr || rail->step_mw == 0 ? "unknown" : config::format_power(rail->step_mw)},
        "td");
  }
  return out + "</table></div>";
}

std::string ReportSummary::accuracy() const {
  const MeterTotals& m = meter_.totals();
  if (m.metered_ns == 0) return "<p>Too few readings with a total to integrate.</p>";
  std::string out =
      "<p>Energy is the trapezoidal sum of " + std::to_string(m.readings) + " readings. ";
  if (m.resolution_mw > 0) {
    out += "Meter resolution (" + config::format_power(m.resolution_mw) + "): at most &plusmn;" +
           energy_text(m.resolution_worst.joules()) + ", likely &plusmn;" +
           energy_text(m.resolution_likely_j()) + ". ";
  } else {
    out += "The meter's resolution is not known. ";
  }
  out += "Sampling: at most &plusmn;" + energy_text(m.sampling.joules()) +
         " if power moved one way between neighbouring readings. ";
  if (m.gaps > 0) {
    out += "What power did inside the " + std::to_string(m.gaps) +
           " gaps is not known and not included.";
  }
  return out + "</p>";
}

plot::Plot ReportSummary::lines(const std::vector<Named>& all, double scale,
                                const char* unit) const {
  plot::Plot plot;
  plot.x_unit = scale < 1 ? "min" : "s";
  plot.y_unit = unit;
  plot.gap_x = std::max(5.0, 2.5 * seconds(total_.bucket_ns())) * scale;
  int colour = 1;
  for (const Named& entry : all) {
    plot.series.push_back(
        plot::PlotSeries{entry.name, colour++, entry.trace.points(scale), false, false});
  }
  return plot;
}

std::string ReportSummary::html(std::string_view title, const RecordingCounts& counts) const {
  const double scale = last_at_ - first_at_ > 10 * kMinute ? 1.0 / 60 : 1.0;
  std::string body =
      "<h1>" + plot::escaped(title) + "</h1><p class=lead>" + plot::escaped(board_.title);
  body += ". Total: " + plot::escaped(total_.empty() ? "unknown" : rule_) + " (" +
          std::string(name(scope_)) + "). " + std::to_string(counts.lines) + " lines";
  if (counts.foreign > 0) body += ", " + std::to_string(counts.foreign) + " of something else";
  if (counts.too_long > 0) body += ", " + std::to_string(counts.too_long) + " too long";
  if (counts.unknown_tokens > 0) {
    body += ", " + std::to_string(counts.unknown_tokens) + " unknown tokens";
  }
  body += ".</p>" + cards();
  plot::Plot power = lines(rails_, scale, "W");
  if (!total_.empty()) {
    // A total that is one rail would be drawn twice.
    std::erase_if(power.series, [&](const plot::PlotSeries& s) { return s.name == rule_; });
    power.series.insert(power.series.begin(),
                        plot::PlotSeries{"total", 0, total_.points(scale), true, false});
  }
  body += "<h2>Power</h2>" + plot::svg_lines(power);
  if (!totals_by_10mw_.empty()) {
    body += "<h2>How often at which power</h2>" +
            plot::svg_histogram(histogram(), "W", "% of readings");
  }
  if (!rails_.empty()) body += "<h2>Rails</h2>" + rail_table();
  if (!loads_.empty()) {
    body += "<h2>Load</h2>" + plot::svg_lines(lines(loads_, scale, "%"));
  }
  if (!zones_.empty()) {
    plot::Plot heat = lines(zones_, scale, "C");
    heat.from_zero = false;
    body += "<h2>Temperature</h2>" + plot::svg_lines(heat);
  }
  body += "<h2>Accuracy</h2>" + accuracy();
  return plot::page(title, body);
}

std::string ReportSummary::text(std::string_view title, const RecordingCounts& counts) const {
  const MeterTotals& m = meter_.totals();
  std::string out(title);
  out += "\n  board    " + board_.title + "\n  lines    " + std::to_string(counts.lines) +
         (counts.foreign > 0 ? " (" + std::to_string(counts.foreign) + " of something else)" : "");
  out += "\n  total    " + (total_.empty() ? std::string("unknown") : rule_) + "\n";
  if (!total_.empty()) {
    out += "  energy   " + energy_text(m.board.joules()) + " over " + spoken(m.metered_ns) +
           (m.gaps == 0
                ? std::string(", no gaps")
                : "; not metered: " + std::to_string(m.gaps) + " gaps, " + spoken(m.unmetered_ns)) +
           "\n";
    out += "  power    mean " + plot::short_number(watts(m.mean_mw().value_or(0))) + " W, median " +
           plot::short_number(quantile_w(0.5)) + " W, highest " +
           plot::short_number(total_.high()) + " W\n";
    out += "  error    resolution at most " + energy_text(m.resolution_worst.joules()) +
           ", sampling at most " + energy_text(m.sampling.joules()) + "\n";
  }
  return out;
}

}  // namespace laird::power
