#include "base/require.hpp"

#include <cstdio>
#include <cstdlib>

namespace laird {

void require_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "laird: bug: %s (%s) at %s:%d\n", why, condition, file, line);
  std::abort();
}

}  // namespace laird
