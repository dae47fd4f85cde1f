// Instances as JSON: "laird.placement/1" (docs/placement.md).
#pragma once

#include <string>
#include <vector>

#include "agent/placement/planner/instance.hpp"
#include "json/value.hpp"

namespace laird::placement {

struct ReadInstance {
  Instance instance;
  std::string hash;                  // names the instance: hash_of the document
  std::vector<std::string> ignored;  // keys that this format does not have, each in words
};

[[nodiscard]] Result<ReadInstance> read_instance(const json::Value& document);
[[nodiscard]] json::Value instance_json(const Instance& instance);

// The document with its keys sorted and without spaces.
[[nodiscard]] std::string canonical_text(const json::Value& document);
// The first 16 hexadecimal digits of the SHA-256 of the canonical text.
[[nodiscard]] std::string hash_of(const json::Value& document);

// What a document of an instance or a plan may be at most.
[[nodiscard]] json::ParseLimits instance_limits();

}  // namespace laird::placement
