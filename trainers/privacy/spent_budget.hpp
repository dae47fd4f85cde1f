// What a task's trainers have told of the board's rows, over all their lives: kept in the task's
// folder. A part is put by before it is used, so that a trainer that is killed has never told more
// than the file says; at most that part is counted for nothing. What an earlier task of the same
// folder told of the rows counts on.
#pragma once

#include <string>

#include "base/error.hpp"

namespace laird::trainers {

// A cell that empties the folder for another task of the name keeps it (cell/folder.hpp).
inline constexpr std::string_view kSpentFile = "privacy-spent.json";

class SpentBudget {
 public:
  // Refuses a file that it cannot read: with nothing known, nothing may be told.
  [[nodiscard]] static Result<SpentBudget> open(const std::string& folder);

  // Before a round that tells so much.
  [[nodiscard]] Status spend(double zcdp);
  [[nodiscard]] double zcdp() const { return used_; }

 private:
  explicit SpentBudget(std::string path) : path_(std::move(path)) {}

  std::string path_;
  double used_ = 0.0;
  double put_by_ = 0.0;  // as the file says
};

// "epsilon 5.62 at delta 1e-05", for people.
[[nodiscard]] std::string privacy_words(double zcdp, double delta);

}  // namespace laird::trainers
