#include "agent/journal/file_names.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace laird::journal {

std::string to_text(const FileName& name) {
  char text[64];
  std::snprintf(text, sizeof text, "journal-%06llu-%s.db",
                static_cast<unsigned long long>(name.number), name.day.c_str());
  return text;
}

std::optional<FileName> parse_file_name(const std::string& text) {
  unsigned long long number = 0;
  char day[9] = {};
  if (std::sscanf(text.c_str(), "journal-%6llu-%8[0-9].db", &number, day) != 2) {
    return std::nullopt;
  }
  FileName out{number, day};
  if (to_text(out) != text) return std::nullopt;
  return out;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (const auto name = parse_file_name(entry.path().filename().string())) {
      found.emplace_back(name->number, entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  out.reserve(found.size());
  for (auto& [number, path] : found) out.push_back(std::move(path));
  return out;
}

}  // namespace laird::journal
