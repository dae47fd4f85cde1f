// Every wait of the share ledger, in one place: how long a board, a neighbour or a keeper of the
// register waits before it repeats, gives up or takes over, and how those waits fit into the lease.
//
// Unit: ticks, the interval at which every ledger speaks to its neighbours (setting fleet.tick).
// A packet takes at least one tick, so a question and its answer take two. Waits that depend on the
// lease are functions of it. docs/ledger.md tells the order in which a death is noticed and
// entered: a neighbour falls silent, is suspected, is probed, its edges are closed, it is declared
// dead, and its shares are settled. Everything between the last message and the settlement should
// fit into the lease and kSettlementSlackTicks; the assertions below hold that together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace laird::consensus {

// --- Edges ---

// The shortest lease a ledger accepts. The agent's settings ask for more (kLeaseTicksMin in
// agent/core/state/limits.hpp), because under losses a lease needs many tries.
inline constexpr int kLedgerLeaseTicksMin = 8;
// The end of the lease that is kept for the exchange that follows the closing of an edge: the
// closing reaches the keepers, a version with the death is agreed on, its shares are settled.
inline constexpr int kSettlementTicks = 18;
// A dead board's shares should be settled within the lease and this much after its last message.
// The lab reports every run that takes longer.
inline constexpr int kSettlementSlackTicks = 10;
// An edge on which the peer was never heard is closed after this much silence: the peer may have
// died between the proposal of the edge and its decision.
inline constexpr int kNeverHeardTicks = 12;
// A board tells the keepers that a neighbour is silent this long before it closes the edge, so that
// the keepers have probed the neighbour by the time the closing reaches them.
inline constexpr int kSuspicionLeadTicks = 10;
// A board that leaves the fleet hands its shares over by grants for at most this long, and closes
// its edges then.
inline constexpr int kLeaveTicks = 30;

// How long a neighbour may be silent before its edge is closed: the lease less the time that the
// settlement takes, but never less than half of the lease.
constexpr DurationNs silence_limit(DurationNs lease, DurationNs tick) {
  return lease - std::min(lease / 2, kSettlementTicks * tick);
}
// What two clocks can drift apart during a duration, each being off by at most `drift_ppm`.
constexpr DurationNs drift_over(DurationNs duration, std::uint32_t drift_ppm) {
  return duration / 1'000'000 * 2 * drift_ppm;
}
// How long an acknowledged message keeps its sender unfenced, counted from the sending. The peer
// counts its silence limit from the arrival, on its own clock; the sender looks once per tick. So
// this is shorter by the drift of both clocks and by a tick, and the sender is fenced first.
constexpr DurationNs fence_age(DurationNs silence, DurationNs tick, std::uint32_t drift_ppm) {
  return silence - drift_over(silence, drift_ppm) - tick;
}
// How long before an edge with that limit of silence is closed the keepers hear of the silence.
constexpr DurationNs suspicion_lead(DurationNs limit, DurationNs tick) {
  return std::min(limit / 2, kSuspicionLeadTicks * tick);
}

// --- Requests of an account to the keepers of the register ---

// An urgent request (an edge to close, a quorum to change, to enter or to leave) is repeated every
// tick at first, then every kPatientTicks.
inline constexpr int kUrgentTicks = 16;
inline constexpr int kPatientTicks = 2;
// A missing edge is asked for this often while the register still changes, and seldom after that:
// the other end may be gone for good.
inline constexpr int kWantedTicks = 6;
inline constexpr int kSeldomTicks = 30;
// An urgent request that has stayed without an effect for this long is also sent to other members,
// one per tick, which know the present keepers.
inline constexpr int kReferralTicks = 6;

// A board that asks for nothing still tells one keeper which version it has heard of, this often.
constexpr DurationNs reminder_interval(DurationNs silence) { return silence / 3; }

// --- Suspicions of a keeper of the register ---

// A suspected account that has not answered for this long counts as unresponsive.
inline constexpr int kUnresponsiveTicks = 6;
// If versions find no quorum, only accounts that have been silent for this long are declared dead:
// of many accounts in doubt each keeper has missed the answers of others, and none would find the
// votes for all the deaths that it sees.
inline constexpr int kSurelyUnresponsiveTicks = 18;
// An account that is unresponsive for this long loses its turn to propose even if only one
// neighbour suspects it.
inline constexpr int kLongUnresponsiveTicks = 60;
// An edge is opened only to an account that was heard within this time.
inline constexpr int kHeardLatelyTicks = 8;
// Only an answer to a probe of the last so many ticks shows that its author lives: an older answer
// may have been under way for longer than the account lived.
inline constexpr int kAnswerTicks = 10;
// Numbers of probes; at one probe per second they repeat after 24 days.
inline constexpr std::uint32_t kProbeNumbers = (1U << 21) - 1;

// --- Ballots of the keepers of the register ---

// A request that its author has not repeated for this long is dropped; a contact and a reported
// suspicion are forgotten after as long.
inline constexpr int kRequestTicks = 12;
// Questions and votes of a round are repeated at this interval.
inline constexpr int kRepeatTicks = 1;
// A proposer waits at most this long for closings that are about to arrive, so that all closings
// and the death they lead to are entered in one version.
inline constexpr int kGatherTicks = 6;
// Each keeper waits this much longer than the one before it in line before it asks for the floor.
inline constexpr int kRankTicks = 8;
// Contested rounds make the keepers in line wait longer: by kRankTicks each for every round, up to
// so many rounds.
inline constexpr int kRoundsApartMax = 1;
// A question or a vote that is older than this is sent twice in a tick: messages are being lost.
inline constexpr int kTwiceTicks = 3;
// A proposal that is undecided for this long is passed on by those that voted for it.
inline constexpr int kPassOnTicks = 4;
// A round that finds no majority within this time is given up.
inline constexpr int kRoundTicks = 22;

// --- Founding ---

inline constexpr int kRollCallTicks = 4;      // between repetitions of a roll call or a founding
inline constexpr int kFoundingTicksMax = 60;  // then the roll call or the founding starts over
// A board that waits for this long to be entered, or for a request to have an effect, suspects that
// the register is lost, and asks for a roll call.
constexpr DurationNs register_patience(DurationNs lease) { return 2 * lease; }

// --- How the waits fit together ---

namespace timing_checks {

constexpr DurationNs kTick = kSecond;
constexpr DurationNs kShortest = kLedgerLeaseTicksMin * kTick;
constexpr std::uint32_t kDriftPpm = 200;  // of an ordinary board; see LedgerConfig

static_assert(fence_age(silence_limit(kShortest, kTick), kTick, kDriftPpm) > 2 * kTick,
              "a message and its acknowledgement must fit before the fence at every lease");
static_assert(suspicion_lead(silence_limit(kShortest, kTick), kTick) <
                  silence_limit(kShortest, kTick),
              "a neighbour is suspected only after some silence");
static_assert(kSettlementTicks >= kGatherTicks + kRankTicks + 4,
              "after a closing: a version that waits for others, a keeper that takes over from an "
              "unresponsive owner, and two exchanges");
static_assert(kSuspicionLeadTicks > kUnresponsiveTicks,
              "on a long lease the keepers know who is unresponsive before the closings arrive");
static_assert(kHeardLatelyTicks <= kRequestTicks, "a contact must be remembered while it counts");
static_assert(kAnswerTicks <= kRequestTicks,
              "an answer counts no longer than a contact is remembered");
static_assert(kPatientTicks < kRequestTicks && kWantedTicks < kRequestTicks,
              "a request is repeated before the keepers drop it");
static_assert(kRepeatTicks <= kTwiceTicks && kTwiceTicks < kPassOnTicks &&
                  kPassOnTicks < kRankTicks && 2 * kRankTicks < kRoundTicks,
              "repeat, repeat twice, pass on, let the next in line try, give up: in this order");
static_assert(kGatherTicks < kRankTicks,
              "a proposer that waits for closings is not overtaken by the next in line");
static_assert(kRollCallTicks < kFoundingTicksMax, "a roll call is repeated before it is given up");

}  // namespace timing_checks

}  // namespace laird::consensus
