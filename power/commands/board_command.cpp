#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/command.hpp"
#include "config/units.hpp"
#include "json/value.hpp"
#include "power/boards/power_modes.hpp"
#include "power/commands/parts.hpp"
#include "power/model/board_schema.hpp"
#include "power/readers/nvml/gpu_probe.hpp"
#include "power/readers/open_reader.hpp"
#include "power/readers/sysfs/sysfs_inventory.hpp"

namespace laird::power {
namespace {

using json::Value;

struct Options {
  BoardChoice board;
  bool json = false;
  bool list = false;
  bool reference = false;
  bool selftest = false;
  bool quick = false;
  bool gpu_check = false;
  SelftestWish wish;
};

// For a first look; a report to send in takes the whole time.
constexpr DurationNs kQuickMeasuring = 3 * kSecond;
constexpr DurationNs kQuickTraining = 18 * kSecond;

Value texts(const std::vector<std::string>& all) {
  Value out = Value::array();
  for (const std::string& text : all) out.add(text);
  return out;
}

Value as_json(const MachineIdentity& identity, const Detection& found,
              const SysfsInventory& inventory, const ReaderStatus& reader) {
  const Board& board = found.board;
  Value out = Value::object();
  out.set("board", board.name);
  out.set("title", board.title);
  out.set("evidence", texts(found.evidence));
  out.set("uncertain", texts(found.uncertainty));
  Value machine = Value::object();
  machine.set("compatible", texts(identity.compatible));
  machine.set("model", identity.model);
  machine.set("l4t", identity.l4t);
  machine.set("jetpack", jetpack_of(identity.l4t));
  machine.set("memory_bytes", identity.memory_bytes);
  machine.set("cpu_cores", identity.cpu_cores);
  out.set("machine", std::move(machine));
  out.set("memory_for_tasks_bytes", board.memory_for_tasks_bytes(identity.memory_bytes));
  Value lanes = Value::array();
  for (const Lane& lane : board.lanes) {
    Value entry = Value::object();
    entry.set("name", lane.name);
    entry.set("kind", name(lane.kind));
    lanes.add(std::move(entry));
  }
  out.set("lanes", std::move(lanes));
  Value rails = Value::array();
  for (const Channel& channel : inventory.channels) rails.add(channel.rail);
  out.set("rails_found", std::move(rails));
  Value rules = Value::array();
  for (const TotalRule& rule : board.totals) rules.add(rule.text());
  out.set("total_rules", std::move(rules));
  out.set("power_source", name(reader.source));
  out.set("power_source_detail", reader.detail);
  return out;
}

void print_list(const char* head, const std::vector<std::string>& all) {
  for (const std::string& text : all) {
    std::printf("%-13s %s\n", head, text.c_str());
    head = "";
  }
}

std::string with_evidence(const Board& board, const std::string& text, const char* path) {
  const EvidenceEntry* entry = board.evidence_for(path);
  return text + (entry == nullptr ? "" : "  [" + std::string(name(entry->how)) + "]");
}

// For people: three figures, not the exact count of bytes.
std::string size_text(std::int64_t bytes) {
  char out[32];
  const bool large = bytes >= 1'000'000'000;
  std::snprintf(out, sizeof out, large ? "%.1f GB" : "%.0f MB",
                static_cast<double>(bytes) / (large ? 1e9 : 1e6));
  return out;
}

// Where GPU load comes from on this machine, as it is now.
struct GpuLoad {
  std::string source = "none";  // sysfs, nvml or none
  std::string detail;
};

// Long enough for a driver that has to wake up, short enough for somebody who waits.
constexpr DurationNs kNvmlPatience = 3 * kSecond;

GpuLoad find_gpu_load(const Board& board, const SysfsInventory& inventory) {
  if (!inventory.gpu_load.empty()) return {"sysfs", inventory.gpu_load};
  if (board.gpu_load_from == GpuLoadFrom::kNvml) {
    const nvml::GpuProbe probe(nvml::kLibrary, kSecond);
    const nvml::Finding found = probe.first_finding(kNvmlPatience);
    return {found.sample.load_permille ? "nvml" : "none", found.detail};
  }
  return {"none", board.gpu_sm > 0 ? "no load file in sysfs; tegrastats may print it" : "no GPU"};
}

struct Modes {
  ModeTable table;                      // the machine's own
  std::vector<std::int64_t> permitted;  // by /etc/laird/live_modes
};

std::string ids_text(const std::vector<std::int64_t>& ids) {
  std::string out;
  for (const std::int64_t id : ids) out += (out.empty() ? "" : " ") + std::to_string(id);
  return out;
}

void print_modes(const Board& board, const Modes& modes) {
  std::string names;
  const auto add = [&](std::int64_t id, const std::string& name) {
    names += (names.empty() ? "" : ", ") + std::to_string(id) + " " + name;
    if (id == modes.table.default_id) names += " (default)";
    const auto& live = modes.permitted;
    if (std::find(live.begin(), live.end(), id) != live.end()) names += " (live)";
  };
  for (const ModeTable::Mode& mode : modes.table.modes) add(mode.id, mode.name);
  if (names.empty()) {
    for (const PowerMode& mode : board.modes) add(mode.id, mode.name);
    if (!names.empty()) names += "  [board file; this machine has no /etc/nvpmodel.conf]";
  }
  if (names.empty()) return;
  std::printf("%-13s %s\n", "modes", names.c_str());
  for (const std::vector<std::int64_t>& group : modes.table.live_groups()) {
    std::printf(
        "%-13s %s switch without a reboot by nvpmodel.conf; those in "
        "/etc/laird/live_modes may be used\n",
        "", ids_text(group).c_str());
  }
}

Value modes_json(const Board& board, const Modes& modes) {
  Value out = Value::array();
  const auto add = [&](std::int64_t id, const std::string& mode_name, const char* from) {
    const auto& live = modes.permitted;
    out.add(Value::object()
                .set("id", id)
                .set("name", mode_name)
                .set("from", from)
                .set("default", id == modes.table.default_id)
                .set("live", std::find(live.begin(), live.end(), id) != live.end()));
  };
  for (const ModeTable::Mode& mode : modes.table.modes) add(mode.id, mode.name, "nvpmodel.conf");
  if (!modes.table.modes.empty()) return out;
  for (const PowerMode& mode : board.modes) add(mode.id, mode.name, "board file");
  return out;
}

void print_machine(const MachineIdentity& identity) {
  if (!identity.model.empty()) std::printf("%-13s %s\n", "model", identity.model.c_str());
  if (!identity.l4t.empty()) {
    const std::string jetpack(jetpack_of(identity.l4t));
    std::printf("%-13s %s%s, from %s\n", "release", identity.l4t.c_str(),
                jetpack.empty() ? "" : (" (JetPack " + jetpack + ")").c_str(),
                identity.l4t_from.c_str());
  }
  if (!identity.nvpmodel_file.empty()) {
    std::printf("%-13s %s\n", "power modes", identity.nvpmodel_file.c_str());
  }
}

void print_board(const MachineIdentity& identity, const Detection& found,
                 const SysfsInventory& inventory, const ReaderStatus& reader, const GpuLoad& gpu,
                 const Modes& modes) {
  const Board& board = found.board;
  std::printf("%-13s %s (%s)\n", "board", board.title.c_str(), board.name.c_str());
  print_list("because", found.evidence);
  print_machine(identity);
  const auto say = [](const char* head, const std::string& text) {
    std::printf("%-13s %s\n", head, text.c_str());
  };
  const std::int64_t cores = board.cpu_cores > 0 ? board.cpu_cores : identity.cpu_cores;
  say("cpu", with_evidence(board,
                           std::to_string(cores) + " cores" +
                               (board.cpu_clock_mhz_max > 0
                                    ? " to " + std::to_string(board.cpu_clock_mhz_max) + " MHz"
                                    : ""),
                           "/cpu"));
  if (board.gpu_sm > 0) {
    say("gpu", with_evidence(board,
                             std::to_string(board.gpu_cuda_cores) + " CUDA cores, sm_" +
                                 std::to_string(board.gpu_sm),
                             "/gpu/cuda_cores"));
  }
  say("memory", size_text(board.memory_for_tasks_bytes(identity.memory_bytes)) + " for tasks, " +
                    size_text(board.memory_reserve_bytes) + " kept back");
  std::string lanes;
  for (const Lane& lane : board.lanes) {
    lanes += (lanes.empty() ? "" : ", ") + lane.name + " (" + std::string(name(lane.kind)) + ")";
  }
  say("lanes", lanes);
  std::string rails;
  for (const Channel& channel : inventory.channels) {
    rails += (rails.empty() ? "" : ", ") + channel.rail;
  }
  say("rails", rails.empty() ? "none found in sysfs" : rails);
  const char* head = "total";
  for (const TotalRule& rule : board.totals) {
    std::printf("%-13s %s (%s)\n", head, rule.text().c_str(),
                std::string(name(rule.scope)).c_str());
    head = "  or";
  }
  say("power from", std::string(name(reader.source)) + ": " + reader.detail);
  say("gpu load", (gpu.source == "none" ? "unknown" : "from " + gpu.source) + ": " + gpu.detail);
  say("idle", with_evidence(board, config::format_power(board.model.idle_mw), "/model/idle"));
  print_modes(board, modes);
  print_list("uncertain", found.uncertainty);
}

int run_selftest(const Options& options, const Selftest& selftest, const MachineIdentity& identity,
                 const Detection& found) {
  SelftestWish wish = options.wish;
  wish.root = options.board.root;
  if (options.quick) {
    wish.measuring = kQuickMeasuring;
    wish.training = kQuickTraining;
  }
  return selftest(wish, identity, found);
}

int run(const Options& options, const Selftest& selftest) {
  if (options.reference) {
    std::printf("%s", config::reference(board_schema()).c_str());
    return 0;
  }
  if (options.list) {
    for (const Board& board : all_boards(options.board.folder)) {
      std::printf("%-16s %s\n", board.name.c_str(), board.title.c_str());
    }
    return 0;
  }
  const MachineIdentity identity = read_identity(options.board.root);
  Detection found;
  if (options.board.name.empty()) {
    found = detect_board(identity, all_boards(options.board.folder));
  } else {
    Result<Board> board = find_board(options.board.name, options.board.folder);
    if (!board) return complain("board", board.error());
    found.board = std::move(*board);
    found.evidence.push_back("asked for by name");
    for (const EvidenceEntry& entry : found.board.evidence) {
      if (entry.how == Evidence::kUnconfirmed) {
        found.uncertainty.push_back(entry.of + " is unconfirmed: " + entry.from);
      }
    }
  }
  if (options.selftest) return run_selftest(options, selftest, identity, found);
  ReaderOptions reader_options;
  reader_options.root = options.board.root;
  const auto reader = open_reader(reader_options, found.board);
  if (!reader) return complain("board", reader.error());
  ReaderStatus status = (*reader)->status(monotonic_now());
  const SysfsInventory inventory = discover_sysfs(options.board.root);
  if (status.source == Source::kHwmon) {
    status.source = inventory.channels.front().source;
    status.detail = std::to_string(inventory.channels.size()) + " rails in sysfs";
  }
  const Modes modes{read_mode_table(options.board.root), read_live_modes(options.board.root)};
  const GpuLoad gpu = find_gpu_load(found.board, inventory);
  if (options.json) {
    Value out = as_json(identity, found, inventory, status);
    out.set("gpu_load_source", gpu.source);
    out.set("gpu_load_detail", gpu.detail);
    out.set("modes", modes_json(found.board, modes));
    std::printf("%s", json::to_pretty_text(out).c_str());
  } else {
    print_board(identity, found, inventory, status, gpu, modes);
  }
  return 0;
}

}  // namespace

void add_board(cli::Command& app, int& exit_code, Selftest selftest, GpuCheck gpu_check) {
  auto options = std::make_shared<Options>();
  cli::Command* command =
      app.add_subcommand("board",
                         "Say which board this is, from what evidence, and what is not certain.\n"
                         "Example: laird board --json\n"
                         "Example: sudo laird board --selftest\n"
                         "Example: laird board --gpu-check");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--list", options->list, "List the boards known");
  command->add_flag("--reference", options->reference, "Print the reference of board files");
  command->add_option("--root", options->board.root, "Read /sys, /proc and /etc below this folder");
  options->board.add_options(*command);
  command->add_flag("--selftest", options->selftest,
                    "Try everything that only a board can show, three minutes, and write a report");
  command->add_option("--report", options->wish.report, "The self-test's report")->show_default();
  command->add_flag(
      "--gpu-check", options->gpu_check,
      "Run the estimators' kernels on the GPU and on the CPU, compare every word, time both");
  command->add_flag("--quick", options->quick, "A short self-test, for a first look");
  command
      ->add_option("--only", options->wish.only,
                   "Parts of the self-test: board, sensors, meters, knobs, groups, gpu, training")
      ->delimiter(',');
  command->add_option("--tegrastats", options->wish.tegrastats, "The self-test's tegrastats")
      ->show_default();
  command->add_option("--priv", options->wish.priv, "The self-test's laird-priv");
  command->callback(
      [options, &exit_code, selftest = std::move(selftest), gpu_check = std::move(gpu_check)] {
        exit_code = options->gpu_check ? gpu_check(options->json) : run(*options, selftest);
      });
}

}  // namespace laird::power
