#include "agent/core/step/runs/run_words.hpp"

#include <algorithm>

#include "base/sha256.hpp"

namespace laird::core {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kWorkDigits = 32;

[[nodiscard]] bool is_work(std::string_view work) {
  return work.size() == kWorkDigits && std::all_of(work.begin(), work.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Names of tasks as the door takes them (agent/settings): what a peer calls one is shown to people.
[[nodiscard]] bool is_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

[[nodiscard]] bool is_sound(const RunAsked& word) {
  return is_work(word.work) && is_name(word.trainer) && is_name(word.name) && is_name(word.run_of);
}

[[nodiscard]] bool is_sound(const RunTold& word) {
  return is_work(word.work) && is_name(word.task) && !word.task.empty() && word.trace.is_sound();
}

template <class Word>
[[nodiscard]] Result<RunWord> read(std::string_view bytes) {
  Word word;
  Archive ar = Archive::reader(bytes);
  ar(word);
  if (ar.failed() || !ar.at_end() || !is_sound(word)) {
    return fail(Code::kCorrupt, "words on earlier runs that do not decode");
  }
  return RunWord(std::move(word));
}

}  // namespace

void RunAsked::archive(Archive& ar) {
  ar(key);
  ar.text(work, kWorkDigits);
  ar.text(trainer, kNameBytesMax);
  ar.text(name, kNameBytesMax);
  ar.text(run_of, kNameBytesMax);
}

void RunTold::archive(Archive& ar) {
  ar(key);
  ar.text(work, kWorkDigits);
  ar.text(task, kNameBytesMax);
  ar(same_work);
  ar.run([this](auto& to) { trace.tell(to, true); });
}

std::string work_of_run(const TaskSpec& spec) {
  return sha256_of(spec.trainer + '\n' + spec.params).substr(0, kWorkDigits);
}

std::string encode(RunWord word) {
  Bytes bytes;
  Archive ar = Archive::writer(bytes);
  std::uint8_t version = kVersion;
  auto kind = static_cast<std::uint8_t>(word.index());
  ar(version);
  ar(kind);
  std::visit([&ar](auto& w) { ar(w); }, word);
  return std::string(bytes.begin(), bytes.end());
}

Result<RunWord> decode_run_word(std::string_view bytes) {
  if (bytes.size() < 2 || static_cast<std::uint8_t>(bytes[0]) != kVersion) {
    return fail(Code::kCorrupt, "words on earlier runs of another version");
  }
  const std::string_view body = bytes.substr(2);
  switch (static_cast<std::uint8_t>(bytes[1])) {
    case 0: return read<RunAsked>(body);
    case 1: return read<RunTold>(body);
    default: return fail(Code::kCorrupt, "words on earlier runs of an unknown kind");
  }
}

}  // namespace laird::core
