#include "agent/policies/foresight.hpp"

#include <string>

#include "agent/core/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using test::FakeBoard;
using test::FakeTrainer;

namespace {

FakeTrainer trainer(double slope) {
  FakeTrainer t;
  t.loss_slope = slope;
  t.start_ns = kMillisecond;
  return t;
}

}  // namespace

TEST(every_task_is_probed_before_any_gets_more) {
  FakeBoard board(test::small_board("foresight"));
  for (int i = 0; i < 4; ++i) {
    board.submit(test::small_task("t" + std::to_string(i), 5 * kMinute, 0.05), trainer(0.5));
  }
  board.run_for(3 * kSecond);
  for (int i = 0; i < 4; ++i) {
    TEST_ASSERT_TRUE(board.task("t" + std::to_string(i))->forecast.reports() >= 2);
  }
}

TEST(time_goes_to_the_task_that_can_still_make_it) {
  FakeBoard board(test::small_board("foresight"));
  // At 1000 samples per second: "hopeless" would need 10^5 times the samples its deadline allows.
  board.submit(test::small_task("hopeless", 2 * kMinute, 0.001), trainer(0.3));
  board.submit(test::small_task("likely", 2 * kMinute, 0.15), trainer(0.5));
  board.run_for(2 * kMinute + kSecond);
  TEST_ASSERT_EQUAL_STRING("succeeded", std::string(name(board.task("likely")->outcome)).c_str());
  TEST_ASSERT_EQUAL_STRING("missed", std::string(name(board.task("hopeless")->outcome)).c_str());
}

TEST(a_task_ruled_out_is_tried_again_when_the_lane_would_idle) {
  FakeBoard board(test::small_board("foresight"));
  board.submit(test::small_task("hopeless", kMinute, 1e-9), trainer(0.05));
  board.run_for(30 * kSecond);
  TEST_ASSERT_TRUE(board.task("hopeless")->samples > 20'000);
}

TEST(it_explains_its_choice_in_numbers) {
  FakeBoard board(test::small_board("foresight"));
  board.submit(test::small_task("a", 2 * kMinute, 0.1), trainer(0.5));
  board.submit(test::small_task("b", 2 * kMinute, 0.1), trainer(0.4));
  board.run_for(10 * kSecond);
  const std::string a = *core::explain(board.state, "a");
  const std::string b = *core::explain(board.state, "b");
  TEST_ASSERT_TRUE(a.find("probability") != std::string::npos);
  const std::string both = a + b;
  TEST_ASSERT_TRUE(both.find("successes") != std::string::npos);
}

TEST(a_restart_in_the_middle_changes_no_later_decision) {
  // The cache of needs is not archived, so this fails if anything of it were state.
  std::uint64_t digests[2] = {};
  for (int round = 0; round < 2; ++round) {
    FakeBoard board(test::small_board("foresight"));
    for (int i = 0; i < 5; ++i) {
      board.submit(test::small_task("t" + std::to_string(i), 2 * kMinute, 0.1 + 0.02 * i),
                   trainer(0.3 + 0.05 * i));
    }
    board.run_for(20 * kSecond);
    if (round == 1) {
      const Bytes bytes = core::encode(board.state);
      board.state = *core::decode_state(
          std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    board.run_for(40 * kSecond);
    digests[round] = board.state.digest();
  }
  TEST_ASSERT_EQUAL_HEX64(digests[0], digests[1]);
}
