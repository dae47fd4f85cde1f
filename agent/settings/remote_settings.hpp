// Settings that came over the network, as a layer over the board's own file.
//
// The file (/etc/laird/laird.json) belongs to whoever is root on the board, and the agent cannot
// write it. What operators change is kept in the state folder, as the remote settings: objects are
// merged key by key, everything else replaces, and null means "as if the file did not say it". Only
// settings that remote_settings.cpp lists may differ from the file: a setting that is added later
// is locked until somebody lists it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/schema.hpp"
#include "json/value.hpp"

namespace laird::agent {

inline constexpr std::size_t kRemoteSettingsBytesMax = 32 * 1024;
inline constexpr std::size_t kRemoteSettingsKeysMax = 256;

[[nodiscard]] json::Value layered(const json::Value& base, const json::Value& over);
// The same value, whatever the order of keys; comments do not count, nor how a number is written.
[[nodiscard]] bool same(const json::Value& a, const json::Value& b);
// The part of `over` that changes something of `base`.
[[nodiscard]] json::Value differing(const json::Value& base, const json::Value& over);

struct Change {
  std::string key;   // "power.cap"
  json::Value from;  // null: it was not there
  json::Value to;    // null: it is not there any more
};
// Setting by setting; a list counts as one.
[[nodiscard]] std::vector<Change> changes(const json::Value& before, const json::Value& after);
[[nodiscard]] json::Value to_json(const std::vector<Change>& changes);

// A setting by its key, nullptr when it is not there.
[[nodiscard]] const json::Value* find_key(const json::Value& from, std::string_view key);
// Makes the objects on the way; refuses an empty level and a way through what is no object.
[[nodiscard]] Status set_key(json::Value& in, std::string_view key, json::Value value);
// Takes it out, with the objects that it leaves empty.
void erase_key(json::Value& in, std::string_view key);

// Why the setting cannot be changed over the network; empty when it can.
[[nodiscard]] std::string_view why_locked(std::string_view key);
// A problem for each change of a locked setting. What was asked for in `wanted` there is taken out
// of it: nobody learns from the check of the rest whether a file or a program exists.
void refuse_locked(const std::vector<Change>& changes, json::Value& wanted,
                   std::vector<config::Problem>& problems);

// For showing: without comments, and without the values of trainers' environment variables, which
// may hold what is nobody's business.
[[nodiscard]] json::Value shown(const json::Value& settings);

}  // namespace laird::agent
