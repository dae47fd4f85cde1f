#include "trainers/model/params.hpp"

#include <iterator>

#include "datasets/dataset.hpp"

namespace laird::trainers {
namespace {

using config::Field;
using config::kOptional;
using config::Schema;
using config::Type;
using json::Value;

constexpr std::string_view kFormats[] = {"idx", "csv", "synthetic"};
constexpr std::string_view kTargets[] = {"one-hot", "label"};

constexpr Field kDataFields[] = {
    {.name = "format", .type = Type::kChoice, .why = "What the data is.", .choices = kFormats},
    {.name = "images",
     .type = Type::kText,
     .why = "idx: file of the inputs, plain or gzip.",
     .fallback = kOptional,
     .min = 1,
     .max = 4096},
    {.name = "labels",
     .type = Type::kText,
     .why = "idx: file of the classes, plain or gzip.",
     .fallback = kOptional,
     .min = 1,
     .max = 4096},
    {.name = "path",
     .type = Type::kText,
     .why = "csv: the file, plain or gzip.",
     .fallback = kOptional,
     .min = 1,
     .max = 4096},
    {.name = "label",
     .type = Type::kText,
     .why = "csv: column of the label, its name or its number from 0; the last one if not given.",
     .fallback = kOptional,
     .max = 256},
    {.name = "header",
     .type = Type::kBool,
     .why = "csv: whether the first line names the columns; true if not given.",
     .fallback = kOptional},
    {.name = "seed",
     .type = Type::kInteger,
     .why =
         "synthetic: picks the data; 1 if not given. The task's seed picks shuffles and weights.",
     .fallback = kOptional,
     .max = 9.007199254740992e15},
    {.name = "features",
     .type = Type::kInteger,
     .why = "synthetic: inputs per row; 20 if not given.",
     .fallback = kOptional,
     .min = 1,
     .max = 100'000},
    {.name = "classes",
     .type = Type::kInteger,
     .why = "synthetic: number of classes, 2 if not given; 0 makes a number to predict (linear).",
     .fallback = kOptional,
     .max = datasets::kClassesMax},
    {.name = "rows",
     .type = Type::kInteger,
     .why = "synthetic: how many; 10000 if not given.",
     .fallback = kOptional,
     .min = 1,
     .max = datasets::kRowsMax},
    {.name = "noise",
     .type = Type::kNumber,
     .why = "synthetic: standard deviation around the class centre or the line; 1 if not given.",
     .fallback = kOptional,
     .max = 1000},
    {.name = "class_count",
     .type = Type::kInteger,
     .why =
         "idx, csv: how many classes there are, labels being whole numbers from 0; for data that "
         "does not show all of them. As many as the data shows if not given.",
     .fallback = kOptional,
     .min = 2,
     .max = datasets::kClassesMax},
    {.name = "shift",
     .type = Type::kNumber,
     .why = "Inputs enter as (x - shift) x scale instead of standardised by the data itself.",
     .fallback = kOptional,
     .min = -1e9,
     .max = 1e9},
    {.name = "scale",
     .type = Type::kNumber,
     .why = "See shift. With one of the two given, the other is 0 or 1.",
     .fallback = kOptional,
     .min = 1e-12,
     .max = 1e12},
};
constexpr Schema kData{"data", "Where the rows come from. Inputs are standardised on loading.",
                       kDataFields};

constexpr Field kParamsFields[] = {
    {.name = "data", .type = Type::kObject, .why = "The data set.", .of = &kData},
    {.name = "learning_rate",
     .type = Type::kNumber,
     .why = "Step size. If not given: linear 0.0002, svm 0.0005, softmax 0.001, mlp 0.01. A "
            "co-training task adapts its steps by itself; mlp takes 0.005 there, by Adam.",
     .fallback = kOptional,
     .min = 1e-9,
     .max = 100},
    {.name = "momentum",
     .type = Type::kNumber,
     .why = "Part of the last step kept in the next.",
     .fallback = "0.9",
     .max = 0.999},
    {.name = "decay",
     .type = Type::kNumber,
     .why = "The step size is divided by 1 + decay x epochs done.",
     .fallback = "0",
     .max = 1000},
    {.name = "l2",
     .type = Type::kNumber,
     .why = "Weight of the penalty on squared weights; not part of the reported loss.",
     .fallback = "0",
     .max = 10},
    {.name = "batch",
     .type = Type::kInteger,
     .why = "Samples per step. A step is the longest the trainer goes without listening.",
     .fallback = "64",
     .min = 1,
     .max = 4096},
    {.name = "epochs",
     .type = Type::kInteger,
     .why = "Passes over the data after which a task that has not reached its target loss is "
            "exhausted. 0: no end. If not given: under the agent no end, so the target loss or the "
            "deadline ends the task; alone 10, or no end with --samples or --seconds.",
     .fallback = kOptional,
     .max = 1e6},
    {.name = "hidden",
     .type = Type::kIntegers,
     .why = "mlp: sizes of the hidden layers, at most 8; [128] if not given.",
     .fallback = kOptional,
     .min = 1,
     .max = 8192},
    {.name = "limit_rows",
     .type = Type::kInteger,
     .why = "Use only the first rows of the data; 0: all.",
     .fallback = "0",
     .max = datasets::kRowsMax},
    {.name = "classes",
     .type = Type::kIntegers,
     .why = "Keep only rows of these classes, renumbered from 0 in this order; all if not given.",
     .fallback = kOptional,
     .max = datasets::kClassesMax - 1},
    {.name = "positive_class",
     .type = Type::kInteger,
     .why = "svm: this class (as renumbered) against the rest; all against all if not given.",
     .fallback = kOptional,
     .max = datasets::kClassesMax - 1},
    {.name = "target",
     .type = Type::kChoice,
     .why = "linear: predict the class as one-hot vector, or the label as a number; "
            "one-hot if not given.",
     .fallback = kOptional,
     .choices = kTargets},
    {.name = "held_out",
     .type = Type::kNumber,
     .why = "Part of the rows that the training never sees: for the target metric, and to check "
            "an exported model with.",
     .fallback = "0",
     .max = 0.9},
    {.name = "target_metric",
     .type = Type::kChoice,
     .why = "What is reported as the loss, so what the task's target is about: the training loss, "
            "or on the rows held out the loss or the error, which is 1 - accuracy (target 0.1: "
            "accuracy at least 0.9).",
     .fallback = "\"loss\"",
     .choices = kTargetMetrics},
    {.name = "fleet",
     .type = Type::kObject,
     .why = "Train one model with the other boards of the fleet.",
     .fallback = kOptional,
     .of = &kFleetSchema},
};
constexpr Schema kParams{"params", "The `params` of a task for a built-in trainer.", kParamsFields};

struct Check {
  std::string_view source;
  std::vector<config::Problem>& problems;

  void report(const Value& at, std::string path, std::string what) {
    problems.push_back({std::string(source), at.line(), std::move(path), std::move(what)});
  }
};

std::uint32_t to_u32(const Value* v, std::uint32_t fallback) {
  return v == nullptr ? fallback : static_cast<std::uint32_t>(v->as_integer());
}

// Which keys of "data" go with which format; the first `required` of them must be there.
struct FormatKeys {
  std::string_view format;
  std::vector<std::string_view> keys;
  std::size_t required;
};

void check_data_keys(const Value& data, Check& check) {
  static const FormatKeys kTable[] = {
      {"idx", {"images", "labels"}, 2},
      {"csv", {"path", "label", "header"}, 1},
      {"synthetic", {"seed", "features", "classes", "rows", "noise"}, 0},
  };
  const std::string& format = data.find("format")->as_string();
  for (const FormatKeys& row : kTable) {
    for (std::size_t i = 0; i < row.keys.size(); ++i) {
      const std::string key(row.keys[i]);
      const Value* given = data.find(key);
      if (row.format == format && given == nullptr && i < row.required) {
        check.report(data, "/data/" + key, "missing; format \"" + format + "\" needs it");
      }
      if (row.format != format && given != nullptr) {
        check.report(*given, "/data/" + key,
                     "belongs to format \"" + std::string(row.format) + "\", not \"" + format +
                         "\"; remove it");
      }
    }
  }
}

DataParams read_data(const Value& data) {
  DataParams out;
  const std::string& format = data.find("format")->as_string();
  out.format = format == "idx" ? Format::kIdx : format == "csv" ? Format::kCsv : Format::kSynthetic;
  const auto text = [&](std::string_view key) {
    const Value* v = data.find(key);
    return v == nullptr ? std::string() : v->as_string();
  };
  out.images = text("images");
  out.labels = text("labels");
  out.path = text("path");
  out.label = text("label");
  if (const Value* v = data.find("header")) out.header = v->as_bool();
  if (const Value* v = data.find("seed")) out.seed = static_cast<std::uint64_t>(v->as_integer());
  out.features = to_u32(data.find("features"), out.features);
  out.classes = to_u32(data.find("classes"), out.classes);
  out.rows = to_u32(data.find("rows"), out.rows);
  if (const Value* v = data.find("noise")) out.noise = v->as_double();
  out.class_count = to_u32(data.find("class_count"), 0);
  if (const Value* v = data.find("shift")) out.shift = v->as_double();
  if (const Value* v = data.find("scale")) out.scale = v->as_double();
  return out;
}

// What all boards must agree on cannot come from one board's own rows.
void check_fleet(const Value& value, const Params& params, Check& check) {
  const Value& data = *value.find("data");
  const bool needs_count = params.data.format != Format::kSynthetic && !params.target_is_number;
  if (needs_count && params.data.class_count == 0 && params.classes.empty()) {
    check.report(
        data, "/data/class_count",
        "missing; a board may not have rows of every class, so a co-training task says how many "
        "there are");
  }
  check_privacy(*value.find("fleet"), params.held_out > 0.0, check.source, check.problems);
}

void check_synthetic(const Value& value, const Params& params, Check& check) {
  const DataParams& data = params.data;
  if (std::uint64_t{data.rows} * data.features * sizeof(float) > datasets::kDataBytesMax) {
    check.report(value, "/data/rows", "rows x features needs more than 2 GiB; make one smaller");
  }
  if (data.class_count > 0) {
    check.report(value, "/data/class_count", "belongs to idx and csv; here it is \"classes\"");
  }
  if (data.classes == 1)
    check.report(value, "/data/classes",
                 "one class teaches nothing; give 0 "
                 "(a number to predict) or at least 2");
  if (data.classes == 0 && !params.target_is_number) {
    check.report(value, "/data/classes",
                 "0 makes a number to predict, which only the linear trainer with "
                 "\"target\": \"label\" does");
  }
}

void check_kind_keys(const Value& value, const Params& params, Check& check) {
  const struct {
    std::string_view key;
    Kind kind;
  } owners[] = {{"hidden", Kind::kMlp}, {"positive_class", Kind::kSvm}, {"target", Kind::kLinear}};
  for (const auto& owner : owners) {
    const Value* given = value.find(owner.key);
    if (given != nullptr && params.kind != owner.kind) {
      check.report(*given, "/" + std::string(owner.key),
                   "belongs to the trainer \"" + std::string(name(owner.kind)) + "\", not \"" +
                       std::string(name(params.kind)) + "\"; remove it");
    }
  }
  if (params.hidden.size() > 8) check.report(value, "/hidden", "more than 8 layers");
  if (!params.classes.empty()) {
    if (params.classes.size() < 2) {
      check.report(value, "/classes", "one class teaches nothing; list at least 2");
    }
    for (std::size_t i = 0; i < params.classes.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (params.classes[i] == params.classes[j]) {
          check.report(value, "/classes/" + std::to_string(i),
                       std::to_string(params.classes[i]) + " is there twice; remove one");
        }
      }
    }
  }
  if (!params.classes.empty() && params.target_is_number) {
    check.report(value, "/classes", "goes with classes, not with \"target\": \"label\"");
  }
}

void check_metric(const Value& value, const Params& params, Check& check) {
  if (params.target_metric == TargetMetric::kTrainingLoss) return;
  const Value& at = *value.find("target_metric");
  if (params.held_out <= 0.0) {
    check.report(at, "/held_out", "missing; the target metric needs rows that are held out");
  }
  if (params.target_is_number && params.target_metric == TargetMetric::kHeldOutError) {
    check.report(at, "/target_metric",
                 "numbers to predict have no accuracy; give \"held-out-loss\"");
  }
}

double default_rate(const Params& params) {
  if (params.fleet) return params.kind == Kind::kMlp ? 0.005 : 0.01;  // Adam's
  switch (params.kind) {
    case Kind::kLinear: return 0.0002;
    case Kind::kSvm: return 0.0005;
    case Kind::kSoftmax: return 0.001;
    case Kind::kMlp: return 0.01;
  }
  return 0.001;
}

}  // namespace

std::string_view name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::optional<Kind> kind_of(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kKindNames); ++i) {
    if (kKindNames[i] == text) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

models::Loss loss_of(Kind kind) {
  switch (kind) {
    case Kind::kLinear: return models::Loss::kSquared;
    case Kind::kSvm: return models::Loss::kHinge;
    case Kind::kSoftmax:
    case Kind::kMlp: return models::Loss::kCrossEntropy;
  }
  return models::Loss::kCrossEntropy;
}

const Schema& params_schema() { return kParams; }

Params read_params(Kind kind, const Value& value, std::string_view source,
                   std::vector<config::Problem>& problems) {
  Params out;
  out.kind = kind;
  const std::size_t before = problems.size();
  const Value v = config::normalise(kParams, value, source, problems);
  // The checks below read fields of the right types only.
  if (problems.size() > before) return out;
  Check check{source, problems};
  check_data_keys(*v.find("data"), check);
  out.data = read_data(*v.find("data"));
  if (const Value* fleet = v.find("fleet")) out.fleet = read_fleet(*fleet);
  const Value* rate = v.find("learning_rate");
  out.rate_given = rate != nullptr;
  out.learning_rate = rate != nullptr ? rate->as_double() : default_rate(out);
  out.momentum = v.find("momentum")->as_double();
  out.decay = v.find("decay")->as_double();
  out.l2 = v.find("l2")->as_double();
  out.batch = to_u32(v.find("batch"), 0);
  if (const Value* epochs = v.find("epochs")) out.epochs = to_u32(epochs, 0);
  out.limit_rows = to_u32(v.find("limit_rows"), 0);
  if (const Value* hidden = v.find("hidden")) {
    for (const Value& size : hidden->items()) out.hidden.push_back(to_u32(&size, 0));
  } else if (kind == Kind::kMlp) {
    out.hidden = {128};
  }
  if (const Value* classes = v.find("classes")) {
    for (const Value& c : classes->items()) out.classes.push_back(c.as_integer());
  }
  if (const Value* positive = v.find("positive_class")) {
    out.positive_class = to_u32(positive, 0);
  }
  if (const Value* target = v.find("target")) {
    out.target_is_number = target->as_string() == "label";
  }
  out.held_out = v.find("held_out")->as_double();
  const std::string& metric = v.find("target_metric")->as_string();
  for (std::size_t i = 0; i < std::size(kTargetMetrics); ++i) {
    if (metric == kTargetMetrics[i]) out.target_metric = static_cast<TargetMetric>(i);
  }
  out.text = json::to_text(value);
  check_kind_keys(v, out, check);
  check_metric(v, out, check);
  if (out.data.format == Format::kSynthetic) check_synthetic(*v.find("data"), out, check);
  if (out.fleet) {
    check_fleet(v, out, check);
    // Pixels come as bytes; other inputs as their author scaled them.
    if (!out.data.shift) out.data.shift = 0.0;
    if (!out.data.scale) out.data.scale = out.data.format == Format::kIdx ? 1.0 / 255.0 : 1.0;
  }
  return out;
}

}  // namespace laird::trainers
