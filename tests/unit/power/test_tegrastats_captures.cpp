// Every line of every real capture: nothing lost, nothing unknown, totals as worked out here from
// the raw text by a different method (find the words, read the digits after them).
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "power/boards/catalogue.hpp"
#include "power/readers/tegrastats/tegrastats_line.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::power;

namespace {

struct Expected {
  const char* board;                   // file in board_configs
  std::vector<const char*> rails_sum;  // what the total must add up, worked out by hand
};

const Expected kNano{"nano-4gb", {"POM_5V_IN"}};
const Expected kTx2{"tx2", {"VDD_IN"}};
const Expected kXavierNx{"xavier-nx-8gb", {"VDD_IN"}};
const Expected kAgxXavier{"agx-xavier", {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}};
const Expected kOrinNano{"orin-nano-8gb", {"VDD_IN"}};
const Expected kOrinNx16{"orin-nx-16gb", {"VDD_IN"}};
const Expected kOrinNx8{"orin-nx-8gb", {"VDD_IN"}};
const Expected kAgxOrin{"agx-orin-64gb", {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"}};
const Expected kAgxOrin32{"agx-orin-32gb", {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"}};
const Expected kThor{"thor-t5000", {"VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0"}};
const Expected kThorKit{"thor-t5000", {"VIN"}};
const Expected kTx1{"generic", {"VDD_IN"}};

const Expected& expected_for(const std::string& file, std::size_t line) {
  static const std::vector<const Expected*> kMixed = {
      &kTx1, &kTx2, &kNano, &kAgxXavier, &kXavierNx, &kOrinNx16, &kAgxOrin32, &kAgxOrin};
  static const std::vector<const Expected*> kOlder = {&kNano, &kTx2, &kAgxXavier, &kAgxXavier};
  const auto starts = [&](const char* prefix) { return file.rfind(prefix, 0) == 0; };
  if (starts("datadog_mixed")) return *kMixed.at(line);
  if (starts("datadog_older")) return *kOlder.at(line);
  if (starts("agx_orin32")) return kAgxOrin32;
  if (starts("agx_orin")) return kAgxOrin;
  if (starts("agx_xavier")) return kAgxXavier;
  if (starts("nano_")) return kNano;
  if (starts("orin_nano")) return kOrinNano;
  if (starts("orin_nx16")) return kOrinNx16;
  if (starts("orin_nx8")) return kOrinNx8;
  if (starts("thor_r38_rust")) return kThorKit;
  if (starts("thor_")) return kThor;
  if (starts("tx2_")) return kTx2;
  return kTx1;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// Milliwatts of a rail from the words alone: the word after its name, up to the first non-digit,
// provided that word has a slash. -1 when there is none.
long rail_in_words(const std::vector<std::string>& words, const std::string& rail) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == rail && words[i + 1].find('/') != std::string::npos) {
      return std::stol(words[i + 1]);
    }
  }
  return -1;
}

std::string one_blank(const std::string& text) {
  std::string out;
  for (const std::string& word : words_of(text)) out += (out.empty() ? "" : " ") + word;
  return out;
}

template <class F>
void each_capture_line(F body) {
  const std::string folder = test::shared_data_or_skip() + "/tegrastats";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".log") continue;
    std::ifstream in(entry.path());
    std::size_t index = 0;
    for (std::string text; std::getline(in, text);) {
      body(entry.path().filename().string(), index++, text);
    }
  }
}

}  // namespace

TEST(no_token_of_any_capture_is_lost_or_unknown) {
  const auto line = std::make_unique<Line>();
  std::size_t lines = 0;
  each_capture_line([&](const std::string& file, std::size_t, const std::string& text) {
    parse_line(text, *line);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(one_blank(text).c_str(), render(*line).c_str(), file.c_str());
    for (const Item& item : line->items()) {
      TEST_ASSERT_TRUE_MESSAGE(item.kind != ItemKind::kUnknown, text.c_str());
    }
    TEST_ASSERT_TRUE_MESSAGE(line->has_memory, text.c_str());
    TEST_ASSERT_EQUAL_UINT64(0, line->dropped);
    ++lines;
  });
  TEST_ASSERT_TRUE(lines >= 9'900);
}

TEST(totals_of_every_capture_are_those_of_the_raw_text) {
  const auto line = std::make_unique<Line>();
  std::size_t with_total = 0;
  std::size_t without = 0;
  std::vector<std::pair<std::string, Board>> boards;
  for (const Board& board : all_boards("")) boards.emplace_back(board.name, board);
  const auto board_named = [&](const std::string& name) -> const Board& {
    for (const auto& [known, board] : boards) {
      if (known == name) return board;
    }
    TEST_FAIL_MESSAGE("no such board");
    return boards.front().second;
  };
  each_capture_line([&](const std::string& file, std::size_t index, const std::string& text) {
    const Expected& expected = expected_for(file, index);
    const std::vector<std::string> words = words_of(text);
    long want = 0;
    for (const char* rail : expected.rails_sum) {
      const long mw = rail_in_words(words, rail);
      want = mw < 0 || want < 0 ? -1 : want + mw;
    }
    parse_line(text, *line);
    for (const char* board : {expected.board, "generic"}) {
      const RuleTotal total = total_of(*line, board_named(board));
      const std::string where = file + ":" + std::to_string(index + 1) + " as " + board;
      TEST_ASSERT_EQUAL_INT64_MESSAGE(want, total.rule == nullptr ? -1 : total.mw, where.c_str());
      const PowerReading reading = reading_of(*line, board_named(board), 0, Source::kRecorded);
      TEST_ASSERT_EQUAL_INT64(want, reading.total_mw.value_or(-1));
    }
    ++(want < 0 ? without : with_total);
  });
  // 4 lines of TX1 R28.1 and one R35 line read without root have no rails at all.
  TEST_ASSERT_EQUAL_UINT64(5, without);
  TEST_ASSERT_TRUE(with_total >= 9'900);
}

TEST(core_counts_and_memory_of_every_capture_are_those_of_the_raw_text) {
  const auto line = std::make_unique<Line>();
  each_capture_line([&](const std::string& file, std::size_t, const std::string& text) {
    parse_line(text, *line);
    const std::size_t open = text.find("[");
    const std::size_t close = text.find("]", open);
    std::size_t cores = 1;
    for (std::size_t i = open; i < close; ++i) cores += text[i] == ',' ? 1 : 0;
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(cores, line->core_count, file.c_str());
    const std::vector<std::string> words = words_of(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != "RAM") continue;
      TEST_ASSERT_EQUAL_INT32(std::stoi(words[i + 1]), line->memory("RAM")->v[0]);
      TEST_ASSERT_EQUAL_INT32(std::stoi(words[i + 1].substr(words[i + 1].find('/') + 1)),
                              line->memory("RAM")->v[1]);
    }
  });
}
