#include "agent/core/state/effect.hpp"

#include "agent/core/state/variant_archive.hpp"

namespace laird::core {

void RunTrainer::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(until);
  ar(cpu_milli);
}

void LimitTrainer::archive(Archive& ar) {
  ProcessRef::archive(ar);
  ar(cpu_milli);
}

void SetPowerKnob::archive(Archive& ar) {
  ar.bounded(rung, power::Rung::kNvpmodel);
  ar(level_permille);
}

void Answer::archive(Archive& ar) {
  ar(request);
  ar(ok);
  ar.bounded(code, Code::kIo);
  ar(key);
  ar.text(text, kReasonBytesMax);
}

void TaskChanged::archive(Archive& ar) {
  ar(key);
  ar.bounded(state, TaskState::kEnded);
  ar.bounded(outcome, Outcome::kMoved);
}

void SendToPeer::archive(Archive& ar) {
  ar.text(to, kNameBytesMax);
  ar.text(bytes, kPeerMessageBytesMax);
}

void SendTitle::archive(Archive& ar) {
  ar.text(to, kNameBytesMax);
  ar.text(bytes, kTitlePacketBytesMax);
}

void SendRun::archive(Archive& ar) {
  ar.text(to, kNameBytesMax);
  ar.text(bytes, kPeerMessageBytesMax);
}

void Notice::archive(Archive& ar) {
  ar.bounded(kind, NoticeKind::kMove);
  ar.text(text, kReasonBytesMax);
}

void Effect::archive(Archive& ar) { archive_variant(ar, body); }

}  // namespace laird::core
