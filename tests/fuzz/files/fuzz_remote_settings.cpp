// Whatever stands in the file of remote settings is refused or is one that reads back as it was
// written; laid over a board's file it changes nothing that is locked.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/settings/remote_settings.hpp"
#include "agent/settings/trial.hpp"
#include "base/require.hpp"
#include "json/value.hpp"

namespace {

using namespace laird;

const json::Value& base() {
  static const json::Value value =
      *json::parse(R"({"node": "n-1", "power": {"cap": "10W"}, "slice": "1s"})", "base");
  return value;
}

void check_layered(const json::Value& over) {
  json::Value wanted = over;
  const std::vector<agent::Change> changes = agent::changes(base(), agent::layered(base(), wanted));
  std::vector<config::Problem> problems;
  agent::refuse_locked(changes, wanted, problems);
  for (const agent::Change& change : agent::changes(base(), agent::layered(base(), wanted))) {
    LAIRD_REQUIRE(agent::why_locked(change.key).empty(), "what is left changes nothing locked");
  }
  static_cast<void>(agent::shown(wanted));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::ParseLimits limits;
  limits.bytes_max = 4 * agent::kRemoteSettingsBytesMax;
  const Result<json::Value> value = json::parse(text, "remote settings", limits);
  if (!value) return 0;
  if (value->is(json::Kind::kObject)) check_layered(*value);
  const Result<agent::RemoteSettings> read = agent::remote_settings_from(*value);
  if (!read) {
    LAIRD_REQUIRE(!read.error().context.empty(), "a refusal has words");
    return 0;
  }
  const Result<agent::RemoteSettings> again = agent::remote_settings_from(agent::to_json(*read));
  LAIRD_REQUIRE(again.has_value(), "what was read can be written");
  LAIRD_REQUIRE(agent::same(agent::to_json(*again), agent::to_json(*read)), "and is the same");
  const agent::RemoteSettings started = agent::at_start(*read);
  LAIRD_REQUIRE(!started.trial || started.trial->begun, "a trial that is left is begun");
  return 0;
}
