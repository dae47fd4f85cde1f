#include "power/report/openmetrics.hpp"

#include <cstdio>

namespace laird::power {
namespace {

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", v);
  return text;
}

std::string label(std::string_view key, std::string_view value) {
  return OpenMetrics::label(key, value);
}

void gauges(const PowerReading& reading, OpenMetrics& text) {
  if (reading.total_mw) {
    text.family("laird_power_watts", "gauge", "watts", "Total power by the board's rule.");
    text.sample(label("scope", name(reading.scope)) + "," + label("source", name(reading.source)) +
                    "," + label("rule", reading.total_rule),
                static_cast<double>(*reading.total_mw) * 1e-3);
  }
  if (!reading.rails.empty()) {
    text.family("laird_rail_power_watts", "gauge", "watts", "Power of each metered rail.");
    for (const RailReading& rail : reading.rails) {
      text.sample(label("rail", rail.name), static_cast<double>(rail.mw) * 1e-3);
    }
  }
  bool first = true;
  for (const ZoneReading& zone : reading.zones) {
    if (!is_real_zone(zone.name, zone.milli_c)) continue;
    if (first) {
      text.family("laird_temperature_celsius", "gauge", "celsius", "Thermal zones that are on.");
    }
    first = false;
    text.sample(label("zone", zone.name), static_cast<double>(zone.milli_c) * 1e-3);
  }
  if (reading.gpu_load_permille) {
    text.family("laird_gpu_load_ratio", "gauge", "ratio", "GPU load.");
    text.sample("", *reading.gpu_load_permille * 1e-3);
  }
  if (reading.cpu_load_permille) {
    text.family("laird_cpu_load_ratio", "gauge", "ratio", "Mean load of the cores that are on.");
    text.sample("", *reading.cpu_load_permille * 1e-3);
  }
}

}  // namespace

std::string OpenMetrics::label(std::string_view key, std::string_view value) {
  return std::string(key) + "=\"" + label_value(value) + "\"";
}

void OpenMetrics::family(std::string_view name, std::string_view type, std::string_view unit,
                         std::string_view help) {
  name_ = name;
  counter_ = type == "counter";
  out_ += "# TYPE " + name_ + " " + std::string(type) + "\n";
  if (!unit.empty()) out_ += "# UNIT " + name_ + " " + std::string(unit) + "\n";
  out_ += "# HELP " + name_ + " " + std::string(help) + "\n";
}

void OpenMetrics::sample(std::string_view labels, double v) {
  out_ += name_ + (counter_ ? "_total" : "");
  if (!labels.empty()) out_ += "{" + std::string(labels) + "}";
  out_ += " " + number(v) + "\n";
}

void OpenMetrics::info(std::string_view labels) {
  out_ += name_ + "_info{" + std::string(labels) + "} 1\n";
}

std::string OpenMetrics::finish() && { return std::move(out_) + "# EOF\n"; }

void add_power(OpenMetrics& text, const Board& board, const Meter& meter,
               const std::optional<PowerReading>& reading, const TaskName& task_name) {
  const MeterTotals& m = meter.totals();
  text.family("laird_board", "info", "", "The board the rules are of.");
  text.info(label("board", board.name));
  if (reading) gauges(*reading, text);
  text.family("laird_energy_joules", "counter", "joules", "Energy metered, gaps left out.");
  text.sample("", m.board.joules());
  if (!meter.rails().empty()) {
    text.family("laird_rail_energy_joules", "counter", "joules", "Energy of each rail.");
    for (const RailEnergy& rail : meter.rails()) {
      text.sample(label("rail", rail.name), rail.energy.joules());
    }
  }
  text.family("laird_system_energy_joules", "counter", "joules", "Energy of no task.");
  text.sample("", m.system.joules());
  if (!meter.tasks().empty()) {
    text.family("laird_task_energy_joules", "counter", "joules", "Energy attributed to each task.");
    for (const TaskEnergy& task : meter.tasks()) {
      const std::string name = task_name(task.task);
      if (name.empty()) continue;
      const std::string id = label("task", name);
      text.sample(id + ",part=\"dynamic\"", task.dynamic.joules());
      text.sample(id + ",part=\"idle\"", task.idle.joules());
    }
  }
  text.family("laird_metered_seconds", "counter", "seconds", "Time the energy covers.");
  text.sample("", static_cast<double>(m.metered_ns) * 1e-9);
  text.family("laird_unmetered_seconds", "counter", "seconds", "Time in gaps between readings.");
  text.sample("", static_cast<double>(m.unmetered_ns) * 1e-9);
  text.family("laird_meter_gaps", "counter", "", "Gaps between readings.");
  text.sample("", static_cast<double>(m.gaps));
  text.family("laird_readings", "counter", "", "Power readings taken.");
  text.sample("", static_cast<double>(m.readings));
  text.family("laird_readings_unknown", "counter", "", "Readings whose total was unknown.");
  text.sample("", static_cast<double>(m.readings_without_total));
}

std::string openmetrics(const Board& board, const Meter& meter,
                        const std::optional<PowerReading>& reading) {
  OpenMetrics text;
  add_power(text, board, meter, reading, [](TaskKey task) { return std::to_string(task); });
  return std::move(text).finish();
}

}  // namespace laird::power
