#include "trainers/export/export_model.hpp"

#include <algorithm>
#include <filesystem>

#include "base/sha256.hpp"
#include "models/rows_file.hpp"
#include "os/whole_file.hpp"
#include "trainers/export/answers.hpp"

namespace laird::trainers {
namespace {

constexpr std::uint64_t kRowsBytes = 32 << 20;  // of the rows' inputs
constexpr double kWorkMax = 2e10;               // rows x weights to ask the model itself
constexpr mode_t kMode = 0644;

struct Place {
  std::string folder;
  std::string stem;

  [[nodiscard]] std::string path(const std::string& file) const { return folder + "/" + file; }
};

Result<Place> place_of(const std::string& path) {
  const std::filesystem::path given(path);
  Place out{given.parent_path().string(), given.stem().string()};
  if (out.folder.empty()) out.folder = ".";
  if (given.extension() != ".onnx" || !models::is_file_name(out.stem + ".onnx")) {
    return fail(Code::kInvalid,
                "the model's file is called NAME.onnx, not " + given.filename().string());
  }
  return out;
}

Result<models::FileRef> write_model(const ExportSource& source, const Place& place,
                                    Precision precision) {
  models::FileRef out;
  out.file = place.stem + (precision == Precision::kHalf ? ".fp16.onnx" : ".onnx");
  Result<StagedFile> file = StagedFile::open(place.path(out.file), kMode);
  LAIRD_TRY(file);
  Sha256 hash;
  LAIRD_TRY(write_onnx(source.info, precision, source.read, [&](std::string_view bytes) {
    hash.add(bytes);
    out.bytes += bytes.size();
    return file->write(bytes);
  }));
  LAIRD_TRY(file->finish());
  out.sha256 = hash.hex();
  return out;
}

// Spread over all the rows there are.
models::Rows pick_rows(const ExportSource& source, std::uint32_t most) {
  const datasets::Dataset& data = *source.rows;
  const double weights = std::max(1.0, weights_of(source.info.shape()));
  const std::uint64_t fit =
      std::min<std::uint64_t>({most, data.rows, kRowsBytes / (4 * std::uint64_t{data.features}),
                               static_cast<std::uint64_t>(kWorkMax / weights)});
  models::Rows out;
  out.rows = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, fit));
  out.features = data.features;
  out.outputs = source.info.sizes.back();
  out.inputs.resize(std::size_t{out.rows} * out.features);
  for (std::uint32_t i = 0; i < out.rows; ++i) {
    const auto row = static_cast<std::uint32_t>(std::uint64_t{i} * data.rows / out.rows);
    data.raw_row(row, out.inputs.data() + std::size_t{i} * out.features);
    out.labels.push_back(
        data.classes > 0
            ? static_cast<float>(data.labels[row])
            : static_cast<float>(static_cast<double>(data.targets[row]) * data.target_deviation +
                                 data.target_mean));
  }
  return out;
}

Result<models::HeldOut> write_rows(const ExportSource& source, const ExportOptions& options,
                                   const Place& place) {
  if (source.rows->features != source.info.sizes.front()) {
    return fail(Code::kRefused, "the rows have " + std::to_string(source.rows->features) +
                                    " features, the model takes " +
                                    std::to_string(source.info.sizes.front()));
  }
  models::Rows rows = pick_rows(source, options.rows_max);
  Result<std::vector<float>> answers = answers_of(source.info, source.read, rows.inputs);
  LAIRD_TRY(answers);
  rows.answers = std::move(*answers);
  models::HeldOut out;
  out.metric = models::metric_of(source.info.judge(), rows.answers, rows.labels);
  out.rows = rows.rows;
  out.from = source.rows_from;
  const std::string bytes = models::pack_rows(rows);
  out.file = {place.stem + ".rows", sha256_of(bytes), bytes.size()};
  LAIRD_TRY(write_whole_file(place.path(out.file.file), bytes, {.mode = kMode}));
  return out;
}

// The data's own numbers of the classes, if the task picked some.
std::vector<std::int64_t> classes_of(const json::Value& params) {
  std::vector<std::int64_t> out;
  if (const json::Value* list = params.find("classes", json::Kind::kArray)) {
    for (const json::Value& c : list->items()) {
      if (c.is(json::Kind::kInteger)) out.push_back(c.as_integer());
    }
  }
  return out;
}

}  // namespace

Result<Exported> export_model(const ExportSource& source, const ExportOptions& options) {
  const Result<Place> place = place_of(options.path);
  LAIRD_TRY(place);
  Exported out;
  models::Model& model = out.model;
  Result<models::FileRef> single = write_model(source, *place, Precision::kSingle);
  LAIRD_TRY(single);
  model.onnx = std::move(*single);
  if (options.half) {
    Result<models::FileRef> half = write_model(source, *place, Precision::kHalf);
    if (half) {
      model.onnx_fp16 = std::move(*half);
    } else if (half.error().code == Code::kRefused) {
      out.notes.push_back("no fp16 file: the model " + half.error().context);
    } else {
      return tl::make_unexpected(half.error());
    }
  }
  if (source.rows != nullptr) {
    Result<models::HeldOut> held = write_rows(source, options, *place);
    LAIRD_TRY(held);
    model.held_out = std::move(*held);
  }
  const ModelInfo& info = source.info;
  model.kind = name(info.kind);
  model.weights = static_cast<std::uint64_t>(weights_of(info.shape()));
  model.input = kInputName;
  model.features = info.sizes.front();
  model.output = output_name(info);
  model.judge = info.judge();
  model.target_mean = info.scaling.target_mean;
  model.task = source.task;
  model.samples = source.samples;
  model.training_loss = source.loss;
  if (const Result<json::Value> params = json::parse(info.params, "params")) {
    model.params = *params;
    model.classes = classes_of(*params);
  }
  LAIRD_TRY(write_whole_file(place->path(std::string(kModelJson)), models::to_text(model),
                             {.mode = kMode}));
  return out;
}

}  // namespace laird::trainers
