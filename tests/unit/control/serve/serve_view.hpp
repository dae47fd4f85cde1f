// Messages of boards for the tests of the live page.
#pragma once

#include <string>

#include "control/fleet/fleet_view.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::test {

inline void tell(control::FleetView& view, const std::string& node, mqtt::TopicKind kind,
                 const std::string& payload, const std::string& name = "") {
  view.take({kind, "lab", node, name}, payload);
}

inline void tell_board(control::FleetView& view, const std::string& node,
                       mqtt::NodeState state = mqtt::NodeState::kReady) {
  tell(view, node, mqtt::TopicKind::kStatus, mqtt::to_text(mqtt::NodeStatus{state, 1, 1}));
  mqtt::NodeReport report;
  report.power_mw = {0, 8'000, 2'000, 30'000, 12'000};
  report.power_mw_now = 5'000;
  tell(view, node, mqtt::TopicKind::kReport, mqtt::to_text(report));
}

inline void tell_power(control::FleetView& view, const std::string& node, int second,
                       double watts) {
  tell(view, node, mqtt::TopicKind::kTelemetry,
       R"({"s":"laird.tele/1.0","epoch":1,"ts":"2026-11-18T17:00:00.000Z","mono_ms":)" +
           std::to_string(second * 1000) + R"(,"power_mean_w":)" + std::to_string(watts) +
           R"(,"limit_w":8.0,"limit_by":"fleet","temperature_c":51.5,"gpu_load":0.7,"running":[]})",
       "power");
}

inline void tell_task(control::FleetView& view, const std::string& node, const std::string& name,
                      const std::string& state, double chance, const std::string& reason = "") {
  tell(
      view, node, mqtt::TopicKind::kTask,
      R"({"s":"laird.task/1.0","ts":"2026-11-18T17:00:00.000Z","name":")" + name +
          R"(","lane":"cpu","state":")" + state +
          R"(","samples":10,"loss":0.5,"target_loss":0.1,"deadline_in_s":60,"forecast":{"loss":0.2,)"
          R"("probability":)" +
          std::to_string(chance) + R"(},"reason":")" + reason + R"("})",
      name);
}

}  // namespace laird::test
