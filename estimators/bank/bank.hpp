// A bank: many damped trend filters on one curve, each with other beliefs about noise and damping,
// weighted by how well they foretold the reports so far (estimators/lane/bank_lane.hpp).
//
// What a bank holds follows from its constants and its reports and from nothing else: the same bits
// on every processor, on the GPU, and when it is built anew from the kept reports. So it is a
// cache. It is never archived or hashed; the reports are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "estimators/cpu/bank_engine.hpp"

namespace laird::estimators {

inline constexpr std::size_t kBankFiltersMin = kBankLanes;
inline constexpr std::size_t kBankFiltersMax = 8192;

// One filter's beliefs; what each means stands in lane::BankConstants.
using BankHypothesis = lane::BankConstants<double>;

// What every bank of a kind has in common; shared by all of them, and outlives them.
class BankKind {
 public:
  struct Start {
    double slope = 0.0;
    double level_variance = 1.0;
    double slope_variance = 1.0;
  };
  // A power of two of hypotheses, kBankFiltersMin to kBankFiltersMax. `share` is the part of the
  // weights that goes back to the priors at each report.
  [[nodiscard]] static Result<BankKind> make(std::span<const BankHypothesis> hypotheses,
                                             const Start& start, double share);
  [[nodiscard]] std::size_t filters() const { return constants_.size() * kBankLanes; }
  [[nodiscard]] std::size_t tiles() const { return constants_.size(); }
  [[nodiscard]] std::span<const BankConstantsTile> constants() const { return constants_; }
  [[nodiscard]] double share() const { return share_; }
  // The tiles of a bank after its first report.
  void start(std::span<BankTile> tiles, double r) const;

 private:
  BankKind() = default;
  std::vector<BankConstantsTile> constants_;
  Start start_;
  double share_ = 0.0;
};

class Bank {
 public:
  // `kind` outlives the bank.
  explicit Bank(const BankKind& kind) : kind_(&kind) {}

  // Makes this the bank of exactly these reports: adds those it lacks, or begins anew when
  // `generation` changed. Raise the generation whenever kept reports are dropped or changed.
  void follow(std::uint64_t generation, std::span<const BankReport> kept);
  void observe(const BankReport& report);

  [[nodiscard]] const BankKind& kind() const { return *kind_; }
  [[nodiscard]] std::uint64_t reports() const { return reports_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  // Empty before the first report.
  [[nodiscard]] std::span<const BankTile> tiles() const { return tiles_; }

  // The bank d further along log-time. Only after the first report. With `each`, every filter's
  // level and variance there too: kind().tiles() of them.
  [[nodiscard]] BankSums ahead(double d, BankAheadTile* each = nullptr) const;

 private:
  friend Status rebuild_banks(std::span<const struct BankRebuild>, BankEngine&);

  const BankKind* kind_;
  std::uint64_t generation_ = 0;
  std::uint64_t reports_ = 0;
  std::vector<BankTile> tiles_;
};

// A bank and all of its reports.
struct BankRebuild {
  Bank* bank;
  std::uint64_t generation;
  std::span<const BankReport> kept;
};

// Filter updates that rebuilding takes: what an engine is chosen by.
[[nodiscard]] std::size_t updates_of(std::span<const BankRebuild> all);

// Builds many banks of one kind at once, on an engine. After an error of the engine the banks are
// as they were, and another engine can do it.
[[nodiscard]] Status rebuild_banks(std::span<const BankRebuild> all, BankEngine& engine);

}  // namespace laird::estimators
