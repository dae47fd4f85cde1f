#include "trainers/model/load_data.hpp"

#include <filesystem>
#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;
using datasets::Dataset;

TEST(data_is_read_from_the_boards_folders_for_it_and_from_nowhere_else) {
  const test::TemporaryFolder folder;
  const std::string& at = folder.path();
  std::filesystem::create_directories(at + "/data/deep");
  std::filesystem::create_directories(at + "/data2");
  std::filesystem::create_directories(at + "/own");
  std::ofstream(at + "/secret") << "s";
  std::filesystem::create_symlink(at + "/secret", at + "/data/link");
  std::filesystem::create_symlink(at + "/data", at + "/way-in");
  const std::string roots = "/nowhere:" + at + "/data";
  const auto may = [&](const std::string& path) {
    return check_data_path(path, roots.c_str(), at + "/own").has_value();
  };
  TEST_ASSERT_TRUE(may(at + "/data/deep/x.csv"));
  TEST_ASSERT_TRUE(may(at + "/way-in/deep/x.csv"));
  TEST_ASSERT_TRUE(may(at + "/own/x.csv"));
  TEST_ASSERT_FALSE(may(at + "/secret"));
  TEST_ASSERT_FALSE(may(at + "/data/link"));
  TEST_ASSERT_FALSE(may(at + "/data/../secret"));
  TEST_ASSERT_FALSE(may(at + "/data2/x.csv"));
  TEST_ASSERT_FALSE(may("/etc/passwd"));
  TEST_ASSERT_TRUE(check_data_path("/etc/passwd", nullptr, at).has_value());
  TEST_ASSERT_TRUE(check_data_path("/etc/passwd", "/", at).has_value());
  TEST_ASSERT_FALSE(check_data_path("/etc/passwd", "", at).has_value());
}

TEST(synthetic_data_depends_on_its_seed_alone) {
  DataParams params;
  params.rows = 50;
  params.classes = 3;
  const Dataset a = make_synthetic(params);
  const Dataset b = make_synthetic(params);
  TEST_ASSERT_TRUE(a.values == b.values && a.labels == b.labels);
  params.seed = 2;
  TEST_ASSERT_FALSE(make_synthetic(params).values == a.values);
}

TEST(fashion_mnist_loads_from_its_gzip_files) {
  Params params;
  params.data.format = Format::kIdx;
  params.data.images = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  params.data.labels = "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz";
  const auto data = load_data(params);
  if (!data && data.error().code == Code::kNotFound) {
    TEST_IGNORE_MESSAGE("skipped: the package dataset-fashion-mnist is not installed");
  }
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(10'000, data->rows);
  TEST_ASSERT_EQUAL_UINT32(784, data->features);
  TEST_ASSERT_EQUAL_UINT32(10, data->classes);
  int ankle_boots = 0;
  for (const std::uint16_t label : data->labels) ankle_boots += label == 9 ? 1 : 0;
  TEST_ASSERT_EQUAL_INT(1000, ankle_boots);
}
