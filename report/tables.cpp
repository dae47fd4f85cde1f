#include "report/tables.hpp"

#include "base/duration.hpp"
#include "base/harmless.hpp"
#include "consensus/limits.hpp"
#include "mqtt/codec/messages.hpp"
#include "report/story/numbers.hpp"

namespace laird::report {
namespace {

using story::BoardStory;
using story::figures;
using story::fixed;
using story::TaskStory;

std::string wall_text(TimeNs wall) { return mqtt::time_text(wall / kMillisecond); }
std::string watts(std::int64_t mw) { return fixed(static_cast<double>(mw) * 1e-3, 3); }

template <class T>
std::string known(const std::optional<T>& value, double unit, int digits) {
  return value ? fixed(static_cast<double>(*value) * unit, digits) : "";
}

struct Named {
  std::string_view file;
  std::string_view head;
};
constexpr std::array<Named, kTables> kNamed = {{
    {"reports.csv", "time,agent_s,board,task,attempt,samples,loss\n"},
    {"decisions.csv", "time,agent_s,board,lane,task,share,slice_s,why\n"},
    {"power.csv",
     "time,agent_s,board,drawn_w,mean_w,cap_w,cap_by,hottest_c,gpu_load,gpu_mhz,cpu_load,cpu_mhz,"
     "memory_bytes\n"},
    {"rails.csv", "time,agent_s,board,rail,drawn_w\n"},
    {"shares.csv", "time,agent_s,board,share,cap_w\n"},
    {"tasks.csv",
     "board,task,trainer,lane,weight,target,outcome,accepted,deadline,ended,margin_s,loss,best_"
     "loss,"
     "samples,planned_samples,energy_j,ran_s,reports,switches,crashes,cause,headline\n"},
    {"events.csv", "time,agent_s,board,kind,by,task,text\n"},
}};

std::string task_line(const BoardStory& board, const TaskStory& task) {
  const bool over = task.over();
  std::string out = csv_cell(board.node) + "," + csv_cell(task.name) + "," +
                    csv_cell(task.trainer) + "," + csv_cell(task.lane_kind) + "," +
                    figures(task.weight, 6) + "," + figures(task.target, 17) + "," +
                    csv_cell(task.state) + "," + wall_text(board.wall(task.accepted_at)) + "," +
                    wall_text(board.wall(task.deadline_at)) + ",";
  out += (over ? wall_text(board.wall(task.ended_at)) : "") + "," +
         (over ? fixed(seconds(task.margin()), 3) : "") + "," +
         (task.loss ? figures(*task.loss, 17) : "") + "," +
         (task.best_loss ? figures(*task.best_loss, 17) : "") + "," + std::to_string(task.samples) +
         "," + std::to_string(task.planned_samples) + ",";
  out += (task.energy_uj < 0 ? "" : fixed(static_cast<double>(task.energy_uj) * 1e-6, 3)) + "," +
         fixed(seconds(task.busy_ns), 3) + "," + std::to_string(task.reports) + "," +
         std::to_string(task.switches) + "," + std::to_string(task.crashes) + "," +
         csv_cell(task.cause) + "," + csv_cell(task.headline) + "\n";
  return out;
}

}  // namespace

std::string_view file_name(Table table) { return kNamed[static_cast<std::size_t>(table)].file; }
std::string_view head_of(Table table) { return kNamed[static_cast<std::size_t>(table)].head; }

std::string csv_cell(std::string_view text) {
  std::string safe = harmless(text);
  if (safe.empty()) return safe;
  if (std::string_view("=+-@").find(safe.front()) != std::string_view::npos) safe.insert(0, "'");
  if (safe.find_first_of(",\"' ") == std::string::npos) return safe;
  std::string out = "\"";
  for (const char c : safe) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string TableWriter::begin(const core::State& state) const {
  return wall_text(state.now + state.wall_minus_agent) + "," + fixed(seconds(state.now), 6) + "," +
         csv_cell(board_) + ",";
}

void TableWriter::see(const core::Event& event, const core::State& state) {
  if (const auto* report = std::get_if<core::TrainerProgressed>(&event.body)) {
    const core::Task* task = state.find_any(report->key);
    if (task != nullptr) {
      sink_(Table::kReports,
            begin(state) + csv_cell(task->spec.name) + "," + std::to_string(report->attempt) + "," +
                std::to_string(report->samples) + "," + figures(report->loss, 17) + "\n");
    }
  } else if (const auto* sampled = std::get_if<core::PowerSampled>(&event.body)) {
    see_power(sampled->reading, state);
  }
  see_decisions(state);
}

void TableWriter::see_decisions(const core::State& state) {
  grants_.see(state, [&](std::size_t index, const core::Task& task) {
    const core::Lane& lane = state.lanes[index];
    sink_(Table::kDecisions,
          begin(state) + csv_cell(lane.config.name) + "," + csv_cell(task.spec.name) + "," +
              figures(story::share_of(task), 6) + "," + fixed(seconds(lane.slice), 6) + "," +
              csv_cell(story::why_of(state, task)) + "\n");
  });
}

void TableWriter::see_power(const power::PowerReading& reading, const core::State& state) {
  const core::CapInForce cap = state.power.in_force(state.config.power);
  sink_(Table::kPower,
        begin(state) + known(reading.total_mw, 1e-3, 3) + "," +
            known(state.power.mean_mw, 1e-3, 3) + "," + known(cap.mw, 1e-3, 3) + "," +
            (cap.mw ? std::string(core::name(cap.source)) : "") + "," +
            known(reading.hottest_mc(), 1e-3, 1) + "," + known(reading.gpu_load_permille, 1e-3, 3) +
            "," + known(reading.gpu_clock_mhz, 1.0, 0) + "," +
            known(reading.cpu_load_permille, 1e-3, 3) + "," + known(reading.cpu_clock_mhz, 1.0, 0) +
            "," + known(reading.memory_used_bytes, 1.0, 0) + "\n");
  for (const power::RailReading& rail : reading.rails) {
    sink_(Table::kRails, begin(state) + csv_cell(rail.name) + "," + watts(rail.mw) + "\n");
  }
}

void write_tables(std::span<const BoardStory> boards, const TableSink& sink) {
  for (const BoardStory& board : boards) {
    const auto begin = [&](TimeNs at) {
      return wall_text(board.wall(at)) + "," + fixed(seconds(at), 6) + "," + csv_cell(board.node) +
             ",";
    };
    for (const TaskStory& task : board.tasks) sink(Table::kTasks, task_line(board, task));
    for (const story::SharePoint& p : board.fleet.shares) {
      const double part = static_cast<double>(p.parts) / static_cast<double>(consensus::kWhole);
      sink(Table::kShares, begin(p.at) + figures(part, 12) + "," + watts(p.enforced_mw) + "\n");
    }
    for (const story::Happening& h : board.happenings) {
      sink(Table::kEvents, begin(h.at) + story::name(h.kind) + "," + csv_cell(h.by) + "," +
                               csv_cell(h.task) + "," + csv_cell(h.text) + "\n");
    }
  }
}

}  // namespace laird::report
