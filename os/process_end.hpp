// How a program ends that may have left threads behind.
#pragma once

namespace laird {

// Writes out what stdio still holds and ends the process at once: no destructor of a global object
// and no atexit handler runs. A connection that does not end in time leaves its threads behind, in
// Paho and OpenSSL, and what they use must not be taken down under them.
[[noreturn]] void end_process(int code);

}  // namespace laird
