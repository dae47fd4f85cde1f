// A page of a log file that may be written, and begun anew, while it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace laird::agent {

struct LogPage {
  std::int64_t from = 0;  // where in the file the page begins
  std::int64_t next = 0;  // where the next one will begin
  std::int64_t size = 0;  // of the file, now
  std::string bytes;
};

// A page and its Base64 fit one message, with room for what is around it.
inline constexpr std::int64_t kLogPageBytesMax = 24 * 1024;

// The page that begins at `from`; without one, the last page, from the beginning of a line on. A
// place beyond the end is in a file that was begun anew since: the new one is read from its
// beginning.
[[nodiscard]] Result<LogPage> read_log_page(const std::string& path,
                                            std::optional<std::int64_t> from);

}  // namespace laird::agent
