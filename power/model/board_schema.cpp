#include "power/model/board_schema.hpp"

#include <algorithm>
#include <string>

#include "base/time.hpp"

namespace laird::power {
namespace {

using config::Field;
using config::kOptional;
using config::Problem;
using config::Schema;
using config::Type;
using json::Kind;
using json::Value;

constexpr double kGigabyte = 1e9;

constexpr Field kDetectFields[] = {
    {.name = "modules",
     .type = Type::kList,
     .why = "Module part numbers as they stand in device-tree compatible.",
     .fallback = "[]",
     .max = 16},
    {.name = "soc",
     .type = Type::kText,
     .why = "The SoC as it stands in device-tree compatible, without the vendor.",
     .fallback = "\"\"",
     .max = 32},
};
constexpr Schema kDetect{"detect", "How the board is told from others.", kDetectFields};

constexpr Field kCpuFields[] = {
    {.name = "cores",
     .type = Type::kInteger,
     .why = "CPU cores of the module; 0 asks the machine.",
     .min = 0,
     .max = 256},
    {.name = "clock_mhz_max",
     .type = Type::kInteger,
     .why = "Highest CPU clock; 0 asks the machine.",
     .min = 0,
     .max = 10'000,
     .unit = "MHz"},
};
constexpr Schema kCpu{"cpu", "The processor.", kCpuFields};

constexpr std::string_view kGpuLoadNames[] = {"sysfs", "nvml"};
constexpr Field kGpuFields[] = {
    {.name = "cuda_cores",
     .type = Type::kInteger,
     .why = "CUDA cores; 0 for none.",
     .min = 0,
     .max = 100'000},
    {.name = "tensor_cores",
     .type = Type::kInteger,
     .why = "Tensor cores; 0 for none.",
     .fallback = "0",
     .min = 0,
     .max = 10'000},
    {.name = "sm",
     .type = Type::kInteger,
     .why = "Compute capability as in sm_87; 0 for no CUDA GPU.",
     .min = 0,
     .max = 999},
    {.name = "clock_mhz_max",
     .type = Type::kInteger,
     .why = "Highest GPU clock; 0 when unknown.",
     .min = 0,
     .max = 10'000,
     .unit = "MHz"},
    {.name = "load_from",
     .type = Type::kChoice,
     .why = "Where GPU load is read: the kernel's files, or NVIDIA's management library where they "
            "show none.",
     .fallback = "\"sysfs\"",
     .choices = kGpuLoadNames},
};
constexpr Schema kGpu{"gpu", "The graphics processor.", kGpuFields};

constexpr Field kMemoryFields[] = {
    {.name = "size",
     .type = Type::kSize,
     .why = "Memory the kernel reports, the lowest seen; absent asks the machine.",
     .fallback = kOptional,
     .min = 256e6,
     .max = 4096 * kGigabyte},
    {.name = "reserve",
     .type = Type::kSize,
     .why = "Kept back from tasks for the system and its services.",
     .fallback = "\"512MB\"",
     .max = 64 * kGigabyte},
    {.name = "bandwidth_gb_s",
     .type = Type::kNumber,
     .why = "Peak memory bandwidth; 0 when unknown.",
     .fallback = "0",
     .max = 10'000,
     .unit = "GB/s"},
};
constexpr Schema kMemory{"memory", "Memory, shared by CPU and GPU.", kMemoryFields};

constexpr std::string_view kFeedsNames[] = {"all", "gpu", "cpu", "soc", "memory", "io", "mixed"};
constexpr Field kRailFields[] = {
    {.name = "name",
     .type = Type::kText,
     .why = "The rail's label, as tegrastats and sysfs spell it.",
     .min = 1,
     .max = 32},
    {.name = "feeds",
     .type = Type::kChoice,
     .why = "What it supplies; `all` for a rail that carries everything.",
     .fallback = "\"mixed\"",
     .choices = kFeedsNames},
    {.name = "step",
     .type = Type::kPower,
     .why = "Resolution of its meter; 0mW when unknown.",
     .fallback = "\"0mW\"",
     .max = 10'000},
};
constexpr Schema kRail{"rail", "A metered supply rail.", kRailFields};

constexpr Field kSensorFields[] = {
    {.name = "chip", .type = Type::kText, .why = "The sensor's driver.", .min = 1, .max = 32},
    {.name = "address",
     .type = Type::kText,
     .why = "I2C bus and address: a hint only, discovery goes by rail label.",
     .fallback = "\"\"",
     .max = 32},
    {.name = "rails", .type = Type::kList, .why = "Its channels in order.", .min = 1, .max = 4},
};
constexpr Schema kSensor{"sensor", "A power sensor.", kSensorFields};

constexpr std::string_view kScopeNames[] = {"unknown", "rail-sum", "module", "board"};
constexpr Field kTotalFields[] = {
    {.name = "rails", .type = Type::kList, .why = "Rails to add up.", .min = 1, .max = 8},
    {.name = "scope",
     .type = Type::kChoice,
     .why = "What the sum covers.",
     .fallback = "\"unknown\"",
     .choices = kScopeNames},
};
constexpr Schema kTotal{"total", "A rule for total power; the first that applies wins.",
                        kTotalFields};

constexpr Field kPowerFields[] = {
    {.name = "rails",
     .type = Type::kList,
     .why = "The metered rails.",
     .fallback = "[]",
     .max = kBoardRailsMax,
     .of = &kRail},
    {.name = "sensors",
     .type = Type::kList,
     .why = "The sensors the rails hang on.",
     .fallback = "[]",
     .max = 8,
     .of = &kSensor},
    {.name = "totals",
     .type = Type::kList,
     .why = "Rules for total power, best first.",
     .fallback = "[]",
     .max = 8,
     .of = &kTotal},
    {.name = "carrier_offset",
     .type = Type::kPower,
     .why = "Constant power of the carrier the rails do not see; added to a total of narrower "
            "scope only where wall power is asked for.",
     .fallback = "\"0mW\"",
     .max = 100'000},
    {.name = "min",
     .type = Type::kPower,
     .why = "The lowest cap that makes sense.",
     .min = 100,
     .max = 1'000'000},
    {.name = "max",
     .type = Type::kPower,
     .why = "The highest cap that makes sense.",
     .min = 100,
     .max = 1'000'000},
    {.name = "temperature_limit_c",
     .type = Type::kInteger,
     .why = "Above it the governor lowers power whatever the cap.",
     .fallback = "90",
     .min = 40,
     .max = 120,
     .unit = "C"},
};
constexpr Schema kPower{"power", "Meters and limits.", kPowerFields};

constexpr Field kModeFields[] = {
    {.name = "id",
     .type = Type::kInteger,
     .why = "The number nvpmodel knows it by; it differs between releases, so the board's own "
            "file decides.",
     .min = 0,
     .max = 99},
    {.name = "name", .type = Type::kText, .why = "Its name.", .min = 1, .max = 32},
    {.name = "live",
     .type = Type::kBool,
     .why =
         "Seen to switch without a reboot, on hardware. For people: the governor may use what the "
         "machine's /etc/laird/live_modes lists.",
     .fallback = "false"},
};
constexpr Schema kMode{"mode", "An nvpmodel mode.", kModeFields};

constexpr Field kModelFields[] = {
    {.name = "idle",
     .type = Type::kPower,
     .why = "Power with nothing running, in the scope of the first total rule.",
     .min = 100,
     .max = 1'000'000},
    {.name = "gpu_dynamic",
     .type = Type::kPower,
     .why = "Added by a GPU fully used at its highest clock.",
     .max = 1'000'000},
    {.name = "cpu_dynamic",
     .type = Type::kPower,
     .why = "Added by all cores fully used at their highest clock.",
     .max = 1'000'000},
    {.name = "clock_exponent",
     .type = Type::kNumber,
     .why = "Dynamic power goes as the clock to this power: 1 at fixed voltage, near 3 where "
            "voltage follows the clock.",
     .fallback = "2.0",
     .min = 1,
     .max = 4},
    {.name = "thermal_resistance_c_per_w",
     .type = Type::kNumber,
     .why = "Steady rise over ambient for each watt.",
     .fallback = "2.0",
     .min = 0.01,
     .max = 50,
     .unit = "C/W"},
    {.name = "thermal_time_constant",
     .type = Type::kDuration,
     .why = "How fast the heat sink follows.",
     .fallback = "\"60s\"",
     .min = 1e9,
     .max = 3600e9},
};
constexpr Schema kModel{"model", "Parameters of the modelled board.", kModelFields};

constexpr std::string_view kLaneKinds[] = {"gpu", "cpu"};
constexpr Field kLaneFields[] = {
    {.name = "name", .type = Type::kName, .why = "Tasks and reports name the lane by it."},
    {.name = "kind",
     .type = Type::kChoice,
     .why = "Which processor it schedules.",
     .choices = kLaneKinds},
};
constexpr Schema kLane{"lane", "One place where one task runs at a time.", kLaneFields};

constexpr std::string_view kEvidenceNames[] = {"sourced", "captured", "derived", "chosen",
                                               "unconfirmed"};
constexpr Field kEvidenceFields[] = {
    {.name = "of",
     .type = Type::kText,
     .why = "A path in this file; it speaks for everything below it.",
     .min = 2,
     .max = 64},
    {.name = "how",
     .type = Type::kChoice,
     .why = "sourced: public code or documents; captured: computed from real logs; derived: "
            "computed from other entries; chosen: a setting of ours; unconfirmed: check on "
            "hardware.",
     .choices = kEvidenceNames},
    {.name = "from", .type = Type::kText, .why = "Where from.", .fallback = "\"\"", .max = 200},
};
constexpr Schema kEvidence{"evidence", "Where a number comes from.", kEvidenceFields};

constexpr Field kBoardFields[] = {
    {.name = "name", .type = Type::kName, .why = "The board's short name."},
    {.name = "title", .type = Type::kText, .why = "The name people know.", .min = 1, .max = 64},
    {.name = "detect",
     .type = Type::kObject,
     .why = "How the board is told from others.",
     .fallback = "{}",
     .of = &kDetect},
    {.name = "cpu", .type = Type::kObject, .why = "The processor.", .of = &kCpu},
    {.name = "gpu", .type = Type::kObject, .why = "The graphics processor.", .of = &kGpu},
    {.name = "memory", .type = Type::kObject, .why = "The memory.", .of = &kMemory},
    {.name = "power", .type = Type::kObject, .why = "Meters and limits.", .of = &kPower},
    {.name = "modes",
     .type = Type::kList,
     .why = "The nvpmodel modes known for it.",
     .fallback = "[]",
     .max = kBoardModesMax,
     .of = &kMode},
    {.name = "model",
     .type = Type::kObject,
     .why = "Parameters of the modelled board.",
     .of = &kModel},
    {.name = "lanes",
     .type = Type::kList,
     .why = "Where tasks run.",
     .min = 1,
     .max = kBoardLanesMax,
     .of = &kLane},
    {.name = "evidence",
     .type = Type::kList,
     .why = "Where each number comes from.",
     .max = 64,
     .of = &kEvidence},
};
constexpr Schema kBoard{"board", "One Jetson module, or any other machine.", kBoardFields};

std::int64_t integer(const Value& object, std::string_view key) {
  const Value* value = object.find(key, Kind::kInteger);
  return value == nullptr ? 0 : value->as_integer();
}

double number(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value == nullptr || !value->is_number() ? 0.0 : value->as_double();
}

std::string text(const Value& object, std::string_view key) {
  const Value* value = object.find(key, Kind::kString);
  return value == nullptr ? std::string() : value->as_string();
}

std::vector<std::string> texts(const Value& object, std::string_view key) {
  std::vector<std::string> out;
  const Value* list = object.find(key, Kind::kArray);
  if (list == nullptr) return out;
  for (const Value& item : list->items()) {
    if (item.is(Kind::kString)) out.push_back(item.as_string());
  }
  return out;
}

template <class E, std::size_t N>
E choice(const Value& object, std::string_view key, const std::string_view (&names)[N]) {
  const std::string word = text(object, key);
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == word) return static_cast<E>(i);
  }
  return static_cast<E>(0);
}

template <class F>
void each(const Value& object, std::string_view key, F body) {
  const Value* list = object.find(key, Kind::kArray);
  if (list == nullptr) return;
  for (const Value& item : list->items()) body(item);
}

const Value& part(const Value& object, std::string_view key) {
  static const Value kEmpty = Value::object();
  const Value* value = object.find(key, Kind::kObject);
  return value == nullptr ? kEmpty : *value;
}

void fill_power(const Value& power, Board& board) {
  each(power, "rails", [&](const Value& v) {
    board.rails.push_back(
        Rail{text(v, "name"), choice<Feeds>(v, "feeds", kFeedsNames), integer(v, "step")});
  });
  each(power, "sensors", [&](const Value& v) {
    board.sensors.push_back(Sensor{text(v, "chip"), text(v, "address"), texts(v, "rails")});
  });
  each(power, "totals", [&](const Value& v) {
    board.totals.push_back(TotalRule{texts(v, "rails"), choice<Scope>(v, "scope", kScopeNames)});
  });
  board.carrier_offset_mw = integer(power, "carrier_offset");
  board.power_mw_min = integer(power, "min");
  board.power_mw_max = integer(power, "max");
  board.temperature_limit_mc = integer(power, "temperature_limit_c") * 1000;
}

void fill_model(const Value& model, PowerModel& out) {
  out.idle_mw = integer(model, "idle");
  out.gpu_dynamic_mw = integer(model, "gpu_dynamic");
  out.cpu_dynamic_mw = integer(model, "cpu_dynamic");
  out.clock_exponent = number(model, "clock_exponent");
  out.thermal_resistance_c_per_w = number(model, "thermal_resistance_c_per_w");
  out.thermal_time_constant_ns = integer(model, "thermal_time_constant");
}

Board fill(const Value& v) {
  Board board;
  board.name = text(v, "name");
  board.title = text(v, "title");
  board.detect_modules = texts(part(v, "detect"), "modules");
  board.detect_soc = text(part(v, "detect"), "soc");
  board.cpu_cores = integer(part(v, "cpu"), "cores");
  board.cpu_clock_mhz_max = integer(part(v, "cpu"), "clock_mhz_max");
  board.gpu_cuda_cores = integer(part(v, "gpu"), "cuda_cores");
  board.gpu_tensor_cores = integer(part(v, "gpu"), "tensor_cores");
  board.gpu_sm = integer(part(v, "gpu"), "sm");
  board.gpu_clock_mhz_max = integer(part(v, "gpu"), "clock_mhz_max");
  board.gpu_load_from = choice<GpuLoadFrom>(part(v, "gpu"), "load_from", kGpuLoadNames);
  board.memory_bytes = integer(part(v, "memory"), "size");
  board.memory_reserve_bytes = integer(part(v, "memory"), "reserve");
  board.memory_bandwidth_gb_s = number(part(v, "memory"), "bandwidth_gb_s");
  fill_power(part(v, "power"), board);
  fill_model(part(v, "model"), board.model);
  each(v, "modes", [&](const Value& m) {
    const Value* live = m.find("live", Kind::kBool);
    board.modes.push_back(
        PowerMode{integer(m, "id"), text(m, "name"), live != nullptr && live->as_bool()});
  });
  each(v, "lanes", [&](const Value& l) {
    board.lanes.push_back(Lane{text(l, "name"), choice<LaneKind>(l, "kind", kLaneKinds)});
  });
  each(v, "evidence", [&](const Value& e) {
    board.evidence.push_back(
        EvidenceEntry{text(e, "of"), choice<Evidence>(e, "how", kEvidenceNames), text(e, "from")});
  });
  return board;
}

// Numbers, and quantities written as text, that nothing in the file accounts for.
void check_evidence(const Board& board, const Value& value, const std::string& path,
                    std::string_view source, std::vector<Problem>& problems) {
  if (value.is(Kind::kObject)) {
    for (const Value::Member& member : value.members()) {
      const std::string& key = member.first;
      if (key == "name" || key == "comment" || key.starts_with("$")) continue;
      if (path.empty() && (key == "evidence" || key == "title" || key == "detect")) continue;
      check_evidence(board, member.second, path + "/" + key, source, problems);
    }
    return;
  }
  if (value.is(Kind::kArray)) {
    std::size_t index = 0;
    for (const Value& item : value.items()) {
      check_evidence(board, item, path + "/" + std::to_string(index++), source, problems);
    }
    return;
  }
  const bool counts =
      value.is_number() || (value.is(Kind::kString) && !value.as_string().empty() &&
                            value.as_string()[0] >= '0' && value.as_string()[0] <= '9');
  if (!counts || board.evidence_for(path) != nullptr) return;
  problems.push_back(Problem{std::string(source), value.line(), path,
                             "nothing in /evidence says where this number comes from; add {\"of\": "
                             "\"" +
                                 path + "\", \"how\": \"unconfirmed\"} or better"});
}

void check_rails(const Board& board, std::string_view source, std::vector<Problem>& problems) {
  const auto report = [&](std::string path, std::string what) {
    problems.push_back(Problem{std::string(source), 0, std::move(path), std::move(what)});
  };
  const auto check = [&](const std::vector<std::string>& names, const std::string& path) {
    for (const std::string& rail : names) {
      if (rail == "NC" || board.rail(rail) != nullptr) continue;
      report(path, "rail " + json::quoted(rail) + " is not described in /power/rails");
    }
  };
  for (std::size_t i = 0; i < board.totals.size(); ++i) {
    check(board.totals[i].rails, "/power/totals/" + std::to_string(i));
  }
  for (std::size_t i = 0; i < board.sensors.size(); ++i) {
    check(board.sensors[i].rails, "/power/sensors/" + std::to_string(i));
  }
  if (board.power_mw_min > board.power_mw_max) {
    report("/power/min", "is above /power/max");
  }
  for (std::size_t i = 0; i < board.lanes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (board.lanes[i].name != board.lanes[j].name) continue;
      report(
          "/lanes/" + std::to_string(i),
          "two lanes are named " + json::quoted(board.lanes[i].name) + "; give each its own name");
    }
  }
}

}  // namespace

const Schema& board_schema() { return kBoard; }

Board parse_board(const Value& document, std::string_view source, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  Board board = fill(config::normalise(kBoard, document, source, problems));
  if (problems.size() != before) return board;
  check_rails(board, source, problems);
  check_evidence(board, document, "", source, problems);
  return board;
}

}  // namespace laird::power
