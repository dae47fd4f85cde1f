#include "control/commands/board_pages.hpp"

#include <map>
#include <vector>

#include "control/fleet/reach.hpp"

namespace laird::control {

using json::Value;

Result<BoardsAsked> ask_pages(FleetClient& client, const std::set<std::string>& boards,
                              const Value& first, const char* next_key, DurationNs timeout,
                              const TakePage& take) {
  BoardsAsked out;
  std::map<std::string, Value> next;
  for (const std::string& board : boards) next[board] = first;
  for (int page = 0; page < kPagesMax && !next.empty(); ++page) {
    std::vector<SentCommand> sent;
    for (const auto& [board, body] : next) {
      auto one = client.send(board, "get", body, timeout);
      LAIRD_TRY(one);
      sent.push_back(std::move(*one));
    }
    client.wait(after(timeout), [&] { return client.replies_to(sent).size() == sent.size(); });
    std::map<std::string, Value> further;
    for (const auto& [board, reply] : client.replies_to(sent)) {
      if (exit_code_of(reply) != 0) {
        static_cast<void>(show(reply));
        out.refused.insert(board);
        continue;
      }
      out.told.insert(board);
      if (auto place = take(board, reply.data)) {
        further[board] = Value(first).set(next_key, std::move(*place));
      }
    }
    next = std::move(further);
  }
  return out;
}

}  // namespace laird::control
