// A call that can stand still in the middle and go on later, as a process does in a slow write: the
// world goes on meanwhile. It has a stack of its own; everything else is shared.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/require.hpp"

namespace laird::test {

class Fiber {
 public:
  Fiber() {
    void* memory = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    LAIRD_REQUIRE(memory != MAP_FAILED, "there is memory for a stack");
    stack_ = memory;
  }
  ~Fiber() {
    LAIRD_REQUIRE(!standing_, "a call that stands still is finished first");
    ::munmap(stack_, kStackBytes);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the call until it ends or stands still.
  void run(std::function<void()> call) {
    LAIRD_REQUIRE(!standing_, "one call at a time");
    call_ = std::move(call);
    ::getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack_;
    inside_.uc_stack.ss_size = kStackBytes;
    inside_.uc_link = &outside_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                  static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    go_on();
  }
  // Inside the call: stands still until go_on().
  void stand_still() {
    standing_ = true;
    ::swapcontext(&inside_, &outside_);
  }
  void go_on() {
    standing_ = false;
    ::swapcontext(&outside_, &inside_);
  }
  [[nodiscard]] bool standing() const { return standing_; }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{1} << 20;

  static void enter(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
    self->call_();
  }

  void* stack_ = nullptr;
  std::function<void()> call_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  bool standing_ = false;
};

}  // namespace laird::test
