// A signed command is carried out once, whatever the wall clock does, over restarts too.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;

namespace {

// As mqtt/codec checks it before the core hears of a command (kClockSkewMaxMs, kCommandLifeMaxMs).
constexpr DurationNs kSkewMax = 30 * kSecond;
constexpr DurationNs kLifeMax = 10 * kMinute;

struct Signed {
  std::string id;
  TimeNs issued = 0;
  TimeNs expires = 0;
};

// A board whose wall clock is anything, and somebody who keeps every command and sends it again.
class History {
 public:
  explicit History(std::uint64_t seed) : random_{seed}, board_(test::small_board()) {
    true_wall_ = board_.now();
    board_.after_step = [this](const Event& event, const Effects& effects) {
      const auto* command = std::get_if<OperatorCommand>(&event.body);
      if (command == nullptr) return;
      for (const Effect& effect : effects) {
        const auto* answer = std::get_if<Answer>(&effect.body);
        if (answer == nullptr) continue;
        text_ = answer->text;
        answered_ok_ = answer->ok && !answer->done_before;
        if (answered_ok_) most_ = std::max(most_, ++done_[command->id]);
      }
    };
  }

  void live(int steps) {
    for (int i = 0; i < steps; ++i) {
      pass(static_cast<DurationNs>(random_.below(90)) * kSecond);
      if (random_.chance(12)) set_clock(random_off());
      if (random_.chance(8)) restart(random_.chance(60) ? random_off() : off_);
      if (random_.chance(60)) {
        static_cast<void>(
            hand_in(issue(kSecond + static_cast<DurationNs>(random_.below(600)) * kSecond)));
      }
      for (int again = 0; again < 3 && !sent_.empty(); ++again) {
        static_cast<void>(hand_in(sent_[random_.below(sent_.size())]));
      }
    }
  }

  // The operator's clock is right.
  [[nodiscard]] Signed issue(DurationNs life) {
    Signed out{"c-" + std::to_string(sent_.size()), true_wall_, true_wall_ + life};
    sent_.push_back(out);
    return out;
  }
  // Whether the board carries it out. It does not hear of one that its clock says is not fresh.
  [[nodiscard]] bool hand_in(const Signed& command) {
    const TimeNs wall = true_wall_ + off_;
    answered_ok_ = false;
    if (command.issued > wall + kSkewMax || command.expires < wall) return false;
    const std::uint64_t request = ++requests_;
    board_.tell(OperatorCommand{request, "op-a", command.id, command.expires,
                                DrainRequested{request, request % 2 == 0}});
    return answered_ok_;
  }
  void pass(DurationNs time) {
    board_.run_for(time);
    true_wall_ += time;
  }
  void set_clock(DurationNs off) {
    off_ = off;
    board_.tell(ClockStepped{true_wall_ + off_});
  }
  void restart(DurationNs off) {
    off_ = off;
    board_.restart();
    board_.tell(Booted{true_wall_ + off_, board_.config, board_.now(), ++board_.machine_boot, 1});
  }

  [[nodiscard]] int most_often() const { return most_; }
  [[nodiscard]] std::size_t carried_out() const { return done_.size(); }
  [[nodiscard]] std::size_t remembered() const { return board_.state.fleet.seen.size(); }
  [[nodiscard]] const std::vector<Signed>& sent() const { return sent_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  // Right, a little off, back by up to a day as without a battery, or ahead by as much.
  DurationNs random_off() {
    const auto some = [this](std::uint64_t most_s) {
      return static_cast<DurationNs>(random_.below(most_s)) * kSecond;
    };
    switch (random_.below(4)) {
      case 0: return 0;
      case 1: return some(60) - 30 * kSecond;
      case 2: return -some(86'400);
      default: return some(86'400);
    }
  }

  test::Random random_;
  FakeBoard board_;
  TimeNs true_wall_ = 0;
  DurationNs off_ = 0;  // of the board's clock
  std::vector<Signed> sent_;
  std::map<std::string, int> done_;
  std::uint64_t requests_ = 0;
  int most_ = 0;
  bool answered_ok_ = false;
  std::string text_;
};

}  // namespace

TEST(no_history_of_clocks_and_restarts_does_a_command_twice) {
  std::size_t carried_out = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    History history(seed);
    history.live(40);
    const std::string where = "seed " + std::to_string(seed);
    TEST_ASSERT_LESS_OR_EQUAL_INT_MESSAGE(1, history.most_often(), where.c_str());
    carried_out += history.carried_out();
    // Once the clock is right, so is what the board accepts.
    history.set_clock(0);
    history.pass(kSecond);
    TEST_ASSERT_TRUE_MESSAGE(history.hand_in(history.issue(kLifeMax)), where.c_str());
  }
  TEST_ASSERT_GREATER_THAN_UINT64(5'000, carried_out);
}

TEST(a_forgotten_command_is_not_done_when_the_clock_goes_back_over_a_restart) {
  History history(1);
  const DurationNs life = 2 * kMinute;
  for (std::size_t i = 0; i < 3 * kCommandsKept; ++i) {
    TEST_ASSERT_TRUE(history.hand_in(history.issue(life)));
    history.pass(10 * kSecond);
  }
  TEST_ASSERT_LESS_OR_EQUAL_UINT64(kCommandsKept + 1, history.remembered());
  // Without a battery the clock starts where the board was first used.
  history.restart(-20 * kMinute);
  const Signed& old = history.sent()[71];
  TEST_ASSERT_FALSE(history.hand_in(old));
  TEST_ASSERT_TRUE(history.text().find("this board's clock was set back") != std::string::npos);
  TEST_ASSERT_EQUAL_INT(1, history.most_often());
  // A fresh command is from the future there: it is refused before the core hears of it.
  TEST_ASSERT_FALSE(history.hand_in(history.issue(life)));
  history.set_clock(0);
  TEST_ASSERT_TRUE(history.hand_in(history.issue(life)));
}

TEST(commands_that_have_not_expired_are_never_forgotten_and_their_number_is_bounded) {
  History history(1);
  for (std::size_t i = 0; i < kCommandsSeenMax; ++i) {
    TEST_ASSERT_TRUE(history.hand_in(history.issue(kLifeMax)));
  }
  TEST_ASSERT_FALSE(history.hand_in(history.issue(kLifeMax)));
  TEST_ASSERT_TRUE(history.text().find("too many commands at once") != std::string::npos);
  TEST_ASSERT_FALSE(history.hand_in(history.sent()[0]));
  TEST_ASSERT_EQUAL_STRING("done before", history.text().c_str());
  history.pass(kLifeMax + kSecond);
  TEST_ASSERT_TRUE(history.hand_in(history.issue(kLifeMax)));
}
