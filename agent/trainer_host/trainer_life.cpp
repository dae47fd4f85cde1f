#include "agent/trainer_host/trainer_life.hpp"

#include <algorithm>
#include <array>

namespace laird::agent {
namespace {

using S = LifeStage;
using E = LifeEvent;

struct Transition {
  S from;
  E event;
  S to;
};

constexpr std::array kTransitions = {
    Transition{S::kStarting, E::kReady, S::kIdle},
    Transition{S::kStarting, E::kKilled, S::kDying},

    Transition{S::kIdle, E::kGranted, S::kWorking},
    Transition{S::kIdle, E::kReported, S::kIdle},
    Transition{S::kIdle, E::kYielded, S::kIdle},  // the grant ended while it said so
    Transition{S::kIdle, E::kCheckpointed, S::kIdle},
    Transition{S::kIdle, E::kDone, S::kIdle},
    Transition{S::kIdle, E::kSpokeToPeers, S::kIdle},
    Transition{S::kIdle, E::kKilled, S::kDying},

    Transition{S::kWorking, E::kGranted, S::kWorking},
    Transition{S::kWorking, E::kReported, S::kWorking},
    Transition{S::kWorking, E::kGrantSpent, S::kIdle},
    Transition{S::kWorking, E::kYielded, S::kIdle},
    Transition{S::kWorking, E::kCheckpointed, S::kWorking},
    Transition{S::kWorking, E::kDone, S::kWorking},
    Transition{S::kWorking, E::kSpokeToPeers, S::kWorking},
    Transition{S::kWorking, E::kKilled, S::kDying},

    Transition{S::kDying, E::kReady, S::kDying},
    Transition{S::kDying, E::kReported, S::kDying},
    Transition{S::kDying, E::kGrantSpent, S::kDying},
    Transition{S::kDying, E::kYielded, S::kDying},
    Transition{S::kDying, E::kCheckpointed, S::kDying},
    Transition{S::kDying, E::kDone, S::kDying},
    Transition{S::kDying, E::kSpokeToPeers, S::kDying},
    Transition{S::kDying, E::kGranted, S::kDying},
    Transition{S::kDying, E::kKilled, S::kDying},
};

}  // namespace

std::string_view name(LifeEvent event) {
  switch (event) {
    case E::kReady: return "ready";
    case E::kReported:
    case E::kGrantSpent: return "progress";
    case E::kYielded: return "yield";
    case E::kCheckpointed: return "checkpointed";
    case E::kDone: return "done";
    case E::kSpokeToPeers: return "share";
    case E::kGranted: return "run";
    case E::kKilled: return "kill";
  }
  return "unknown";
}

std::optional<LifeStage> next_stage(LifeStage stage, LifeEvent event) {
  const auto found =
      std::find_if(kTransitions.begin(), kTransitions.end(),
                   [&](const Transition& t) { return t.from == stage && t.event == event; });
  if (found == kTransitions.end()) return std::nullopt;
  return found->to;
}

}  // namespace laird::agent
