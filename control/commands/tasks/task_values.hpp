// Values of a task that are given on the command line, in place of the file's.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::control {

// "params.lr=0.01": the value is JSON where it reads as such, else a text.
[[nodiscard]] Status set_by_path(json::Value& task, const std::string& assignment);

struct Variant {
  json::Value task;
  std::string words;  // "params.lr=0.1"; empty without a sweep
};
// A task for each combination of the values of "params.lr=0.1,0.01" and its like: NAME-1, NAME-2
// and so on. Without a sweep, the task itself.
[[nodiscard]] Result<std::vector<Variant>> swept(const json::Value& task,
                                                 const std::vector<std::string>& sweeps);

}  // namespace laird::control
