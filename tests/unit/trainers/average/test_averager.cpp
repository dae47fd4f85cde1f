#include "trainers/average/averager.hpp"

#include <cmath>
#include <limits>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;
using trainer_protocol::PeerState;

namespace {

constexpr std::size_t kWeights = 20;

AverageParams params(std::uint32_t rounds) {
  AverageParams out;
  out.fleet.rounds = rounds;
  out.momentum = 0.0;
  return out;
}

// A trainer whose local steps go half of the way to its own place.
struct Board {
  Board(std::string n, double p, const AverageParams& how, std::size_t count = kWeights)
      : name(std::move(n)), place(p) {
    average = std::make_unique<Averager>(how);
    weights.assign(count, static_cast<float>(place));  // where it would start alone
  }
  void meet(const std::string& other) {
    average->set_peers({name, life, {{other, PeerState::kAtWork}}});
  }
  void work() {
    for (float& w : weights) w += 0.5F * (static_cast<float>(place) - w);
    steps += 1;
  }
  LocalSteps local() const {
    LocalSteps out;
    out.parameters = weights;
    out.rows = joined ? rows : 0.0;
    for (const float w : weights) {
      out.judged.loss += std::abs(static_cast<double>(w) - place);
    }
    return out;
  }

  std::string name;
  double place;
  double rows = 10.0;
  std::uint64_t life = 1;
  std::unique_ptr<Averager> average;
  std::vector<float> weights;
  bool joined = false;
  bool ended = false;
  int steps = 0;
  std::uint32_t round = 0;
};

// Lets the boards train and talk for so long, or until all have ended.
// Every so many messages one is lost.
void run(std::vector<Board*> boards, TimeNs& now, DurationNs time = 60 * kSecond,
         std::size_t lost_every = 0) {
  std::size_t messages = 0;
  for (const TimeNs until = now + time; now < until;) {
    now += kMillisecond;
    bool all = true;
    for (Board* board : boards) {
      static_cast<void>(board->average->tick(now));
      if (!board->ended && !board->average->is_asked()) {
        if (board->joined) board->work();
        TEST_ASSERT_TRUE(board->average->ask(board->local()).has_value());
      }
      if (std::optional<Averaged> answer = board->average->take_answer()) {
        board->weights = answer->parameters;
        board->ended = answer->finished;
        board->round = answer->round;
        board->joined = true;
      }
      all = all && board->ended;
      for (const consensus::ToPeer& message : board->average->take_outgoing()) {
        const std::string bytes(reinterpret_cast<const char*>(message.bytes.data()),
                                message.bytes.size());
        for (Board* other : boards) {
          if (other == board || (!message.to.empty() && message.to != other->name)) continue;
          if (lost_every > 0 && ++messages % lost_every == 0) continue;
          TEST_ASSERT_TRUE(other->average->hear(board->name, bytes).has_value());
        }
      }
    }
    if (all) return;
  }
}

}  // namespace

TEST(boards_come_to_the_mean_by_rows_and_all_have_one_model) {
  Board a("a", 1.0, params(40));
  Board b("b", 4.0, params(40));
  b.rows = 20.0;
  TimeNs now = kSecond;
  a.meet("b");
  b.meet("a");
  run({&a, &b}, now);
  TEST_ASSERT_TRUE(a.ended && b.ended);
  TEST_ASSERT_EQUAL_UINT32(40, a.round);
  TEST_ASSERT_TRUE(a.weights == b.weights);
  for (const float w : a.weights) TEST_ASSERT_TRUE(std::abs(w - 3.0F) < 0.1F);
  TEST_ASSERT_EQUAL_STRING("made by a, b", a.average->group()->note.c_str());
  TEST_ASSERT_EQUAL_UINT64(20, a.average->group()->boards.at(1).rows);
}

TEST(of_a_long_message_only_the_lost_parts_are_sent_again) {
  constexpr std::size_t kMany = 300'000;  // the model is 37 parts, a contribution several
  Board a("a", 1.0, params(4), kMany);
  Board b("b", 4.0, params(4), kMany);
  // Each weight has its own way, so that little of a change can be left out.
  for (std::size_t i = 0; i < kMany; ++i) {
    b.weights[i] = a.weights[i] = static_cast<float>((i * 7919) % 1000) * 1e-3F;
  }
  TimeNs now = kSecond;
  a.meet("b");
  b.meet("a");
  run({&a, &b}, now, 120 * kSecond, 5);
  TEST_ASSERT_TRUE(a.ended && b.ended);
  TEST_ASSERT_TRUE(a.weights == b.weights);
}

TEST(the_first_question_takes_the_groups_model_over_and_contributes_nothing) {
  Board a("a", 1.0, params(40));
  Board b("b", 4.0, params(40));
  TimeNs now = kSecond;
  a.meet("b");
  b.meet("a");
  for (int k = 0; k < 10'000 && !b.joined; ++k) run({&a, &b}, now, kMillisecond);
  TEST_ASSERT_TRUE(b.joined);
  TEST_ASSERT_EQUAL_INT(0, b.steps);
  // The founder's start, not what the other one would have begun with.
  for (const float w : b.weights) TEST_ASSERT_TRUE(w == 1.0F);
}

TEST(steps_from_an_old_model_are_not_contributed) {
  Board a("a", 0.0, params(1'000'000));
  Board b("b", 0.0, params(1'000'000));
  TimeNs now = kSecond;
  a.meet("b");
  b.meet("a");
  run({&a, &b}, now, 4 * kSecond);
  TEST_ASSERT_TRUE(a.joined && a.round > 5);
  // b begins anew from an old checkpoint that is far off.
  const Bytes saved = b.average->save();
  const std::string bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
  Board back("b", 0.0, params(1'000'000));
  back.life = 2;
  TEST_ASSERT_TRUE(back.average->restore(bytes).has_value());
  back.weights.assign(kWeights, 1000.0F);
  back.joined = true;  // as far as it knows: it asks with these weights, and rows
  back.meet("a");
  const std::uint32_t before = a.round;
  for (const TimeNs until = now + 5 * kSecond; now < until;) {
    run({&a, &back}, now, kMillisecond);
    for (const float w : a.weights) TEST_ASSERT_TRUE(std::abs(w) < 1.0F);
  }
  TEST_ASSERT_TRUE(a.round > before + 20 && back.round > before + 20);
  for (const float w : back.weights) TEST_ASSERT_TRUE(std::abs(w) < 1.0F);
}

TEST(the_best_model_on_rows_held_out_is_what_is_handed_out_at_the_end) {
  Board a("a", 1.0, params(3));
  Board b("b", 1.0, params(3));
  TimeNs now = kSecond;
  a.meet("b");
  b.meet("a");
  a.weights.assign(kWeights, 0.0F);
  std::vector<float> first;
  for (const TimeNs until = now + 30 * kSecond; now < until && !(a.ended && b.ended);) {
    now += kMillisecond;
    for (Board* board : {&a, &b}) {
      Board* other = board == &a ? &b : &a;
      static_cast<void>(board->average->tick(now));
      if (!board->ended && !board->average->is_asked()) {
        LocalSteps local = board->local();
        if (board->joined) board->work();
        local.parameters = board->weights;
        // The model gets worse with each round, as the held-out rows see it.
        local.judged.held_rows = 10;
        local.judged.held_right = 10 - board->round;
        local.judged.held_loss = board->round;
        TEST_ASSERT_TRUE(board->average->ask(std::move(local)).has_value());
      }
      if (std::optional<Averaged> answer = board->average->take_answer()) {
        board->weights = answer->parameters;
        if (!board->joined) first = board->weights;
        board->joined = true;
        board->ended = answer->finished;
        board->round = answer->round;
      }
      for (const consensus::ToPeer& message : board->average->take_outgoing()) {
        const std::string bytes(reinterpret_cast<const char*>(message.bytes.data()),
                                message.bytes.size());
        TEST_ASSERT_TRUE(other->average->hear(board->name, bytes).has_value());
      }
    }
  }
  TEST_ASSERT_TRUE(a.ended && b.ended);
  TEST_ASSERT_TRUE(a.weights == first);
  TEST_ASSERT_EQUAL_DOUBLE(0.8, *a.average->group()->accuracy);
}

TEST(what_is_no_number_or_of_another_size_is_refused) {
  Averager average(params(3));
  LocalSteps local;
  TEST_ASSERT_FALSE(average.ask(local).has_value());
  local.parameters = {1.0F, std::numeric_limits<float>::quiet_NaN()};
  TEST_ASSERT_FALSE(average.ask(local).has_value());
  local.parameters = {1.0F, 2.0F};
  TEST_ASSERT_TRUE(average.ask(local).has_value());
  TEST_ASSERT_FALSE(average.ask(local).has_value());  // before the answer
  TEST_ASSERT_FALSE(average.take_answer().has_value());
  TEST_ASSERT_FALSE(average.restore("nonsense").has_value());
}

TEST(what_the_other_boards_would_not_take_is_refused_at_once_and_says_why) {
  const auto why = [](const auto& change) {
    Averager average(params(3));
    LocalSteps local;
    local.parameters = {1.0F, 2.0F};
    local.rows = 10.0;
    change(local);
    const Status asked = average.ask(std::move(local));
    return asked ? std::string("taken") : asked.error().context;
  };
  using Local = LocalSteps;
  for (const double rows : {1e13, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::string said = why([&](Local& l) { l.rows = rows; });
    TEST_ASSERT_TRUE_MESSAGE(said.find("\"rows\" must be 0 to 1e12") != said.npos, said.c_str());
  }
  for (const std::string& said : {why([](Local& l) { l.judged.loss = 1.1e30; }),
                                  why([](Local& l) { l.judged.held_loss = -1e300; }),
                                  why([](Local& l) { l.parameters[0] = 3e38F; }),
                                  why([](Local& l) { l.judged.loss = std::nan(""); })}) {
    TEST_ASSERT_TRUE_MESSAGE(said.find("the training diverged") != said.npos, said.c_str());
  }
  const std::string said = why([](Local& l) { l.judged.held_rows = UINT32_MAX; });
  TEST_ASSERT_TRUE_MESSAGE(said.find("rows held out") != said.npos, said.c_str());
  TEST_ASSERT_EQUAL_STRING("taken", why([](Local& l) {
                                      l.rows = 1e12;
                                      l.judged.loss = 1e30;
                                      l.parameters[0] = -1e30F;
                                    }).c_str());
}
