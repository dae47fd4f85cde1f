#include "agent/view/metrics_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "os/clock.hpp"
#include "os/fd.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

sockaddr_in here(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(port);
  return out;
}

std::uint16_t free_port() {
  const Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = here(0);
  socklen_t size = sizeof at;
  TEST_ASSERT_EQUAL_INT(0, ::bind(probe.get(), reinterpret_cast<sockaddr*>(&at), size));
  TEST_ASSERT_EQUAL_INT(0, ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&at), &size));
  return ntohs(at.sin_port);
}

Fd connected(std::uint16_t port) {
  Fd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in at = here(port);
  TEST_ASSERT_EQUAL_INT(0, ::connect(out.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
  return out;
}

}  // namespace

TEST(idle_visitors_do_not_lock_a_scraper_out) {
  constexpr int kIdle = 60;
  SystemClock clock;
  auto loop = Loop::create(clock);
  TEST_ASSERT_TRUE(loop.has_value());
  const std::uint16_t port = free_port();
  const auto opened = MetricsPort::open(**loop, "127.0.0.1:" + std::to_string(port),
                                        [] { return std::string("laird_up 1\n"); });
  TEST_ASSERT_TRUE_MESSAGE(opened.has_value(), opened ? "" : opened.error().context.c_str());
  std::vector<Fd> idle;
  for (int i = 0; i < kIdle; ++i) idle.push_back(connected(port));
  const Fd scraper = connected(port);
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  TEST_ASSERT_EQUAL_INT64(static_cast<std::int64_t>(request.size()),
                          ::send(scraper.get(), request.data(), request.size(), MSG_NOSIGNAL));
  for (int turn = 0; turn < 20; ++turn) TEST_ASSERT_TRUE((*loop)->run_once(0).has_value());
  char block[4096];
  const ssize_t n = ::recv(scraper.get(), block, sizeof block, MSG_DONTWAIT);
  TEST_ASSERT_GREATER_THAN_INT64(0, n);
  const std::string answer(block, static_cast<std::size_t>(n));
  TEST_ASSERT_TRUE_MESSAGE(answer.find("laird_up 1") != std::string::npos, answer.c_str());
}
