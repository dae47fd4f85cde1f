#include "agent/core/event.hpp"

#include "agent/core/variant_archive.hpp"

namespace laird::core {

void LaneConfig::archive(Archive& ar) {
  ar.text(name, kNameBytesMax);
  ar.bounded(kind, LaneKind::kCpu);
  ar(cores_milli);
}

void TrainerTiming::archive(Archive& ar) {
  ar(start_timeout);
  ar(hang_timeout);
  ar(pause_timeout);
  ar(stop_grace);
  ar(checkpoint_every);
  ar(backoff_min);
  ar(backoff_max);
  ar(attempts_max);
}

void CoreConfig::archive(Archive& ar) {
  ar.text(node, kNameBytesMax);
  ar.sequence(lanes, kLanesMax);
  ar(memory_bytes);
  ar.sequence(trainers, kTrainersMax);
  ar.text(policy, kNameBytesMax);
  ar(slice);
  ar(timing);
  ar(seed);
}

void Booted::archive(Archive& ar) {
  ar(wall_ns);
  ar(config);
}

void Submitted::archive(Archive& ar) {
  ar(request);
  ar(spec);
}

namespace {

void archive_request(Archive& ar, std::uint64_t& request, std::string& task) {
  ar(request);
  ar.text(task, kNameBytesMax);
}

}  // namespace

void CancelRequested::archive(Archive& ar) { archive_request(ar, request, task); }
void HoldRequested::archive(Archive& ar) { archive_request(ar, request, task); }
void ReleaseRequested::archive(Archive& ar) { archive_request(ar, request, task); }

void TrainerReady::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(samples);
  ar(planned_samples);
}

void TrainerProgressed::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(samples);
  ar(loss);
}

void TrainerCheckpointed::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(samples);
}

void TrainerFailed::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar.text(why, kReasonBytesMax);
}

void TrainerExited::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(exit_code);
}

void Event::archive(Archive& ar) {
  ar(at);
  archive_variant(ar, body);
}

std::string clipped(std::string text) {
  if (text.size() <= kReasonBytesMax) return text;
  std::size_t end = kReasonBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

bool is_promise(const EventBody& body) {
  return std::holds_alternative<Submitted>(body) || std::holds_alternative<CancelRequested>(body) ||
         std::holds_alternative<HoldRequested>(body) ||
         std::holds_alternative<ReleaseRequested>(body);
}

}  // namespace laird::core
