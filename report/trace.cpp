#include "report/trace.hpp"

#include "base/harmless.hpp"
#include "json/value.hpp"
#include "report/story/numbers.hpp"

namespace laird::report {
namespace {

// Lanes have the first tracks; a task's comes after them.
constexpr std::int64_t kTaskThreads = 1000;

std::string text(std::string_view said) { return json::quoted(harmless(said)); }
std::string watts(std::int64_t mw) { return story::fixed(static_cast<double>(mw) * 1e-3, 3); }

// Microseconds with three digits behind the point.
std::string micros(std::int64_t ns) {
  const std::string rest = std::to_string(1000 + ns % 1000).substr(1);
  return std::to_string(ns / 1000) + "." + rest;
}

}  // namespace

std::string_view trace_begin() { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["; }
std::string_view trace_end() { return "\n]}\n"; }

void TraceWriter::put(std::string_view phase, std::string_view name, std::int64_t thread, TimeNs at,
                      std::string_view more) {
  std::string out = first_ ? "\n" : ",\n";
  first_ = false;
  out += "{\"ph\":\"" + std::string(phase) + "\",\"name\":" + text(name) +
         ",\"pid\":" + std::to_string(number_) + ",\"tid\":" + std::to_string(thread) +
         ",\"ts\":" + micros(at + wall_minus_agent_);
  out += more;
  sink_(out + "}");
}

void TraceWriter::name_thread(std::int64_t thread, const std::string& name) {
  if (!named_.insert(thread).second) return;
  put("M", "thread_name", thread, -wall_minus_agent_, ",\"args\":{\"name\":" + text(name) + "}");
  put("M", "thread_sort_index", thread, -wall_minus_agent_,
      ",\"args\":{\"sort_index\":" + std::to_string(thread) + "}");
}

void TraceWriter::name_board(const core::State& state) {
  if (node_ == state.config.node) return;
  node_ = state.config.node;
  put("M", "process_name", 0, -wall_minus_agent_, ",\"args\":{\"name\":" + text(node_) + "}");
  for (std::size_t i = 0; i < state.lanes.size(); ++i) {
    name_thread(static_cast<std::int64_t>(i) + 1, "lane " + state.lanes[i].config.name);
  }
}

void TraceWriter::see_stretch(const story::TaskStory& task, story::Doing doing, int lane,
                              TimeNs from, TimeNs to) {
  const std::int64_t thread = kTaskThreads + task.key;
  const std::string length = ",\"dur\":" + micros(to - from);
  name_thread(thread, "task " + task.name);
  put("X", story::name(doing), thread, from, length);
  if (doing == story::Doing::kRunning && lane >= 0) put("X", task.name, lane + 1, from, length);
}

void TraceWriter::see(const core::Event& event, const core::State& state) {
  wall_minus_agent_ = state.wall_minus_agent;
  name_board(state);
  if (const auto* sampled = std::get_if<core::PowerSampled>(&event.body)) {
    const power::PowerReading& reading = sampled->reading;
    const std::optional<std::int64_t> cap = state.power.in_force(state.config.power).mw;
    if (reading.total_mw) {
      put("C", "power, W", 0, state.now, ",\"args\":{\"drawn\":" + watts(*reading.total_mw) + "}");
    }
    if (cap) put("C", "cap, W", 0, state.now, ",\"args\":{\"cap\":" + watts(*cap) + "}");
    for (const power::RailReading& rail : reading.rails) {
      put("C", "rail " + rail.name + ", W", 0, state.now,
          ",\"args\":{\"drawn\":" + watts(rail.mw) + "}");
    }
  } else if (const auto* report = std::get_if<core::TrainerProgressed>(&event.body)) {
    const core::Task* task = state.find_any(report->key);
    if (task != nullptr) {
      put("C", "loss of " + task->spec.name, 0, state.now,
          ",\"args\":{\"loss\":" + story::figures(report->loss, 6) + "}");
    }
  }
  grants_.see(state, [&](std::size_t lane, const core::Task& task) {
    put("i", "decided: " + task.spec.name, static_cast<std::int64_t>(lane) + 1, state.now,
        ",\"s\":\"t\",\"args\":{\"why\":" + text(story::why_of(state, task)) + "}");
  });
}

}  // namespace laird::report
