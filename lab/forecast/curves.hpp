// Real learning curves from a folder of CSV files.
//
// Each file is one curve: lines `samples,loss`, a header line allowed. `manifest.json`, when there,
// is an array of {"file": ..., "source_repo": ..., "kind": ..., "group": ...} and says which curves
// come from the same source, what is learned, and which are runs of one task; without it every
// curve is of a source nobody has seen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::lab {

struct Curve {
  std::string name;
  std::string source;  // empty when unknown
  std::string kind;    // what is learned, such as "vision"; empty when unknown
  std::string group;   // runs of the same task have the same; empty: none is known
  std::vector<double> samples;
  std::vector<double> loss;
};

struct CurveSet {
  std::vector<Curve> curves;         // in the order of their file names
  std::vector<std::string> remarks;  // lines left out and why, for people
};

inline constexpr std::size_t kCurvePoints = 500;  // curves are averaged down to this many
inline constexpr std::size_t kCurvesMax = 10'000;
inline constexpr std::size_t kCurveBytesMax = 64 * 1024 * 1024;

[[nodiscard]] Result<CurveSet> load_curves(const std::string& folder);

// Reads one curve. Lines whose loss is not a positive number, or whose samples go back, are left
// out and counted in a remark: a training log with a NaN in it is still a curve.
[[nodiscard]] Result<Curve> parse_curve(const std::string& text, const std::string& name,
                                        std::vector<std::string>& remarks);

// Averages a curve of more than `points` points into that many bins of neighbouring points. A bin
// carries the mean loss and the last sample count: what a trainer that reports less often would
// say.
[[nodiscard]] Curve averaged(const Curve& curve, std::size_t points);

}  // namespace laird::lab
