#include "lab/forecast/curves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "datasets/csv_rows.hpp"
#include "json/value.hpp"

namespace laird::lab {

namespace fs = std::filesystem;

namespace {

[[nodiscard]] Result<std::string> read_file(const fs::path& path) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  if (failed) return fail(Code::kIo, path.string() + ": " + failed.message());
  if (size > kCurveBytesMax) return fail(Code::kInvalid, path.string() + ": larger than 64 MB");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return fail(Code::kIo, path.string() + ": cannot be read");
  return text.str();
}

// What the manifest says of each file.
[[nodiscard]] Result<std::map<std::string, Curve>> read_manifest(const fs::path& manifest) {
  std::map<std::string, Curve> said;
  if (!fs::exists(manifest)) return said;
  auto text = read_file(manifest);
  LAIRD_TRY(text);
  json::ParseLimits limits;
  limits.bytes_max = kCurveBytesMax;
  const auto tree = json::parse(*text, manifest.string(), limits);
  LAIRD_TRY(tree);
  if (!tree->is(json::Kind::kArray)) {
    return fail(Code::kInvalid, manifest.string() + ": expected an array of curves");
  }
  for (const json::Value& item : tree->items()) {
    const json::Value* file = item.find("file", json::Kind::kString);
    if (file == nullptr) continue;
    Curve& curve = said[file->as_string()];
    const auto take = [&item](const char* key, std::string& out) {
      const json::Value* value = item.find(key, json::Kind::kString);
      if (value != nullptr) out = value->as_string();
    };
    take("source_repo", curve.source);
    take("kind", curve.kind);
    take("group", curve.group);
  }
  return said;
}

// Also "nan" and "inf": such a line is left out, and the curve goes on.
[[nodiscard]] bool read_leading(const std::string& text, double& out) {
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return end != text.c_str();
}

[[nodiscard]] bool read_whole(const std::string& text, double& out) {
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size();
}

}  // namespace

Result<Curve> parse_curve(const std::string& text, const std::string& name,
                          std::vector<std::string>& remarks) {
  Curve curve;
  curve.name = name;
  const auto source = datasets::from_memory(text, name);
  datasets::CsvRows rows(*source);
  std::size_t left_out = 0;
  for (;;) {
    const auto count = rows.next();
    LAIRD_TRY(count);
    if (!count->has_value()) break;
    double samples = 0.0;
    double loss = 0.0;
    if (**count < 2 || !read_whole(rows.fields()[0], samples) ||
        !read_leading(rows.fields()[1], loss)) {
      if (rows.line() == 1) continue;  // a header
      return fail(Code::kInvalid, name + ":" + std::to_string(rows.line()) +
                                      ": expected 'samples,loss', two numbers");
    }
    const bool usable = std::isfinite(samples) && samples >= 0.0 && std::isfinite(loss) &&
                        loss > 0.0 && (curve.samples.empty() || samples >= curve.samples.back());
    if (!usable) {
      ++left_out;
      continue;
    }
    curve.samples.push_back(samples);
    curve.loss.push_back(loss);
  }
  if (left_out > 0) {
    remarks.push_back(name + ": " + std::to_string(left_out) +
                      " lines left out (loss not positive and finite, or samples going back)");
  }
  return curve;
}

Curve averaged(const Curve& curve, std::size_t points) {
  const std::size_t n = curve.samples.size();
  if (n <= points) return curve;
  Curve result;
  result.name = curve.name;
  result.source = curve.source;
  result.kind = curve.kind;
  result.group = curve.group;
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t begin = i * n / points;
    const std::size_t end = (i + 1) * n / points;
    double sum = 0.0;
    for (std::size_t j = begin; j < end; ++j) sum += curve.loss[j];
    result.samples.push_back(curve.samples[end - 1]);
    result.loss.push_back(sum / static_cast<double>(end - begin));
  }
  return result;
}

Result<CurveSet> load_curves(const std::string& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  if (failed) return fail(Code::kNotFound, folder + ": " + failed.message());
  if (files.empty()) return fail(Code::kNotFound, folder + ": holds no .csv files of curves");
  if (files.size() > kCurvesMax) return fail(Code::kInvalid, folder + ": more than 10000 curves");
  std::sort(files.begin(), files.end());
  const auto said = read_manifest(fs::path(folder) / "manifest.json");
  LAIRD_TRY(said);
  CurveSet set;
  for (const fs::path& file : files) {
    auto text = read_file(file);
    LAIRD_TRY(text);
    auto curve = parse_curve(*text, file.stem().string(), set.remarks);
    LAIRD_TRY(curve);
    const auto of_file = said->find(file.filename().string());
    if (of_file != said->end()) {
      curve->source = of_file->second.source;
      curve->kind = of_file->second.kind;
      curve->group = of_file->second.group;
    }
    if (curve->samples.size() < 5) {
      set.remarks.push_back(curve->name + ": fewer than 5 points, left out");
      continue;
    }
    set.curves.push_back(averaged(*curve, kCurvePoints));
  }
  if (set.curves.empty()) return fail(Code::kInvalid, folder + ": no curve has 5 usable points");
  return set;
}

}  // namespace laird::lab
