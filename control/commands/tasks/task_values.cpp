#include "control/commands/tasks/task_values.hpp"

#include <algorithm>

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kTasksMax = 64;  // of one sweep

std::vector<std::string> split(const std::string& text, char between) {
  std::vector<std::string> out;
  std::size_t from = 0;
  for (;;) {
    const std::size_t at = std::min(text.find(between, from), text.size());
    out.push_back(text.substr(from, at - from));
    if (at == text.size()) return out;
    from = at + 1;
  }
}

struct Assignment {
  std::vector<std::string> path;
  std::string value;
};

Result<Assignment> parse_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    return fail(Code::kInvalid, "'" + text + "' sets nothing; write params.lr=0.01");
  }
  Assignment out{split(text.substr(0, equals), '.'), text.substr(equals + 1)};
  const bool has_gap = std::any_of(out.path.begin(), out.path.end(),
                                   [](const std::string& key) { return key.empty(); });
  if (has_gap) return fail(Code::kInvalid, "'" + text + "' has an empty key; write params.lr=0.01");
  return out;
}

Status put(Value& object, const Assignment& what, std::size_t depth) {
  if (!object.is(Kind::kObject)) {
    return fail(Code::kInvalid, "'" + what.path[depth - 1] + "' is no object, so it has no '" +
                                    what.path[depth] + "'");
  }
  const std::string& key = what.path[depth];
  if (depth + 1 == what.path.size()) {
    const Result<Value> parsed = json::parse(what.value, "value");
    object.set(key, parsed ? *parsed : Value(what.value));
    return {};
  }
  Value below = Value::object();
  if (const Value* found = object.find(key)) below = *found;
  LAIRD_TRY(put(below, what, depth + 1));
  object.set(key, std::move(below));
  return {};
}

}  // namespace

Status set_by_path(Value& task, const std::string& assignment) {
  const Result<Assignment> what = parse_assignment(assignment);
  LAIRD_TRY(what);
  if (!task.is(Kind::kObject)) return fail(Code::kInvalid, "the task is no object");
  return put(task, *what, 0);
}

Result<std::vector<Variant>> swept(const Value& task, const std::vector<std::string>& sweeps) {
  std::vector<Variant> variants = {{task, ""}};
  for (const std::string& sweep : sweeps) {
    const Result<Assignment> what = parse_assignment(sweep);
    LAIRD_TRY(what);
    const std::string key = sweep.substr(0, sweep.find('='));
    std::vector<Variant> next;
    for (const Variant& variant : variants) {
      for (const std::string& value : split(what->value, ',')) {
        const std::string words = key + "=" + value;
        Variant one{variant.task, variant.words + (variant.words.empty() ? "" : ", ") + words};
        LAIRD_TRY(set_by_path(one.task, words));
        next.push_back(std::move(one));
      }
    }
    if (next.size() > kTasksMax) {
      return fail(Code::kInvalid, "the sweep makes " + std::to_string(next.size()) +
                                      " tasks; at most " + std::to_string(kTasksMax) +
                                      " go at once");
    }
    variants = std::move(next);
  }
  if (sweeps.empty()) return variants;
  const Value* name = task.find("name", Kind::kString);
  if (name == nullptr) return fail(Code::kInvalid, "the task has no name");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    variants[i].task.set("name", name->as_string() + "-" + std::to_string(i + 1));
    // The file may say more of it: what chance a member needs to go on.
    Value sweep = Value::object();
    if (const Value* said = task.find("sweep", Kind::kObject)) sweep = *said;
    variants[i].task.set("sweep", sweep.set("name", name->as_string()));
  }
  return variants;
}

}  // namespace laird::control
