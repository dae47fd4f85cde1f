#include "lab/forecast/reach.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/forecast/evaluate.hpp"

namespace laird::lab {

namespace {

constexpr int kQuestionsPerCurve = 60;

struct Answered {
  const Curve* curve;
  double probability;
  bool came_true;
};

[[nodiscard]] std::vector<ReachScore::Part> by_part(const std::vector<Answered>& all,
                                                    std::string Curve::*part) {
  struct Sum {
    double count = 0.0;
    double came_true = 0.0;
    double squares = 0.0;
  };
  std::map<std::string, Sum> sums;
  for (const Answered& a : all) {
    Sum& sum = sums[a.curve->*part];
    const double outcome = a.came_true ? 1.0 : 0.0;
    sum.count += 1.0;
    sum.came_true += outcome;
    sum.squares += (a.probability - outcome) * (a.probability - outcome);
  }
  std::vector<ReachScore::Part> out;
  for (const auto& [name, sum] : sums) {
    const double rate = sum.came_true / sum.count;
    out.push_back(
        {name, static_cast<std::size_t>(sum.count), sum.squares / sum.count, rate * (1.0 - rate)});
  }
  return out;
}

[[nodiscard]] ReachScore score(const char* deadline, const std::vector<Answered>& all) {
  ReachScore s;
  s.deadline = deadline;
  s.questions = all.size();
  if (all.empty()) return s;
  std::vector<double> said_true;
  std::vector<double> said_false;
  for (const Answered& a : all) {
    const double outcome = a.came_true ? 1.0 : 0.0;
    s.base_rate += outcome;
    s.brier += (a.probability - outcome) * (a.probability - outcome);
    auto& bin = s.bins[std::min<std::size_t>(9, static_cast<std::size_t>(10.0 * a.probability))];
    ++bin.questions;
    bin.probability += a.probability;
    bin.came_true += outcome;
    (a.came_true ? said_true : said_false).push_back(a.probability);
  }
  std::sort(said_false.begin(), said_false.end());
  double ordered = 0.0;
  for (const double p : said_true) {
    const auto from = std::lower_bound(said_false.begin(), said_false.end(), p);
    const auto to = std::upper_bound(from, said_false.end(), p);
    ordered +=
        static_cast<double>(from - said_false.begin()) + 0.5 * static_cast<double>(to - from);
  }
  const double pairs = static_cast<double>(said_true.size() * said_false.size());
  const double n = static_cast<double>(all.size());
  s.base_rate /= n;
  s.brier /= n;
  s.brier_base = s.base_rate * (1.0 - s.base_rate);
  s.auc = pairs > 0.0 ? ordered / pairs : 0.5;
  for (auto& bin : s.bins) {
    if (bin.questions == 0) continue;
    bin.probability /= static_cast<double>(bin.questions);
    bin.came_true /= static_cast<double>(bin.questions);
  }
  s.kinds = by_part(all, &Curve::kind);
  s.sources = by_part(all, &Curve::source);
  return s;
}

// Of a task whose author planned no length: the lane could do so much until the deadline, as the
// bundles of lab/scheduling draw deadlines and lengths; the end counts three times in ten.
void draw_unplanned(const Curve& curve, const std::vector<double>& lowest, ReachQuestion question,
                    SplitMix64& random, const VisitQuestion& visit) {
  const double limit =
      curve.samples.back() * (500.0 + 1100.0 * random.unit()) / (250.0 + 650.0 * random.unit());
  const bool is_limit = random.unit() < 0.3;
  const double part = random.unit();
  const double now = curve.samples[question.used - 1];
  question.samples = is_limit ? limit : now + part * part * (limit - now);
  question.planned = 0.0;
  question.allowed = limit;
  const auto end = std::upper_bound(curve.samples.begin(), curve.samples.end(), question.samples);
  const auto done = static_cast<std::size_t>(end - curve.samples.begin());
  if (done <= question.used) return;
  question.came_true = lowest[done - 1] <= question.target;
  visit(Deadline::kUnplanned, question);
}

}  // namespace

void draw_questions(const Curve& curve, int count, bool for_tuning, SplitMix64& random,
                    const VisitQuestion& visit) {
  const std::size_t n = curve.samples.size();
  const double points = static_cast<double>(n);
  std::vector<double> lowest(curve.loss);
  for (std::size_t i = 1; i < n; ++i) lowest[i] = std::min(lowest[i], lowest[i - 1]);
  for (int q = 0; q < count; ++q) {
    const bool reachable = random.unit() < 0.7;
    const double where = random.unit();
    const double target = reachable
                              ? lowest[static_cast<std::size_t>(points * (0.15 + 0.55 * where))]
                              : lowest[n - 1] * (0.75 + 0.23 * where);
    const double share = 0.01 * std::exp(random.unit() * std::log(60.0));
    std::size_t used = std::max(kPointsMin, static_cast<std::size_t>(share * points));
    if (for_tuning && q % 2 == 0) {
      const auto hit = std::find_if(lowest.begin(), lowest.end(),
                                    [target](double loss) { return loss <= target; });
      const auto answered = static_cast<double>(hit - lowest.begin());
      const double at = 2.0 * std::pow(std::max(1.0, answered / 2.0), random.unit());
      used = static_cast<std::size_t>(at);
    }
    const double far = random.unit();
    const double deadline_share = for_tuning && q % 4 < 2 ? far * far : far;
    if (used + 2 > n || lowest[used - 1] <= target) continue;
    const double end = curve.samples.back();
    const auto further = static_cast<std::size_t>(deadline_share * static_cast<double>(n - used));
    const std::size_t deadline = std::min(n - 1, used + further);
    visit(Deadline::kEnd, {used, target, end, end, end, lowest[n - 1] <= target});
    visit(Deadline::kRandom,
          {used, target, curve.samples[deadline], end, end, lowest[deadline] <= target});
    if (for_tuning)
      draw_unplanned(curve, lowest, {used, target, 0.0, 0.0, 0.0, false}, random, visit);
  }
}

std::vector<ReachScore> score_reach(const std::vector<Curve>& curves, std::uint64_t seed) {
  SplitMix64 random{seed};
  std::vector<Answered> by_end;
  std::vector<Answered> by_random;
  for (const Curve& curve : curves) {
    draw_questions(
        curve, kQuestionsPerCurve, false, random, [&](Deadline deadline, const ReachQuestion& q) {
          estimators::Forecaster forecaster(untuned_on(curve.source));
          for (std::size_t i = 0; i < q.used; ++i) {
            forecaster.observe(curve.samples[i], curve.loss[i]);
          }
          const double p = forecaster.probability_below(q.target, q.samples, q.planned);
          (deadline == Deadline::kEnd ? by_end : by_random).push_back({&curve, p, q.came_true});
        });
  }
  return {score("end", by_end), score("random", by_random)};
}

}  // namespace laird::lab
