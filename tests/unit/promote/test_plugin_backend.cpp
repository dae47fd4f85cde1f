#include "promote/plugin_backend.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::promote;

namespace {

std::unique_ptr<Backend> opened(const char* mode) {
  ::setenv("FAKE_TENSORRT", mode, 1);
  std::string why;
  Result<std::unique_ptr<Backend>> backend = open_plugin(LAIRD_FAKE_PLUGIN, why);
  TEST_ASSERT_TRUE(backend.has_value() && *backend != nullptr);
  return std::move(*backend);
}

BuildRequest request_in(const std::string& folder) {
  BuildRequest request;
  request.engine = folder + "/engine";
  request.timing_cache = folder + "/cache";
  request.ports = {"input", 2, "logits", 3};
  return request;
}

}  // namespace

TEST(an_engine_is_built_and_asked_in_batches) {
  const test::TemporaryFolder folder;
  const std::unique_ptr<Backend> backend = opened("");
  TEST_ASSERT_EQUAL_STRING("8.5.2", backend->version().text().c_str());
  const BuildRequest request = request_in(folder.path());
  TEST_ASSERT_TRUE(backend->build(request).has_value());
  const std::vector<float> inputs = {1, 0, 2, 0, 3, 0, 4, 0, 5, 0};
  const auto answers = backend->run(request.engine, request.ports, 2, inputs);
  TEST_ASSERT_TRUE(answers.has_value());
  TEST_ASSERT_EQUAL_UINT64(15, answers->size());
  TEST_ASSERT_EQUAL_FLOAT(5 * (*answers)[0], (*answers)[14]);
  const auto timing = backend->time(request.engine, request.ports, 4);
  TEST_ASSERT_TRUE(timing.has_value() && timing->runs >= 20 && timing->batch == 4);
  TEST_ASSERT_EQUAL_DOUBLE(250.0, timing->latency_us_p99);
  TEST_ASSERT_FALSE(backend->run(folder.path() + "/none", request.ports, 2, inputs).has_value());
}

TEST(a_board_without_a_device_has_no_backend_and_that_is_no_error) {
  ::setenv("FAKE_TENSORRT", "absent", 1);
  std::string why;
  const auto backend = open_plugin(LAIRD_FAKE_PLUGIN, why);
  TEST_ASSERT_TRUE(backend.has_value() && *backend == nullptr);
  TEST_ASSERT_EQUAL_STRING("CUDA finds no device", why.c_str());
  const auto none = open_plugin("/no/such/plugin.so", why);
  TEST_ASSERT_TRUE(none.has_value() && *none == nullptr);
}

TEST(a_library_that_is_no_plugin_is_an_error) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() + "/text.so") << "no library";
  std::string why;
  TEST_ASSERT_FALSE(open_plugin(folder.path() + "/text.so", why).has_value());
}

TEST(out_of_memory_is_told_apart) {
  const test::TemporaryFolder folder;
  const std::unique_ptr<Backend> backend = opened("no-memory");
  const Status s = backend->build(request_in(folder.path()));
  TEST_ASSERT_TRUE(!s.has_value() && s.error().code == Code::kFull);
}

TEST(a_timing_cache_that_does_not_fit_is_thrown_away_once) {
  const test::TemporaryFolder folder;
  const std::unique_ptr<Backend> backend = opened("");
  std::ofstream(folder.path() + "/cache") << "bad";
  TEST_ASSERT_TRUE(backend->build(request_in(folder.path())).has_value());
  TEST_ASSERT_FALSE(std::ifstream(folder.path() + "/cache").good());
}
