// A story as tidy tables of CSV: a row for each thing that was measured, a column for each property
// of it. What comes often (reports, decisions, power) is written while the journal is stepped, so
// nothing of it is thinned and nothing is kept.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "report/story/grants.hpp"
#include "report/story/story.hpp"

namespace laird::report {

enum class Table : std::uint8_t { kReports, kDecisions, kPower, kRails, kShares, kTasks, kEvents };
inline constexpr std::size_t kTables = 7;
[[nodiscard]] std::string_view file_name(Table table);  // "reports.csv"
[[nodiscard]] std::string_view head_of(Table table);    // its first line

using TableSink = std::function<void(Table table, std::string_view lines)>;

// A text as one cell. A spreadsheet would take some texts for formulas: those get a ' in front.
[[nodiscard]] std::string csv_cell(std::string_view text);

// Writes the rows of one board while its journal is stepped. Moments are those of the board's clock
// then; `agent_s` is its own time in seconds, which never goes back.
class TableWriter {
 public:
  TableWriter(std::string board, TableSink sink)
      : board_(std::move(board)), sink_(std::move(sink)) {}
  void see(const core::Event& event, const core::State& state);

 private:
  [[nodiscard]] std::string begin(const core::State& state) const;
  void see_decisions(const core::State& state);
  void see_power(const power::PowerReading& reading, const core::State& state);

  std::string board_;
  TableSink sink_;
  story::GrantWatch grants_;
};

// The tables that are made of the whole story.
void write_tables(std::span<const story::BoardStory> boards, const TableSink& sink);

}  // namespace laird::report
