#include "cell/relay.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;

namespace {

struct Carried {
  Carried() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder.path() + "/s";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    const auto* at = reinterpret_cast<const sockaddr*>(&address);
    TEST_ASSERT_EQUAL_INT(0, ::bind(listener.get(), at, sizeof address));
    TEST_ASSERT_EQUAL_INT(0, ::listen(listener.get(), 1));
    std::array<int, 2> ends{};
    TEST_ASSERT_EQUAL_INT(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()));
    agent.reset(ends[0]);
    relay = Relay(std::move(listener), Fd(ends[1]));
    trainer.reset(::socket(AF_UNIX, SOCK_STREAM, 0));
    TEST_ASSERT_EQUAL_INT(0, ::connect(trainer.get(), at, sizeof address));
  }
  static std::string read_all(int fd) {
    std::string out;
    std::array<char, 4096> block{};
    for (ssize_t n = 0; (n = ::recv(fd, block.data(), block.size(), MSG_DONTWAIT)) > 0;) {
      out.append(block.data(), static_cast<std::size_t>(n));
    }
    return out;
  }
  test::TemporaryFolder folder;
  Fd agent;
  Fd trainer;
  Relay relay;
};

}  // namespace

TEST(lines_go_both_ways_also_those_from_before_the_trainer_came) {
  Carried one;
  TEST_ASSERT_EQUAL_INT(6, ::send(one.agent.get(), "start\n", 6, 0));
  one.relay.carry();
  TEST_ASSERT_EQUAL_STRING("start\n", Carried::read_all(one.trainer.get()).c_str());
  TEST_ASSERT_EQUAL_INT(6, ::send(one.trainer.get(), "ready\n", 6, 0));
  one.relay.carry();
  TEST_ASSERT_EQUAL_STRING("ready\n", Carried::read_all(one.agent.get()).c_str());
}

TEST(an_agent_that_does_not_read_holds_the_trainer_back_and_nothing_is_lost) {
  Carried one;
  const std::string block(1000, 'x');
  std::size_t sent = 0;
  for (int i = 0; i < 5000; ++i) {
    const ssize_t n = ::send(one.trainer.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    one.relay.carry();
  }
  TEST_ASSERT_TRUE(sent < 5'000'000);
  // Waited for: only that the agent reads.
  TEST_ASSERT_EQUAL_INT(-1, one.relay.waits()[0].fd);
  std::size_t got = 0;
  for (int i = 0; i < 5000; ++i) {
    got += Carried::read_all(one.agent.get()).size();
    one.relay.carry();
  }
  TEST_ASSERT_EQUAL_UINT64(sent, got);
}

TEST(the_end_of_either_is_told_to_the_other) {
  Carried one;
  one.relay.carry();
  TEST_ASSERT_EQUAL_INT(5, ::send(one.trainer.get(), "last\n", 5, 0));
  one.trainer.reset();
  one.relay.carry();
  TEST_ASSERT_EQUAL_STRING("last\n", Carried::read_all(one.agent.get()).c_str());
  std::array<char, 4> block{};
  TEST_ASSERT_EQUAL_INT(0, ::recv(one.agent.get(), block.data(), block.size(), 0));
  Carried two;
  two.relay.carry();
  two.agent.reset();
  two.relay.carry();
  TEST_ASSERT_EQUAL_INT(0, ::recv(two.trainer.get(), block.data(), block.size(), 0));
}
