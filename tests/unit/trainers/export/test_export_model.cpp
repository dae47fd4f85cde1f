#include "trainers/export/export_model.hpp"

#include <filesystem>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "models/rows_file.hpp"
#include "tests/harness/unit.hpp"
#include "trainers/export/answers.hpp"
#include "trainers/model/training.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

Training made(Kind kind, bool number = false) {
  Params params;
  params.kind = kind;
  if (kind == Kind::kMlp) params.hidden = {11};
  params.data.rows = 400;
  params.data.features = 6;
  params.data.classes = number ? 0 : 3;
  params.target_is_number = number;
  params.held_out = 0.25;
  params.epochs = 3;
  params.learning_rate = 0.01;
  Result<Training> training = Training::create(params, 3);
  TEST_ASSERT_TRUE(training.has_value());
  while (training->may_advance(UINT64_MAX)) {
    TEST_ASSERT_TRUE(training->advance(UINT64_MAX).has_value());
  }
  return std::move(*training);
}

ExportSource source_of(const Training& training) {
  return {.info = training.info(),
          .read = [&training](std::uint64_t first, std::span<float> out) -> Status {
            training.read_weights(first, out);
            return {};
          },
          .task = "t",
          .samples = training.samples(),
          .loss = training.loss(),
          .rows = training.held_out_rows(),
          .rows_from = "held-out"};
}

std::string content(const std::string& path) {
  const Result<std::string> text = config::read_file(path, 1 << 26);
  TEST_ASSERT_TRUE_MESSAGE(text.has_value(), path.c_str());
  return *text;
}

}  // namespace

TEST(the_files_are_there_with_the_hashes_that_model_json_tells) {
  const test::TemporaryFolder folder;
  for (const Kind kind : {Kind::kLinear, Kind::kSvm, Kind::kSoftmax, Kind::kMlp}) {
    const Training training = made(kind);
    const Result<Exported> done =
        export_model(source_of(training), {.path = folder.path() + "/m.onnx", .rows_max = 60});
    TEST_ASSERT_TRUE(done.has_value());
    const Result<models::Model> model =
        models::parse_model(content(folder.path() + "/model.json"), "model.json");
    TEST_ASSERT_TRUE(model.has_value());
    for (const models::FileRef& ref : {model->onnx, *model->onnx_fp16, model->held_out->file}) {
      const std::string bytes = content(folder.path() + "/" + ref.file);
      TEST_ASSERT_EQUAL_UINT64(ref.bytes, bytes.size());
      TEST_ASSERT_EQUAL_STRING(ref.sha256.c_str(), sha256_of(bytes).c_str());
    }
    TEST_ASSERT_EQUAL_UINT32(60, model->held_out->rows);
    TEST_ASSERT_TRUE(model->held_out->metric.accuracy > 0.5);
    // Nothing half-written is left.
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      TEST_ASSERT_TRUE(entry.path().extension() != ".new");
    }
  }
}

TEST(the_answers_are_those_of_the_network) {
  for (const bool number : {false, true}) {
    const Training training = made(number ? Kind::kLinear : Kind::kMlp, number);
    const ExportSource source = source_of(training);
    const datasets::Dataset& rows = *training.held_out_rows();
    std::vector<float> inputs(std::size_t{rows.rows} * rows.features);
    for (std::uint32_t r = 0; r < rows.rows; ++r) {
      rows.raw_row(r, inputs.data() + std::size_t{r} * rows.features);
    }
    const Result<std::vector<float>> answers = answers_of(source.info, source.read, inputs);
    TEST_ASSERT_TRUE(answers.has_value());
    std::vector<float> labels;
    for (std::uint32_t r = 0; r < rows.rows; ++r) {
      labels.push_back(
          number ? static_cast<float>(static_cast<double>(rows.targets[r]) * rows.target_deviation +
                                      rows.target_mean)
                 : static_cast<float>(rows.labels[r]));
    }
    const models::Metric metric = models::metric_of(source.info.judge(), *answers, labels);
    Network<float> network(source.info.shape(), rows.rows);
    network.parameters() = training.parameters();
    for (std::uint32_t r = 0; r < rows.rows; ++r) rows.row(r, network.input(r));
    Targets targets{rows.labels, rows.targets};
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, network.loss(rows.rows, targets) / rows.rows, metric.loss);
  }
}

TEST(a_model_without_rows_says_so) {
  const test::TemporaryFolder folder;
  const Training training = made(Kind::kSvm);
  ExportSource source = source_of(training);
  source.rows = nullptr;
  const Result<Exported> done =
      export_model(source, {.path = folder.path() + "/m.onnx", .half = false});
  TEST_ASSERT_TRUE(done.has_value());
  TEST_ASSERT_FALSE(done->model.held_out.has_value());
  TEST_ASSERT_FALSE(done->model.onnx_fp16.has_value());
}

TEST(a_place_that_cannot_be_written_is_an_error_that_names_it) {
  const Training training = made(Kind::kSvm);
  for (const char* path : {"/no/such/folder/m.onnx", "/tmp/model.txt", "/tmp/.onnx"}) {
    TEST_ASSERT_FALSE(export_model(source_of(training), {.path = path}).has_value());
  }
}
