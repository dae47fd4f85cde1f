#include "control/report/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace laird::control {
namespace {

// Each journal that is being read costs memory.
constexpr std::size_t kThreadsMax = 8;

}  // namespace

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto go_on = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t cores =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax);
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < std::min(cores, count); ++i) helpers.emplace_back(go_on);
  go_on();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace laird::control
