#pragma once

#include <cstdint>

namespace laird::lab {

// Runs the ledger, the paper's dynamics and the schemes that the paper cites on the same graphs and
// costs. Prints a table or JSON, and returns the exit code.
int run_paper_comparison(std::uint64_t seeds, std::uint64_t first_seed, bool json);

}  // namespace laird::lab
