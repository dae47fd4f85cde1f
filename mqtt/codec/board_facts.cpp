#include "mqtt/codec/board_facts.hpp"

namespace laird::mqtt {

using json::Value;

namespace {

Value watts(std::int64_t mw) { return Value::number(static_cast<double>(mw) / 1e3); }

Value hardware_json(const NodeHardware& of) {
  return Value::object()
      .set("cpu_cores", of.cpu_cores)
      .set("cpu_mhz", of.cpu_mhz)
      .set("cuda_cores", of.cuda_cores)
      .set("gpu_mhz", of.gpu_mhz)
      .set("memory_gb_s", of.memory_gb_s)
      .set("idle_w", watts(of.idle_mw))
      .set("gpu_w", watts(of.gpu_mw))
      .set("cpu_w", watts(of.cpu_mw));
}

Value work_json(const NodeWork& of) {
  Value out = Value::object()
                  .set("trainer", of.trainer)
                  .set("work", of.work)
                  .set("lane", of.lane)
                  .set("samples_per_s", of.samples_per_s)
                  .set("runs", of.runs);
  if (of.samples > 0.0) out.set("samples", of.samples).set("target_loss", of.target_loss);
  return out;
}

}  // namespace

std::string to_text(const NodeInfo& info, const BoardFacts& facts) {
  Value kinds = Value::array();
  for (const std::string& kind : facts.lane_kinds) kinds.add(kind);
  Value works = Value::array();
  for (const NodeWork& work : facts.works) works.add(work_json(work));
  return json::to_text(to_json(info)
                           .set("module", facts.module)
                           .set("hardware", hardware_json(facts.hardware))
                           .set("lane_kinds", std::move(kinds))
                           .set("works", std::move(works)));
}

}  // namespace laird::mqtt
