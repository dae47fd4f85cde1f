#include "promote/engine_cache.hpp"

#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::promote;

namespace {

EngineKey key() {
  return {
      std::string(64, 'a'), "NVIDIA Jetson/Orin Nano", "trtexec", {8, 5, 2}, Precision::kFp16, 256};
}

std::string built(const test::TemporaryFolder& folder, const char* text) {
  const std::string path = folder.path() + "/built";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST(an_engine_is_found_by_all_it_depends_on) {
  const test::TemporaryFolder folder;
  EngineCache cache(folder.path());
  Engine engine;
  engine.rows_sha256 = "r";
  engine.timings = {{.batch = 8, .runs = 3, .latency_us_p50 = 5.5}};
  TEST_ASSERT_FALSE(cache.find(key()).has_value());
  TEST_ASSERT_TRUE(cache.keep(key(), built(folder, "engine"), engine).has_value());
  const std::optional<Engine> found = cache.find(key());
  TEST_ASSERT_TRUE(found.has_value());
  TEST_ASSERT_EQUAL_STRING("r", found->rows_sha256.c_str());
  TEST_ASSERT_EQUAL_UINT64(6, found->bytes);
  TEST_ASSERT_EQUAL_DOUBLE(5.5, found->timings.at(0).latency_us_p50);
  EngineKey other = key();
  other.model_sha256[0] = 'b';
  TEST_ASSERT_FALSE(cache.find(other).has_value());
  other = key();
  other.module = "NVIDIA Jetson Orin Nano";
  TEST_ASSERT_FALSE(cache.find(other).has_value());
  other = key();
  other.version.patch = 3;
  TEST_ASSERT_FALSE(cache.find(other).has_value());
  other = key();
  other.precision = Precision::kFp32;
  TEST_ASSERT_FALSE(cache.find(other).has_value());
  other = key();
  other.batch_max = 1;
  TEST_ASSERT_FALSE(cache.find(other).has_value());
}

TEST(a_damaged_engine_or_description_is_not_found) {
  const test::TemporaryFolder folder;
  EngineCache cache(folder.path());
  Engine engine;
  TEST_ASSERT_TRUE(cache.keep(key(), built(folder, "engine"), engine).has_value());
  std::ofstream(engine.path) << "engins";
  TEST_ASSERT_FALSE(cache.find(key()).has_value());
  TEST_ASSERT_TRUE(cache.keep(key(), built(folder, "engine"), engine).has_value());
  TEST_ASSERT_TRUE(cache.find(key()).has_value());
  std::ofstream(folder.path() + "/" + key().text() + ".json") << "{";
  TEST_ASSERT_FALSE(cache.find(key()).has_value());
}

TEST(an_empty_engine_is_not_kept) {
  const test::TemporaryFolder folder;
  EngineCache cache(folder.path());
  Engine engine;
  TEST_ASSERT_FALSE(cache.keep(key(), built(folder, ""), engine).has_value());
}

TEST(names_of_files_hold_no_slash) {
  TEST_ASSERT_TRUE(key().text().find('/') == std::string::npos);
  const EngineCache cache("/c");
  TEST_ASSERT_EQUAL_UINT64(2, cache.timing_cache("a/../b", {8, 5, 2}).rfind('/'));
}
