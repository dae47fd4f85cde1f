// A list on standard output that goes on as its rows change.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/screen/output.hpp"
#include "json/value.hpp"

namespace laird::control {

// A list that goes on: the whole of it first, then each row that changes. A row that is not there
// any more comes once more, with the state "gone".
class RowWatcher {
 public:
  explicit RowWatcher(std::vector<Column> columns, bool json)
      : columns_(std::move(columns)), json_(json) {}

  // A row by its key, as the cells of a table and as a JSON object.
  using Rows = std::map<std::string, std::pair<std::vector<std::string>, json::Value>>;
  // `state_column`: which cell says "gone".
  void show(const Rows& rows, std::size_t state_column);

 private:
  std::vector<Column> columns_;
  bool json_;
  bool told_ = false;
  std::vector<std::size_t> widths_;
  // What was shown last of each row: its text, and its cells.
  std::map<std::string, std::pair<std::string, std::vector<std::string>>> last_;
};

}  // namespace laird::control
