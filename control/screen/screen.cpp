#include "control/screen/screen.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace laird::control {
namespace {

// Switches to the alternate screen without cursor and line wrapping, and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
constexpr std::string_view kLeave = "\033[0m\033[?7h\033[?25h\033[?1049l";

termios before{};
std::atomic<bool> entered{false};

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Uses only calls that a signal handler may make.
void leave() {
  if (!entered.exchange(false)) return;
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void enter() {
  termios raw = before;
  raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  entered = true;
  write_all(kEnter);
}

void on_crash(int number) {
  leave();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

Result<Screen> Screen::open() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return fail(Code::kInvalid, "this needs a terminal; `lairctl top --once` prints one picture");
  }
  if (::tcgetattr(STDIN_FILENO, &before) != 0) return fail_errno(errno, "the terminal");
  // These signals end the program without unwinding. The caller reads ordinary ones from a file.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(number, on_crash);
  std::atexit(leave);
  enter();
  return Screen();
}

Screen::Screen(Screen&& other) noexcept : shown_(std::move(other.shown_)) { other.owner_ = false; }

Screen::~Screen() {
  if (owner_) leave();
}

ScreenSize Screen::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 ||
      window.ws_row == 0) {
    return {};
  }
  return {window.ws_col, window.ws_row};
}

void Screen::show(const std::vector<std::string>& lines) {
  std::string out;
  if (dirty_) out += "\033[2J";
  dirty_ = false;
  for (std::size_t i = 0; i < lines.size() || i < shown_.size(); ++i) {
    const std::string text = i < lines.size() ? lines[i] : std::string();
    if (i < shown_.size() && shown_[i] == text) continue;
    if (i >= shown_.size() && text.empty()) continue;
    out += "\033[" + std::to_string(i + 1) + ";1H" + text + "\033[0m\033[K";
  }
  shown_ = lines;
  write_all(out);
}

void Screen::suspend() {
  leave();
  ::raise(SIGSTOP);
  enter();
  forget();
}

}  // namespace laird::control
