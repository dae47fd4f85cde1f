// Work on several journals at once, as many as the machine has cores: each is stepped by itself.
#pragma once

#include <cstddef>
#include <functional>

namespace laird::control {

// Calls `work` once for each number below `count`, from several threads, and comes back when all
// are done. What it touches beside its own number's must be safe for that.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace laird::control
