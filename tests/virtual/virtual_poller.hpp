// A poll that never waits: time moves outside. It tells of descriptors of the world's own, which
// are numbers only, and of real ones when somebody said that something was written to them.
#pragma once

#include <sys/epoll.h>

#include <memory>
#include <set>

#include "agent/os/poller.hpp"

namespace laird::test {

class VirtualPoller final : public agent::Poller {
 public:
  // Above every real descriptor.
  static constexpr int kFirstOwn = 1'000'000;

  explicit VirtualPoller(std::unique_ptr<agent::Poller> real) : real_(std::move(real)) {}

  void signal(int fd) { signalled_.insert(fd); }
  void clear(int fd) { signalled_.erase(fd); }
  // A real descriptor may be ready.
  void touch() { touched_ = true; }
  [[nodiscard]] bool has_something() const { return touched_ || !signalled_.empty(); }

  [[nodiscard]] Status add(int fd, std::uint32_t events) override {
    if (fd >= kFirstOwn) return {};
    touched_ = true;
    return real_->add(fd, events);
  }
  void change(int fd, std::uint32_t events) override {
    if (fd >= kFirstOwn) return;
    touched_ = true;
    real_->change(fd, events);
  }
  void remove(int fd) override {
    if (fd < kFirstOwn) real_->remove(fd);
    signalled_.erase(fd);
  }
  [[nodiscard]] Result<std::size_t> wait(DurationNs, Round& round) override {
    std::size_t count = 0;
    if (touched_) {
      const Result<std::size_t> real = real_->wait(0, round);
      if (!real) return real;
      count = *real;
      touched_ = count == round.size();
    }
    for (const int fd : signalled_) {
      if (count == round.size()) break;
      round[count++] = {fd, EPOLLIN};
    }
    return count;
  }

 private:
  std::unique_ptr<agent::Poller> real_;
  std::set<int> signalled_;
  bool touched_ = false;
};

}  // namespace laird::test
