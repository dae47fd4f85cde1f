#include "base/random.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird;

TEST(the_stream_of_a_seed_is_the_published_one) {
  // The first outputs of SplitMix64 for the seed 1234567, as its authors' reference gives them.
  Random random(1234567);
  for (const std::uint64_t want : {6457827717110365317ULL, 3203168211198807973ULL,
                                   9817491932198370423ULL, 4593380528125082431ULL}) {
    TEST_ASSERT_EQUAL_HEX64(want, random.next());
  }
}

TEST(every_machine_draws_the_same_integers_uniforms_and_normals) {
  Random random(42);
  Archive ar = Archive::hasher();
  for (int i = 0; i < 2000; ++i) {
    std::uint32_t a = random.below(1 + static_cast<std::uint32_t>(i));
    double b = random.unit();
    double c = random.normal();
    ar(a);
    ar(b);
    ar(c);
  }
  TEST_ASSERT_EQUAL_HEX64(0xB0551EC98AEC19CBULL, ar.digest());
}

TEST(below_reaches_every_value_about_equally_often) {
  Random random(3);
  int count[7] = {};
  for (int i = 0; i < 70'000; ++i) ++count[random.below(7)];
  for (const int n : count) TEST_ASSERT_INT_WITHIN(500, 10'000, n);
}

TEST(normals_have_mean_0_and_deviation_1) {
  Random random(5);
  double sum = 0.0;
  double squares = 0.0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  TEST_ASSERT_DOUBLE_WITHIN(0.02, 0.0, sum / kDraws);
  TEST_ASSERT_DOUBLE_WITHIN(0.02, 1.0, squares / kDraws);
}

TEST(an_archived_generator_goes_on_where_it_was) {
  Random random(9);
  (void)random.next();
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  writer(random);
  Random copy;
  Archive reader = Archive::reader(bytes);
  reader(copy);
  TEST_ASSERT_EQUAL_HEX64(random.next(), copy.next());
}

// The ways to draw from a range that recorded seeds rely on.
TEST(each_way_to_draw_from_a_range_keeps_its_stream) {
  RandomOf<Range::kModulo> modulo(7);
  RandomOf<Range::kScaled> scaled(spread_seed(7));
  SplitMix64 plain{7};
  SplitMix64 spread{7 * kSplitMixStep + 0x1234567};
  for (std::uint32_t n = 1; n < 1000; ++n) {
    TEST_ASSERT_EQUAL_UINT64(plain.next() % n, modulo.below(n));
    TEST_ASSERT_EQUAL_UINT64(((spread.next() >> 32) * n) >> 32, scaled.below(n));
  }
  // The macro may read its arguments more than once.
  const double expected = 2.0 + 3.0 * plain.unit();
  const double drawn = modulo.between(2.0, 5.0);
  TEST_ASSERT_EQUAL_DOUBLE(expected, drawn);
  TEST_ASSERT_EQUAL_INT64(-5 + static_cast<std::int64_t>(((spread.next() >> 32) * 11) >> 32),
                          scaled.between(-5, 5));
}
