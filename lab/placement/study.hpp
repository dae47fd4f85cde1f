// Solvers beside each other: the paper's experiment with growing numbers of tasks, or generated
// instances over many seeds.
#pragma once

#include <string>
#include <vector>

#include "agent/placement/planner/instance.hpp"
#include "agent/placement/planner/plan.hpp"
#include "json/value.hpp"

namespace laird::lab {

struct StudyOptions {
  bool paper = true;  // the paper's tasks; else generated ones
  std::vector<std::string> tasks = {"5", "20", "50", "100"};
  std::size_t boards = 7;
  std::vector<std::string> modes = {"S", "C"};
  std::vector<std::string> solvers;  // empty: all that there are
  std::uint64_t seeds = 1;
  double seconds = 1.0;
  bool deadlines = false;
};

// One solver at one size and mode, over the seeds.
struct StudyRow {
  std::string tasks;
  std::string mode;
  std::string solver;
  std::size_t runs = 0;
  std::size_t failed = 0;
  double makespan_h = 0.0;  // mean
  double gap = 0.0;         // mean, to the certified bound
  double gap_max = 0.0;
  double utilisation = 0.0;   // of the boards' GPUs until the end, mean
  double cpu_s = 0.0;         // mean
  double first_plan_s = 0.0;  // largest
  double weight_met = 0.0;    // part of the deadlines' weight, mean; 1 without deadlines
  std::string error;          // of the first that failed
};

// `say` hears what is being run.
[[nodiscard]] Result<std::vector<StudyRow>> run_study(const StudyOptions& options,
                                                      void (*say)(const std::string&));

// Deadlines over the time that the tasks take, some of them tight, with weights 1 to 5.
void give_deadlines(placement::Instance& instance, std::uint64_t seed);

[[nodiscard]] std::string study_text(const std::vector<StudyRow>& rows);
[[nodiscard]] json::Value study_json(const std::vector<StudyRow>& rows);
[[nodiscard]] std::string study_page(const StudyOptions& options,
                                     const std::vector<StudyRow>& rows);

// Who runs when on which board.
[[nodiscard]] std::string plan_page(const placement::Instance& instance,
                                    const placement::Plan& plan);

}  // namespace laird::lab
