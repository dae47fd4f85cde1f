// Private to the room: what the page's script draws, as JSON that can stand inside a page.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/story/story.hpp"

namespace laird::report {

// A task that the page tells of; `number` names it in links.
struct PageTask {
  std::size_t board = 0;
  const story::TaskStory* task = nullptr;
  bool detailed = false;  // with its why and its forecasts
};

// Those the page has room for: tasks that did not reach their target come first, and the rest of
// the room goes to the others. In the order of boards and acceptance.
[[nodiscard]] std::vector<PageTask> page_tasks(std::span<const story::BoardStory> boards);
[[nodiscard]] bool is_lost(const story::TaskStory& task);

// `pairs`: each second board is the one before it, as it would have been.
// No byte of it ends a script element, whatever the boards' texts are.
[[nodiscard]] std::string page_data(std::span<const story::BoardStory> boards,
                                    std::span<const PageTask> tasks, bool pairs = false);

}  // namespace laird::report
