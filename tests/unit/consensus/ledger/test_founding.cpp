// When a board that has lost its journal, and calls the roll, finds that the register is lost.
#include "tests/unit/consensus/ledger_bench.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

// Whether the lowest of four boards founds the fleet anew, if the others answer every roll call
// that all four kept version 5, and `holding` of them that they hold it.
bool founds_anew(std::size_t holding) {
  LedgerConfig config;
  TimeNs now = kDay;
  const auto graph = graph_of(4);
  Ledger caller(config, 0, 2, graph, graph, now);
  Out out;
  std::vector<std::pair<NodeId, Message>> answers;
  for (int tick = 0; tick < 500; ++tick) {
    now += config.tick;
    for (const auto& [from, answer] : answers) caller.on_message(from, answer, now, out);
    answers.clear();
    caller.on_tick(now, out);
    for (const Outgoing& o : out.messages) {
      if (std::holds_alternative<FoundBody>(o.message.body)) return true;
      const auto* call = std::get_if<RollCallBody>(&o.message.body);
      if (call == nullptr) continue;
      const PresentBody present{
          call->call, 1, 5, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}, o.to <= holding};
      answers.emplace_back(o.to, Message{1, 1, present});
    }
    out.clear();
  }
  return false;
}

}  // namespace

// One keeper that holds the register convinces nobody; two do, and the fleet goes on from it.
TEST(a_register_is_lost_if_only_one_keeper_holds_it_whoever_has_heard_of_it) {
  TEST_ASSERT_TRUE(founds_anew(0));
  TEST_ASSERT_TRUE(founds_anew(1));
  TEST_ASSERT_FALSE(founds_anew(2));
  TEST_ASSERT_FALSE(founds_anew(3));
}
