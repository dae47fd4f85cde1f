#include "models/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace laird::models {
namespace {

using json::Kind;
using json::Value;

Value number_or_null(std::optional<double> v) { return v ? Value::number(*v) : Value(); }

Value to_json(const FileRef& ref) {
  return Value::object().set("file", ref.file).set("sha256", ref.sha256).set("bytes", ref.bytes);
}

Value to_json(const HeldOut& held) {
  Value out = to_json(held.file);
  out.set("rows", held.rows);
  out.set("from", held.from);
  out.set("loss", held.metric.loss);
  out.set("accuracy", number_or_null(held.metric.accuracy));
  return out;
}

// Reads members of one object; remembers the first thing that is wrong.
class Reader {
 public:
  Reader(const Value* value, std::string path) : value_(value), path_(std::move(path)) {
    if (value_ == nullptr || !value_->is(Kind::kObject)) complain("", "must be an object");
  }

  std::string text(std::string_view key) {
    const Value* v = member(key, Kind::kString);
    if (v == nullptr) complain(key, "must be a text");
    return v == nullptr ? std::string() : v->as_string();
  }
  std::uint64_t count(std::string_view key, std::uint64_t min, std::uint64_t max) {
    const Value* v = member(key, Kind::kInteger);
    const bool good = v != nullptr && v->as_integer() >= 0 &&
                      static_cast<std::uint64_t>(v->as_integer()) >= min &&
                      static_cast<std::uint64_t>(v->as_integer()) <= max;
    if (!good) {
      complain(key,
               "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    }
    return good ? static_cast<std::uint64_t>(v->as_integer()) : min;
  }
  std::optional<double> number(std::string_view key, bool may_be_null) {
    const Value* v = value_ == nullptr ? nullptr : value_->find(key);
    if (may_be_null && (v == nullptr || v->is(Kind::kNull))) return std::nullopt;
    if (v == nullptr || !v->is_number() || !std::isfinite(v->as_double())) {
      complain(key, "must be a number");
      return std::nullopt;
    }
    return v->as_double();
  }
  template <std::size_t N>
  std::size_t choice(std::string_view key, const std::string_view (&names)[N]) {
    const std::string got = text(key);
    const auto* found = std::find(std::begin(names), std::end(names), got);
    if (found != std::end(names)) return static_cast<std::size_t>(found - std::begin(names));
    complain(key, "has no meaning here: " + json::quoted(got.substr(0, 40)));
    return 0;
  }
  FileRef file() {
    FileRef out{text("file"), text("sha256"), count("bytes", 0, std::uint64_t{1} << 31)};
    if (!is_file_name(out.file)) complain("file", "must be the name of a file beside model.json");
    if (out.sha256.size() != 64) complain("sha256", "must have 64 digits");
    return out;
  }
  [[nodiscard]] const Value* find(std::string_view key) const {
    return value_ == nullptr ? nullptr : value_->find(key);
  }
  // Takes over what another one found wrong.
  void also(const Reader& other) {
    if (problem_.empty()) problem_ = other.problem_;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void complain(std::string_view key, const std::string& what) {
    if (!problem_.empty()) return;
    problem_ = path_ + (key.empty() ? "" : "/") + std::string(key) + " " + what;
  }

 private:
  const Value* member(std::string_view key, Kind kind) const {
    return value_ == nullptr ? nullptr : value_->find(key, kind);
  }

  const Value* value_;
  std::string path_;
  std::string problem_;
};

// It becomes part of the command line of another program.
bool is_tensor_name(std::string_view name) {
  constexpr std::string_view kMarks = "_.-/";
  return !name.empty() && name.size() <= 128 && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  kMarks.find(c) != kMarks.npos;
         });
}

bool there(const Value* v) { return v != nullptr && !v->is(Kind::kNull); }

void read_held_out(Reader& top, Model& out) {
  if (!there(top.find("held_out"))) return;
  Reader held(top.find("held_out"), "/held_out");
  HeldOut read;
  read.file = held.file();
  read.rows = static_cast<std::uint32_t>(held.count("rows", 1, UINT32_MAX));
  read.from = held.text("from");
  read.metric.loss = held.number("loss", false).value_or(0.0);
  read.metric.accuracy = held.number("accuracy", true);
  top.also(held);
  out.held_out = std::move(read);
}

void read_output(Reader& top, Model& out) {
  Reader output(top.find("output"), "/output");
  out.output = output.text("name");
  out.judge.outputs = static_cast<std::uint32_t>(output.count("size", 1, 1'000'000));
  out.judge.decision = static_cast<Decision>(output.choice("decision", kDecisionNames));
  out.judge.loss = static_cast<Loss>(output.choice("loss", kLossNames));
  out.target_mean = output.number("mean", true).value_or(0.0);
  out.judge.target_deviation = output.number("deviation", true).value_or(1.0);
  if (!(out.judge.target_deviation > 0.0)) output.complain("deviation", "must be above 0");
  if (out.judge.decision != Decision::kLargest && out.judge.outputs != 1) {
    output.complain("size", "must be 1 for this decision");
  }
  if (const Value* classes = output.find("classes"); there(classes)) {
    for (const Value& c : classes->items()) {
      if (c.is(Kind::kInteger)) out.classes.push_back(c.as_integer());
    }
  }
  top.also(output);
}

}  // namespace

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c > ' ' && c != '/' && c != '\\' && c < 0x7F; });
}

std::string to_text(const Model& model) {
  Value output = Value::object();
  output.set("name", model.output)
      .set("size", model.judge.outputs)
      .set("decision", kDecisionNames[static_cast<std::size_t>(model.judge.decision)])
      .set("loss", kLossNames[static_cast<std::size_t>(model.judge.loss)])
      .set("mean", model.target_mean)
      .set("deviation", model.judge.target_deviation);
  Value classes = Value::array();
  for (const std::int64_t c : model.classes) classes.add(c);
  output.set("classes", model.classes.empty() ? Value() : std::move(classes));
  Value out = Value::object();
  out.set("format", kFormat)
      .set("kind", model.kind)
      .set("onnx", to_json(model.onnx))
      .set("onnx_fp16", model.onnx_fp16 ? to_json(*model.onnx_fp16) : Value())
      .set("weights", model.weights)
      .set("input", Value::object().set("name", model.input).set("features", model.features))
      .set("output", std::move(output))
      .set("held_out", model.held_out ? to_json(*model.held_out) : Value())
      .set("task", model.task)
      .set("samples", model.samples)
      .set("training_loss", number_or_null(model.training_loss))
      .set("params", model.params)
      .set("board", model.board)
      .set("energy_j", number_or_null(model.energy_j));
  return json::to_pretty_text(out) + "\n";
}

Result<Model> parse_model(std::string_view text, std::string_view source) {
  json::ParseLimits limits;
  limits.bytes_max = kModelJsonBytesMax;
  const Result<Value> value = json::parse(text, source, limits);
  LAIRD_TRY(value);
  Reader top(&*value, "");
  Model out;
  const std::uint64_t format = top.count("format", 1, UINT32_MAX);
  if (top.problem().empty() && format != kFormat) {
    return fail(Code::kRefused, std::string(source) + " is of format " + std::to_string(format) +
                                    "; this program reads " + std::to_string(kFormat));
  }
  out.kind = top.text("kind");
  Reader onnx(top.find("onnx"), "/onnx");
  out.onnx = onnx.file();
  top.also(onnx);
  if (there(top.find("onnx_fp16"))) {
    Reader half(top.find("onnx_fp16"), "/onnx_fp16");
    out.onnx_fp16 = half.file();
    top.also(half);
  }
  out.weights = top.count("weights", 0, std::uint64_t{1} << 40);
  Reader input(top.find("input"), "/input");
  out.input = input.text("name");
  out.features = static_cast<std::uint32_t>(input.count("features", 1, 1'000'000));
  top.also(input);
  read_output(top, out);
  for (const std::string* name : {&out.input, &out.output}) {
    if (!is_tensor_name(*name)) top.complain("", "names an input or output with odd characters");
  }
  read_held_out(top, out);
  out.task = top.text("task");
  out.samples = top.count("samples", 0, std::uint64_t{1} << 53);
  out.training_loss = top.number("training_loss", true);
  if (const Value* params = top.find("params")) out.params = *params;
  if (const Value* board = top.find("board")) out.board = *board;
  out.energy_j = top.number("energy_j", true);
  if (!top.problem().empty()) {
    return fail(Code::kInvalid, std::string(source) + ": " + top.problem());
  }
  return out;
}

}  // namespace laird::models
