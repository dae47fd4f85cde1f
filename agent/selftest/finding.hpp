// What one check of the self-test found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.hpp"

namespace laird::agent::selftest {

enum class Outcome : std::uint8_t {
  kPassed,
  kFailed,
  kSkipped,  // this machine does not have what it is about, or does not allow it
};

[[nodiscard]] constexpr std::string_view name(Outcome outcome) {
  constexpr std::string_view kNames[] = {"passed", "failed", "skipped"};
  return kNames[static_cast<std::size_t>(outcome)];
}

struct Finding {
  std::string check;  // "meters"
  Outcome outcome = Outcome::kPassed;
  std::string said;    // one line for people, with the figures
  std::string remedy;  // what to do, where there is something to do
  json::Value measured = json::Value::object();
};

[[nodiscard]] inline Finding passed(std::string check, std::string said) {
  return {std::move(check), Outcome::kPassed, std::move(said), {}, json::Value::object()};
}
[[nodiscard]] inline Finding failed(std::string check, std::string said, std::string remedy) {
  return {std::move(check), Outcome::kFailed, std::move(said), std::move(remedy),
          json::Value::object()};
}
[[nodiscard]] inline Finding skipped(std::string check, std::string why) {
  return {std::move(check), Outcome::kSkipped, std::move(why), {}, json::Value::object()};
}

}  // namespace laird::agent::selftest
