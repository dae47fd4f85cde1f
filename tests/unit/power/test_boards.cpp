#include <filesystem>
#include <fstream>
#include <set>

#include "power/boards/catalogue.hpp"
#include "power/boards/power_modes.hpp"
#include "power/model/board_schema.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::power;

namespace {

void put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string nul(std::initializer_list<const char*> parts) {
  std::string out;
  for (const char* part : parts) out += part, out += '\0';
  return out;
}

std::string problems_after(std::string_view from, std::string_view to) {
  std::string text;
  for (const EmbeddedBoard& b : embedded_boards()) {
    if (b.file == "orin_nano_8gb.json") text = b.text;
  }
  const std::size_t at = text.find(from);
  TEST_ASSERT_TRUE_MESSAGE(at != std::string::npos, "the text to change is not in the file");
  text.replace(at, from.size(), to);
  const Result<Board> board = board_from_text(text, "x.json");
  return board ? "" : board.error().context;
}

void expect_holds(const std::string& all, const char* want) {
  TEST_ASSERT_TRUE_MESSAGE(all.find(want) != std::string::npos, (all + " lacks " + want).c_str());
}

}  // namespace

TEST(every_board_file_passes_its_schema_and_has_lanes_and_evidence) {
  std::set<std::string> names;
  for (const EmbeddedBoard& entry : embedded_boards()) {
    const Result<Board> board = board_from_text(entry.text, entry.file);
    TEST_ASSERT_TRUE_MESSAGE(board.has_value(), board ? "" : board.error().context.c_str());
    std::string file = board->name + ".json";
    for (char& c : file) c = c == '-' ? '_' : c;
    TEST_ASSERT_EQUAL_STRING(std::string(entry.file).c_str(), file.c_str());
    bool gpu = false, cpu = false;
    for (const Lane& lane : board->lanes) {
      (lane.kind == LaneKind::kGpu ? gpu : cpu) = true;
    }
    TEST_ASSERT_TRUE(gpu && cpu);
    TEST_ASSERT_FALSE(board->totals.empty());
    TEST_ASSERT_TRUE(board->model.idle_mw > 0);
    names.insert(board->name);
  }
  for (const char* want : {"nano-4gb", "tx2", "xavier-nx-8gb", "xavier-nx-16gb", "agx-xavier",
                           "orin-nano-4gb", "orin-nano-8gb", "orin-nx-8gb", "orin-nx-16gb",
                           "agx-orin-32gb", "agx-orin-64gb", "thor-t5000", "generic"}) {
    TEST_ASSERT_TRUE_MESSAGE(names.count(want) == 1, want);
  }
  TEST_ASSERT_EQUAL_UINT64(13, names.size());
}

TEST(no_two_boards_claim_the_same_module) {
  std::set<std::string> seen;
  for (const Board& board : all_boards("")) {
    for (const std::string& module : board.detect_modules) {
      TEST_ASSERT_TRUE_MESSAGE(seen.insert(module).second, module.c_str());
    }
  }
  TEST_ASSERT_TRUE(seen.size() >= 19);
}

TEST(a_total_never_counts_a_rail_fed_from_another) {
  for (const Board& board : all_boards("")) {
    for (const TotalRule& rule : board.totals) {
      for (const std::string& rail : rule.rails) {
        TEST_ASSERT_TRUE(rail != "VDDQ_VDD2_1V8AO" && rail != "NC");
        // A rail that carries everything stands alone.
        if (board.rail(rail)->feeds == Feeds::kAll) {
          TEST_ASSERT_EQUAL_UINT64(1, rule.rails.size());
        }
      }
    }
  }
}

TEST(a_number_without_evidence_is_a_problem_that_names_its_path) {
  const std::string all = problems_after("\"/cpu\"", "\"/elsewhere\"");
  expect_holds(all, "x.json:5: /cpu/cores: nothing in /evidence says where this number comes from");
  expect_holds(all, "/cpu/clock_mhz_max");
}

TEST(a_rule_over_an_unknown_rail_is_a_problem) {
  expect_holds(problems_after("\"rails\": [\"VDD_IN\"]", "\"rails\": [\"VDD_INN\"]"),
               "/power/totals/0: rail \"VDD_INN\" is not described");
}

TEST(a_mistyped_key_names_the_nearest) {
  expect_holds(problems_after("\"idle\"", "\"idel\""), "did you mean \"idle\"?");
}

TEST(a_bare_number_for_power_is_refused_with_a_remedy) {
  expect_holds(problems_after("\"idle\": \"4.3W\"", "\"idle\": 4300"), "like \"15W\"");
}

TEST(two_lanes_of_one_name_are_refused) {
  expect_holds(problems_after("\"name\": \"cpu0\"", "\"name\": \"gpu0\""),
               "two lanes are named \"gpu0\"");
}

TEST(evidence_of_the_longest_path_speaks) {
  const Result<Board> board = find_board("thor-t5000", "");
  TEST_ASSERT_TRUE(board.has_value());
  TEST_ASSERT_TRUE(board->evidence_for("/gpu/cuda_cores")->how == Evidence::kSourced);
  TEST_ASSERT_TRUE(board->evidence_for("/gpu/clock_mhz_max")->how == Evidence::kUnconfirmed);
  TEST_ASSERT_NULL(board->evidence_for("/gpuish"));
}

TEST(an_unknown_board_name_suggests_the_nearest) {
  const Result<Board> board = find_board("orin-nano-8g", "");
  TEST_ASSERT_FALSE(board.has_value());
  expect_holds(board.error().context, "did you mean \"orin-nano-8gb\"?");
  TEST_ASSERT_FALSE(find_board("../etc/passwd", "").has_value());
}

TEST(a_file_in_the_folder_takes_precedence) {
  const test::TemporaryFolder folder;
  std::string text;
  for (const EmbeddedBoard& b : embedded_boards()) {
    if (b.file == "generic.json") text = b.text;
  }
  text.replace(text.find("Any other machine"), 17, "My own machine!!!");
  put(folder.path() + "/generic.json", text);
  TEST_ASSERT_EQUAL_STRING("My own machine!!!",
                           find_board("generic", folder.path())->title.c_str());
}

TEST(detects_by_module_number_not_by_name_or_memory) {
  const test::TemporaryFolder root;
  put(root.path() + "/proc/device-tree/compatible",
      nul({"nvidia,p3768-0000+p3767-0005-super", "nvidia,p3767-0005", "nvidia,tegra234"}));
  put(root.path() + "/etc/nv_tegra_release", "# R36 (release), REVISION: 4.7, GCID: 1, BOARD: x\n");
  put(root.path() + "/proc/meminfo", "MemTotal:        7802880 kB\nMemFree: 1 kB\n");
  const MachineIdentity identity = read_identity(root.path());
  TEST_ASSERT_EQUAL_STRING("R36.4.7", identity.l4t.c_str());
  TEST_ASSERT_EQUAL_STRING("6.2.1", std::string(jetpack_of(identity.l4t)).c_str());
  TEST_ASSERT_EQUAL_INT64(7802880LL * 1024, identity.memory_bytes);
  const Detection found = detect_board(identity, all_boards(""));
  TEST_ASSERT_EQUAL_STRING("orin-nano-8gb", found.board.name.c_str());
  expect_holds(found.evidence[0], "p3767-0005");
}

TEST(an_unknown_module_of_a_known_soc_gets_the_nearest_and_says_so) {
  MachineIdentity identity;
  identity.compatible = {"nvidia,p9999-0000", "nvidia,tegra234"};
  identity.memory_bytes = 60LL << 30;
  const Detection found = detect_board(identity, all_boards(""));
  TEST_ASSERT_EQUAL_STRING("agx-orin-64gb", found.board.name.c_str());
  expect_holds(found.uncertainty[0], "not in the catalogue");
}

TEST(a_machine_without_device_tree_is_generic_never_refused) {
  const test::TemporaryFolder root;
  const Detection found = detect_board(read_identity(root.path()), all_boards(""));
  TEST_ASSERT_EQUAL_STRING("generic", found.board.name.c_str());
}

TEST(the_release_comes_from_the_package_where_the_release_file_is_missing) {
  const test::TemporaryFolder root;
  put(root.path() + "/var/lib/dpkg/status",
      "Package: a\nVersion: 1.2\n\nPackage: nvidia-l4t-core\nStatus: install ok installed\n"
      "Version: 38.4.0-20250101\n\nPackage: z\nVersion: 3\n\n");
  TEST_ASSERT_EQUAL_STRING("R38.4.0", read_identity(root.path()).l4t.c_str());
}

TEST(memory_for_tasks_keeps_the_reserve_back_and_is_never_negative) {
  Board board;
  board.memory_bytes = 1000;
  board.memory_reserve_bytes = 300;
  TEST_ASSERT_EQUAL_INT64(700, board.memory_for_tasks_bytes(0));
  TEST_ASSERT_EQUAL_INT64(1700, board.memory_for_tasks_bytes(2000));
  TEST_ASSERT_EQUAL_INT64(0, board.memory_for_tasks_bytes(200));
}

TEST(modes_that_agree_on_cores_and_partitions_are_live_to_one_another) {
  const ModeTable table = parse_mode_table(
      "# a comment\n"
      "< PARAM TYPE=FILE NAME=CPU_ONLINE >\nCORE_0 /sys/devices/system/cpu/cpu0/online\n"
      "< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_4 1\nTPC_POWER_GATING TPC_PG_MASK 0\n"
      "< POWER_MODEL ID=1 NAME=10W >\nCPU_ONLINE CORE_4 0\nTPC_POWER_GATING TPC_PG_MASK 252\n"
      "< POWER_MODEL ID=2 NAME=15W >\n  CPU_ONLINE CORE_4 1\nCPU_A78_0 MAX_FREQ 1420800\n"
      "TPC_POWER_GATING TPC_PG_MASK 0\n"
      "< POWER_MODEL ID=x NAME=BROKEN >\n"
      "< PM_CONFIG DEFAULT=2 >\n");
  TEST_ASSERT_EQUAL_UINT64(3, table.modes.size());
  TEST_ASSERT_EQUAL_STRING("15W", table.modes[2].name.c_str());
  TEST_ASSERT_EQUAL_INT64(2, table.default_id);
  const auto groups = table.live_groups();
  TEST_ASSERT_EQUAL_UINT64(1, groups.size());
  TEST_ASSERT_TRUE((groups[0] == std::vector<std::int64_t>{0, 2}));
  // Nothing said of cores: nothing known of a reboot.
  const ModeTable bare =
      parse_mode_table("< POWER_MODEL ID=0 NAME=a >\n< POWER_MODEL ID=1 NAME=b >\n");
  TEST_ASSERT_EQUAL_UINT64(2, bare.modes.size());
  TEST_ASSERT_TRUE(bare.live_groups().empty());
  TEST_ASSERT_TRUE(parse_mode_table("<POWER_MODEL").modes.empty());
}
