#include "agent/view/display.hpp"

#include <algorithm>

#include "agent/view/display_text.hpp"

namespace laird::agent {

void Display::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void Display::refresh(const core::State& state, TimeNs now) {
  if (view_ == View::kNone) return;
  if (view_ == View::kLines) {
    write(live_task_lines(state, now));
    return;
  }
  // Back to the first line drawn, then over the old text, clearing what was longer.
  std::string out;
  if (lines_drawn_ > 0) out += "\033[" + std::to_string(lines_drawn_) + "A";
  int lines = 0;
  for (const char c : table_text(state, now, colour_)) {
    if (c == '\n') {
      out += "\033[K";
      ++lines;
    }
    out += c;
  }
  for (int i = lines; i < lines_drawn_; ++i) out += "\033[K\n";
  lines_drawn_ = std::max(lines, lines_drawn_);
  write(out);
}

void Display::changed(const core::Task& task, const core::TaskChanged& change, TimeNs now) {
  if (view_ == View::kLines) write(change_line(task, change, now));
}

void Display::summary(const core::State& state, TimeNs now, const std::string& journal_path,
                      const std::string& replay_program) {
  if (view_ == View::kNone) return;
  write("\n" + summary_text(state, now, colour_) + "journal: " + journal_path +
        "\nreplay:  " + replay_program + " replay " + journal_path + "\n");
}

}  // namespace laird::agent
