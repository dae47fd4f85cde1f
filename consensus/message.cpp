#include "consensus/message.hpp"

namespace laird::consensus {

// The probe that a request answers (echo) is not kept: an answer counts when it arrives.
void RequestBody::archive(Archive& ar) {
  ar(version);
  if (ar.since(3)) ar(serial);
  if (!ar.since(5)) {
    std::uint32_t members = 0;  // the length of the sender's member list
    ar(members);
  }
  ar(quorum_revision);
  ar(quorum);
  ar(leave);
  std::uint32_t n = static_cast<std::uint32_t>(wanted.size());
  ar(n);
  if (ar.reading()) {
    if (n > kEdgesMax) return ar.fail();
    wanted.resize(n);
  }
  for (NodeId& w : wanted) ar(w);
  ar.sequence(closings, kEdgesMax);
  if (ar.since(5)) ar.sequence(renewals, kEdgesMax);
  ar.sequence(silent, kEdgesMax);
}

}  // namespace laird::consensus
