#include "trainers/model/cotrain.hpp"

#include "tests/harness/unit.hpp"
#include "trainers/evaluate.hpp"

using namespace laird;
using namespace laird::trainers;

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

std::unique_ptr<CotrainRun> make(const Params& p) {
  auto made = CotrainRun::create(p, 1);
  TEST_ASSERT_TRUE_MESSAGE(made.has_value(), made ? "" : made.error().context.c_str());
  return std::move(*made);
}

void connect(CotrainRun& a, CotrainRun& b) {
  TEST_ASSERT_TRUE(a.set_neighbours({"a", 1, {{"b", 0.5}}, false}).has_value());
  TEST_ASSERT_TRUE(b.set_neighbours({"b", 1, {{"a", 0.5}}, false}).has_value());
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
  for (std::size_t i = 0; i < a->rounds()->y().size(); ++i) {
    TEST_ASSERT_TRUE(std::abs(a->rounds()->y()[i] - b->rounds()->y()[i]) < 0.02);
  }
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
  TEST_ASSERT_TRUE(a->set_neighbours({"a", 1, {}, false}).has_value());
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
  TEST_ASSERT_TRUE(again->set_neighbours({"a", 2, {{"b", 0.5}}, false}).has_value());
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
  p.data.features = 20'000;
  p.data.rows = 10;
  const auto made = CotrainRun::create(p, 1);
  TEST_ASSERT_FALSE(made.has_value());
  TEST_ASSERT_TRUE(made.error().context.find("32768") != std::string::npos);
}

TEST(every_convex_kind_learns_together) {
  for (const Kind kind : {Kind::kLinear, Kind::kSvm, Kind::kSoftmax}) {
    Params p = params(200, 60);
    p.kind = kind;
    p.learning_rate = 0.05;
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
