#include "cell/message.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;

namespace {

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()));
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  Fd ours;
  Fd theirs;
};

}  // namespace

TEST(a_message_brings_its_descriptors) {
  const Pair pair;
  std::array<int, 2> pipe_ends{};
  TEST_ASSERT_EQUAL_INT(0, ::pipe(pipe_ends.data()));
  const Fd in(pipe_ends[0]);
  const Fd out(pipe_ends[1]);
  const std::array<int, 1> fds = {out.get()};
  TEST_ASSERT_TRUE(send(pair.ours.get(), Order{15}, fds).has_value());
  const Result<Received> got = receive(pair.theirs.get());
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_EQUAL_UINT64(1, got->fds.size());
  TEST_ASSERT_EQUAL_INT(15, decoded<Order>(got->bytes)->signal);
  TEST_ASSERT_EQUAL_INT(1, ::write(got->fds[0].get(), "x", 1));
  char letter = 0;
  TEST_ASSERT_EQUAL_INT(1, ::read(in.get(), &letter, 1));
}

TEST(nothing_to_read_and_an_end_are_told_apart) {
  Pair pair;
  const Result<Received> nothing = receive(pair.theirs.get());
  TEST_ASSERT_TRUE(!nothing.has_value() && nothing.error().code == Code::kUnavailable);
  pair.ours.reset();
  const Result<Received> end = receive(pair.theirs.get());
  TEST_ASSERT_TRUE(end.has_value() && end->ended);
}

TEST(a_message_beyond_the_bound_is_refused_on_both_sides) {
  const Pair pair;
  TEST_ASSERT_FALSE(send_bytes(pair.ours.get(), Bytes(kMessageBytesMax + 1)).has_value());
  const Bytes large(kMessageBytesMax + 1000);
  TEST_ASSERT_TRUE(::send(pair.ours.get(), large.data(), large.size(), 0) > 0);
  const Result<Received> got = receive(pair.theirs.get());
  TEST_ASSERT_TRUE(!got.has_value() && got.error().code == Code::kInvalid);
}
