#include "power/readers/tegrastats/tegrastats_line.hpp"

#include <memory>
#include <string>

#include "json/value.hpp"
#include "power/boards/catalogue.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::power;

namespace {

// A Line is large; one on the heap serves all tests of the file.
const Line& parsed(std::string_view text) {
  static const auto line = std::make_unique<Line>();
  parse_line(text, *line);
  return *line;
}

const Item& only(const Line& line, ItemKind kind) {
  const Item* found = nullptr;
  for (const Item& item : line.items()) {
    if (item.kind != kind) continue;
    TEST_ASSERT_NULL_MESSAGE(found, "more than one item of the kind");
    found = &item;
  }
  TEST_ASSERT_NOT_NULL(found);
  return *found;
}

std::size_t count(const Line& line, ItemKind kind) {
  std::size_t n = 0;
  for (const Item& item : line.items()) n += item.kind == kind ? 1 : 0;
  return n;
}

void round_trips(const char* text) {
  TEST_ASSERT_EQUAL_STRING(text, render(parsed(text)).c_str());
  TEST_ASSERT_EQUAL_UINT64(0, count(parsed(text), ItemKind::kUnknown));
}

json::Value as_json(std::string_view text, const char* board = "generic") {
  std::string out;
  append_json(parsed(text), *find_board(board, ""), out);
  const Result<json::Value> value = json::parse(out, "out");
  TEST_ASSERT_TRUE_MESSAGE(value.has_value(), value ? "" : value.error().context.c_str());
  return *value;
}

}  // namespace

TEST(reads_the_oldest_grammar_with_one_clock_for_all_cores) {
  const char* text =
      "RAM 900/3995MB (lfb 10x4MB) SWAP 0/0MB (cached 0MB) cpu [1%,2%,3%,4%]@1734 EMC 5%@1600 "
      "AVP 6%@80 VDE 0 GR3D 7%@998 EDP limit 1734";
  round_trips(text);
  const Line& line = parsed(text);
  TEST_ASSERT_EQUAL_UINT64(4, line.core_count);
  TEST_ASSERT_EQUAL_INT32(3, line.cores()[2].load_percent);
  TEST_ASSERT_EQUAL_INT32(kUnknownValue, line.cores()[2].clock_mhz);
  TEST_ASSERT_EQUAL_INT32(1734, only(line, ItemKind::kCpu).v[0]);
  TEST_ASSERT_EQUAL_INT32(7, line.gpu()->v[0]);
  TEST_ASSERT_EQUAL_INT32(998, line.gpu()->v[1]);
  TEST_ASSERT_EQUAL_INT32(1734, line.engine("EDP")->v[1]);
}

TEST(reads_iram_without_a_blank_and_small_free_blocks) {
  round_trips(
      "RAM 1/2MB (lfb 1x512kB) IRAM 0/252kB(lfb 252kB) CPU [1%@102,off] APE 25 MTS fg 1% bg 2%");
  const Line& line =
      parsed("RAM 1/2MB (lfb 3x512kB) IRAM 0/252kB(lfb 252kB) CPU [1%@102,off] MTS fg 1% bg 2%");
  TEST_ASSERT_EQUAL_INT32(3, line.memory("RAM")->v[2]);
  TEST_ASSERT_EQUAL_INT32(512, line.memory("RAM")->v[3]);
  TEST_ASSERT_EQUAL('k', line.memory("RAM")->detail_unit);
  TEST_ASSERT_EQUAL_INT32(252, line.memory("IRAM")->v[1]);
  TEST_ASSERT_TRUE(line.cores()[1].off);
  TEST_ASSERT_EQUAL_INT32(2, only(line, ItemKind::kMts).v[1]);
}

TEST(tells_rails_zones_and_the_core_list_of_one_name_apart) {
  const char* text =
      "RAM 1/2MB (lfb 1x4MB) CPU [5%@1190] GPU@26C CPU@27.5C GPU 465/466 CPU 310/311";
  round_trips(text);
  const Line& line = parsed(text);
  TEST_ASSERT_EQUAL_INT32(465, line.rail("GPU")->v[0]);
  TEST_ASSERT_EQUAL_INT32(311, line.rail("CPU")->v[1]);
  TEST_ASSERT_EQUAL_UINT64(2, count(line, ItemKind::kTemperature));
  TEST_ASSERT_EQUAL_UINT64(1, line.core_count);
}

TEST(a_gpu_without_percent_is_unknown_not_idle) {
  const char* text = "RAM 1/2MB (lfb 1x4MB) GR3D_FREQ @[314,315,316] NVENC0_FREQ @314";
  round_trips(text);
  TEST_ASSERT_EQUAL_INT32(kUnknownValue, parsed(text).gpu()->v[0]);
  const PowerReading r =
      reading_of(parsed(text), *find_board("thor-t5000", ""), 7, Source::kTegrastats);
  TEST_ASSERT_FALSE(r.gpu_load_permille.has_value());
  TEST_ASSERT_EQUAL_INT32(316, *r.gpu_clock_mhz);
  TEST_ASSERT_FALSE(r.total_mw.has_value());
  TEST_ASSERT_EQUAL_STRING("no rails", r.total_rule.c_str());
}

TEST(reads_three_numbers_per_rail_and_two_per_temperature) {
  const char* text =
      "07-25-2026 09:08:28 RAM 1/2MB (lfb 1x2MB) GR3D_FREQ 12%@[1300,1301] VIC off "
      "cpu@52.968C/51C VDD_GPU_SOC 5139mW/5000mW/6000mW";
  round_trips(text);
  const Line& line = parsed(text);
  TEST_ASSERT_EQUAL_INT32(5139, line.rail("VDD_GPU_SOC")->v[0]);
  TEST_ASSERT_EQUAL_INT32(6000, line.rail("VDD_GPU_SOC")->v[2]);
  TEST_ASSERT_EQUAL_INT32(51000, only(line, ItemKind::kTemperature).v[1]);
  TEST_ASSERT_TRUE(line.has_time);
  TEST_ASSERT_EQUAL_INT64(1784970508, line.time_s);
}

TEST(blanks_in_runs_and_carriage_returns_do_not_matter) {
  const Line& line = parsed("RAM   1/2MB   (lfb 1x4MB)\tNVENC      off  VDD_IN   10mW/20mW  \r");
  TEST_ASSERT_EQUAL_STRING("RAM 1/2MB (lfb 1x4MB) NVENC off VDD_IN 10mW/20mW",
                           render(line).c_str());
}

TEST(unknown_tokens_are_kept_in_place) {
  const Line& line =
      parsed("hello RAM 1/2MB (lfb 1x4MB) NEW? 5 VDD_IN 10mW/x (odd 7) GR3D_FREQ 5%");
  TEST_ASSERT_EQUAL_STRING("hello RAM 1/2MB (lfb 1x4MB) NEW? 5 VDD_IN 10mW/x (odd 7) GR3D_FREQ 5%",
                           render(line).c_str());
  TEST_ASSERT_EQUAL_UINT64(7, count(line, ItemKind::kUnknown));
  TEST_ASSERT_EQUAL_INT32(5, line.gpu()->v[0]);
}

TEST(engines_and_rails_nobody_has_seen_yet_parse_by_shape) {
  round_trips(
      "RAM 1/2MB (lfb 1x4MB) NPU7_FREQ 3%@[1,2,3,4] XYZ off FOO 12 VDD_NEW_RAIL 5mW/6mW/7mW "
      "zone-9@12.5C");
}

TEST(a_foreign_first_line_is_marked_and_harmless) {
  const Line& line = parsed("Mon Nov 16 03:10:10 UTC 2026");
  TEST_ASSERT_FALSE(line.has_memory);
  TEST_ASSERT_EQUAL_STRING("Mon Nov 16 03:10:10 UTC 2026", render(line).c_str());
}

TEST(numbers_too_long_for_sense_are_unknown_not_wrapped) {
  const Line& line = parsed("VDD_IN 99999999999999999999/1 GPU@99999999999C CPU [99999999999%@1]");
  TEST_ASSERT_EQUAL_UINT64(line.item_count, count(line, ItemKind::kUnknown));
  TEST_ASSERT_EQUAL_UINT64(5, line.item_count);
}

TEST(every_prefix_and_every_single_byte_change_is_survived) {
  const std::string text =
      "07-25-2026 09:08:28 RAM 1/2MB (lfb 1x2MB) SWAP 1/2MB (cached 3MB) IRAM 0/2kB(lfb 2kB) CPU "
      "[1%@2,off] EMC_FREQ 1%@2 GR3D_FREQ 1%@[2,3] APE 1 MTS fg 0% bg 0% x@-1.5C/2C VDD_IN "
      "1mW/2mW/3mW";
  for (std::size_t n = 0; n <= text.size(); ++n) {
    // An exact-size heap copy, so the sanitizer sees any read past the end.
    const std::unique_ptr<char[]> copy(new char[n]);
    text.copy(copy.get(), n);
    const Line& line = parsed(std::string_view(copy.get(), n));
    TEST_ASSERT_TRUE(line.item_count <= n);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', ' ', '[', ']', '(', ')', '/', '@', '%', '9', 'C', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      const Line& line = parsed(changed);
      // Whatever was read, no byte other than blanks may be lost.
      std::string want, got = render(line);
      for (const char k : changed) {
        if (k != ' ') want += k;
      }
      std::erase(got, ' ');
      if (want.size() != got.size()) {
        // The only rewriting is of numbers: leading zeros and trailing decimals go.
        TEST_ASSERT_TRUE_MESSAGE(got.size() < want.size() && want.size() - got.size() <= 3,
                                 changed.c_str());
      }
    }
  }
}

TEST(more_items_than_the_limit_are_counted_not_stored) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "A" + std::to_string(i) + " off ";
  const Line& line = parsed(text);
  TEST_ASSERT_EQUAL_UINT64(Line::kItemsMax, line.item_count);
  TEST_ASSERT_EQUAL_UINT64(1000 - Line::kItemsMax, line.dropped);
}

TEST(json_keeps_repeated_rails_and_says_null_for_what_is_missing) {
  const json::Value v = as_json(
      "RAM 1/2MB (lfb 1x4MB) CPU [1%@2,off] CV0@-256C VDD_GPU_SOC 1mW/1mW NC 0mW/0mW NC 0mW/0mW "
      "\xff\"odd\"",
      "agx-orin-64gb");
  TEST_ASSERT_TRUE(v.find("time")->is(json::Kind::kNull));
  TEST_ASSERT_TRUE(v.find("total_mw")->is(json::Kind::kNull));
  TEST_ASSERT_EQUAL_STRING(
      "missing for VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0: VDD_CPU_CV VIN_SYS_5V0",
      v.find("total_rule")->as_string().c_str());
  TEST_ASSERT_EQUAL_UINT64(3, v.find("rails")->items().size());
  TEST_ASSERT_TRUE(v.find("temperatures")->items()[0].find("c")->is(json::Kind::kNull));
  TEST_ASSERT_TRUE(v.find("cpu")->items()[1].is(json::Kind::kNull));
  TEST_ASSERT_TRUE(v.find("gpu")->is(json::Kind::kNull));
  TEST_ASSERT_EQUAL_STRING("\xEF\xBF\xBD\"odd\"",
                           v.find("unknown")->items()[0].as_string().c_str());
}

TEST(json_carries_total_rule_scope_and_time) {
  const json::Value v = as_json("12-31-2025 23:59:59 RAM 1/2MB (lfb 1x4MB) VDD_IN 4300mW/4200mW");
  TEST_ASSERT_EQUAL_STRING("2025-12-31T23:59:59", v.find("time")->as_string().c_str());
  TEST_ASSERT_EQUAL_INT64(4300, v.find("total_mw")->as_integer());
  TEST_ASSERT_EQUAL_STRING("VDD_IN", v.find("total_rule")->as_string().c_str());
  TEST_ASSERT_EQUAL_STRING("module", v.find("scope")->as_string().c_str());
}

TEST(the_hottest_zone_leaves_out_the_fake_and_the_gated) {
  const PowerReading r = reading_of(parsed("RAM 1/2MB (lfb 1x4MB) PMIC@100C GPU@-256C CPU@41.5C"),
                                    *find_board("generic", ""), 0, Source::kTegrastats);
  TEST_ASSERT_EQUAL_INT64(41'500, *r.hottest_mc());
}
