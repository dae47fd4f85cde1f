#include "datasets/idx.hpp"

#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::datasets;

namespace {

std::string word(std::uint32_t v) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(v >> shift));
  return out;
}

std::string header(std::uint8_t type, std::initializer_list<std::uint32_t> dimensions) {
  std::string out = {'\0', '\0', static_cast<char>(type), static_cast<char>(dimensions.size())};
  for (const std::uint32_t d : dimensions) out += word(d);
  return out;
}

Result<Dataset> read(const std::string& images, const std::string& labels,
                     std::uint32_t rows_max = kRowsMax) {
  const auto a = from_memory(images, "images");
  const auto b = from_memory(labels, "labels");
  return read_idx(*a, *b, rows_max);
}

const std::string kImages = header(8, {3, 2, 2}) + "abcdefghijkl";
const std::string kLabels = header(8, {3}) + std::string("\x02\x00\x01", 3);

void refused(const Result<Dataset>& r, const char* why) {
  TEST_ASSERT_FALSE_MESSAGE(r.has_value(), why);
  TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(r.error().context.c_str(), why),
                               r.error().context.c_str());
}

}  // namespace

TEST(reads_rows_and_classes) {
  const auto data = read(kImages, kLabels);
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(3, data->rows);
  TEST_ASSERT_EQUAL_UINT32(4, data->features);
  TEST_ASSERT_EQUAL_UINT32(3, data->classes);
  TEST_ASSERT_EQUAL_UINT16(2, data->labels[0]);
  float row[4] = {};
  data->row(1, row);
  TEST_ASSERT_EQUAL_FLOAT(static_cast<float>('e'), row[0]);
  TEST_ASSERT_EQUAL_FLOAT(static_cast<float>('h'), row[3]);
}

TEST(reads_no_more_rows_than_asked) {
  const auto data = read(header(8, {3, 2, 2}) + "abcdefgh", kLabels, 2);
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(2, data->rows);
  TEST_ASSERT_EQUAL_UINT64(8, data->bytes.size());
}

TEST(a_file_cut_at_any_byte_is_refused) {
  for (std::size_t n = 0; n < kImages.size(); ++n) {
    TEST_ASSERT_FALSE(read(kImages.substr(0, n), kLabels).has_value());
  }
  for (std::size_t n = 0; n < kLabels.size(); ++n) {
    TEST_ASSERT_FALSE(read(kImages, kLabels.substr(0, n)).has_value());
  }
}

TEST(says_what_is_wrong_with_a_header) {
  refused(read("PK\x03\x04", kLabels), "is not an IDX file");
  refused(read(header(13, {3, 2, 2}), kLabels), "only type 8");
  refused(read(header(8, {}), kLabels), "0 dimensions");
  refused(read(header(8, {1, 1, 1, 1, 1}), kLabels), "5 dimensions");
  refused(read(header(8, {3, 0, 2}), kLabels), "dimension 1 is 0");
  refused(read(kImages, header(8, {3, 2}) + "abcdef"), "give the labels file");
  refused(read(kImages + "m", kLabels), "images: is longer than its header says");
  refused(read(kImages, kLabels + "m"), "labels: is longer than its header says");
  refused(read(kImages, header(8, {4}) + "abcd"), "has 4 rows, but images has 3");
}

TEST(a_header_that_promises_too_much_allocates_nothing) {
  const std::string labels = header(8, {0xFFFFFFFF});
  refused(read(header(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}), labels), "values in a row");
  refused(read(header(8, {0xFFFFFFFF, 1000, 1000}), labels), "set \"limit_rows\"");
  refused(read(header(8, {0xFFFFFFFF, 10, 10}) + "x", labels), "is cut: 1 of");
}
