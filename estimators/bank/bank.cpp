#include "estimators/bank/bank.hpp"

#include <algorithm>
#include <string>

#include "base/require.hpp"
#include "estimators/bank/runner.hpp"

namespace laird::estimators {

Result<BankKind> BankKind::make(std::span<const BankHypothesis> hypotheses, const Start& start,
                                double share) {
  const std::size_t count = hypotheses.size();
  if (count < kBankFiltersMin || count > kBankFiltersMax || (count & (count - 1)) != 0) {
    return fail(Code::kInvalid,
                "a bank has a power of two of filters, " + std::to_string(kBankFiltersMin) +
                    " to " + std::to_string(kBankFiltersMax) + ", not " + std::to_string(count));
  }
  BankKind kind;
  kind.start_ = start;
  kind.share_ = share;
  kind.constants_.resize(count / kBankLanes);
  for (std::size_t f = 0; f < count; ++f) {
    const BankHypothesis& h = hypotheses[f];
    auto& row = kind.constants_[f / kBankLanes].row;
    const double all[] = {h.damping,     h.slope_mean,   h.level_noise,
                          h.slope_noise, h.noise_factor, h.prior};
    for (std::size_t k = 0; k < std::size(all); ++k) row[k][f % kBankLanes] = all[k];
  }
  return kind;
}

void BankKind::start(std::span<BankTile> tiles, double r) const {
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    for (std::size_t i = 0; i < kBankLanes; ++i) {
      auto& row = tiles[t].row;
      row[0][i] = r;
      row[1][i] = start_.slope;
      row[2][i] = start_.level_variance;
      row[3][i] = 0.0;
      row[4][i] = start_.slope_variance;
      row[5][i] = constants_[t].row[5][i];
    }
  }
}

void Bank::observe(const BankReport& report) {
  if (reports_++ == 0) {
    tiles_.resize(kind_->tiles());
    kind_->start(tiles_, report.r);
    return;
  }
  bank_step(*kind_, tiles_, report);
}

void Bank::follow(std::uint64_t generation, std::span<const BankReport> kept) {
  if (generation != generation_ || kept.size() < reports_) {
    reports_ = 0;
    tiles_.clear();
    generation_ = generation;
  }
  if (reports_ == 0 && !kept.empty()) observe(kept.front());
  if (reports_ == kept.size()) return;
  std::vector<double> scratch(kind_->filters());
  const BankSpan span = {reports_, kept.size() - reports_};
  bank_kernels(best_isa())
      .step({tiles_.data(), kind_->constants().data(), scratch.data(), kept.data(), &span, 1,
             kind_->tiles(), kind_->share()});
  reports_ = kept.size();
}

BankSums Bank::ahead(double d, BankAheadTile* each) const {
  LAIRD_REQUIRE(reports_ > 0, "a bank without a report knows nothing");
  std::vector<double> scratch(kind_->filters());
  std::vector<BankAheadTile> own(each == nullptr ? kind_->tiles() : 0);
  BankSums sums{};
  bank_kernels(best_isa())
      .look({tiles_.data(), kind_->constants().data(), scratch.data(), &d,
             each == nullptr ? own.data() : each, &sums, 1, kind_->tiles()});
  return sums;
}

std::size_t updates_of(std::span<const BankRebuild> all) {
  std::size_t updates = 0;
  for (const BankRebuild& one : all) updates += one.kept.size() * one.bank->kind().filters();
  return updates;
}

Status rebuild_banks(std::span<const BankRebuild> all, BankEngine& engine) {
  if (all.empty()) return {};
  const BankKind& kind = all.front().bank->kind();
  std::size_t reports = 0;
  for (const BankRebuild& one : all) {
    LAIRD_REQUIRE(&one.bank->kind() == &kind, "banks of one kind are rebuilt together");
    reports += one.kept.size();
  }
  const EngineArray<BankTile> tiles(engine, all.size() * kind.tiles());
  const EngineArray<BankConstantsTile> constants(engine, kind.tiles());
  const EngineArray<double> scratch(engine, all.size() * kind.filters());
  const EngineArray<BankReport> kept(engine, std::max<std::size_t>(reports, 1));
  const EngineArray<BankSpan> spans(engine, all.size());
  if (!tiles || !constants || !scratch || !kept || !spans) {
    return fail(Code::kFull, std::string(engine.name()) + ": no memory for " +
                                 std::to_string(all.size()) + " banks");
  }
  std::copy_n(kind.constants().data(), kind.tiles(), constants.data());
  std::size_t at = 0;
  for (std::size_t b = 0; b < all.size(); ++b) {
    const std::span<const BankReport> own = all[b].kept;
    const std::span<BankTile> bank(tiles.data() + b * kind.tiles(), kind.tiles());
    // An empty bank is started like the others and then not taken over.
    kind.start(bank, own.empty() ? 0.0 : own.front().r);
    const std::size_t rest = own.empty() ? 0 : own.size() - 1;
    spans[b] = {at, rest};
    if (rest > 0) std::copy_n(own.data() + 1, rest, kept.data() + at);
    at += rest;
  }
  const BankWork work = {tiles.data(), constants.data(), scratch.data(), kept.data(),
                         spans.data(), all.size(),       kind.tiles(),   kind.share()};
  LAIRD_TRY(engine.step(work));
  for (std::size_t b = 0; b < all.size(); ++b) {
    Bank& bank = *all[b].bank;
    bank.generation_ = all[b].generation;
    bank.reports_ = all[b].kept.size();
    bank.tiles_.clear();
    if (bank.reports_ == 0) continue;
    bank.tiles_.assign(tiles.data() + b * kind.tiles(), tiles.data() + (b + 1) * kind.tiles());
  }
  return {};
}

}  // namespace laird::estimators
