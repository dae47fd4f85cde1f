#include "agent/placement/planner/instance_json.hpp"

#include <algorithm>
#include <map>

#include "agent/placement/planner/document.hpp"
#include "base/sha256.hpp"

namespace laird::placement {
namespace {

using json::Kind;
using json::Value;

constexpr std::string_view kInstanceFormat = "laird.placement/1";

Result<std::string> read_name(const Value& object, const std::string& what) {
  if (!object.is(Kind::kObject)) return wrong(object, what + " must be an object");
  const Value* v = object.find("name", Kind::kString);
  if (v == nullptr || v->as_string().empty() || v->as_string().size() > 200) {
    return wrong(object, what + " needs a name of 1 to 200 characters");
  }
  return v->as_string();
}

void note_unknown(const Value& object, const std::string& what,
                  std::initializer_list<std::string_view> known, std::vector<std::string>* out) {
  for (const auto& [key, value] : object.members()) {
    if (std::find(known.begin(), known.end(), key) != known.end() || out->size() >= 20) continue;
    out->push_back(at_line(value) + what + ": '" + key +
                   "' is no key of this format and was ignored");
  }
}

class Reader {
 public:
  explicit Reader(ReadInstance& out) : out_(out), instance_(out.instance) {}

  Status read(const Value& document) {
    if (!document.is(Kind::kObject)) return wrong(document, "an instance is an object");
    const Value* format = document.find("format", Kind::kString);
    if (format == nullptr || format->as_string() != kInstanceFormat) {
      return wrong(document, "\"format\" must be \"" + std::string(kInstanceFormat) + "\"");
    }
    if (const Value* v = document.find("name", Kind::kString)) instance_.name = v->as_string();
    if (const Value* v = document.find("mode")) {
      if (!v->is(Kind::kString) || (v->as_string() != "S" && v->as_string() != "C")) {
        return wrong(*v, "\"mode\" must be \"S\" or \"C\"");
      }
      instance_.mode = v->as_string() == "S" ? Mode::kSerial : Mode::kConcurrent;
    }
    note_unknown(document, "the instance", {"format", "name", "mode", "boards", "tasks"},
                 &out_.ignored);
    LAIRD_TRY(read_list(document, "boards", kPlannedBoardsMax, &Reader::read_board));
    const Value* tasks = document.find("tasks", Kind::kArray);
    if (tasks != nullptr && tasks->items().size() * instance_.boards.size() > kPlannedPairsMax) {
      return wrong(*tasks,
                   "too many pairs of task and board; at most " + std::to_string(kPlannedPairsMax));
    }
    LAIRD_TRY(read_list(document, "tasks", kPlannedTasksMax, &Reader::read_task));
    return check(instance_);
  }

 private:
  Status read_list(const Value& document, std::string_view key, std::size_t max,
                   Status (Reader::*read_one)(const Value&)) {
    const Value* list = document.find(key, Kind::kArray);
    if (list == nullptr) return wrong(document, "\"" + std::string(key) + "\" must be a list");
    if (list->items().size() > max) {
      return wrong(*list, "at most " + std::to_string(max) + " " + std::string(key));
    }
    for (const Value& item : list->items()) LAIRD_TRY((this->*read_one)(item));
    return {};
  }

  Status read_board(const Value& v) {
    PlannedBoard board;
    const Result<std::string> name = read_name(v, "a board");
    LAIRD_TRY(name);
    board.name = *name;
    const std::string what = "board '" + board.name + "'";
    board.kind = board.name;
    if (const Value* kind = v.find("kind", Kind::kString)) board.kind = kind->as_string();
    LAIRD_TRY(read_integer(v, "memory_mb", what, kMemoryMbMax, &board.memory_mb));
    LAIRD_TRY(read_integer(v, "gpu", what, kGpuWhole, &board.gpu));
    LAIRD_TRY(read_integer(v, "lanes", what, kLanesMax, &board.lanes));
    if (const Value* closed = v.find("closed")) LAIRD_TRY(read_closed(*closed, what, &board));
    note_unknown(v, what, {"name", "kind", "memory_mb", "gpu", "lanes", "closed"}, &out_.ignored);
    board_of_.emplace(board.name, instance_.boards.size());
    instance_.boards.push_back(std::move(board));
    return {};
  }

  static Status read_closed(const Value& v, const std::string& what, PlannedBoard* board) {
    const std::string form = what + ": closed must be a list of [from_s, to_s] or [from_s]";
    if (!v.is(Kind::kArray) || v.items().size() > kClosedMax) return wrong(v, form);
    for (const Value& window : v.items()) {
      const bool pair =
          window.is(Kind::kArray) && !window.items().empty() && window.items().size() <= 2;
      if (!pair) return wrong(window, form);
      Window w;
      for (std::size_t i = 0; i < window.items().size(); ++i) {
        const Value& n = window.items()[i];
        if (!n.is(Kind::kInteger) || n.as_integer() < 0 || n.as_integer() > kSecondsMax) {
          return wrong(n, form);
        }
        (i == 0 ? w.from_s : w.to_s) = n.as_integer();
      }
      board->closed.push_back(w);
    }
    return {};
  }

  // Calls set(board, number) for each board that the value says something about.
  template <class Set>
  Status read_by_board(const Value& task, std::string_view key, const std::string& what,
                       std::int64_t max, Set set) {
    const Value* v = task.find(key);
    if (v == nullptr) return {};
    const std::string form = what + ": " + std::string(key) + " must be a whole number from 0 to " +
                             std::to_string(max) +
                             ", by kind {\"orin\": 1}, by board [1, 2], or one for all";
    const auto good = [&](const Value& n) {
      return n.is(Kind::kInteger) && n.as_integer() >= 0 && n.as_integer() <= max;
    };
    const std::size_t boards = instance_.boards.size();
    if (v->is(Kind::kArray)) {
      if (v->items().size() != boards) return wrong(*v, form);
      for (std::size_t b = 0; b < boards; ++b) {
        if (!good(v->items()[b])) return wrong(v->items()[b], form);
        set(b, v->items()[b].as_integer());
      }
      return {};
    }
    if (v->is(Kind::kObject)) {
      for (const auto& [kind, n] : v->members()) {
        if (!good(n)) return wrong(n, form);
        for (std::size_t b = 0; b < boards; ++b) {
          if (instance_.boards[b].kind == kind) set(b, n.as_integer());
        }
      }
      return {};
    }
    if (!good(*v)) return wrong(*v, form);
    for (std::size_t b = 0; b < boards; ++b) set(b, v->as_integer());
    return {};
  }

  // Which boards a list of names of boards or kinds means.
  Result<std::vector<bool>> read_boards(const Value& v, const std::string& what) {
    std::vector<bool> out(instance_.boards.size());
    if (!v.is(Kind::kArray)) return wrong(v, what + " must be a list of boards or kinds");
    for (const Value& item : v.items()) {
      if (!item.is(Kind::kString)) return wrong(item, what + " must be a list of boards or kinds");
      bool any = false;
      for (std::size_t b = 0; b < out.size(); ++b) {
        const PlannedBoard& board = instance_.boards[b];
        if (board.name != item.as_string() && board.kind != item.as_string()) continue;
        out[b] = any = true;
      }
      if (!any)
        return wrong(item, what + ": no board and no kind is called '" + item.as_string() + "'");
    }
    return out;
  }

  Status read_task(const Value& v) {
    PlannedTask task;
    const Result<std::string> name = read_name(v, "a task");
    LAIRD_TRY(name);
    task.name = *name;
    const std::string what = "task '" + task.name + "'";
    const std::size_t index = instance_.tasks.size();
    instance_.choices.resize((index + 1) * instance_.boards.size());
    LAIRD_TRY(read_integer(v, "memory_mb", what, kMemoryMbMax, &task.memory_mb));
    LAIRD_TRY(read_integer(v, "deadline_s", what, kSecondsMax, &task.deadline_s));
    LAIRD_TRY(read_integer(v, "weight", what, kWeightMax, &task.weight));
    LAIRD_TRY(read_integer(v, "low_permille", what, 1000, &task.low_permille));
    LAIRD_TRY(read_integer(v, "high_permille", what, 1'000'000, &task.high_permille));
    if (const Value* s = v.find("splittable", Kind::kBool)) task.splittable = s->as_bool();
    if (const Value* s = v.find("apart", Kind::kString)) {
      task.apart = static_cast<int>(groups_.emplace(s->as_string(), groups_.size()).first->second);
    }
    instance_.tasks.push_back(task);
    LAIRD_TRY(read_choices(v, what, index));
    LAIRD_TRY(read_running(v, what, index));
    note_unknown(
        v, what,
        {"name", "memory_mb", "time_s", "gpu", "only", "prefer", "apart", "running", "deadline_s",
         "weight", "low_permille", "high_permille", "energy_j", "data", "splittable"},
        &out_.ignored);
    return {};
  }

  Status read_choices(const Value& v, const std::string& what, std::size_t index) {
    const auto at = [&](std::size_t b) -> Choice& { return instance_.choice(index, b); };
    LAIRD_TRY(read_by_board(v, "time_s", what, kSecondsMax,
                            [&](std::size_t b, std::int64_t n) { at(b).time_s = n; }));
    LAIRD_TRY(read_by_board(v, "gpu", what, kGpuWhole, [&](std::size_t b, std::int64_t n) {
      at(b).gpu = static_cast<int>(n);
    }));
    LAIRD_TRY(read_by_board(v, "energy_j", what, kEnergyMax,
                            [&](std::size_t b, std::int64_t n) { at(b).energy_j = n; }));
    if (const Value* only = v.find("only")) {
      const auto boards = read_boards(*only, what + ": only");
      LAIRD_TRY(boards);
      for (std::size_t b = 0; b < boards->size(); ++b) at(b).allowed = (*boards)[b];
    }
    if (const Value* prefer = v.find("prefer")) {
      const auto boards = read_boards(*prefer, what + ": prefer");
      LAIRD_TRY(boards);
      for (std::size_t b = 0; b < boards->size(); ++b) at(b).preferred = (*boards)[b];
    }
    const Value* data = v.find("data", Kind::kObject);
    if (data == nullptr) return {};
    LAIRD_TRY(read_by_board(*data, "transfer_s", what + ": data", kSecondsMax,
                            [&](std::size_t b, std::int64_t n) { at(b).ready_s = n; }));
    if (const Value* on = data->find("on")) {
      const auto boards = read_boards(*on, what + ": data: on");
      LAIRD_TRY(boards);
      for (std::size_t b = 0; b < boards->size(); ++b) {
        if ((*boards)[b]) at(b).ready_s = 0;
      }
    }
    return {};
  }

  Status read_running(const Value& v, const std::string& what, std::size_t index) {
    const Value* running = v.find("running");
    if (running == nullptr) return {};
    const Value* board = running->find("board", Kind::kString);
    const auto found = board == nullptr ? board_of_.end() : board_of_.find(board->as_string());
    if (found == board_of_.end()) {
      return wrong(*running,
                   what + ": running must be {\"board\": a board of this instance, \"left_s\": 1}");
    }
    Choice& c = instance_.choice(index, found->second);
    Seconds left = 0;
    LAIRD_TRY(read_integer(*running, "left_s", what + ": running", kSecondsMax, &left));
    // What runs is there: neither its data nor its labels are asked again.
    c.time_s = std::max<Seconds>(left, 1);
    c.ready_s = 0;
    c.allowed = true;
    instance_.tasks[index].running = static_cast<int>(found->second);
    return {};
  }

  ReadInstance& out_;
  Instance& instance_;
  std::map<std::string, std::size_t> board_of_;
  std::map<std::string, std::size_t> groups_;
};

void write_canonical(const Value& v, std::string& out) {
  if (v.is(Kind::kArray)) {
    out += '[';
    for (std::size_t i = 0; i < v.items().size(); ++i) {
      if (i > 0) out += ',';
      write_canonical(v.items()[i], out);
    }
    out += ']';
  } else if (v.is(Kind::kObject)) {
    std::vector<const Value::Member*> members;
    for (const Value::Member& m : v.members()) members.push_back(&m);
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ',';
      out += json::quoted(members[i]->first) + ':';
      write_canonical(members[i]->second, out);
    }
    out += '}';
  } else {
    out += json::to_text(v);
  }
}

}  // namespace

Result<ReadInstance> read_instance(const Value& document) {
  ReadInstance out;
  LAIRD_TRY(Reader(out).read(document));
  out.hash = hash_of(document);
  return out;
}

Value instance_json(const Instance& instance) {
  Value out = Value::object();
  out.set("format", kInstanceFormat).set("name", instance.name).set("mode", name(instance.mode));
  Value boards = Value::array();
  for (const PlannedBoard& b : instance.boards) {
    Value v = Value::object();
    v.set("name", b.name).set("kind", b.kind).set("memory_mb", b.memory_mb).set("gpu", b.gpu);
    if (b.lanes > 0) v.set("lanes", b.lanes);
    if (!b.closed.empty()) {
      Value closed = Value::array();
      for (const Window& w : b.closed) {
        Value pair = Value::array();
        pair.add(w.from_s);
        if (w.to_s < kForever) pair.add(w.to_s);
        closed.add(std::move(pair));
      }
      v.set("closed", std::move(closed));
    }
    boards.add(std::move(v));
  }
  out.set("boards", std::move(boards));
  Value tasks = Value::array();
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    const PlannedTask& task = instance.tasks[t];
    Value v = Value::object();
    v.set("name", task.name).set("memory_mb", task.memory_mb);
    Value time = Value::array();
    Value gpu = Value::array();
    Value energy = Value::array();
    Value ready = Value::array();
    Value prefer = Value::array();
    bool any_energy = false;
    bool any_ready = false;
    for (std::size_t b = 0; b < instance.boards.size(); ++b) {
      const Choice& c = instance.choice(t, b);
      time.add(c.allowed ? c.time_s : 0);
      gpu.add(c.gpu);
      energy.add(c.energy_j);
      ready.add(c.ready_s);
      any_energy = any_energy || c.energy_j > 0;
      any_ready = any_ready || c.ready_s > 0;
      if (c.preferred) prefer.add(instance.boards[b].name);
    }
    v.set("time_s", std::move(time)).set("gpu", std::move(gpu));
    if (any_energy) v.set("energy_j", std::move(energy));
    if (any_ready) v.set("data", Value::object().set("transfer_s", std::move(ready)));
    if (prefer.items().size() < instance.boards.size()) v.set("prefer", std::move(prefer));
    if (task.deadline_s < kForever) v.set("deadline_s", task.deadline_s);
    if (task.weight != 1) v.set("weight", task.weight);
    if (task.low_permille != 1000) v.set("low_permille", task.low_permille);
    if (task.high_permille != 1000) v.set("high_permille", task.high_permille);
    if (task.apart >= 0) v.set("apart", std::to_string(task.apart));
    if (task.splittable) v.set("splittable", true);
    if (task.running >= 0) {
      const auto on = static_cast<std::size_t>(task.running);
      v.set("running", Value::object()
                           .set("board", instance.boards[on].name)
                           .set("left_s", instance.choice(t, on).time_s));
    }
    tasks.add(std::move(v));
  }
  out.set("tasks", std::move(tasks));
  return out;
}

std::string canonical_text(const Value& document) {
  std::string out;
  write_canonical(document, out);
  return out;
}

std::string hash_of(const Value& document) {
  return sha256_of(canonical_text(document)).substr(0, 16);
}

json::ParseLimits instance_limits() {
  json::ParseLimits out;
  out.bytes_max = 128UL * 1024 * 1024;
  out.values_max = 3 * kPlannedPairsMax;
  return out;
}

}  // namespace laird::placement
