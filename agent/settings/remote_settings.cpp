#include "agent/settings/remote_settings.hpp"

#include <algorithm>
#include <array>

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;

// Each with everything below it.
constexpr std::array<std::string_view, 11> kChangeable = {
    "board.lanes",  "board.memory", "fleet.brokers", "fleet.publish_every",
    "log_level",    "policy",       "power.cap",     "power.every",
    "power.source", "slice",        "timing"};

struct Locked {
  std::string_view key;
  std::string_view why;
};

constexpr std::string_view kInBudget =
    "it is part of the fleet's budget: `lairctl fleet init` and `lairctl cap` change that";
constexpr std::string_view kAgreed =
    "the ledger counts on every board having the same: change it in every board's own file";
constexpr std::array<Locked, 25> kLocked = {{
    {"node", "a board's name is that of its certificate: change it on the board"},
    {"state_dir", "it says where this change would be kept: change it on the board"},
    {"control_socket", "it names a file: change it on the board"},
    {"board.name", "it may name a file: change it on the board"},
    {"power.file", "it names a file: change it on the board"},
    {"power.helper", "it names a program that runs with privileges: change it on the board"},
    {"trainers", "the allow-list of programs is the board owner's: change it on the board"},
    {"cell", "it keeps trainers apart from the agent: change it on the board"},
    {"data_roots", "it says which files tasks may read: change it on the board"},
    {"push", "it says where operators may write: change it on the board"},
    {"tasks", "tasks are handed in with `lairctl submit`"},
    {"journal", "it holds the record of what operators did: change it on the board"},
    {"estimator", "it opens the board's driver in the agent: change it on the board"},
    {"cgroups", "it holds trainers in their limits: change it on the board"},
    {"metrics", "it opens a port: change it on the board"},
    {"fleet.name", "another fleet is another network: change it on the board"},
    {"fleet.tls", "it says who the board is and whom it trusts: change it on the board"},
    {"fleet.insecure_lab", "it turns encryption off: change it on the board"},
    {"fleet.operators", "nobody changes who may command over the network: change it on the board"},
    {"fleet.share_runs", "its owner says what leaves the board: change it on the board"},
    {"fleet.epoch", kInBudget},
    {"fleet.members", kInBudget},
    {"fleet.budget", kInBudget},
    {"fleet.tick", kAgreed},
    {"fleet.lease", kAgreed},
}};

// Of no setting that there is: the schema says so too.
constexpr std::string_view kUnlisted =
    "it is not among the settings that are changed over the network";

bool is_comment(std::string_view key) { return key == "comment" || key.starts_with("$"); }

bool covers(std::string_view key, std::string_view of) {
  return of == key || (of.size() > key.size() && of.starts_with(key) && of[key.size()] == '.');
}

std::string below(const std::string& key, const std::string& name) {
  return key.empty() ? name : key + "." + name;
}

bool has_members(const Value* value) {
  return value != nullptr && value->is(Kind::kObject) && !value->members().empty();
}

void collect(const std::string& key, const Value* from, const Value* to, std::vector<Change>& out) {
  if (has_members(from) || has_members(to)) {
    if (has_members(from)) {
      for (const auto& [name, value] : from->members()) {
        if (!is_comment(name))
          collect(below(key, name), &value, to ? to->find(name) : nullptr, out);
      }
    }
    if (has_members(to)) {
      for (const auto& [name, value] : to->members()) {
        if (is_comment(name) || (from != nullptr && from->find(name) != nullptr)) continue;
        collect(below(key, name), nullptr, &value, out);
      }
    }
    // An object that gives way to something else, or the other way round.
    const Value* other = has_members(from) ? to : from;
    if (other == nullptr || other->is(Kind::kObject)) return;
    (has_members(from) ? from : to) = nullptr;
  }
  if (from != nullptr && to != nullptr && same(*from, *to)) return;
  if (from == nullptr && to == nullptr) return;
  out.push_back({key, from ? *from : Value(), to ? *to : Value()});
}

Value without_comments(const Value& value) {
  if (value.is(Kind::kObject)) {
    Value out = Value::object();
    for (const auto& [name, member] : value.members()) {
      if (!is_comment(name)) out.set(name, without_comments(member));
    }
    return out;
  }
  if (!value.is(Kind::kArray)) return value;
  Value out = Value::array();
  for (const Value& item : value.items()) out.add(without_comments(item));
  return out;
}

}  // namespace

Value layered(const Value& base, const Value& over) {
  if (!over.is(Kind::kObject)) return over;
  Value out = base.is(Kind::kObject) ? base : Value::object();
  for (const Value::Member& member : over.members()) {
    if (member.second.is(Kind::kNull)) {
      std::erase_if(out.members(), [&](const Value::Member& m) { return m.first == member.first; });
      continue;
    }
    const Value* below_it = out.find(member.first);
    Value next = layered(below_it == nullptr ? Value() : *below_it, member.second);
    out.set(member.first, std::move(next));
  }
  return out;
}

bool same(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kBool: return a.as_bool() == b.as_bool();
    case Kind::kString: return a.as_string() == b.as_string();
    case Kind::kArray:
      return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                        [](const Value& x, const Value& y) { return same(x, y); });
    case Kind::kObject: {
      const auto counted = [](const Value& v) {
        return std::count_if(v.members().begin(), v.members().end(),
                             [](const Value::Member& m) { return !is_comment(m.first); });
      };
      return counted(a) == counted(b) &&
             std::all_of(a.members().begin(), a.members().end(), [&b](const Value::Member& m) {
               const Value* other = b.find(m.first);
               return is_comment(m.first) || (other != nullptr && same(m.second, *other));
             });
    }
    default: return true;
  }
}

Value differing(const Value& base, const Value& over) {
  if (!over.is(Kind::kObject)) return over;
  Value out = Value::object();
  for (const auto& [name, value] : over.members()) {
    if (is_comment(name)) continue;
    const Value* old = base.find(name);
    if (value.is(Kind::kNull)) {
      if (old != nullptr) out.set(name, value);
      continue;
    }
    if (old != nullptr && same(*old, value)) continue;
    if (!has_members(&value)) {
      out.set(name, value);
      continue;
    }
    Value part = differing(old == nullptr ? Value() : *old, value);
    if (!part.members().empty()) out.set(name, std::move(part));
  }
  return out;
}

std::vector<Change> changes(const Value& before, const Value& after) {
  std::vector<Change> out;
  collect("", &before, &after, out);
  return out;
}

Value to_json(const std::vector<Change>& changes) {
  Value out = Value::array();
  for (const Change& change : changes) {
    out.add(Value::object().set("key", change.key).set("from", change.from).set("to", change.to));
  }
  return out;
}

const Value* find_key(const Value& from, std::string_view key) {
  const Value* at = &from;
  while (at != nullptr && !key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    at = at->find(key.substr(0, dot));
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return at;
}

Status set_key(Value& in, std::string_view key, Value value) {
  const std::size_t dot = std::min(key.find('.'), key.size());
  const std::string name(key.substr(0, dot));
  if (name.empty()) {
    return fail(Code::kInvalid, "a key is names with dots between, like power.cap");
  }
  if (dot == key.size()) {
    in.set(name, std::move(value));
    return {};
  }
  const Value* there = in.find(name);
  if (there != nullptr && !there->is(Kind::kObject) && !there->is(Kind::kNull)) {
    return fail(Code::kInvalid, "nothing stands below " + name + ": it is no object");
  }
  Value below_it = has_members(there) ? *there : Value::object();
  LAIRD_TRY(set_key(below_it, key.substr(dot + 1), std::move(value)));
  in.set(name, std::move(below_it));
  return {};
}

void erase_key(Value& in, std::string_view key) {
  const std::size_t dot = std::min(key.find('.'), key.size());
  const std::string_view name = key.substr(0, dot);
  std::erase_if(in.members(), [&](Value::Member& member) {
    if (member.first != name) return false;
    if (dot == key.size()) return true;
    if (!member.second.is(Kind::kObject)) return false;
    erase_key(member.second, key.substr(dot + 1));
    return member.second.members().empty();
  });
}

std::string_view why_locked(std::string_view key) {
  for (const std::string_view open : kChangeable) {
    if (covers(open, key)) return {};
  }
  for (const Locked& locked : kLocked) {
    if (covers(locked.key, key)) return locked.why;
  }
  return kUnlisted;
}

void refuse_locked(const std::vector<Change>& changes, Value& wanted,
                   std::vector<config::Problem>& problems) {
  for (const Change& change : changes) {
    const std::string_view why = why_locked(change.key);
    if (why.empty()) continue;
    problems.push_back({"", 0, change.key, "locked: " + std::string(why)});
    if (why != kUnlisted) erase_key(wanted, change.key);
  }
}

Value shown(const Value& settings) {
  Value out = without_comments(settings);
  const Value* trainers = out.find("trainers", Kind::kObject);
  if (trainers == nullptr) return out;
  Value without = *trainers;
  for (auto& [name, trainer] : without.members()) {
    const Value* env = trainer.find("env", Kind::kObject);
    if (env == nullptr) continue;
    Value hidden = *env;
    for (auto& [variable, value] : hidden.members()) value = Value::string("(hidden)");
    trainer.set("env", std::move(hidden));
  }
  out.set("trainers", std::move(without));
  return out;
}

}  // namespace laird::agent
