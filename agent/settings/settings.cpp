#include "agent/settings/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>

#include "agent/settings/cotrain_task.hpp"
#include "agent/settings/listen_address.hpp"
#include "config/units.hpp"

namespace laird::agent {
namespace fs = std::filesystem;
namespace {

using config::Problem;
using json::Value;

constexpr std::size_t kFileBytesMax = 4 * 1000 * 1000;

Value read_json(const std::string& path, std::vector<Problem>& problems) {
  const Result<std::string> text = config::read_file(path, kFileBytesMax);
  if (!text) {
    problems.push_back(Problem{path, 0, "/", text.error().context});
    return Value::object();
  }
  json::ParseLimits limits;
  limits.bytes_max = kFileBytesMax;
  limits.comments = true;
  Result<Value> value = json::parse(*text, path, limits);
  if (!value) {
    // The parser's text already starts with file and line.
    const std::string& context = value.error().context;
    const std::size_t colon = context.find(": ", path.size());
    int line = 0;
    std::sscanf(context.c_str() + std::min(path.size(), context.size()), ":%d", &line);
    problems.push_back(
        Problem{path, line, "/", colon == std::string::npos ? context : context.substr(colon + 2)});
    return Value::object();
  }
  return std::move(*value);
}

// "2027-01-31T18:00:00Z" as Unix nanoseconds; only UTC, so that nobody has to guess.
Result<TimeNs> parse_wall_time(const std::string& text) {
  std::tm tm{};
  int used = 0;
  const int n = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &tm.tm_year, &tm.tm_mon,
                            &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used);
  const bool fits = n == 6 && used == static_cast<int>(text.size()) && tm.tm_year > 1970 &&
                    tm.tm_year < 2262 && tm.tm_mon >= 1 && tm.tm_mon <= 12 && tm.tm_mday >= 1 &&
                    tm.tm_mday <= 31 && tm.tm_hour >= 0 && tm.tm_hour < 24 && tm.tm_min >= 0 &&
                    tm.tm_min < 60 && tm.tm_sec >= 0 && tm.tm_sec < 61;
  if (!fits) {
    return fail(Code::kInvalid, "'" + text +
                                    "' is neither a duration like \"90s\" nor a UTC time like "
                                    "\"2027-01-31T18:00:00Z\"");
  }
  tm.tm_year -= 1900;
  tm.tm_mon -= 1;
  return static_cast<TimeNs>(timegm(&tm)) * kSecond;
}

const Value& field(const Value& object, std::string_view name) {
  static const Value kNothing;
  const Value* found = object.find(name);
  return found == nullptr ? kNothing : *found;
}

std::int64_t integer(const Value& object, std::string_view name) {
  const Value& value = field(object, name);
  return value.is(json::Kind::kInteger) ? value.as_integer() : 0;
}

std::string text(const Value& object, std::string_view name) {
  const Value& value = field(object, name);
  return value.is(json::Kind::kString) ? value.as_string() : "";
}

double number(const Value& object, std::string_view name) {
  const Value& value = field(object, name);
  return value.is_number() ? value.as_double() : 0.0;
}

bool boolean(const Value& object, std::string_view name) {
  const Value& value = field(object, name);
  return value.is(json::Kind::kBool) && value.as_bool();
}

// From a value that has passed the schema.
core::TaskSpec task_of(const Value& given, const Value& v, std::string_view source,
                       const std::string& path, std::vector<Problem>& problems) {
  core::TaskSpec spec;
  spec.name = text(v, "name");
  spec.trainer = text(v, "trainer");
  Value params = field(v, "params");
  // The mark is kept where the trainer sees it too.
  if (boolean(v, "fleet") && params.is(json::Kind::kObject) && params.find("fleet") == nullptr) {
    params.set("fleet", Value::object());
  }
  spec.params = json::to_text(params);
  spec.cotrain = has_cotrain_mark(params);
  if (spec.params.size() > core::kParamsBytesMax) {
    problems.push_back(Problem{std::string(source), given.line(), path + "/params",
                               "longer than " + std::to_string(core::kParamsBytesMax) +
                                   " bytes; put large things into files"});
  }
  spec.lane = text(v, "lane") == "gpu" ? core::LaneKind::kGpu : core::LaneKind::kCpu;
  spec.target_loss = number(v, "target_loss");
  spec.memory_bytes = integer(v, "memory");
  spec.report_every = static_cast<std::uint64_t>(integer(v, "report_every"));
  spec.planned_samples = static_cast<std::uint64_t>(integer(v, "planned_samples"));
  spec.seed = static_cast<std::uint64_t>(integer(v, "seed"));
  spec.splittable = boolean(v, "splittable");
  const std::string deadline = text(v, "deadline");
  if (deadline.empty()) return spec;
  const auto report = [&](const std::string& what) {
    problems.push_back(Problem{std::string(source), given.line(), path + "/deadline", what});
  };
  if (const Result<DurationNs> after = config::parse_duration(deadline)) {
    spec.deadline_after = *after;
    if (*after <= 0 || *after > core::kDeadlineMax) report("give more than nothing and up to 366d");
  } else if (const Result<TimeNs> at = parse_wall_time(deadline)) {
    spec.deadline_wall = *at;
  } else {
    report(at.error().context);
  }
  return spec;
}

TrainerProgram trainer_of(const std::string& name, const Value& v, std::string_view source,
                          std::vector<Problem>& problems) {
  TrainerProgram program;
  program.lines_only = text(v, "protocol") == "lines";
  for (const Value& arg : field(v, "exec").items()) program.argv.push_back(arg.as_string());
  if (!program.argv.empty()) {
    Result<std::string> found = find_program(program.argv[0]);
    if (found) {
      program.argv[0] = *found;
    } else {
      problems.push_back(Problem{std::string(source), v.line(), "/trainers/" + name + "/exec/0",
                                 found.error().context});
    }
  }
  for (const auto& [key, value] : field(v, "env").members()) {
    if (!value.is(json::Kind::kString) || key.empty() || key.find('=') != std::string::npos) {
      problems.push_back(Problem{std::string(source), value.line(),
                                 "/trainers/" + name + "/env/" + key, "expected a string"});
      continue;
    }
    program.env.emplace_back(key, value.as_string());
  }
  return program;
}

core::TrainerTiming timing_of(const Value& v) {
  core::TrainerTiming timing;
  timing.start_timeout = integer(v, "start_timeout");
  timing.hang_timeout = integer(v, "hang_timeout");
  timing.preempt_timeout = integer(v, "pause_timeout");
  timing.stop_grace = integer(v, "stop_grace");
  timing.checkpoint_every = integer(v, "checkpoint_every");
  timing.backoff_min = integer(v, "backoff_min");
  timing.backoff_max = integer(v, "backoff_max");
  timing.attempts_max = static_cast<std::uint32_t>(integer(v, "attempts_max"));
  return timing;
}

// The board by name, file or detection; every way leads to some board.
void choose_board(const std::string& wish, std::string_view source, Settings& out,
                  std::vector<Problem>& problems) {
  const power::MachineIdentity identity = power::read_identity("");
  if (wish == "auto") {
    const std::vector<power::Board> known = power::all_boards("/etc/laird/boards");
    power::Detection found = power::detect_board(identity, known);
    out.board = std::move(found.board);
    out.board_notes = std::move(found.evidence);
    for (std::string& note : found.uncertainty) out.board_notes.push_back(std::move(note));
    return;
  }
  Result<power::Board> board = wish.find('/') != std::string::npos
                                   ? power::load_board(wish)
                                   : power::find_board(wish, "/etc/laird/boards");
  if (!board) {
    problems.push_back(Problem{std::string(source), 0, "/board/name", board.error().context});
    return;
  }
  out.board = std::move(*board);
  out.board_notes.push_back("named in the config");
}

void read_board(const Value& board, std::string_view source, Settings& out,
                std::vector<Problem>& problems) {
  choose_board(text(board, "name"), source, out, problems);
  const power::MachineIdentity identity = power::read_identity("");
  out.core.memory_bytes = out.board.memory_for_tasks_bytes(identity.memory_bytes);
  if (const std::int64_t memory = integer(board, "memory"); memory > 0) {
    out.core.memory_bytes = memory;
  }
  out.core.meter = power::MeterConfig::for_board(out.board);
  out.core.power = core::PowerConfig::for_board(out.board);
  for (const Value& v : field(board, "lanes").items()) {
    core::LaneConfig lane;
    lane.name = text(v, "name");
    lane.kind = text(v, "kind") == "gpu" ? core::LaneKind::kGpu : core::LaneKind::kCpu;
    lane.cores_milli = static_cast<std::uint32_t>(number(v, "cores") * 1000.0);
    out.core.lanes.push_back(std::move(lane));
  }
  if (!out.core.lanes.empty()) return;
  // The board's own lanes share its cores equally: a gpu lane's trainer needs CPU too.
  const std::int64_t cores = out.board.cpu_cores > 0 ? out.board.cpu_cores : identity.cpu_cores;
  for (const power::Lane& given : out.board.lanes) {
    core::LaneConfig lane;
    lane.name = given.name;
    lane.kind = given.kind == power::LaneKind::kGpu ? core::LaneKind::kGpu : core::LaneKind::kCpu;
    lane.cores_milli = static_cast<std::uint32_t>(std::max<std::int64_t>(
        500, cores * 1000 / static_cast<std::int64_t>(out.board.lanes.size())));
    out.core.lanes.push_back(std::move(lane));
  }
}

void read_tasks(const Value& raw, const Value& checked, std::string_view source, Settings& out,
                std::vector<Problem>& problems) {
  const std::vector<Value>& given = field(raw, "tasks").items();
  const std::vector<Value>& items = field(checked, "tasks").items();
  for (std::size_t i = 0; i < items.size() && i < given.size(); ++i) {
    const std::string path = "/tasks/" + std::to_string(i);
    core::TaskSpec spec = task_of(given[i], items[i], source, path, problems);
    for (const core::TaskSpec& earlier : out.tasks) {
      if (earlier.name == spec.name && !spec.name.empty()) {
        problems.push_back(Problem{std::string(source), given[i].line(), path + "/name",
                                   "two tasks are named '" + spec.name + "'; rename one"});
      }
    }
    if (!spec.trainer.empty() && !out.trainers.contains(spec.trainer)) {
      problems.push_back(Problem{std::string(source), given[i].line(), path + "/trainer",
                                 "'" + spec.trainer + "' is not under \"trainers\"; add it there"});
    }
    if (const std::string problem =
            cotrain_task_problem(spec, out.trainers, !out.fleet.name.empty());
        !problem.empty()) {
      problems.push_back(Problem{std::string(source), given[i].line(), path + "/fleet", problem});
    }
    out.tasks.push_back(std::move(spec));
  }
}

std::int64_t scaled(const Value& object, std::string_view name, double scale,
                    std::int64_t otherwise) {
  const Value& value = field(object, name);
  return value.is_number() ? static_cast<std::int64_t>(std::llround(value.as_double() * scale))
                           : otherwise;
}

core::FleetBudget budget_of(const Value& fleet) {
  core::FleetBudget budget;
  budget.founding_epoch = static_cast<std::uint32_t>(integer(fleet, "epoch"));
  for (const auto& [id, floors] : field(fleet, "members").members()) {
    budget.founders.push_back(id);
    budget.members.push_back(
        {id,
         {scaled(floors, "cpu", 1e3, 0), scaled(floors, "gpu", 1e6, 0), integer(floors, "power")}});
  }
  std::sort(budget.founders.begin(), budget.founders.end());
  std::sort(budget.members.begin(), budget.members.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const Value& total = field(fleet, "budget");
  budget.total = {scaled(total, "cpu", 1e3, core::kUnlimited),
                  scaled(total, "gpu", 1e6, core::kUnlimited),
                  scaled(total, "power", 1.0, core::kUnlimited)};
  return budget;
}

void read_fleet(const Value& fleet, std::string_view source,
                const std::function<std::string(const std::string&)>& resolved, Settings& out,
                std::vector<Problem>& problems) {
  if (!fleet.is(json::Kind::kObject)) return;
  const auto report = [&](const std::string& path, const std::string& what) {
    problems.push_back(Problem{std::string(source), fleet.line(), "/fleet" + path, what});
  };
  FleetSettings& to = out.fleet;
  to.name = text(fleet, "name");
  to.insecure_lab = boolean(fleet, "insecure_lab");
  for (const Value& broker : field(fleet, "brokers").items()) {
    const std::string& uri = broker.as_string();
    const bool safe = uri.starts_with("mqtts://");
    if (!safe && !uri.starts_with("mqtt://")) {
      report("/brokers", "'" + uri + "' is no broker; write mqtts://HOST:8883");
    } else if (!safe && !to.insecure_lab) {
      report("/brokers", "'" + uri +
                             "' is not encrypted; write mqtts://, or set \"insecure_lab\" for a "
                             "broker on this machine");
    }
    to.brokers.push_back(uri);
  }
  if (const Value& tls = field(fleet, "tls"); tls.is(json::Kind::kObject)) {
    to.ca = resolved(text(tls, "ca"));
    to.cert = resolved(text(tls, "cert"));
    to.key = resolved(text(tls, "key"));
  } else if (!to.insecure_lab) {
    report("/tls", "missing; `lairctl pki issue` makes the files");
  }
  for (const Value& v : field(fleet, "operators").items()) {
    Operator who{text(v, "name"), text(v, "key"), {}};
    for (const Value& verb : field(v, "may").items()) who.may.push_back(verb.as_string());
    to.operators.push_back(std::move(who));
  }
  out.core.fleet.tick = integer(fleet, "tick");
  out.core.fleet.lease = integer(fleet, "lease");
  out.fleet.publish_every = integer(fleet, "publish_every");
  if (out.core.fleet.lease < core::kLeaseTicksMin * out.core.fleet.tick) {
    report("/lease", "shorter than 20 ticks; lengthen it or shorten \"tick\"");
  }
  out.core.fleet.budget = budget_of(fleet);
  if (const Status ok = core::check_fleet_budget(out.core.fleet.budget); !ok) {
    report("", ok.error().context);
  }
  if (out.core.fleet.budget.member(out.core.node) == nullptr) {
    // Allowed: a board that joins later is made a member by an operator.
    out.board_notes.push_back("this board is not among the fleet's founding members");
  }
}

}  // namespace

void Settings::move_state_to(const std::string& folder) {
  const bool socket_inside = control_socket == state_dir + "/laird.sock";
  state_dir = fs::absolute(folder).lexically_normal().string();
  if (socket_inside) control_socket = state_dir + "/laird.sock";
}

Result<std::string> find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (!fs::path(program).is_absolute()) {
      return fail(Code::kInvalid, "'" + program + "' is a relative path; write an absolute one");
    }
    if (::access(program.c_str(), X_OK) == 0) return program;
    return fail(Code::kNotFound, "no program to execute at " + program);
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder : {self.parent_path(), fs::path("/usr/lib/laird")}) {
    const std::string candidate = (folder / program).string();
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return fail(Code::kNotFound, "no program '" + program +
                                   "' beside laird or in /usr/lib/laird; "
                                   "write its absolute path");
}

core::TaskSpec parse_task(const Value& value, std::string_view source,
                          std::vector<Problem>& problems) {
  const Value checked = config::normalise(task_schema(), value, source, problems);
  return task_of(value, checked, source, "", problems);
}

core::TaskSpec load_task(const std::string& path, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const Value value = read_json(path, problems);
  if (problems.size() > before) return {};
  return parse_task(value, path, problems);
}

std::string kind_of_file(const Value& value) {
  if (value.find("trainer") != nullptr || value.find("target_loss") != nullptr) return "task";
  if (value.find("detect") != nullptr || value.find("modes") != nullptr) return "board";
  for (const config::Field& known : settings_schema().fields) {
    if (value.find(known.name) != nullptr) return "config";
  }
  return "";
}

bool Operator::may_do(std::string_view verb) const {
  return std::any_of(may.begin(), may.end(),
                     [verb](const std::string& m) { return m == "*" || m == verb; });
}

Value read_config(const std::string& path, std::vector<Problem>& problems) {
  return read_json(path, problems);
}

Settings load_settings(const std::string& path, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const Value raw = read_config(path, problems);
  return problems.size() > before ? Settings{} : settings_of(raw, path, problems);
}

Settings settings_of(const Value& raw, const std::string& path, std::vector<Problem>& problems) {
  Settings out;
  const Value v = config::normalise(settings_schema(), raw, path, problems);
  const fs::path folder = fs::absolute(path).parent_path();
  const auto resolved = [&folder](const std::string& p) {
    return (fs::path(p).is_absolute() ? fs::path(p) : folder / p).lexically_normal().string();
  };
  out.state_dir = resolved(text(v, "state_dir"));
  const std::string socket = text(v, "control_socket");
  if (socket != "none") {
    out.control_socket = socket.empty() ? out.state_dir + "/laird.sock" : resolved(socket);
  }
  out.core.node = text(v, "node");
  out.core.policy = text(v, "policy");
  out.core.slice = integer(v, "slice");
  out.core.timing = timing_of(field(v, "timing"));
  read_board(field(v, "board"), path, out, problems);
  const Value& power = field(v, "power");
  out.power.kind = text(power, "source");
  out.power.period_ns = integer(power, "every");
  if (const std::string file = text(power, "file"); !file.empty()) out.power.file = resolved(file);
  if (out.power.kind == "recorded" && out.power.file.empty()) {
    problems.push_back(Problem{path, 0, "/power/file", "missing; name the capture to play"});
  }
  if (const std::int64_t cap_mw = integer(power, "cap"); cap_mw > 0) out.core.power.cap_mw = cap_mw;
  for (const Value& word : field(power, "helper").items()) {
    out.power_helper.push_back(word.as_string());
  }
  // A socket is made when the system starts; it need not be there yet.
  if (!out.power_helper.empty() && !out.power_helper[0].ends_with(".sock")) {
    const Result<std::string> found = find_program(out.power_helper[0]);
    if (found) {
      out.power_helper[0] = *found;
    } else {
      problems.push_back(Problem{path, 0, "/power/helper/0", found.error().context});
    }
  }
  const Value& journal = field(v, "journal");
  out.journal.file_bytes_max = integer(journal, "file_max");
  out.journal.total_bytes_max = integer(journal, "total_max");
  out.journal.age_max = integer(journal, "age_max");
  out.use_cgroups = boolean(v, "cgroups");
  out.log_level = text(v, "log_level");
  for (const auto& [name, trainer] : field(v, "trainers").members()) {
    out.trainers[name] = trainer_of(name, trainer, path, problems);
    out.core.trainers.push_back(name);
  }
  if (const Value& metrics = field(v, "metrics"); metrics.is(json::Kind::kObject)) {
    out.metrics_listen = text(metrics, "listen");
    if (const auto at = parse_listen_address(out.metrics_listen); !at) {
      problems.push_back(Problem{path, metrics.line(), "/metrics/listen", at.error().context});
    }
  }
  read_fleet(field(v, "fleet"), path, resolved, out, problems);
  read_tasks(raw, v, path, out, problems);
  return out;
}

}  // namespace laird::agent
