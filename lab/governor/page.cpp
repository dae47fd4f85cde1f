#include "lab/governor/page.hpp"

namespace laird::lab {
std::string governor_page(const power::Board&, const std::vector<LoopResult>&) { return ""; }
}  // namespace laird::lab
