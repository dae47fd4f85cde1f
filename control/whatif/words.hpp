// An answer of --what-if for people and for programs.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/whatif/answer.hpp"
#include "json/value.hpp"

namespace laird::control {

struct Answered {
  std::span<const RecordedBoard> boards;
  std::span<const BoardAnswer> answers;
  bool as_fleet = false;  // the boards' ledgers ran again

  // As it was on the board of that answer; of an added one nothing was.
  [[nodiscard]] const whatif::Tally& was(const BoardAnswer& answer) const;
};

// What each policy would have made of it, the recorded life first.
struct PolicyRow {
  std::string name;
  Sums sums;
  std::uint64_t succeeded_low = 0;  // with the forecasts' ends, the fewer and the more
  std::uint64_t succeeded_high = 0;
  std::size_t beyond = 0;  // tasks that got further than they did
};

[[nodiscard]] std::string fidelity_text(const RecordedBoard& board);
// Whether the boards ran again as one fleet, and if not, why; empty: there is one alone.
[[nodiscard]] std::string together_text(const RecordedBoards& boards);
// The table "as it was / what if", with its sums and what was forecast.
[[nodiscard]] std::string answer_text(const Answered& answered);
[[nodiscard]] std::string policies_text(std::span<const PolicyRow> rows);

[[nodiscard]] json::Value answer_json(const Answered& answered,
                                      std::span<const std::string> changes);
[[nodiscard]] json::Value policies_json(std::span<const RecordedBoard> boards, bool as_fleet,
                                        std::span<const PolicyRow> rows);
[[nodiscard]] std::vector<std::vector<std::string>> answer_rows(const Answered& answered);
// The fewest and the most successes by the forecasts' ends.
[[nodiscard]] std::pair<std::uint64_t, std::uint64_t> successes(const BoardAnswer& answer);

}  // namespace laird::control
