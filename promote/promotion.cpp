#include "promote/promotion.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "config/schema.hpp"
#include "models/model_file.hpp"
#include "models/rows_file.hpp"
#include "os/clock.hpp"

namespace laird::promote {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelJson = "model.json";
constexpr std::string_view kEngineName = "engine";
// For so long at most a model is run over and over, for the meter.
constexpr DurationNs kMeterFor = 20 * kSecond;

// The exported model with its rows.
struct Exported {
  std::string folder;
  models::Model model;
  std::optional<models::Rows> rows;

  [[nodiscard]] std::string path(const models::FileRef& ref) const {
    return folder + "/" + ref.file;
  }
};

Result<models::Rows> read_rows(const Exported& from) {
  const models::HeldOut& held = *from.model.held_out;
  const std::string path = from.path(held.file);
  const Result<std::string> bytes = config::read_file(path, models::kRowsBytesMax);
  LAIRD_TRY(bytes);
  Result<models::Rows> rows = models::unpack_rows(*bytes);
  if (!rows) return fail(rows.error().code, path + " " + rows.error().context);
  if (rows->features != from.model.features || rows->outputs != from.model.judge.outputs) {
    return fail(Code::kCorrupt, path + " is of another model than model.json");
  }
  return rows;
}

Result<Exported> read_exported(const std::string& onnx) {
  const fs::path path(onnx);
  Exported out;
  out.folder = path.has_parent_path() ? path.parent_path().string() : ".";
  const std::string about = out.folder + "/" + std::string(kModelJson);
  const Result<std::string> text = config::read_file(about, models::kModelJsonBytesMax);
  if (!text) {
    return fail(text.error().code,
                text.error().context + "; `laird-train export` writes it beside the ONNX file");
  }
  Result<models::Model> model = models::parse_model(*text, about);
  LAIRD_TRY(model);
  out.model = std::move(*model);
  if (out.model.onnx.file != path.filename().string()) {
    return fail(Code::kInvalid, about + " tells of " + out.model.onnx.file + ", not of " +
                                    path.filename().string());
  }
  if (out.model.held_out) {
    Result<models::Rows> rows = read_rows(out);
    LAIRD_TRY(rows);
    out.rows = std::move(*rows);
  }
  return out;
}

// Whether the model was quantized by whoever made it.
bool is_quantized(const std::string& onnx) {
  constexpr std::string_view kMark = "QuantizeLinear";
  std::ifstream file(onnx, std::ios::binary);
  std::string block;
  std::vector<char> part(1 << 16);
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    block.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (block.find(kMark) != block.npos) return true;
    block.erase(0, block.size() - std::min(block.size(), kMark.size()));
  }
  return false;
}

class Promotion {
 public:
  Promotion(Shelf& shelf, Backend* backend, const Plan& plan, const Exported& from, Meter* meter)
      : shelf_(shelf),
        backend_(backend),
        plan_(plan),
        from_(from),
        cache_(shelf.cache_folder()),
        meter_(meter) {
    ports_ = {from.model.input, from.model.features, from.model.output, from.model.judge.outputs};
  }

  [[nodiscard]] Attempt attempt(Precision precision) {
    Attempt out;
    out.precision = precision;
    const Status done = make_and_judge(out);
    if (!done) {
      out.why_not = done.error().context;
      return out;
    }
    out.why_not = refusal(*out.engine->verdict, plan_.limits);
    out.good = out.why_not.empty();
    return out;
  }

 private:
  // The file to build from, and whether it is half already.
  [[nodiscard]] Result<BuildRequest> request_for(Precision precision) const {
    BuildRequest out;
    out.onnx = from_.path(from_.model.onnx);
    out.precision = precision;
    if (precision == Precision::kFp16 && backend_->version().at_least(11, 0)) {
      if (!from_.model.onnx_fp16) {
        return fail(Code::kInvalid, "TensorRT " + backend_->version().text() +
                                        " makes fp16 of an fp16 ONNX file, and the model has none");
      }
      out.onnx = from_.path(*from_.model.onnx_fp16);
      out.onnx_is_half = true;
    }
    if (precision == Precision::kInt8 && !is_quantized(out.onnx)) {
      return fail(Code::kRefused,
                  "int8 needs a model that was quantized (QuantizeLinear nodes) or calibrated; "
                  "this one was not, and would lose accuracy");
    }
    out.ports = ports_;
    out.batch_max = plan_.batch_max;
    out.workspace_mb = plan_.workspace_mb;
    out.engine = shelf_.work_folder() + "/" + std::string(kEngineName);
    out.timing_cache = cache_.timing_cache(plan_.module, backend_->version());
    return out;
  }

  Status make_and_judge(Attempt& out) {
    const Result<BuildRequest> request = request_for(out.precision);
    LAIRD_TRY(request);
    const models::FileRef& built_from =
        request->onnx_is_half ? *from_.model.onnx_fp16 : from_.model.onnx;
    const EngineKey key{built_from.sha256,   plan_.module,  std::string(backend_->name()),
                        backend_->version(), out.precision, plan_.batch_max};
    out.engine = cache_.find(key);
    out.cached = out.engine.has_value();
    if (!out.cached) {
      SystemClock clock;
      const TimeNs start = clock.boot_ns();
      LAIRD_TRY(backend_->build(*request));
      Engine engine;
      engine.build_s = static_cast<double>(clock.boot_ns() - start) / kSecond;
      LAIRD_TRY(cache_.keep(key, request->engine, engine));
      out.engine = std::move(engine);
    }
    const std::string& rows = from_.model.held_out->file.sha256;
    Engine& engine = *out.engine;
    if (engine.verdict && engine.rows_sha256 == rows) return {};
    const Result<std::vector<float>> answers =
        backend_->run(engine.path, ports_, plan_.batch_max, from_.rows->inputs);
    LAIRD_TRY(answers);
    engine.verdict = judge(from_.model.judge, *from_.rows, *answers);
    engine.rows_sha256 = rows;
    if (plan_.timed && refusal(*engine.verdict, plan_.limits).empty()) {
      LAIRD_TRY(time(engine));
    }
    return cache_.describe(key, engine);
  }

  // At batch 1, and at the batch that gives the most rows a second.
  Status time(Engine& engine) {
    engine.timings.clear();
    const Status metered = meter_one_row(engine);
    engine.no_energy = metered ? "" : metered.error().context;
    std::optional<Timing> best;
    for (std::uint32_t batch = 1;; batch = std::min(4 * batch, plan_.batch_max)) {
      const Result<Timing> timing = backend_->time(engine.path, ports_, batch);
      LAIRD_TRY(timing);
      if (batch == 1) engine.timings.push_back(*timing);
      if (best && timing->rows_per_s < best->rows_per_s) break;
      best = *timing;
      if (batch == plan_.batch_max) break;
    }
    if (best->batch > 1) engine.timings.push_back(*best);
    return {};
  }

  // Runs it at batch 1, one run after another until the meter has seen enough of it. The mean power
  // of this task above the board's idle power, times the time that a row takes.
  Status meter_one_row(Engine& engine) {
    engine.energy_mj_per_row.reset();
    if (meter_ == nullptr) return fail(Code::kUnavailable, "no agent metered it");
    const auto first = meter_->look();
    LAIRD_TRY(first);
    SystemClock clock;
    const TimeNs until = clock.boot_ns() + kMeterFor;
    for (;;) {
      const Result<Timing> timing = backend_->time(engine.path, ports_, 1);
      LAIRD_TRY(timing);
      const auto last = meter_->look();
      LAIRD_TRY(last);
      const Result<double> watts = power_between(*first, *last);
      if (watts && timing->rows_per_s > 0.0) {
        engine.energy_mj_per_row = 1e3 * *watts / timing->rows_per_s;
        return {};
      }
      if (clock.boot_ns() >= until) {
        return fail(Code::kUnavailable, watts ? "no row was timed" : watts.error().context);
      }
    }
  }

  Shelf& shelf_;
  Backend* backend_;
  const Plan& plan_;
  const Exported& from_;
  EngineCache cache_;
  Meter* meter_;
  Ports ports_;
};

json::Value to_json(const Attempt& attempt) {
  json::Value out = json::Value::object();
  out.set("precision", name(attempt.precision))
      .set("good", attempt.good)
      .set("why_not", attempt.why_not.empty() ? json::Value() : json::Value(attempt.why_not))
      .set("cached", attempt.cached);
  if (!attempt.engine) return out;
  out.set("bytes", attempt.engine->bytes).set("build_s", attempt.engine->build_s);
  if (attempt.engine->verdict) out.set("verdict", to_json(*attempt.engine->verdict));
  const Engine& engine = *attempt.engine;
  out.set("timings", to_json(engine.timings))
      .set("energy_mj_per_row",
           engine.energy_mj_per_row ? json::Value(*engine.energy_mj_per_row) : json::Value());
  if (!engine.energy_mj_per_row && !engine.no_energy.empty()) {
    out.set("no_energy", engine.no_energy);
  }
  return out;
}

json::Value about(const Promoted& promoted, Backend* backend, const Plan& plan,
                  const Exported& from) {
  json::Value attempts = json::Value::array();
  json::Value energy;
  json::Value no_energy("no engine was timed");
  for (const Attempt& attempt : promoted.attempts) {
    attempts.add(to_json(attempt));
    if (name(attempt.precision) != promoted.choice || !attempt.engine) continue;
    if (attempt.engine->energy_mj_per_row) energy = *attempt.engine->energy_mj_per_row;
    no_energy = attempt.engine->no_energy;
  }
  return json::Value::object()
      .set("format", 1)
      .set("task", from.model.task)
      .set("model_sha256", from.model.onnx.sha256)
      .set("choice", promoted.choice)
      .set("reason", promoted.reason.empty() ? json::Value() : json::Value(promoted.reason))
      .set("module", plan.module)
      .set("backend", backend == nullptr ? json::Value() : json::Value(backend->name()))
      .set("tensorrt", backend == nullptr ? json::Value() : json::Value(backend->version().text()))
      .set("batch_max", plan.batch_max)
      .set("attempts", std::move(attempts))
      .set("no_energy", energy.is(json::Kind::kNull) ? no_energy : json::Value())
      .set("energy_mj_per_row", energy);
}

Status fill(Shelf& shelf, const Draft& draft, const Exported& from) {
  const auto put = [&](const models::FileRef& ref) {
    return shelf.put(draft, from.path(ref), ref.file, ref.sha256);
  };
  LAIRD_TRY(put(from.model.onnx));
  if (from.model.onnx_fp16) LAIRD_TRY(put(*from.model.onnx_fp16));
  if (from.model.held_out) LAIRD_TRY(put(from.model.held_out->file));
  const std::string json = from.folder + "/" + std::string(kModelJson);
  const Result<std::string> hash = sha256_of_file(json);
  LAIRD_TRY(hash);
  return shelf.put(draft, json, std::string(kModelJson), *hash);
}

}  // namespace

std::string module_of_this_board() {
  std::ifstream tree("/proc/device-tree/model", std::ios::binary);
  std::string model;
  std::getline(tree, model, '\0');
  if (!model.empty()) return model.substr(0, 128);
  utsname machine{};
  return ::uname(&machine) == 0 ? machine.machine : "unknown";
}

Result<Promoted> promote(Shelf& shelf, Backend* backend, const std::string& why_none,
                         const Plan& plan, Meter* meter) {
  const Result<Exported> from = read_exported(plan.onnx);
  LAIRD_TRY(from);
  // The copies are checked against their hashes first: an engine of a broken file is of no use.
  const Result<Draft> draft = shelf.begin();
  LAIRD_TRY(draft);
  LAIRD_TRY(fill(shelf, *draft, *from));
  Promoted out;
  const Attempt* chosen = nullptr;
  if (backend == nullptr) {
    out.reason = why_none;
  } else if (!from->rows) {
    out.reason = "no rows to check an engine with came with the model; export it with --data";
  } else {
    Promotion promotion(shelf, backend, plan, *from, meter);
    out.attempts.reserve(plan.precisions.size());
    for (const Precision precision : plan.precisions) {
      out.attempts.push_back(promotion.attempt(precision));
      if (chosen == nullptr && out.attempts.back().good) chosen = &out.attempts.back();
      if (chosen != nullptr && !plan.every) break;
    }
    if (chosen == nullptr) out.reason = "no engine is as good as the model";
  }
  out.choice = chosen == nullptr ? "onnx" : name(chosen->precision);
  if (chosen != nullptr) {
    LAIRD_TRY(
        shelf.put(*draft, chosen->engine->path, std::string(kEngineName), chosen->engine->sha256));
  }
  LAIRD_TRY(shelf.commit(*draft, about(out, backend, plan, *from)));
  out.version = draft->number;
  return out;
}

}  // namespace laird::promote
