#include "control/screen/row_watcher.hpp"

#include <cstdio>

namespace laird::control {
namespace {

using json::Value;

std::string joined(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) out += cell + '\t';
  return out;
}

}  // namespace

void RowWatcher::show(const Rows& rows, std::size_t state_column) {
  Table table(columns_);
  table.set_widths(widths_);
  std::vector<Value> lines;
  for (const auto& [key, row] : rows) {
    const std::string text = json_ ? json::to_text(row.second) : joined(row.first);
    if (const auto last = last_.find(key); last != last_.end() && last->second.first == text) {
      continue;
    }
    last_[key] = {text, row.first};
    table.add(row.first);
    lines.push_back(row.second);
  }
  for (auto known = last_.begin(); known != last_.end();) {
    if (rows.count(known->first) != 0) {
      ++known;
      continue;
    }
    std::vector<std::string> cells = known->second.second;
    if (state_column < cells.size()) cells[state_column] = "gone";
    table.add(cells);
    lines.push_back(Value::object().set("key", known->first).set("state", "gone"));
    known = last_.erase(known);
  }
  if (json_) {
    for (const Value& line : lines) print_json(line);
  } else if (!table.empty() || !told_) {
    widths_ = table.widths();
    print_text(table.text(!told_));
  }
  told_ = true;
  std::fflush(stdout);
}

}  // namespace laird::control
