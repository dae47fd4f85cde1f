// Assertions for bugs, kept in release builds: a wrong program must stop, not go on with wrong
// shares. Input from outside never reaches one; it is checked and refused with an Error first.
#pragma once

namespace laird {

[[noreturn]] void require_failed(const char* condition, const char* why, const char* file,
                                 int line);

}  // namespace laird

#define LAIRD_REQUIRE(condition, why) \
  ((condition) ? static_cast<void>(0) \
               : ::laird::require_failed(#condition, (why), __FILE__, __LINE__))
