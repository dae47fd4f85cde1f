#include "estimators/bank/bank.hpp"

#include <cmath>

#include "tests/harness/bank_samples.hpp"
#include "tests/harness/unit.hpp"

namespace est = laird::estimators;
namespace lane = laird::lane;
using est::Bank;
using est::BankKind;
using est::BankReport;
using est::Isa;
using laird::test::some_bank_kind;
using laird::test::some_reports;
using laird::test::words_different;

namespace {

constexpr Isa kAll[] = {Isa::kScalar, Isa::kBase, Isa::kAvx2, Isa::kAvx512};

// The bank written down once more, filter by filter, with nothing of the engines.
struct Plain {
  std::vector<lane::BankState<double>> filters;
  std::vector<lane::BankConstants<double>> constants;
  double share;

  explicit Plain(const BankKind& kind) : share(kind.share()) {
    for (const est::BankConstantsTile& tile : kind.constants()) {
      for (std::size_t i = 0; i < est::kBankLanes; ++i) {
        constants.push_back({tile.row[0][i], tile.row[1][i], tile.row[2][i], tile.row[3][i],
                             tile.row[4][i], tile.row[5][i]});
      }
    }
  }
  static double tree(std::vector<double> all) {
    for (std::size_t stride = all.size() / 2; stride > 0; stride /= 2) {
      for (std::size_t i = 0; i < stride; ++i) all[i] += all[i + stride];
    }
    return all[0];
  }
  void observe(const BankReport& report) {
    if (filters.empty()) {
      for (const auto& c : constants) filters.push_back({report.r, -0.3, 0.02, 0.0, 0.25, c.prior});
      return;
    }
    std::vector<double> weights;
    for (std::size_t f = 0; f < filters.size(); ++f) {
      lane::bank_ahead(filters[f], constants[f], report.d);
      lane::bank_correct(filters[f], constants[f], report.r, report.noise);
      weights.push_back(filters[f].weight);
    }
    const double total = tree(weights);
    for (std::size_t f = 0; f < filters.size(); ++f) {
      filters[f].weight = (1.0 - share) * (filters[f].weight / total) + share * constants[f].prior;
    }
  }
  [[nodiscard]] std::vector<est::BankTile> tiles() const {
    std::vector<est::BankTile> out(filters.size() / est::kBankLanes);
    for (std::size_t f = 0; f < filters.size(); ++f) {
      auto& row = out[f / est::kBankLanes].row;
      const std::size_t i = f % est::kBankLanes;
      row[0][i] = filters[f].level;
      row[1][i] = filters[f].slope;
      row[2][i] = filters[f].p_ll;
      row[3][i] = filters[f].p_ls;
      row[4][i] = filters[f].p_ss;
      row[5][i] = filters[f].weight;
    }
    return out;
  }
};

}  // namespace

TEST(every_engine_gives_the_bits_of_the_lane_called_filter_by_filter) {
  for (const std::size_t filters : {std::size_t{8}, std::size_t{32}, std::size_t{256}}) {
    const BankKind kind = some_bank_kind(filters);
    const auto reports = some_reports(500, 3);
    Plain plain(kind);
    for (const BankReport& report : reports) plain.observe(report);
    for (const Isa isa : kAll) {
      if (!est::runs_here(isa)) continue;
      const auto engine = est::cpu_bank_engine(isa);
      Bank bank(kind);
      const est::BankRebuild job = {&bank, 1, reports};
      TEST_ASSERT_TRUE(est::rebuild_banks({&job, 1}, *engine).has_value());
      TEST_ASSERT_EQUAL_UINT64(0, words_different(plain.tiles(), bank.tiles()));
    }
  }
}

TEST(a_bank_rebuilt_from_its_reports_is_the_bank_that_saw_them) {
  const BankKind kind = some_bank_kind(32);
  const auto reports = some_reports(300, 5);
  Bank seen(kind);
  for (const BankReport& report : reports) seen.observe(report);
  Bank followed(kind);
  followed.follow(1, std::span(reports).first(1));
  followed.follow(1, std::span(reports).first(120));
  followed.follow(1, reports);
  TEST_ASSERT_EQUAL_UINT64(0, words_different(seen.tiles(), followed.tiles()));
  // Thinned: every other report is gone, so it begins anew.
  std::vector<BankReport> thinned;
  for (std::size_t n = 0; n < reports.size(); n += 2) thinned.push_back(reports[n]);
  followed.follow(2, thinned);
  Bank anew(kind);
  anew.follow(9, thinned);
  TEST_ASSERT_EQUAL_UINT64(150, followed.reports());
  TEST_ASSERT_EQUAL_UINT64(0, words_different(anew.tiles(), followed.tiles()));
  TEST_ASSERT_TRUE(words_different(seen.tiles(), followed.tiles()) > 0);
}

TEST(banks_of_different_lengths_are_rebuilt_in_one_go) {
  const BankKind kind = some_bank_kind(32);
  const std::size_t lengths[] = {0, 1, 2, 77, 512};
  std::vector<std::vector<BankReport>> kept;
  for (const std::size_t length : lengths) kept.push_back(some_reports(length, 11 + length));
  std::vector<Bank> banks(kept.size(), Bank(kind));
  std::vector<est::BankRebuild> all;
  for (std::size_t b = 0; b < banks.size(); ++b) all.push_back({&banks[b], 3, kept[b]});
  TEST_ASSERT_EQUAL_UINT64(592 * 32, est::updates_of(all));
  TEST_ASSERT_TRUE(est::rebuild_banks(all, *est::cpu_bank_engine()).has_value());
  TEST_ASSERT_TRUE(banks[0].tiles().empty());
  for (std::size_t b = 0; b < banks.size(); ++b) {
    Bank alone(kind);
    alone.follow(3, kept[b]);
    TEST_ASSERT_EQUAL_UINT64(lengths[b], banks[b].reports());
    TEST_ASSERT_EQUAL_UINT64(0, words_different(alone.tiles(), banks[b].tiles()));
  }
}

TEST(weights_sum_to_one_and_go_to_the_filters_that_fit) {
  // Half of the filters believe in much noise, half in little; the curve is smooth.
  std::vector<est::BankHypothesis> all;
  for (int f = 0; f < 16; ++f)
    all.push_back({0.3, -0.3, 1e-4, 0.01, f < 8 ? 1.0 : 400.0, 1.0 / 16});
  const BankKind kind = *BankKind::make(all, {-0.3, 0.02, 0.25}, 0.01);
  Bank bank(kind);
  for (int n = 0; n < 100; ++n) bank.observe({0.05, 1.0 - 0.015 * n, 1e-5});
  double fits = 0.0;
  double not_fits = 0.0;
  for (std::size_t i = 0; i < est::kBankLanes; ++i) {
    fits += bank.tiles()[0].row[5][i];
    not_fits += bank.tiles()[1].row[5][i];
  }
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, fits + not_fits);
  TEST_ASSERT_TRUE(fits > 0.9);
}

TEST(the_outlook_is_the_weighted_sum_over_the_filters) {
  const BankKind kind = some_bank_kind(32);
  Bank bank(kind);
  for (const BankReport& report : some_reports(60, 8)) bank.observe(report);
  std::vector<est::BankAheadTile> each(kind.tiles());
  const est::BankSums sums = bank.ahead(0.7, each.data());
  long double origin = 0;
  long double weight = 0;
  for (std::size_t f = 0; f < kind.filters(); ++f) {
    const auto& row = bank.tiles()[f / est::kBankLanes].row;
    origin += static_cast<long double>(row[5][f % est::kBankLanes]) * row[0][f % est::kBankLanes];
    weight += row[5][f % est::kBankLanes];
  }
  long double mean = 0;
  long double square = 0;
  long double within = 0;
  for (std::size_t f = 0; f < kind.filters(); ++f) {
    const std::size_t i = f % est::kBankLanes;
    const long double w = bank.tiles()[f / est::kBankLanes].row[5][i];
    const long double off = each[f / est::kBankLanes].level[i] - origin;
    mean += w * off;
    square += w * off * off;
    within += w * each[f / est::kBankLanes].variance[i];
  }
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, static_cast<double>(weight));
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, static_cast<double>(origin), sums.origin);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, static_cast<double>(mean), sums.mean);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, static_cast<double>(square), sums.square);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, static_cast<double>(within), sums.within);
  TEST_ASSERT_TRUE(sums.within > 0.0 && sums.mean < 0.0);
}

TEST(every_engine_looks_ahead_alike) {
  const BankKind kind = some_bank_kind(64);
  Bank bank(kind);
  for (const BankReport& report : some_reports(40, 2)) bank.observe(report);
  std::vector<est::BankAheadTile> want(kind.tiles());
  std::vector<est::BankAheadTile> got(kind.tiles());
  std::vector<double> scratch(kind.filters());
  const double d = 1.3;
  const est::BankSums sums = bank.ahead(d, want.data());
  for (const Isa isa : kAll) {
    if (!est::runs_here(isa)) continue;
    est::BankSums own{};
    est::bank_kernels(isa).look({bank.tiles().data(), kind.constants().data(), scratch.data(), &d,
                                 got.data(), &own, 1, kind.tiles()});
    TEST_ASSERT_EQUAL_INT(0, std::memcmp(&own, &sums, sizeof own));
    TEST_ASSERT_EQUAL_INT(0, std::memcmp(got.data(), want.data(), kind.tiles() * sizeof got[0]));
  }
}

TEST(a_bank_of_a_wrong_number_of_filters_is_refused) {
  const est::BankHypothesis one = {0.3, -0.3, 0.01, 0.1, 1.0, 0.1};
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{4}, std::size_t{12}, est::kBankFiltersMax * 2}) {
    const std::vector<est::BankHypothesis> all(count, one);
    TEST_ASSERT_FALSE(BankKind::make(all, {}, 0.01).has_value());
  }
}
