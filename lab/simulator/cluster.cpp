#include "lab/simulator/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "lab/simulator/link.hpp"

namespace laird::lab {
namespace {

constexpr TimeNs kStart = kSecond;  // when boards begin

[[nodiscard]] double to_units(DurationNs ns) {
  return static_cast<double>(ns) / static_cast<double>(kTimeUnit);
}

// Which board each task goes to. Decided by what is known when it arrives, and for all policies
// alike: the board with the fewest tasks whose deadline has not passed, the first of equals.
[[nodiscard]] std::vector<std::size_t> placed(const std::vector<ClusterTask>& tasks,
                                              std::size_t boards) {
  std::vector<std::size_t> order(tasks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tasks[a].task.arrival_units < tasks[b].task.arrival_units;
  });
  std::vector<std::size_t> board_of(tasks.size());
  std::vector<std::vector<double>> deadlines(boards);
  for (const std::size_t i : order) {
    const double now = tasks[i].task.arrival_units;
    for (std::vector<double>& board : deadlines) {
      std::erase_if(board, [now](double deadline) { return deadline <= now; });
    }
    const auto least =
        std::min_element(deadlines.begin(), deadlines.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    least->push_back(now + tasks[i].task.deadline_units);
    board_of[i] = static_cast<std::size_t>(least - deadlines.begin());
  }
  return board_of;
}

class Cluster {
 public:
  Cluster(const ClusterSetting& setting, const std::vector<ClusterTask>& tasks,
          const std::function<void(const ClusterGrant&)>& trace)
      : tasks_(tasks),
        board_of_(placed(tasks, setting.boards)),
        place_on_board_(tasks.size()),
        members_(setting.boards),
        index_of_(setting.boards),
        link_(setting.link_per_unit / static_cast<double>(kTimeUnit)) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::size_t b = board_of_[i];
      place_on_board_[i] = static_cast<std::uint32_t>(index_of_[b].size());
      index_of_[b].push_back(i);
      members_[b].push_back(tasks[i].task);
    }
    for (std::size_t b = 0; b < setting.boards; ++b) {
      boards_.push_back(std::make_unique<CurveBoard>(setting.policy, setting.seed + b));
      boards_[b]->starting = [this, b](std::uint32_t index, TimeNs now) {
        const std::size_t task = index_of_[b][index];
        link_.start(static_cast<std::uint32_t>(task), tasks_[task].transfer, now);
        return true;
      };
      if (trace) {
        boards_[b]->after_grant = [this, b, &trace](std::uint32_t index, TimeNs from, TimeNs to,
                                                    double share) {
          trace({b, index_of_[b][index], to_units(from - kStart), to_units(to - kStart), share});
        };
      }
    }
  }

  void run() {
    for (std::size_t b = 0; b < boards_.size(); ++b) boards_[b]->begin(members_[b]);
    while (true) {
      std::size_t next = 0;
      for (std::size_t b = 1; b < boards_.size(); ++b) {
        if (boards_[b]->next_at() < boards_[next]->next_at()) next = b;
      }
      const TimeNs link_at = link_.next_at();
      if (boards_[next]->next_at() == kNever && link_at == kNever) return;
      if (boards_[next]->next_at() <= link_at) {
        boards_[next]->happen_next();
        continue;
      }
      const std::uint32_t task = link_.finish_next();
      const auto delay = static_cast<DurationNs>(
          std::llround(tasks_[task].delay_units * static_cast<double>(kTimeUnit)));
      boards_[board_of_[task]]->ready(place_on_board_[task], link_at + delay);
    }
  }

  [[nodiscard]] ClusterResult result() const {
    ClusterResult out;
    out.succeeded_at.resize(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const TimeNs at = boards_[board_of_[i]]->succeeded_at(place_on_board_[i]);
      out.succeeded_at[i] = at == kNever ? kNever : at - kStart;
      out.horizon_units =
          std::max(out.horizon_units, tasks_[i].task.arrival_units + tasks_[i].task.deadline_units);
    }
    for (const auto& board : boards_) {
      const RunResult r = board->finish();
      out.work_units += to_units(r.work_ns);
      out.switches += r.switches;
      out.grants += r.grants;
    }
    out.link_busy_units = to_units(link_.busy_ns());
    return out;
  }

 private:
  const std::vector<ClusterTask>& tasks_;
  std::vector<std::size_t> board_of_;
  std::vector<std::uint32_t> place_on_board_;
  std::vector<std::vector<SimulatedTask>> members_;  // by board
  std::vector<std::vector<std::size_t>> index_of_;   // task by board and place
  Link link_;
  std::vector<std::unique_ptr<CurveBoard>> boards_;
};

}  // namespace

ClusterResult run_cluster(const ClusterSetting& setting, const std::vector<ClusterTask>& tasks,
                          const std::function<void(const ClusterGrant&)>& trace) {
  Cluster cluster(setting, tasks, trace);
  cluster.run();
  return cluster.result();
}

}  // namespace laird::lab
