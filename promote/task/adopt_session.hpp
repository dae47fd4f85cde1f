// `laird-promote adopt`: the trainer of a task that trains nothing. It takes over a model that an
// operator pushed to the board, every file checked against model.json, so that the task's promotion
// finds it like one that was trained here.
#pragma once

namespace laird::promote {

// Speaks the trainer protocol on the socket; the program's exit code.
[[nodiscard]] int run_adoption(int fd);

}  // namespace laird::promote
