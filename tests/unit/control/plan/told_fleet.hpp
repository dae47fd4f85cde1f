// What boards say on their topics, for the tests.
#pragma once

#include <string>

#include "control/fleet/fleet_view.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::test {

inline void tell(control::FleetView& view, const std::string& board, mqtt::TopicKind kind,
                 const std::string& text, const std::string& name = {}) {
  mqtt::Topic topic;
  topic.kind = kind;
  topic.node = board;
  topic.name = name;
  view.take(topic, text);
}

inline void tell_board(control::FleetView& view, const std::string& board, const std::string& state,
                       int mhz) {
  tell(view, board, mqtt::TopicKind::kStatus,
       R"({"s":"laird.status/1.0","state":")" + state +
           R"(","epoch":1,"ts":"2026-11-16T07:16:53.850Z"})");
  tell(view, board, mqtt::TopicKind::kInfo,
       R"({"s":"laird.info/1.0","module":"m-)" + std::to_string(mhz) +
           R"(","lanes":["cpu0"],"lane_kinds":["cpu"],"trainers":["softmax"],)"
           R"("memory_bytes":1000000000,"hardware":{"cpu_cores":4,"cpu_mhz":)" +
           std::to_string(mhz) + R"(,"cpu_w":5}})");
}

inline void tell_task(control::FleetView& view, const std::string& board, const std::string& name,
                      const std::string& more) {
  tell(view, board, mqtt::TopicKind::kTask,
       R"({"s":"laird.task/1.0","epoch":1,"seq":1,"name":")" + name +
           R"(","lane":"cpu","trainer":"softmax","work":"w","memory_bytes":20000000,)" + more + "}",
       name);
}

}  // namespace laird::test
