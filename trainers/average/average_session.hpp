// `laird-train average`: between the agent and a trainer that is no built-in one and takes part in
// a co-training task. docs/trainer-protocol.md, "Averaging".
//
// The trainer gives it the agent's socket and speaks with it instead, by its standard input and
// output. Lines pass through in both directions, but for those about other boards, which stay here;
// and the trainer has one question more, `average`.
#pragma once

namespace laird::trainers {

// `agent` is the socket to the agent; standard input and output lead to the trainer. The exit code.
[[nodiscard]] int run_average_session(int agent);

}  // namespace laird::trainers
