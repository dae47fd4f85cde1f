// What lairctl hears from boards and brokers: any bytes on any of the topics it listens to.
#include <cstdint>
#include <string_view>

#include "control/fleet/fleet_view.hpp"
#include "control/screen/output.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/codec/topics.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird;
  using mqtt::TopicKind;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto reply = mqtt::parse_reply(bytes)) {
    // What is shown of it holds nothing that a terminal would obey.
    for (const char c : control::harmless(reply->text)) {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') __builtin_trap();
    }
  }
  control::FleetView view;
  for (const TopicKind kind : {TopicKind::kStatus, TopicKind::kInfo, TopicKind::kReport,
                               TopicKind::kTask, TopicKind::kEvent, TopicKind::kFleetConfig}) {
    view.take({kind, "lab", kind == TopicKind::kFleetConfig ? "all" : "n-1", "some"}, bytes);
  }
  for (const auto& [name, board] : view.boards()) {
    static_cast<void>(board.number("shares/power/enforced_w"));
    static_cast<void>(board.flag("fenced"));
  }
  return 0;
}
