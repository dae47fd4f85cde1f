#include "agent/settings/settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "agent/settings/cotrain_task.hpp"
#include "agent/settings/listen_address.hpp"
#include "agent/settings/promote_task.hpp"
#include "config/units.hpp"

namespace laird::agent {
namespace {

using config::Problem;
using json::Value;

// Up to `digits_max` digits at the front of `text`, which are taken away; -1 when there is none.
int take_number(std::string_view& text, std::size_t digits_max) {
  int out = -1;
  for (std::size_t i = 0; i < digits_max && !text.empty(); ++i) {
    const char c = text.front();
    if (c < '0' || c > '9') break;
    out = std::max(out, 0) * 10 + (c - '0');
    text.remove_prefix(1);
  }
  return out;
}

bool take_letter(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

// Of the Gregorian calendar; a day past the month's end counts on into the next month.
std::int64_t days_since_1970(int year, int month, int day) {
  constexpr std::array<int, 12> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const auto leap_days_until = [](int y) { return y / 4 - y / 100 + y / 400; };
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return std::int64_t{365} * (year - 1970) + leap_days_until(year - 1) - leap_days_until(1969) +
         kBefore[static_cast<std::size_t>(month - 1)] + (leap && month > 2 ? 1 : 0) + day - 1;
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

core::PromoteSpec promote_of(const Value& v, std::string_view source, const std::string& path,
                             std::vector<Problem>& problems) {
  core::PromoteSpec out;
  if (!v.is(json::Kind::kObject)) return out;
  out.wanted = true;
  out.deadline_after = integer(v, "deadline");
  out.memory_bytes = integer(v, "memory");
  for (const Value& precision : field(v, "precisions").items()) {
    const std::string name = precision.is(json::Kind::kString) ? precision.as_string() : "";
    if (name == "int8" || name == "fp16" || name == "fp32") continue;
    problems.push_back(Problem{std::string(source), v.line(), path + "/precisions",
                               "expected some of \"int8\", \"fp16\" and \"fp32\""});
  }
  out.limits = json::to_text(Value::object()
                                 .set("agreement_min", number(v, "agreement_min"))
                                 .set("loss_change_max", number(v, "loss_change_max"))
                                 .set("precisions", field(v, "precisions")));
  return out;
}

void read_every(const Value& given, const Value& v, std::string_view source,
                const std::string& path, core::TaskSpec& spec, std::vector<Problem>& problems) {
  const auto report = [&](const char* key, const std::string& what) {
    problems.push_back(Problem{std::string(source), given.line(), path + "/" + key, what});
  };
  spec.every.warm_start = boolean(v, "warm_start");
  const std::string every = text(v, "every");
  if (every.empty()) {
    if (spec.every.warm_start)
      report("warm_start", "is for a task that recurs; give \"every\" too");
    return;
  }
  if (const Result<core::WeeklyWindow> window = core::parse_weekly_window(every)) {
    spec.every.window = *window;
  } else {
    report("every", window.error().context);
  }
  if (spec.cotrain) {
    report("every", "a task that is trained with other boards cannot recur; leave one of them out");
  }
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
  const auto weight = static_cast<std::uint32_t>(std::lround(number(v, "weight") * 1000.0));
  spec.weight_milli = std::clamp(weight, core::kWeightMilliMin, core::kWeightMilliMax);
  spec.promote = promote_of(field(v, "promote"), source, path + "/promote", problems);
  read_every(given, v, source, path, spec, problems);
  spec.movable = boolean(v, "movable");
  if (spec.movable && (spec.cotrain || spec.every.wanted())) {
    problems.push_back(Problem{std::string(source), given.line(), path + "/movable",
                               "a task that is trained with other boards, or that recurs, stays on "
                               "its board; leave one of them out"});
  }
  if (const Value& sweep = field(v, "sweep"); sweep.is(json::Kind::kObject)) {
    spec.sweep = text(sweep, "name");
    spec.sweep_stop_permille =
        static_cast<std::uint32_t>(std::lround(number(sweep, "stop_below") * 1000.0));
  }
  const std::string deadline = text(v, "deadline");
  const auto report = [&](const std::string& what) {
    problems.push_back(Problem{std::string(source), given.line(), path + "/deadline", what});
  };
  if (deadline.empty()) {
    if (given.find("deadline") == nullptr && given.find("every") == nullptr) {
      report(
          "missing; so long after acceptance (\"90s\", \"2h\"), or a time like "
          "2027-01-31T18:00:00Z");
    }
    return spec;
  }
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

using ReportAt = std::function<void(const std::string& at, const std::string& what)>;
using FindAt = std::function<void(const std::string& at, std::string& word)>;

void read_container(const Value& v, TrainerProgram& out, const ReportAt& report,
                    const FindAt& find) {
  if (const std::string problem = image_problem(out.image); !problem.empty()) {
    report("/image", problem);
  }
  for (const Value& word : field(v, "engine").items()) out.engine.push_back(word.as_string());
  if (!out.engine.empty()) find("/engine/0", out.engine[0]);
  if (out.lines_only) {
    report("/protocol", "a container speaks the protocol v1; let the program in it do so");
  }
}

TrainerProgram trainer_of(const std::string& name, const Value& v, std::string_view source,
                          const Surroundings& around, std::vector<Problem>& problems) {
  TrainerProgram program;
  program.lines_only = text(v, "protocol") == "lines";
  program.network = boolean(v, "network");
  program.checks = boolean(v, "check");
  const auto report = [&](const std::string& at, const std::string& what) {
    problems.push_back(Problem{std::string(source), v.line(), "/trainers/" + name + at, what});
  };
  const auto find = [&](const std::string& at, std::string& word) {
    const Result<std::string> found = around.find_program(word);
    if (found) {
      word = *found;
    } else {
      report(at, found.error().context);
    }
  };
  for (const Value& arg : field(v, "exec").items()) program.argv.push_back(arg.as_string());
  program.image = text(v, "image");
  if (program.image.empty()) {
    if (program.argv.empty()) {
      report("/exec", "missing; name a program, or an \"image\"");
    } else {
      find("/exec/0", program.argv[0]);
    }
  } else {
    read_container(v, program, report, find);
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

// With it a pushed model is promoted as a trained one is.
void add_adopter(Settings& out) {
  const std::string adopter(core::kAdopter);
  const auto promoter = out.trainers.find(std::string(core::kPromoter));
  if (promoter == out.trainers.end() || !promoter->second.image.empty() ||
      out.trainers.contains(adopter) || out.core.trainers.size() >= core::kTrainersMax) {
    return;
  }
  out.trainers[adopter].argv = {promoter->second.argv.front(), "adopt"};
  out.core.trainers.push_back(adopter);
}

void read_cell(const Value& cell, std::string_view source, const Surroundings& around,
               CellSettings& out, std::vector<Problem>& problems) {
  out.helper = text(cell, "helper");
  if (!out.helper.empty() && !out.helper.ends_with(".sock")) {
    if (const Result<std::string> found = around.find_program(out.helper)) {
      out.helper = *found;
    } else {
      problems.push_back(Problem{std::string(source), 0, "/cell/helper", found.error().context});
    }
  }
  out.user = text(cell, "user");
  out.containers = text(cell, "containers");
  out.check_for = integer(cell, "check");
  if (!out.containers.starts_with('/')) {
    problems.push_back(Problem{std::string(source), 0, "/cell/containers", "not an absolute path"});
  }
  out.namespaces = boolean(cell, "namespaces");
  const auto amount = [&cell](std::string_view name) {
    return static_cast<std::uint64_t>(integer(cell, name));
  };
  out.processes = amount("processes");
  out.open_files = amount("open_files");
  out.disk_bytes = amount("disk");
  out.tmp_bytes = amount("tmp");
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

void read_board(const Value& board, std::string_view source, const Surroundings& around,
                Settings& out, std::vector<Problem>& problems) {
  if (Result<ChosenBoard> chosen = around.choose_board(text(board, "name"))) {
    out.board = std::move(chosen->board);
    out.board_notes = std::move(chosen->notes);
  } else {
    problems.push_back(Problem{std::string(source), 0, "/board/name", chosen.error().context});
  }
  out.core.memory_bytes = out.board.memory_for_tasks_bytes(around.memory_bytes);
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
  const std::int64_t cores = out.board.cpu_cores > 0 ? out.board.cpu_cores : around.cpu_cores;
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
    if (const std::string problem = promote_task_problem(spec, out.trainers); !problem.empty()) {
      problems.push_back(Problem{std::string(source), given[i].line(), path + "/promote", problem});
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

void read_fleet(const Value& fleet, std::string_view source, const Surroundings& around,
                Settings& out, std::vector<Problem>& problems) {
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
    to.ca = around.resolve(text(tls, "ca"));
    to.cert = around.resolve(text(tls, "cert"));
    to.key = around.resolve(text(tls, "key"));
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
  out.fleet.share_runs = boolean(fleet, "share_runs");
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

// "2027-01-31T18:00:00Z" as Unix nanoseconds; only UTC, so that nobody has to guess.
Result<TimeNs> parse_wall_time(const std::string& text) {
  std::string_view rest = text;
  std::array<int, 6> part{};  // year, month, day, hour, minute, second
  constexpr std::string_view kAfter = "--T::Z";
  bool fits = true;
  for (std::size_t i = 0; i < part.size() && fits; ++i) {
    part[i] = take_number(rest, i == 0 ? 4 : 2);
    fits = part[i] >= 0 && take_letter(rest, kAfter[i]);
  }
  const auto [year, month, day, hour, minute, second] = part;
  fits = fits && rest.empty() && year > 1970 && year < 2262 && month >= 1 && month <= 12 &&
         day >= 1 && day <= 31 && hour < 24 && minute < 60 && second < 61;
  if (!fits) {
    return fail(Code::kInvalid, "'" + text +
                                    "' is neither a duration like \"90s\" nor a UTC time like "
                                    "\"2027-01-31T18:00:00Z\"");
  }
  return days_since_1970(year, month, day) * kDay + hour * kHour + minute * kMinute +
         second * kSecond;
}

void Settings::move_state_to(const std::string& folder) {
  const bool socket_inside = control_socket == state_dir + "/laird.sock";
  state_dir = folder;
  if (socket_inside) control_socket = state_dir + "/laird.sock";
}

core::TaskSpec parse_task(const Value& value, std::string_view source,
                          std::vector<Problem>& problems) {
  const Value checked = config::normalise(task_schema(), value, source, problems);
  return task_of(value, checked, source, "", problems);
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

Settings parse_settings(const Value& raw, const std::string& source, const Surroundings& around,
                        std::vector<Problem>& problems) {
  Settings out;
  const Value v = config::normalise(settings_schema(), raw, source, problems);
  out.state_dir = around.resolve(text(v, "state_dir"));
  const std::string socket = text(v, "control_socket");
  if (socket != "none") {
    out.control_socket = socket.empty() ? out.state_dir + "/laird.sock" : around.resolve(socket);
  }
  out.core.node = text(v, "node");
  out.core.policy = text(v, "policy");
  out.core.slice = integer(v, "slice");
  out.core.timing = timing_of(field(v, "timing"));
  read_board(field(v, "board"), source, around, out, problems);
  const Value& power = field(v, "power");
  out.power.kind = text(power, "source");
  out.power.period_ns = integer(power, "every");
  if (const std::string file = text(power, "file"); !file.empty())
    out.power.file = around.resolve(file);
  if (out.power.kind == "recorded" && out.power.file.empty()) {
    problems.push_back(Problem{source, 0, "/power/file", "missing; name the capture to play"});
  }
  if (const std::int64_t cap_mw = integer(power, "cap"); cap_mw > 0) out.core.power.cap_mw = cap_mw;
  for (const Value& word : field(power, "helper").items()) {
    out.power_helper.push_back(word.as_string());
  }
  // A socket is made when the system starts; it need not be there yet.
  if (!out.power_helper.empty() && !out.power_helper[0].ends_with(".sock")) {
    const Result<std::string> found = around.find_program(out.power_helper[0]);
    if (found) {
      out.power_helper[0] = *found;
    } else {
      problems.push_back(Problem{source, 0, "/power/helper/0", found.error().context});
    }
  }
  const Value& journal = field(v, "journal");
  out.journal.file_bytes_max = integer(journal, "file_max");
  out.journal.total_bytes_max = integer(journal, "total_max");
  out.journal.age_max = integer(journal, "age_max");
  out.use_cgroups = boolean(v, "cgroups");
  out.log_level = text(v, "log_level");
  out.estimator_device = text(field(v, "estimator"), "device");
  for (const auto& [name, trainer] : field(v, "trainers").members()) {
    out.trainers[name] = trainer_of(name, trainer, source, around, problems);
    out.core.trainers.push_back(name);
  }
  // Every board can promote, in the way its file says or in the usual one.
  const std::string promoter(core::kPromoter);
  if (!out.trainers.contains(promoter)) {
    if (const Result<std::string> found = around.find_program(promoter)) {
      out.trainers[promoter].argv = {*found, "task"};
    }
  }
  read_cell(field(v, "cell"), source, around, out.cell, problems);
  for (const Value& root : field(v, "data_roots").items()) {
    out.data_roots.push_back(around.resolve(root.as_string()));
  }
  if (const Value& push = field(v, "push"); push.is(json::Kind::kObject)) {
    out.push_folder = around.resolve(text(push, "folder"));
    out.push_bytes_max = integer(push, "quota");
    out.data_roots.push_back(out.push_folder);
    add_adopter(out);
  }
  if (const Value& metrics = field(v, "metrics"); metrics.is(json::Kind::kObject)) {
    out.metrics_listen = text(metrics, "listen");
    if (const auto at = parse_listen_address(out.metrics_listen); !at) {
      problems.push_back(Problem{source, metrics.line(), "/metrics/listen", at.error().context});
    }
  }
  read_fleet(field(v, "fleet"), source, around, out, problems);
  read_tasks(raw, v, source, out, problems);
  return out;
}

}  // namespace laird::agent
