// How much an account may grant beyond what the register knows it to hold.
//
// Grants pass between neighbours and the register hears of them only when an edge is closed. So an
// account that passes shares on has to be trusted for a while: its neighbours count what it says it
// granted before anybody can know that it had it. The register therefore gives each end of an edge
// a limit when it opens the edge. The receiver counts no more than the limit, an honest giver
// grants no more, and an edge is closed only with numbers inside the limits of its two ends.
//
// Invariant: for every node, the limits of its edges, the debts of its accounts (a base below
// nothing) and what others have inherited of such debts never make more than the base of its living
// account and the allowance. So a member that grants what it does not have adds at most the
// allowance to what the others use, however often its edges are closed and opened and however many
// incarnations it goes through. docs/ledger.md, "The limits of an edge", has the proof.
#pragma once

#include "consensus/register.hpp"

namespace laird::consensus {

// The number of living accounts that limits are computed with: up to eight the number itself, above
// that the next one of 12, 16, 24, 32, 48 and so on. Few different limits make a short register.
[[nodiscard]] std::size_t rounded_fleet(std::size_t living);
// The most that the limit of one end of an edge can be: half of an equal share,
// and all of it up to three accounts.
[[nodiscard]] Parts tie_limit(std::size_t living);
// How much the limits and debts of a node may make beyond its base: two equal shares, and less in a
// fleet of up to four.
[[nodiscard]] Parts allowance(std::size_t living);
// The limit of each of `ties` ends that nothing was given to yet, if that much credit is left for
// them all. It is a multiple of a small part of tie_limit, so that a register has few different
// ones.
[[nodiscard]] Parts even_limit(std::size_t living, Parts credit, std::size_t ties);
// What the node has used of its allowance: the limits of the edges of all its accounts and its
// settled debts, less what its living account has as its base; a base below nothing adds to it,
// that of a dead account too. The resource that is worst off counts.
[[nodiscard]] Parts credit_used(const Register& value, NodeId node);

}  // namespace laird::consensus
