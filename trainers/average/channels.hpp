// The two conversations of `laird-train average`: lines from the agent, read by a thread of its own
// so that none is lost while a large model is worked on; and what is to be written, kept until
// there is room.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "os/fd.hpp"

namespace laird::trainers {

// Lines that came in on a socket. Bounded: who sends more waits.
class LineInbox {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{32} << 20;

  LineInbox(int fd, std::size_t line_max);
  ~LineInbox();
  LineInbox(const LineInbox&) = delete;
  LineInbox& operator=(const LineInbox&) = delete;

  // Readable while there is a line, or the stream has ended.
  [[nodiscard]] int wake_fd() const { return wake_.get(); }
  [[nodiscard]] std::optional<std::string> take();
  // Every line was taken and no more will come.
  [[nodiscard]] bool closed() const;
  // A line was longer than the bound.
  [[nodiscard]] bool overlong() const;

 private:
  void read_all(std::size_t line_max);
  void put(std::string_view line);

  int fd_;
  Fd wake_;
  Fd stop_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  bool ended_ = false;
  bool overlong_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

// Writes without blocking: what is urgent first, each text whole.
class Outbox {
 public:
  explicit Outbox(int fd) : fd_(fd) {}

  void put(std::string text, bool urgent = false);
  // False: the other side is gone.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  std::deque<std::string> urgent_;
  std::deque<std::string> rest_;
  std::string now_;
  std::size_t at_ = 0;  // what of now_ is written
  std::size_t bytes_ = 0;
};

}  // namespace laird::trainers
