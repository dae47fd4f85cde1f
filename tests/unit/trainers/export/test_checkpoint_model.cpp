#include "trainers/export/checkpoint_model.hpp"

#include <cstring>
#include <fstream>

#include "os/whole_file.hpp"
#include "tests/harness/unit.hpp"
#include "trainers/model/checkpoint.hpp"
#include "trainers/model/training.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

Training trained() {
  Params params;
  params.kind = Kind::kMlp;
  params.hidden = {7};
  params.data.rows = 100;
  params.data.features = 5;
  params.epochs = 1;
  Result<Training> training = Training::create(params, 3);
  TEST_ASSERT_TRUE(training.has_value());
  while (training->may_advance(UINT64_MAX)) {
    TEST_ASSERT_TRUE(training->advance(UINT64_MAX).has_value());
  }
  return std::move(*training);
}

std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect_weights_of(const Training& training, const CheckpointModel& model) {
  const auto count = static_cast<std::size_t>(training.parameters().size());
  std::vector<float> read(count);
  TEST_ASSERT_TRUE(model.read_weights(0, read).has_value());
  TEST_ASSERT_EQUAL_MEMORY(training.parameters().data(), read.data(), count * sizeof(float));
  TEST_ASSERT_TRUE(model.read_weights(count - 3, std::span(read).first(3)).has_value());
  TEST_ASSERT_EQUAL_FLOAT(training.parameters()[static_cast<Eigen::Index>(count - 1)], read[2]);
  TEST_ASSERT_EQUAL_UINT64(training.samples(), model.samples());
  TEST_ASSERT_TRUE(model.loss() == training.loss());
}

}  // namespace

TEST(reads_the_model_of_a_folder_or_a_file) {
  const test::TemporaryFolder folder;
  const Training training = trained();
  TEST_ASSERT_TRUE(CheckpointFolder(folder.path()).save(training.save()).has_value());
  for (const std::string& path : {folder.path(), folder.path() + "/checkpoint.bin"}) {
    const Result<CheckpointModel> model = CheckpointModel::open(path, std::nullopt);
    TEST_ASSERT_TRUE(model.has_value());
    expect_weights_of(training, *model);
    TEST_ASSERT_TRUE(model->info().sizes == training.info().sizes);
  }
}

TEST(a_checkpoint_of_an_earlier_release_needs_to_be_told_its_model) {
  const test::TemporaryFolder folder;
  const Training training = trained();
  const Bytes now = training.save();
  const std::string_view state = view(now).substr(read_info(view(now))->state_at);
  TEST_ASSERT_TRUE(
      CheckpointFolder(folder.path()).save(Bytes(state.begin(), state.end())).has_value());
  const Result<CheckpointModel> blind = CheckpointModel::open(folder.path(), std::nullopt);
  TEST_ASSERT_FALSE(blind.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(blind.error().context.c_str(), "--kind and --params"));
  const Result<CheckpointModel> told = CheckpointModel::open(folder.path(), training.info());
  TEST_ASSERT_TRUE(told.has_value());
  expect_weights_of(training, *told);
  ModelInfo other = training.info();
  other.sizes[1] = 64;
  TEST_ASSERT_FALSE(CheckpointModel::open(folder.path(), other).has_value());
}

TEST(a_damaged_cut_or_missing_file_is_refused_by_name) {
  const test::TemporaryFolder folder;
  const Bytes file = pack_checkpoint(trained().save());
  const std::string path = folder.path() + "/c.bin";
  TEST_ASSERT_FALSE(CheckpointModel::open(path, std::nullopt).has_value());
  for (std::size_t length = 0; length < file.size(); length += 17) {
    TEST_ASSERT_TRUE(write_whole_file(path, view(file).substr(0, length)).has_value());
    TEST_ASSERT_FALSE(CheckpointModel::open(path, std::nullopt).has_value());
  }
  for (std::size_t at = 0; at < file.size(); at += 11) {
    Bytes damaged = file;
    damaged[at] ^= 0x40;
    TEST_ASSERT_TRUE(write_whole_file(path, view(damaged)).has_value());
    const Result<CheckpointModel> model = CheckpointModel::open(path, std::nullopt);
    TEST_ASSERT_FALSE(model.has_value());
    TEST_ASSERT_NOT_NULL(std::strstr(model.error().context.c_str(), "c.bin"));
  }
}
