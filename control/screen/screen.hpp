// The terminal in full-screen mode. It is restored however the program ends.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::control {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

class Screen {
 public:
  // There can be only one at a time. Fails when input or output is not a terminal.
  [[nodiscard]] static Result<Screen> open();
  Screen(Screen&& other) noexcept;
  Screen& operator=(Screen&&) = delete;
  ~Screen();

  [[nodiscard]] static ScreenSize size();
  // Writes the lines that differ from what is there.
  void show(const std::vector<std::string>& lines);
  // Makes the next show() write everything, as is needed after a change of size.
  void forget() {
    shown_.clear();
    dirty_ = true;
  }
  // Gives the terminal back for a while (Ctrl-Z) and takes it again.
  void suspend();

 private:
  Screen() = default;

  bool owner_ = true;
  bool dirty_ = true;
  std::vector<std::string> shown_;
};

}  // namespace laird::control
