#include "os/process_end.hpp"

#include <cstdio>
#include <cstdlib>

namespace laird {

void end_process(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace laird
