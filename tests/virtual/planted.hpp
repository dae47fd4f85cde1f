// Bugs planted on purpose, so that the checks can show that they would find them. They stand in the
// place of the agent's own functions by the linker's --wrap, in this program alone.
#pragma once

namespace laird::test {

struct Planted {
  bool no_fence = false;               // a board that is cut off goes on using its share
  bool answer_before_journal = false;  // what is promised is not on the disk yet
  bool report_waits = false;           // a share that has ended is told of until an event says so
  bool no_hold = false;                // trainers work on while the journal cannot be written
};

[[nodiscard]] Planted& planted();

}  // namespace laird::test
