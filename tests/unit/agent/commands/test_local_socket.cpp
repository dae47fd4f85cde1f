#include "agent/commands/local_socket.hpp"

#include <vector>

#include "tests/unit/agent/commands/commanded_board.hpp"

using namespace laird;
using json::Value;
using test::CommandedBoard;

// Whoever asks waits for a share of those before him in the queue, not for a turn of the loop each.
TEST(idle_connections_do_not_delay_who_asks) {
  constexpr int kIdle = 400;
  constexpr int kAcceptsPerTurn = 16;
  CommandedBoard board;
  static_cast<void>(board.ask_locally(R"({"op":"tasks"})"));
  std::vector<Fd> idle;
  for (int i = 0; i < kIdle; ++i) idle.push_back(board.another_client());
  const Fd client = board.another_client();
  const std::string request = "{\"op\":\"tasks\"}\n";
  TEST_ASSERT_EQUAL_INT64(static_cast<std::int64_t>(request.size()),
                          ::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL));
  int turns = 0;
  char block[8192];
  ssize_t answered = -1;
  while (answered <= 0 && turns < 2 * kIdle) {
    ++turns;
    TEST_ASSERT_TRUE(board.board.loop->run_once(0).has_value());
    board.board.agent->process();
    answered = ::recv(client.get(), block, sizeof block, MSG_DONTWAIT);
  }
  TEST_ASSERT_GREATER_THAN_INT64(0, answered);
  TEST_ASSERT_LESS_OR_EQUAL_INT(kIdle / kAcceptsPerTurn + 2, turns);
  // The client that spoke before them all still has its connection.
  const Value again = board.ask_locally(R"({"op":"tasks"})");
  TEST_ASSERT_NOT_NULL(again.find("ok"));
}
