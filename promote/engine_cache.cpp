#include "promote/engine_cache.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "os/whole_file.hpp"

namespace laird::promote {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kAboutMax = 1 << 20;

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool keep = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (keep || (!out.empty() && out.back() != '-')) out.push_back(keep ? c : '-');
  }
  return out.substr(0, 64);
}

double number_of(const Value& v, std::string_view key) {
  const Value* found = v.find(key);
  return found != nullptr && found->is_number() ? found->as_double() : 0.0;
}

std::string text_of(const Value& v, std::string_view key) {
  const Value* found = v.find(key, Kind::kString);
  return found == nullptr ? std::string() : found->as_string();
}

std::vector<Timing> timings_from(const Value& list) {
  std::vector<Timing> out;
  for (const Value& v : list.items()) {
    Timing t;
    t.batch = static_cast<std::uint32_t>(std::clamp(number_of(v, "batch"), 1.0, 1e6));
    t.runs = static_cast<std::uint32_t>(std::clamp(number_of(v, "runs"), 0.0, 1e9));
    t.latency_us_p50 = number_of(v, "latency_us_p50");
    t.latency_us_p95 = number_of(v, "latency_us_p95");
    t.latency_us_p99 = number_of(v, "latency_us_p99");
    t.rows_per_s = number_of(v, "rows_per_s");
    out.push_back(t);
  }
  return out;
}

}  // namespace

Value to_json(const std::vector<Timing>& timings) {
  Value out = Value::array();
  for (const Timing& t : timings) {
    out.add(Value::object()
                .set("batch", t.batch)
                .set("runs", t.runs)
                .set("latency_us_p50", t.latency_us_p50)
                .set("latency_us_p95", t.latency_us_p95)
                .set("latency_us_p99", t.latency_us_p99)
                .set("rows_per_s", t.rows_per_s));
  }
  return out;
}

Result<std::string> sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kNotFound, "cannot open " + path);
  Sha256 hash;
  std::vector<char> block(1 << 16);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.add({block.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) return fail(Code::kIo, "cannot read " + path);
  return hash.hex();
}

std::string EngineKey::text() const {
  const std::string all = model_sha256 + "\n" + module + "\n" + backend + "\n" + version.text() +
                          "\n" + std::string(name(precision)) + "\n" + std::to_string(batch_max);
  // Readable in front, certain behind.
  return plain(module) + "_" + version.text() + "_" + std::string(name(precision)) + "_" +
         sha256_of(all).substr(0, 32);
}

std::string EngineCache::engine_path(const EngineKey& key) const {
  return folder_ + "/" + key.text() + ".engine";
}

std::string EngineCache::about_path(const EngineKey& key) const {
  return folder_ + "/" + key.text() + ".json";
}

std::string EngineCache::timing_cache(const std::string& module, const Version& version) const {
  return folder_ + "/timing_" + plain(module) + "_" + version.text() + "_" +
         sha256_of(module).substr(0, 8) + ".cache";
}

std::optional<Engine> EngineCache::find(const EngineKey& key) const {
  const Result<std::string> text = config::read_file(about_path(key), kAboutMax);
  if (!text) return std::nullopt;
  const Result<Value> about = json::parse(*text, "engine");
  if (!about) return std::nullopt;
  Engine out;
  out.path = engine_path(key);
  out.sha256 = text_of(*about, "sha256");
  const Result<std::string> actual = sha256_of_file(out.path);
  if (!actual || *actual != out.sha256) return std::nullopt;
  out.bytes = static_cast<std::uint64_t>(std::max(0.0, number_of(*about, "bytes")));
  out.build_s = number_of(*about, "build_s");
  out.rows_sha256 = text_of(*about, "rows_sha256");
  if (const Value* verdict = about->find("verdict", Kind::kObject)) {
    if (const Result<Verdict> read = verdict_from(*verdict)) out.verdict = *read;
  }
  if (const Value* list = about->find("timings", Kind::kArray)) out.timings = timings_from(*list);
  if (const Value* energy = about->find("energy_mj_per_row"); energy != nullptr) {
    if (energy->is_number()) out.energy_mj_per_row = energy->as_double();
  }
  if (const Value* why = about->find("no_energy", Kind::kString)) out.no_energy = why->as_string();
  return out;
}

Status EngineCache::describe(const EngineKey& key, const Engine& engine) {
  Value about = Value::object();
  about.set("model_sha256", key.model_sha256)
      .set("module", key.module)
      .set("backend", key.backend)
      .set("tensorrt", key.version.text())
      .set("precision", name(key.precision))
      .set("batch_max", key.batch_max)
      .set("sha256", engine.sha256)
      .set("bytes", engine.bytes)
      .set("build_s", engine.build_s)
      .set("rows_sha256", engine.rows_sha256)
      .set("verdict", engine.verdict ? to_json(*engine.verdict) : Value())
      .set("timings", to_json(engine.timings))
      .set("energy_mj_per_row",
           engine.energy_mj_per_row ? Value(*engine.energy_mj_per_row) : Value())
      .set("no_energy", engine.no_energy);
  return write_whole_file(about_path(key), json::to_pretty_text(about) + "\n", {.mode = 0644});
}

Status EngineCache::keep(const EngineKey& key, const std::string& built, Engine& engine) {
  const Result<std::string> hash = sha256_of_file(built);
  LAIRD_TRY(hash);
  struct stat found {};
  if (::stat(built.c_str(), &found) != 0 || found.st_size == 0) {
    return fail(Code::kCorrupt, "the engine that was built is empty");
  }
  engine.sha256 = *hash;
  engine.bytes = static_cast<std::uint64_t>(found.st_size);
  engine.path = engine_path(key);
  // The description goes last: an engine without one, or with another's, is not found.
  if (std::rename(built.c_str(), engine.path.c_str()) != 0) {
    return fail(Code::kIo, "cannot move the engine to " + engine.path);
  }
  return describe(key, engine);
}

}  // namespace laird::promote
