#include "agent/fleet/link.hpp"

#include "tests/unit/agent/driver/one_board.hpp"

using namespace laird;
using agent::FleetLink;

namespace {

std::string why_it_did_not_open(const std::string& fleet) {
  test::OneBoard board(fleet);
  const auto link =
      FleetLink::open(*board.loop, *board.agent, board.machine, board.settings, *board.config,
                      "test", [](agent::LogLevel, const std::string&) {});
  return link ? "" : link.error().context;
}

void assert_has(const std::string& text, const char* part) {
  TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos, text.c_str());
}

}  // namespace

// Whatever is wrong is said, and what was half built goes without harm.
TEST(a_link_whose_files_are_not_there_is_an_error_that_names_them) {
  assert_has(why_it_did_not_open(R"({"name": "lab", "brokers": ["mqtts://localhost:1"],
      "members": {"n-1": {}},
      "tls": {"ca": "no/ca.crt", "cert": "no/node.crt", "key": "no/node.key"}})"),
             "no/ca.crt");
}

TEST(a_link_with_an_operator_whose_key_is_none_is_an_error_that_names_the_operator) {
  assert_has(why_it_did_not_open(R"({"name": "lab", "brokers": ["mqtt://localhost:1"],
      "insecure_lab": true, "members": {"n-1": {}},
      "operators": [{"name": "op-alice", "key": "############################################"}]})"),
             "op-alice");
}

TEST(a_link_without_a_broker_opens_and_goes_again) {
  test::OneBoard board(R"({"name": "lab", "brokers": ["mqtt://127.0.0.1:1"],
      "insecure_lab": true, "members": {"n-1": {}}})");
  auto link = FleetLink::open(*board.loop, *board.agent, board.machine, board.settings,
                              *board.config, "test", [](agent::LogLevel, const std::string&) {});
  TEST_ASSERT_TRUE_MESSAGE(link.has_value(), link ? "" : link.error().context.c_str());
  TEST_ASSERT_FALSE((*link)->connected());
  link->reset();
  board.agent->process();
  TEST_ASSERT_EQUAL_STRING("n-1", board.agent->state().config.node.c_str());
}
