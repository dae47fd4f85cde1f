#include "trainers/average/channels.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

struct Pair {
  Pair() {
    int ends[2];
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  Fd ours;
  Fd theirs;
};

std::string next(LineInbox& inbox) {
  for (;;) {
    if (std::optional<std::string> line = inbox.take()) return *line;
    if (inbox.closed()) return "closed";
    pollfd entry{inbox.wake_fd(), POLLIN, 0};
    TEST_ASSERT_EQUAL_INT(1, ::poll(&entry, 1, 20'000));
  }
}

}  // namespace

TEST(lines_come_whole_and_in_order_and_then_the_end) {
  Pair pair;
  LineInbox inbox(pair.ours.get(), 100);
  TEST_ASSERT_EQUAL_INT(8, ::write(pair.theirs.get(), "one\ntwo\n", 8));
  TEST_ASSERT_EQUAL_STRING("one", next(inbox).c_str());
  TEST_ASSERT_EQUAL_STRING("two", next(inbox).c_str());
  TEST_ASSERT_EQUAL_INT(2, ::write(pair.theirs.get(), "th", 2));
  TEST_ASSERT_EQUAL_INT(4, ::write(pair.theirs.get(), "ree\n", 4));
  TEST_ASSERT_EQUAL_STRING("three", next(inbox).c_str());
  TEST_ASSERT_FALSE(inbox.closed());
  pair.theirs.reset();
  TEST_ASSERT_EQUAL_STRING("closed", next(inbox).c_str());
  TEST_ASSERT_FALSE(inbox.overlong());
}

TEST(a_line_that_is_too_long_ends_the_stream) {
  Pair pair;
  LineInbox inbox(pair.ours.get(), 5);
  TEST_ASSERT_EQUAL_INT(8, ::write(pair.theirs.get(), "0123456\n", 8));
  TEST_ASSERT_EQUAL_STRING("closed", next(inbox).c_str());
  TEST_ASSERT_TRUE(inbox.overlong());
}

TEST(what_is_urgent_goes_first_but_not_into_another_text) {
  Pair pair;
  ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  Outbox outbox(pair.ours.get());
  const std::string large(1 << 20, 'x');
  outbox.put(large + "\n");
  outbox.put("later\n");
  TEST_ASSERT_TRUE(outbox.flush());  // as much as there is room for
  TEST_ASSERT_FALSE(outbox.empty());
  outbox.put("urgent\n", true);
  LineInbox inbox(pair.theirs.get(), 2 << 20);
  while (!outbox.empty()) {
    TEST_ASSERT_TRUE(outbox.flush());
    pollfd entry{pair.ours.get(), POLLOUT, 0};
    static_cast<void>(::poll(&entry, 1, 1000));
  }
  TEST_ASSERT_EQUAL_UINT64(large.size(), next(inbox).size());
  TEST_ASSERT_EQUAL_STRING("urgent", next(inbox).c_str());
  TEST_ASSERT_EQUAL_STRING("later", next(inbox).c_str());
}

TEST(who_writes_to_somebody_who_is_gone_is_told) {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  Pair pair;
  pair.theirs.reset();
  Outbox outbox(pair.ours.get());
  outbox.put("x\n");
  TEST_ASSERT_FALSE(outbox.flush());
}
