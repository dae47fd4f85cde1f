// A board in virtual time with two tasks and power readings, told as stories, rows and a trace.
#pragma once

#include <array>
#include <string>

#include "report/story/teller.hpp"
#include "report/tables.hpp"
#include "report/trace.hpp"
#include "tests/harness/fake_board.hpp"

namespace laird::test {

// What a hostile submitter could put into a name of 32 bytes.
inline const std::string kHostileName = "</script><img src=x>\xE2\x80\xAE\"'&";

struct ToldBoard {
  explicit ToldBoard(const std::string& task_name = "task-a") : board(small_board()) {
    board.after_step = [this](const core::Event& event, const core::Effects& commands) {
      trace.see(event, board.state);
      teller.see(event, board.state, commands);
      rows.see(event, board.state);
    };
    board.submit(small_task(task_name, kMinute, 0.5));
    board.submit(small_task("hopeless", 20 * kSecond, 1e-9));
    for (int i = 0; i < 300; ++i) {
      board.run_for(100 * kMillisecond);
      power::PowerReading reading;
      reading.total_mw = 5000 + i;
      reading.rails = {{"VDD_IN", 5000 + i}, {"=cmd()", 10}};
      board.tell(core::PowerSampled{reading});
    }
  }
  story::BoardStory finish() {
    story::BoardStory out = teller.finish(board.state);
    out.source.events = 1;
    return out;
  }

  FakeBoard board;
  std::array<std::string, report::kTables> tables;
  std::string traced;
  report::TraceWriter trace{1, true, [this](std::string_view text) { traced += text; }};
  report::TableWriter rows{"n-1", [this](report::Table table, std::string_view lines) {
                             tables[static_cast<std::size_t>(table)] += lines;
                           }};
  story::Teller teller{[this](const story::TaskStory& task, story::Doing doing, int lane,
                              TimeNs from,
                              TimeNs to) { trace.see_stretch(task, doing, lane, from, to); }};
};

}  // namespace laird::test
