#include "models/model_file.hpp"

#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::models;

namespace {

Model sample() {
  Model m;
  m.kind = "mlp";
  m.onnx = {"model.onnx", std::string(64, 'a'), 77};
  m.onnx_fp16 = FileRef{"model.fp16.onnx", std::string(64, 'b'), 40};
  m.weights = 12;
  m.features = 4;
  m.judge = {Loss::kCrossEntropy, Decision::kLargest, 3, 1.0};
  m.classes = {7, 8, 9};
  m.held_out = HeldOut{{"model.rows", std::string(64, 'c'), 99}, 5, "held-out", {0.25, 0.75}};
  m.task = "night";
  m.samples = 1000;
  m.training_loss = 0.5;
  return m;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  TEST_ASSERT_TRUE_MESSAGE(at != text.npos, std::string(from).c_str());
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST(a_model_comes_back_as_it_went) {
  const Result<Model> back = parse_model(to_text(sample()), "model.json");
  TEST_ASSERT_TRUE(back.has_value());
  TEST_ASSERT_EQUAL_STRING(to_text(sample()).c_str(), to_text(*back).c_str());
  TEST_ASSERT_EQUAL_STRING("held-out", back->held_out->from.c_str());
  TEST_ASSERT_EQUAL_DOUBLE(0.75, *back->held_out->metric.accuracy);
  TEST_ASSERT_FALSE(back->energy_j.has_value());
}

TEST(every_wrong_member_is_named) {
  const std::string good = to_text(sample());
  const struct {
    const char *from, *to, *why;
  } cases[] = {
      {"\"model.onnx\"", "\"../model.onnx\"", "/onnx/file must be the name"},
      {"\"model.onnx\"", "\".hidden\"", "/onnx/file must be the name"},
      {"\"bytes\": 77", "\"bytes\": -1", "/onnx/bytes must be a whole number"},
      {"\"largest\"", "\"best\"", "/output/decision has no meaning here: \"best\""},
      {"\"features\": 4", "\"features\": 0", "/input/features"},
      {"\"name\": \"input\"", "\"name\": \"a b\"", "odd characters"},
      {"\"name\": \"logits\"", "\"name\": \"--save\"", "odd characters"},
      {"\"rows\": 5", "\"rows\": 0", "/held_out/rows"},
      {"\"format\": 1", "\"format\": 2", "is of format 2"},
      {"\"deviation\": 1.0", "\"deviation\": 0", "/output/deviation must be above 0"},
  };
  for (const auto& c : cases) {
    const Result<Model> r = parse_model(replaced(good, c.from, c.to), "model.json");
    TEST_ASSERT_FALSE_MESSAGE(r.has_value(), c.to);
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(r.error().context.c_str(), c.why),
                                 r.error().context.c_str());
  }
}
