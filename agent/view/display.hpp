// What the person at the terminal sees: a table that redraws itself, or plain lines when piped.
#pragma once

#include <cstdio>
#include <string>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/state.hpp"

namespace laird::agent {

enum class View : std::uint8_t { kTable, kLines, kNone };

class Display {
 public:
  Display(View view, std::FILE* out, bool colour) : view_(view), out_(out), colour_(colour) {}

  // A full refresh of the table; in lines mode one line per live task.
  void refresh(const core::State& state, TimeNs now);
  // Something happened to a task: a line, now.
  void changed(const core::Task& task, const core::TaskChanged& change, TimeNs now);
  void summary(const core::State& state, TimeNs now, const std::string& journal_path,
               const std::string& replay_program);

 private:
  void write(const std::string& text);

  View view_;
  std::FILE* out_;
  bool colour_;
  int lines_drawn_ = 0;
};

}  // namespace laird::agent
