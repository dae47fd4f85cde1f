#include "agent/trainer_host/end_words.hpp"

#include <algorithm>

namespace laird::agent {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::int64_t kMegabyte = 1'000'000;

std::string megabytes(std::int64_t bytes) {
  return std::to_string((bytes + kMegabyte / 2) / kMegabyte) + " MB";
}

std::string out_of_memory(const TrainerEnd& end) {
  std::string text = "its trainer ran out of memory: it needed more than ";
  text += end.memory_limit_bytes > 0 ? "its " + megabytes(end.memory_limit_bytes) : "there was";
  if (end.memory.peak_bytes > 0) text += "; highest seen " + megabytes(end.memory.peak_bytes);
  return text;
}

}  // namespace

void LastWords::add(std::string_view printed) {
  printed.remove_prefix(printed.size() - std::min(printed.size(), kMost));
  bytes_ += printed;
  if (bytes_.size() > kMost) bytes_.erase(0, bytes_.size() - kMost);
}

std::string_view LastWords::line() const {
  const std::string_view all = bytes_;
  const std::size_t last = all.find_last_not_of(kSpace);
  if (last == std::string_view::npos) return {};
  const std::size_t newline = all.find_last_of('\n', last);
  const std::string_view line =
      all.substr(newline == std::string_view::npos ? 0 : newline + 1).substr(0, last + 1);
  const std::size_t begin = line.find_first_not_of(kSpace);
  const std::size_t end = line.find_last_not_of(kSpace);
  return line.substr(begin, end - begin + 1);
}

std::string end_words(const TrainerEnd& end) {
  if (end.memory.killed > 0) return out_of_memory(end);
  if (end.last_line.empty()) return {};
  const std::string how = end.code >= 0
                              ? "exited by itself with code " + std::to_string(end.code)
                              : "was ended by signal " + std::to_string(-std::int64_t{end.code});
  return "its trainer " + how + "; it had printed: " + std::string(end.last_line);
}

}  // namespace laird::agent
