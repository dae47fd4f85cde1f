#include "power/helper/session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "os/line_splitter.hpp"

namespace laird::power::priv {
namespace {

constexpr std::size_t kJournalBytesMax = 64 * 1024;

struct Words {
  std::string verb;
  std::string key;
  std::string value;  // of set
};

// "set cpu-max-freq 0 5": the verb, the value last, the key in between.
Words split(const std::string& request) {
  Words out;
  const std::size_t first = request.find(' ');
  out.verb = request.substr(0, first);
  if (first == std::string::npos) return out;
  out.key = request.substr(first + 1);
  if (out.verb != "set") return out;
  const std::size_t last = out.key.rfind(' ');
  if (last == std::string::npos) return out;
  out.value = out.key.substr(last + 1);
  out.key.resize(last);
  return out;
}

bool number(const std::string& text, std::int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

std::string error_text(const Error& error) { return "error " + error.text(); }

bool write_all(int fd, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Result<Session> Session::open(const Place& place, const std::string& journal) {
  const int fd = ::open(journal.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail_errno(errno, "cannot open the journal " + journal);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return fail(Code::kRefused, "another helper holds " + journal);
  }
  Session out(place, fd);
  out.load_journal();
  out.restore();
  return out;
}

Session::Session(Session&& other) noexcept
    : place_(std::move(other.place_)),
      journal_fd_(std::exchange(other.journal_fd_, -1)),
      originals_(std::move(other.originals_)),
      second_(other.second_),
      sets_in_second_(other.sets_in_second_) {
  other.originals_.clear();
}

Session::~Session() {
  if (journal_fd_ < 0) return;
  restore();
  ::close(journal_fd_);
}

// Whole lines "KEY VALUE" only: a line cut short was never acted on.
void Session::load_journal() {
  std::string text(kJournalBytesMax, '\0');
  const ssize_t n = ::pread(journal_fd_, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  LineSplitter lines(kJournalBytesMax, Overlong::kSkip);
  std::string_view left = text;
  while (const auto next = lines.next(left)) {
    if (originals_.size() >= kOriginalsMax) return;
    const std::string line(*next);
    const std::size_t last = line.rfind(' ');
    Original entry;
    if (last == std::string::npos || !number(line.substr(last + 1), entry.value)) continue;
    entry.key = line.substr(0, last);
    originals_.push_back(std::move(entry));
  }
}

Status Session::remember(const std::string& key, std::int64_t value) {
  for (const Original& entry : originals_) {
    if (entry.key == key) return {};
  }
  if (originals_.size() >= kOriginalsMax) return fail(Code::kFull, "too many values changed");
  const std::string line = key + " " + std::to_string(value) + "\n";
  if (::lseek(journal_fd_, 0, SEEK_END) < 0 || !write_all(journal_fd_, line) ||
      ::fsync(journal_fd_) != 0) {
    return fail_errno(errno, "cannot write the journal");
  }
  originals_.push_back(Original{key, value});
  return {};
}

Result<std::int64_t> Session::set(const std::string& key, std::int64_t value) {
  if (key == "nvpmodel") {
    const Result<std::int64_t> before = query_power_mode(place_);
    if (!before) return before;
    // The mode in force must be one that can be gone back to.
    for (const std::int64_t mode : {value, *before}) {
      LAIRD_TRY(check_power_mode(place_, *before, mode));
    }
    LAIRD_TRY(remember(key, *before));
    return set_power_mode(place_, value);
  }
  const Result<Control> control = find_control(place_, key);
  LAIRD_TRY(control);
  LAIRD_TRY(check_value(*control, value));
  const Result<std::int64_t> before = read_value(control->path);
  if (!before) return before;
  LAIRD_TRY(remember(control->key, *before));
  return write_value(*control, value);
}

bool Session::too_often(std::int64_t now_ns) {
  const std::int64_t second = now_ns / 1'000'000'000;
  if (second != second_) {
    second_ = second;
    sets_in_second_ = 0;
  }
  return ++sets_in_second_ > kSetsPerSecondMax;
}

std::string Session::list(const std::string& key) const {
  std::vector<std::int64_t> values;
  if (key == "nvpmodel") {
    const Result<std::vector<std::int64_t>> modes = live_power_modes(place_);
    if (!modes) return error_text(modes.error());
    const Result<std::int64_t> now = query_power_mode(place_);
    for (const std::int64_t mode : *modes) {
      if (now && check_power_mode(place_, *now, mode)) values.push_back(mode);
    }
  } else {
    const Result<Control> control = find_control(place_, key);
    if (!control) return error_text(control.error());
    values = control->allowed;
  }
  if (values.empty()) return "error unavailable: " + key + " takes no fixed list of values";
  std::string out = "ok";
  for (const std::int64_t value : values) out += " " + std::to_string(value);
  return out;
}

std::string Session::answer(const std::string& request, std::int64_t now_ns) {
  if (request.size() > kRequestBytesMax) return "error invalid: the request is too long";
  const Words words = split(request);
  if (words.verb == "restore" && words.key.empty()) return "ok " + std::to_string(restore());
  if (words.verb == "list") return list(words.key);
  if (words.verb == "get" && words.key == "nvpmodel") {
    const Result<std::int64_t> mode = query_power_mode(place_);
    return mode ? "ok " + std::to_string(*mode) : error_text(mode.error());
  }
  if (words.verb == "get") {
    const Result<Control> control = find_control(place_, words.key);
    if (!control) return error_text(control.error());
    const Result<std::int64_t> value = read_value(control->path);
    if (!value) return error_text(value.error());
    return "ok " + std::to_string(*value) + " " + std::to_string(control->low) + " " +
           std::to_string(control->high);
  }
  if (words.verb == "set") {
    std::int64_t value = 0;
    if (!number(words.value, value)) return "error invalid: write: set KEY VALUE";
    if (too_often(now_ns)) return "error unavailable: too many changes in one second";
    const Result<std::int64_t> done = set(words.key, value);
    return done ? "ok " + std::to_string(*done) : error_text(done.error());
  }
  return "error invalid: unknown request; use get, list, set or restore";
}

std::size_t Session::restore() {
  // The latest change first. A value that cannot be written back (the device is gone) stays in
  // nobody's hands: keeping it would block every later session.
  const std::size_t count = originals_.size();
  while (!originals_.empty()) {
    const Original entry = originals_.back();
    originals_.pop_back();
    if (entry.key == "nvpmodel") {
      (void)set_power_mode(place_, entry.value);
      continue;
    }
    const Result<Control> control = find_control(place_, entry.key);
    if (control) (void)write_value(*control, entry.value);
  }
  if (::ftruncate(journal_fd_, 0) == 0) (void)::fsync(journal_fd_);
  return count;
}

int serve(Session& session, int in, int out, int stop) {
  // One byte too many is kept, and makes the answer say so.
  LineSplitter lines(kRequestBytesMax + 1, Overlong::kCut);
  std::array<char, 512> block;
  for (;;) {
    std::array<pollfd, 2> entries = {pollfd{in, POLLIN, 0}, pollfd{stop, POLLIN, 0}};
    if (::poll(entries.data(), stop >= 0 ? 2 : 1, -1) < 0 && errno != EINTR) break;
    if (stop >= 0 && (entries[1].revents & POLLIN) != 0) break;
    if (entries[0].revents == 0) continue;
    const ssize_t n = ::read(in, block.data(), block.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    bool broken = false;
    std::string_view left(block.data(), static_cast<std::size_t>(n));
    while (const auto line = broken ? std::nullopt : lines.next(left)) {
      broken = !write_all(out, session.answer(std::string(*line), monotonic_ns()) + "\n");
    }
    if (broken) break;
  }
  session.restore();
  return 0;
}

}  // namespace laird::power::priv
