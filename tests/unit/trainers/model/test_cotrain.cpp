#include "trainers/model/cotrain.hpp"

#include "tests/harness/unit.hpp"
#include "trainers/evaluate.hpp"

using namespace laird;
using namespace laird::trainers;
using trainer_protocol::PeerState;

namespace {

// Three classes made up from one seed; `limit` picks how many of the rows.
Params params(std::uint32_t limit, std::uint32_t rounds) {
  Params p;
  p.kind = Kind::kSoftmax;
  p.data.rows = 300;
  p.data.features = 6;
  p.data.classes = 3;
  p.data.scale = 1.0;
  p.limit_rows = limit;
  p.batch = 32;
  p.learning_rate = 0.2;
  p.fleet = FleetParams{};
  p.fleet->rounds = rounds;
  return p;
}

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder one;
  return one;
}

std::unique_ptr<CotrainRun> make(const Params& p) {
  auto made = CotrainRun::create(p, 1, folder().path());
  TEST_ASSERT_TRUE_MESSAGE(made.has_value(), made ? "" : made.error().context.c_str());
  return std::move(*made);
}

void connect(CotrainRun& a, CotrainRun& b) {
  TEST_ASSERT_TRUE(a.set_peers({"a", 1, {{"b", PeerState::kAtWork}}}).has_value());
  TEST_ASSERT_TRUE(b.set_peers({"b", 1, {{"a", PeerState::kAtWork}}}).has_value());
}

// Works and talks until both are done or nothing happens any more.
void run(CotrainRun& a, CotrainRun& b, std::uint64_t limit, TimeNs& now) {
  for (int k = 0; k < 20'000 && !(a.finished() && b.finished()); ++k) {
    now += kMillisecond;
    for (auto [one, other, name] : {std::tuple(&a, &b, "a"), std::tuple(&b, &a, "b")}) {
      static_cast<void>(one->tick(now));
      const bool fine = !one->may_advance(limit) || one->advance(limit).has_value();
      TEST_ASSERT_TRUE(fine);
      for (const Share& share : one->take_shares()) {
        TEST_ASSERT_TRUE(other->hear(name, share.bytes).has_value());
      }
    }
  }
}

}  // namespace

TEST(two_boards_train_one_model_and_end_in_the_same_round) {
  const auto a = make(params(200, 60));
  const auto b = make(params(300, 60));
  TEST_ASSERT_EQUAL_UINT64(60 * 200, *a->planned());
  TimeNs now = kSecond;
  connect(*a, *b);
  run(*a, *b, UINT64_MAX, now);
  TEST_ASSERT_TRUE(a->finished() && b->finished());
  TEST_ASSERT_EQUAL_UINT64(60 * 200, a->samples());
  TEST_ASSERT_EQUAL_DOUBLE(*a->loss(), *b->loss());
  TEST_ASSERT_TRUE(*a->loss() < 0.7);
  TEST_ASSERT_TRUE(a->rounds()->model().x() == b->rounds()->model().x());
  const auto group = a->group();
  TEST_ASSERT_EQUAL_UINT32(60, group->round);
  TEST_ASSERT_EQUAL_STRING("made by a, b", group->note.c_str());
  TEST_ASSERT_EQUAL_UINT64(300, group->boards.at(1).rows);
}

TEST(it_stops_at_its_limit_in_the_middle_of_a_round) {
  const auto a = make(params(200, 60));
  const auto b = make(params(200, 60));
  TimeNs now = kSecond;
  connect(*a, *b);
  run(*a, *b, 510, now);
  TEST_ASSERT_EQUAL_UINT64(510, a->samples());
  TEST_ASSERT_FALSE(a->may_advance(510));
  TEST_ASSERT_TRUE(a->may_advance(511));
  TEST_ASSERT_EQUAL_UINT64(510, a->take_report().samples);
  TEST_ASSERT_EQUAL_UINT64(0, a->unreported());
}

TEST(nothing_is_done_before_the_agent_names_the_neighbours) {
  const auto a = make(params(200, 60));
  TEST_ASSERT_FALSE(a->may_advance(1000));
  TEST_ASSERT_TRUE(a->hear("b", "x").has_value());  // a group that is just forming
  TEST_ASSERT_TRUE(a->set_peers({"a", 1, {}}).has_value());
  TEST_ASSERT_FALSE(a->may_advance(1000));  // and not alone
}

TEST(a_checkpoint_holds_the_model_and_the_round) {
  const auto a = make(params(200, 60));
  const auto b = make(params(200, 60));
  TimeNs now = kSecond;
  connect(*a, *b);
  run(*a, *b, 2050, now);
  const Bytes saved = a->save();
  const std::string_view bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
  const auto again = make(params(200, 60));
  TEST_ASSERT_TRUE(again->restore(bytes).has_value());
  TEST_ASSERT_EQUAL_UINT64(2050, again->samples());
  TEST_ASSERT_TRUE(again->save() == saved);
  TEST_ASSERT_TRUE(again->set_peers({"a", 2, {{"b", PeerState::kAtWork}}}).has_value());
  TEST_ASSERT_EQUAL_UINT32(10, again->rounds()->round());
  // Another number of rows, a damaged one, one of a plain run.
  TEST_ASSERT_FALSE(make(params(100, 60))->restore(bytes).has_value());
  TEST_ASSERT_FALSE(again->restore(bytes.substr(1)).has_value());
  TEST_ASSERT_FALSE(again->restore(bytes.substr(0, bytes.size() - 1)).has_value());
}

TEST(what_a_checkpoint_is_worth_on_other_rows_can_be_told) {
  const auto a = make(params(150, 80));
  const auto b = make(params(150, 80));
  TimeNs now = kSecond;
  connect(*a, *b);
  run(*a, *b, UINT64_MAX, now);
  const Bytes saved = a->save();
  const std::string_view bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
  const auto worth = evaluate(params(300, 0), bytes);
  TEST_ASSERT_TRUE(worth.has_value());
  TEST_ASSERT_EQUAL_UINT32(300, worth->rows);
  TEST_ASSERT_TRUE(worth->accuracy && *worth->accuracy > 0.7 && *worth->accuracy <= 1.0);
  Params other = params(300, 0);
  other.data.features = 60;
  TEST_ASSERT_FALSE(evaluate(other, bytes).has_value());
}

TEST(a_model_too_large_for_messages_is_refused) {
  Params p = params(300, 1);
  p.data.features = 900'000;
  p.data.rows = 10;
  const auto made = CotrainRun::create(p, 1, folder().path());
  TEST_ASSERT_FALSE(made.has_value());
  TEST_ASSERT_TRUE(made.error().context.find("2000000") != std::string::npos);
}

TEST(every_kind_learns_together_with_steps_that_nobody_chose) {
  for (const Kind kind : {Kind::kLinear, Kind::kSvm, Kind::kSoftmax, Kind::kMlp}) {
    Params p = params(200, 60);
    p.kind = kind;
    p.rate_given = false;
    p.learning_rate = 0.003;
    if (kind == Kind::kMlp) p.hidden = {16};
    const auto a = make(p);
    const auto b = make(p);
    TimeNs now = kSecond;
    connect(*a, *b);
    run(*a, *b, 200, now);
    const double first = *a->loss();
    run(*a, *b, UINT64_MAX, now);
    TEST_ASSERT_TRUE(a->finished() && b->finished());
    TEST_ASSERT_TRUE(*a->loss() < 0.7 * first);
  }
}

TEST(rows_held_out_judge_the_group_and_choose_the_model) {
  Params p = params(200, 40);
  p.held_out = 0.25;
  p.target_metric = TargetMetric::kHeldOutError;
  const auto a = make(p);
  const auto b = make(p);
  TimeNs now = kSecond;
  connect(*a, *b);
  run(*a, *b, UINT64_MAX, now);
  const auto group = a->group();
  TEST_ASSERT_TRUE(group->accuracy && *group->accuracy > 0.6);
  TEST_ASSERT_TRUE(group->boards[0].accuracy.has_value());
  TEST_ASSERT_TRUE(std::abs(*a->loss() - (1.0 - *group->accuracy)) < 1e-9);
  std::vector<float> weights(a->rounds()->model().best().size());
  a->read_weights(0, weights);
  TEST_ASSERT_TRUE(weights == a->rounds()->model().best());
}

TEST(a_round_made_again_after_a_crash_is_not_counted_again) {
  const auto a = make(params(200, 60));
  const auto b = make(params(200, 60));
  TimeNs now = kSecond;
  connect(*a, *b);
  run(*a, *b, 2050, now);
  const Bytes saved = a->save();
  const std::string_view bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
  const auto again = make(params(200, 60));
  TEST_ASSERT_TRUE(again->restore(bytes).has_value());
  TEST_ASSERT_TRUE(again->set_peers({"a", 2, {{"b", PeerState::kAtWork}}}).has_value());
  run(*again, *b, UINT64_MAX, now);
  TEST_ASSERT_TRUE(again->finished());
  TEST_ASSERT_TRUE(again->samples() <= *again->planned());
}

TEST(a_board_whose_numbers_the_others_would_not_take_says_so_and_does_not_keep_them_waiting) {
  Params wild = params(200, 60);
  wild.rate_given = true;
  wild.learning_rate = 1e32;
  wild.data.scale = 1e4;  // a loss beyond all bounds, but a number
  const auto a = make(wild);
  const auto b = make(wild);
  connect(*a, *b);
  std::string why;
  for (TimeNs now = kSecond; now < kMinute && why.empty(); now += kMillisecond) {
    for (auto [one, other, name] : {std::tuple(&a, &b, "a"), std::tuple(&b, &a, "b")}) {
      static_cast<void>((*one)->tick(now));
      const Status advanced =
          (*one)->may_advance(UINT64_MAX) ? (*one)->advance(UINT64_MAX) : Status();
      if (!advanced) why = advanced.error().context;
      for (const Share& share : (*one)->take_shares()) {
        TEST_ASSERT_TRUE((*other)->hear(name, share.bytes).has_value());
      }
    }
  }
  TEST_ASSERT_TRUE_MESSAGE(why.find("the training diverged") != why.npos, why.c_str());
}

namespace {

Params private_params(double noise) {
  Params p = params(300, 40);
  p.rate_given = false;
  p.learning_rate = 0.05;
  p.fleet->privacy = PrivacyParams{noise, 0.5, 1e-5};
  return p;
}

std::unique_ptr<CotrainRun> make_in(const Params& p, const test::TemporaryFolder& in) {
  auto made = CotrainRun::create(p, 1, in.path());
  TEST_ASSERT_TRUE_MESSAGE(made.has_value(), made ? "" : made.error().context.c_str());
  return std::move(*made);
}

}  // namespace

TEST(a_group_learns_with_noise_and_says_what_it_has_told) {
  const test::TemporaryFolder one;
  const test::TemporaryFolder two;
  const auto a = make_in(private_params(2.0), one);
  const auto b = make_in(private_params(2.0), two);
  TimeNs now = kSecond;
  connect(*a, *b);
  run(*a, *b, 300, now);
  // 40 rounds of 1/8 and a ninth of it: epsilon = 5.556 + 2 sqrt(5.556 ln 1e5).
  const std::string planned = "; tells of its rows at most epsilon 21.56 at delta 1e-05";
  TEST_ASSERT_TRUE_MESSAGE(a->group()->note.find(planned) != std::string::npos,
                           a->group()->note.c_str());
  const double early = *a->group()->epsilon;
  run(*a, *b, UINT64_MAX, now);
  TEST_ASSERT_TRUE(a->finished() && b->finished());
  TEST_ASSERT_TRUE(*a->group()->epsilon > early);
  const std::string told = "; told of its rows: epsilon 21.56 at delta 1e-05";
  TEST_ASSERT_TRUE_MESSAGE(a->group()->note.find(told) != std::string::npos,
                           a->group()->note.c_str());
  const Bytes saved = a->save();
  const auto worth =
      evaluate(params(300, 0), {reinterpret_cast<const char*>(saved.data()), saved.size()});
  TEST_ASSERT_TRUE(worth.has_value() && worth->accuracy && *worth->accuracy > 0.6);
}

// Two boards with the same rows and seed tell the same without noise, and never with it.
TEST(what_a_board_tells_is_noised_each_time_anew) {
  for (const bool noised : {false, true}) {
    std::vector<std::string> told;
    for (int k = 0; k < 2; ++k) {
      const test::TemporaryFolder one;
      const test::TemporaryFolder two;
      Params p = private_params(1.0);
      if (!noised) p.fleet->privacy.reset();
      const auto a = make_in(p, one);
      const auto b = make_in(p, two);
      TimeNs now = kSecond;
      connect(*a, *b);
      std::string first;
      for (int step = 0; step < 5000 && first.empty(); ++step) {
        now += kMillisecond;
        for (auto [from, to, name] : {std::tuple(&a, &b, "a"), std::tuple(&b, &a, "b")}) {
          static_cast<void>((*from)->tick(now));
          const bool fine = !(*from)->may_advance(300) || (*from)->advance(300).has_value();
          TEST_ASSERT_TRUE(fine);
          for (const Share& share : (*from)->take_shares()) {
            const bool is_contribution = (share.bytes[0] & 7) == 0;
            if (is_contribution && (*from)->rounds()->round() == 0) first = share.bytes.substr(22);
            TEST_ASSERT_TRUE((*to)->hear(name, share.bytes).has_value());
          }
        }
      }
      TEST_ASSERT_FALSE(first.empty());
      told.push_back(first);
    }
    TEST_ASSERT_EQUAL(noised, told[0] != told[1]);
  }
}

TEST(what_an_earlier_process_told_counts_on) {
  const test::TemporaryFolder one;
  const test::TemporaryFolder two;
  TimeNs now = kSecond;
  {
    const auto a = make_in(private_params(2.0), one);
    const auto b = make_in(private_params(2.0), two);
    connect(*a, *b);
    run(*a, *b, 3000, now);
  }
  const auto a = make_in(private_params(2.0), one);
  const auto b = make_in(private_params(2.0), two);
  connect(*a, *b);
  run(*a, *b, UINT64_MAX, now);
  TEST_ASSERT_TRUE(a->finished() && *a->group()->epsilon > 21.56);
}
