// How the files of a journal are named, and which of them a folder holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace laird::journal {

// "journal-000012-20261116.db": the number keeps the order even when the clock goes back.
struct FileName {
  std::uint64_t number = 0;
  std::string day;
};

[[nodiscard]] std::string to_text(const FileName& name);
// Nothing when no journal writes a file of this name.
[[nodiscard]] std::optional<FileName> parse_file_name(const std::string& text);

// Journal files of a folder, oldest first.
[[nodiscard]] std::vector<std::string> files_in(const std::string& folder);

}  // namespace laird::journal
