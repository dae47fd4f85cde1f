#include "agent/view/display.hpp"

#include <cstdlib>

#include "tests/harness/unit.hpp"

using namespace laird;
using core::Outcome;
using core::TaskState;

namespace {

std::string lines_of(const core::Task& task, const core::TaskChanged& change) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  TEST_ASSERT_NOT_NULL(out);
  agent::Display display(agent::View::kLines, out, false);
  display.changed(task, change, 62 * kSecond);
  std::fclose(out);
  std::string lines(text, size);
  std::free(text);
  return lines;
}

core::Task task_in(TaskState state, Outcome outcome, const char* reason) {
  core::Task task;
  task.spec.name = "night";
  task.accepted_at = 2 * kSecond;
  task.state = state;
  task.outcome = outcome;
  task.reason = reason;
  return task;
}

}  // namespace

TEST(a_task_that_waits_or_ends_has_a_line_with_the_reason) {
  TEST_ASSERT_EQUAL_STRING("  60.0s night: queued\n",
                           lines_of(task_in(TaskState::kQueued, Outcome::kNone, ""),
                                    {1, TaskState::kQueued, Outcome::kNone})
                               .c_str());
  TEST_ASSERT_EQUAL_STRING(
      "  60.0s night: missed, the deadline came first\n",
      lines_of(task_in(TaskState::kEnded, Outcome::kMissed, "the deadline came first"),
               {1, TaskState::kEnded, Outcome::kMissed})
          .c_str());
}

TEST(what_a_task_passed_through_on_its_way_to_its_end_has_no_line) {
  const core::Task over = task_in(TaskState::kEnded, Outcome::kMissed, "the deadline came first");
  TEST_ASSERT_EQUAL_STRING("", lines_of(over, {1, TaskState::kQueued, Outcome::kNone}).c_str());
  TEST_ASSERT_EQUAL_STRING("",
                           lines_of(over, {1, TaskState::kFinishing, Outcome::kMissed}).c_str());
}
