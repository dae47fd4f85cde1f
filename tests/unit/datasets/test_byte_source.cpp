#include "datasets/byte_source.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <vector>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::datasets;

namespace {

std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::uint32_t x = 1;
  for (std::uint8_t& b : bytes) {
    x = x * 1664525U + 1013904223U;
    b = static_cast<std::uint8_t>(x >> 24);
  }
  return bytes;
}

void write_gzip(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  TEST_ASSERT_NOT_NULL(file);
  TEST_ASSERT_EQUAL_INT(static_cast<int>(bytes.size()),
                        gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())));
  TEST_ASSERT_EQUAL_INT(Z_OK, gzclose(file));
}

}  // namespace

TEST(a_gzip_file_and_a_plain_one_read_the_same) {
  const test::TemporaryFolder folder;
  const std::vector<std::uint8_t> bytes = pattern(3'000'000);
  const std::string plain = folder.path() + "/plain";
  const std::string packed = folder.path() + "/packed";
  std::ofstream(plain, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  write_gzip(packed, bytes);
  for (const std::string& path : {plain, packed}) {
    auto source = open_file(path);
    TEST_ASSERT_TRUE(source.has_value());
    std::vector<std::uint8_t> got(bytes.size() + 10);
    const auto n = (*source)->read(got);
    TEST_ASSERT_TRUE(n.has_value());
    TEST_ASSERT_EQUAL_UINT64(bytes.size(), *n);
    got.resize(bytes.size());
    TEST_ASSERT_TRUE(got == bytes);
  }
}

TEST(a_cut_gzip_file_is_an_error_not_a_short_file) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/cut.gz";
  write_gzip(path, pattern(100'000));
  TEST_ASSERT_EQUAL_INT(0, ::truncate(path.c_str(), 50'000));
  auto source = open_file(path);
  TEST_ASSERT_TRUE(source.has_value());
  std::vector<std::uint8_t> got(100'000);
  const auto n = (*source)->read(got);
  TEST_ASSERT_FALSE(n.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(n.error().context.c_str(), "copy or install it again"));
}

TEST(a_gzip_file_with_a_flipped_bit_is_an_error) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/flipped.gz";
  write_gzip(path, pattern(100'000));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(50'000);
  const auto flipped = static_cast<char>(file.peek() ^ 0x04);
  file.seekp(50'000);
  file.put(flipped);
  file.close();
  auto source = open_file(path);
  TEST_ASSERT_TRUE(source.has_value());
  std::vector<std::uint8_t> got(200'000);
  TEST_ASSERT_FALSE((*source)->read(got).has_value());
}

TEST(what_is_no_regular_file_is_refused_with_its_path) {
  const test::TemporaryFolder folder;
  const auto absent = open_file(folder.path() + "/absent");
  TEST_ASSERT_FALSE(absent.has_value());
  TEST_ASSERT_TRUE(absent.error().code == Code::kNotFound);
  TEST_ASSERT_NOT_NULL(std::strstr(absent.error().context.c_str(), "/absent"));
  TEST_ASSERT_FALSE(open_file(folder.path()).has_value());
  const std::string fifo = folder.path() + "/fifo";
  TEST_ASSERT_EQUAL_INT(0, ::mkfifo(fifo.c_str(), 0600));
  TEST_ASSERT_FALSE(open_file(fifo).has_value());
}
