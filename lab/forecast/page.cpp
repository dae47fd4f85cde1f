#include "lab/forecast/page.hpp"
namespace laird::lab {
std::string draw_page(const std::vector<Curve>&) { return ""; }
}  // namespace laird::lab
