#include "agent/core/state/event.hpp"

#include <algorithm>

#include "agent/core/state/variant_archive.hpp"

namespace laird::core {

void LaneConfig::archive(Archive& ar) {
  ar.text(name, kNameBytesMax);
  ar.bounded(kind, LaneKind::kCpu);
  ar(cores_milli);
}

void TrainerTiming::archive(Archive& ar) {
  ar(start_timeout);
  ar(hang_timeout);
  ar(preempt_timeout);
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
  ar(meter);
  ar(power);
  ar(seed);
  ar(fleet);
}

void Booted::archive(Archive& ar) {
  ar(wall_ns);
  ar(config);
  ar(machine_ns);
  ar(machine_boot);
  if (ar.since(3)) ar(program);
  if (ar.since(6)) ar(zone);
}

void ClockStepped::archive(Archive& ar) {
  ar(wall_ns);
  if (ar.since(6)) ar(zone);
}

void Submitted::archive(Archive& ar) {
  ar(request);
  ar(spec);
  if (ar.since(5)) ar(replace);
}

namespace {

void archive_request(Archive& ar, std::uint64_t& request, std::string& task) {
  ar(request);
  ar.text(task, kNameBytesMax);
}

}  // namespace

void CancelRequested::archive(Archive& ar) { archive_request(ar, request, task); }
void PauseRequested::archive(Archive& ar) { archive_request(ar, request, task); }
void ResumeRequested::archive(Archive& ar) { archive_request(ar, request, task); }
void RemoveRequested::archive(Archive& ar) { archive_request(ar, request, task); }

void EditRequested::archive(Archive& ar) {
  archive_request(ar, request, task);
  ar(deadline_add, deadline_after, deadline_wall, weight_milli);
  if (ar.since(6)) ar(window);
}

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

void TrainerYielded::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(for_ns);
}

void TrainerPromoted::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(promotion);
}

void GroupNoted::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar.text(note, kReasonBytesMax);
}

void MoveRequested::archive(Archive& ar) {
  ar(request);
  ar.text(task, kNameBytesMax);
  ar.text(to, kNameBytesMax);
}

void TitlesHeard::archive(Archive& ar) { ar.sequence(messages, kPeerMessagesMax); }

void RunsHeard::archive(Archive& ar) { ar.sequence(messages, kPeerMessagesMax); }

void CopiedFile::archive(Archive& ar) {
  ar.text(name, kFileNameBytesMax);
  ar.text(bytes, kCheckpointCopyBytesMax);
}

void CheckpointRead::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar.sequence(files, kCheckpointFilesMax);
  ar(too_large);
}

void DrainRequested::archive(Archive& ar) {
  ar(request);
  ar(drain);
}

void PeerMessage::archive(Archive& ar) {
  ar.text(from, kNameBytesMax);
  ar.text(bytes, kPeerMessageBytesMax);
}

void PeersHeard::archive(Archive& ar) { ar.sequence(messages, kPeerMessagesMax); }

void BudgetChanged::archive(Archive& ar) {
  ar(request);
  ar(budget);
}

void OperatorCommand::archive(Archive& ar) {
  ar(request);
  ar.text(by, kNameBytesMax);
  ar.text(id, kCommandIdBytesMax);
  ar(expires_wall);
  archive_variant(ar, body);
}

void CommandRefused::archive(Archive& ar) {
  ar.text(by, kNameBytesMax);
  ar.text(id, kCommandIdBytesMax);
  ar.text(verb, kNameBytesMax);
  ar.text(why, kReasonBytesMax);
}

void ConfigRequested::archive(Archive& ar) {
  ar(request);
  ar.text(what, kReasonBytesMax);
}

void ConfigNoted::archive(Archive& ar) { ar.text(text, kReasonBytesMax); }

void CapRequested::archive(Archive& ar) {
  ar(request);
  ar(cap_mw);
  ar(for_ns);
}

void PowerKnobSet::archive(Archive& ar) {
  ar.bounded(rung, power::Rung::kNvpmodel);
  ar.bounded(outcome, power::KnobResult::kPinned);
  ar(actual_permille);
  ar.text(note, kReasonBytesMax);
}

void Event::archive(Archive& ar) {
  ar(at);
  archive_variant(ar, body);
}

namespace {

// Bytes of the UTF-8 character at `at`, or 0 when there is none.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || size > text.size() - at) return 0;
  for (std::size_t i = at + 1; i < at + size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Longer than needed, half of a surrogate pair, or beyond the last character.
  const unsigned char second = byte(at + 1);
  const bool wrong = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                     (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return wrong ? 0 : size;
}

// Texts quote what trainers sent, and end up in JSON, logs and terminals.
void make_printable(std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_bytes(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (size == 0 || byte < 0x20 || byte == 0x7F) text[at] = '?';
    at += std::max<std::size_t>(size, 1);
  }
}

}  // namespace

std::string clipped(std::string text) {
  make_printable(text);
  if (text.size() <= kReasonBytesMax) return text;
  std::size_t end = kReasonBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

bool is_promise(const EventBody& body) {
  return std::holds_alternative<Submitted>(body) || std::holds_alternative<CancelRequested>(body) ||
         std::holds_alternative<PauseRequested>(body) ||
         std::holds_alternative<ResumeRequested>(body) ||
         std::holds_alternative<DrainRequested>(body) ||
         std::holds_alternative<FleetJoined>(body) || std::holds_alternative<Displaced>(body) ||
         std::holds_alternative<BudgetChanged>(body) ||
         std::holds_alternative<OperatorCommand>(body) ||
         std::holds_alternative<EditRequested>(body) ||
         std::holds_alternative<RemoveRequested>(body) ||
         std::holds_alternative<MoveRequested>(body) || std::holds_alternative<CapRequested>(body);
}

Status check_config(const CoreConfig& config) {
  if (config.lanes.empty() || config.lanes.size() > kLanesMax) {
    return fail(Code::kCorrupt, "the board has no lanes, or too many");
  }
  const TrainerTiming& t = config.timing;
  for (const DurationNs wait : {t.start_timeout, t.hang_timeout, t.preempt_timeout, t.stop_grace,
                                t.checkpoint_every, t.backoff_min, t.backoff_max}) {
    if (wait < 0 || wait > kWaitMax) return fail(Code::kCorrupt, "the config's waits are off");
  }
  if (config.slice < kSliceMin || config.slice > kSliceMax || config.memory_bytes < 0 ||
      config.memory_bytes > kMemoryBytesMax) {
    return fail(Code::kCorrupt, "the config's slice or memory is off");
  }
  if (!config.power.fits_limits()) return fail(Code::kCorrupt, "the config's power is off");
  const FleetConfig& fleet = config.fleet;
  if (fleet.tick < kTickMin || fleet.tick > kTickMax || fleet.lease < kLeaseTicksMin * fleet.tick ||
      fleet.lease > kLeaseMax) {
    return fail(Code::kCorrupt, "the config's tick or lease is off");
  }
  return check_fleet_budget(fleet.budget);
}

}  // namespace laird::core
