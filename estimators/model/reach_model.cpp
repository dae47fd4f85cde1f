#include "estimators/model/reach_model.hpp"

#include "base/exact_math.hpp"

namespace laird::estimators {

std::string_view name(Reach feature) {
  switch (feature) {
    case Reach::kStandardised: return "kStandardised";
    case Reach::kPartOfDrop: return "kPartOfDrop";
    case Reach::kGap: return "kGap";
    case Reach::kLogGap: return "kLogGap";
    case Reach::kDistance: return "kDistance";
    case Reach::kPlanned: return "kPlanned";
    case Reach::kBeyond: return "kBeyond";
    case Reach::kFall: return "kFall";
    case Reach::kGapOfFall: return "kGapOfFall";
    case Reach::kStraight: return "kStraight";
    case Reach::kSlope: return "kSlope";
    case Reach::kBend: return "kBend";
    case Reach::kNoise: return "kNoise";
    case Reach::kGapOfNoise: return "kGapOfNoise";
    case Reach::kStale: return "kStale";
    case Reach::kImproving: return "kImproving";
    case Reach::kLevel: return "kLevel";
    case Reach::kReports: return "kReports";
    case Reach::kUndamped: return "kUndamped";
    case Reach::kStalled: return "kStalled";
    case Reach::kRise: return "kRise";
    case Reach::kFeatureCount: break;
  }
  return "unknown";
}

double plain_odds(const ReachFeatures& features) {
  constexpr double kNear = 0.2;  // log-time below which time itself is what is short
  constexpr double kNearest = 1e-6;
  const double distance = features[static_cast<std::size_t>(Reach::kDistance)];
  constexpr double kGapKnown = 6.0;
  const double gap = features[static_cast<std::size_t>(Reach::kGap)];
  double odds = gap > kGapKnown ? kGapKnown - gap : 0.0;
  if (distance < kNear) {
    odds += exact::log((distance > kNearest ? distance : kNearest) / kNear);
  }
  return odds;
}

double log_odds(const ReachConstants& constants, const ReachFeatures& features) {
  double odds = constants.offset + plain_odds(features);
  for (const ReachTree& tree : constants.trees) {
    const auto below = [&](std::size_t i) {
      return features[static_cast<std::size_t>(tree.feature[i])] <= tree.threshold[i];
    };
    static_assert(kReachSplits == 3);
    odds += below(0) ? (below(1) ? tree.leaf[0] : tree.leaf[1])
                     : (below(2) ? tree.leaf[2] : tree.leaf[3]);
  }
  return odds;
}

}  // namespace laird::estimators
