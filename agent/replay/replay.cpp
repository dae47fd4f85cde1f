#include "agent/replay/replay.hpp"

#include <algorithm>
#include <filesystem>

#include "agent/core/step/step.hpp"
#include "agent/journal/file_names.hpp"
#include "agent/journal/reader.hpp"

namespace laird::lab {
namespace {

constexpr std::uint64_t kProgressEvery = 100'000;

std::vector<std::string> words(const core::Effects& commands) {
  std::vector<std::string> out;
  for (const core::Effect& command : commands) out.push_back(core::describe(command.body));
  return out;
}

class Replayer {
 public:
  Replayer(ReplayResult& result, const ReplayProgress& progress, const ReplayWatch& watch,
           const ReplayBegin& begin)
      : result_(result), progress_(progress), watch_(watch), begin_(begin) {}

  Status file(const std::string& path) {
    Result<std::unique_ptr<journal::Reader>> reader = journal::Reader::open(path);
    LAIRD_TRY(reader);
    if ((*reader)->format() != journal::kFormat) {
      result_.older.push_back(path);
      return {};
    }
    core::State first = (*reader)->take_first_state();
    if (started_ && whole_ && first.digest() != state_.digest()) {
      result_.difference = Difference{path,
                                      (*reader)->first_seq(),
                                      "the file begins with another state than the one before "
                                      "it ended with",
                                      {},
                                      {},
                                      true};
      return {};
    }
    state_ = std::move(first);
    started_ = true;
    while (std::optional<journal::Record> record = (*reader)->next()) {
      if (Status ok = core::admissible(state_, record->event); !ok) {
        return fail(ok.error().code,
                    path + ": event " + std::to_string(record->seq) + ": " + ok.error().context);
      }
      if (!step(path, *record)) return {};
    }
    whole_ = (*reader)->damage().empty();
    if (!whole_) result_.damage.push_back(path + ": " + (*reader)->damage());
    if (!(*reader)->can_go_on()) result_.lost_events = true;
    result_.state_hash = state_.digest();
    return {};
  }

  [[nodiscard]] core::State take_state() { return std::move(state_); }

 private:
  bool step(const std::string& path, journal::Record& record) {
    if (!told_begin_ && record.event.at >= begin_.at) {
      told_begin_ = true;
      if (begin_.see) begin_.see(state_);
    }
    commands_.clear();
    core::step(state_, record.event, commands_);
    if (watch_) watch_(record.event, state_, commands_);
    ++result_.events;
    result_.commands += commands_.size();
    if (progress_ && result_.events % kProgressEvery == 0) progress_(result_.events);
    const bool same_commands = record.has_outcome && are_as(record.commands);
    if (same_commands && state_.digest() == record.state_hash) return true;
    const std::optional<core::Effects> recorded =
        record.has_outcome ? journal::commands_of(record) : std::nullopt;
    if (!recorded) {
      ++result_.unverified;
      return true;
    }
    result_.difference = Difference{path,
                                    record.seq,
                                    core::describe(record.event.body),
                                    words(*recorded),
                                    words(commands_),
                                    same_commands};
    return false;
  }

  bool are_as(std::string_view recorded) {
    bytes_.clear();
    Archive ar = Archive::writer(bytes_);
    ar.sequence(commands_, commands_.size());
    return std::equal(bytes_.begin(), bytes_.end(), recorded.begin(), recorded.end(),
                      [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  }

  ReplayResult& result_;
  const ReplayProgress& progress_;
  const ReplayWatch& watch_;
  const ReplayBegin& begin_;
  core::State state_;
  core::Effects commands_;
  Bytes bytes_;  // of them
  bool started_ = false;
  bool told_begin_ = false;
  bool whole_ = true;
};

}  // namespace

Result<ReplayResult> replay(const std::string& path, const ReplayProgress& progress,
                            const ReplayWatch& watch, const ReplayBegin& begin) {
  std::vector<std::string> files;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    files = journal::files_in(path);
    if (files.empty()) return fail(Code::kNotFound, "no journal files in " + path);
  } else {
    files.push_back(path);
  }
  ReplayResult result;
  Replayer replayer(result, progress, watch, begin);
  // The agent goes on without such a file, so there is nothing to replay in it.
  if (files.size() > 1 && journal::is_only_begun(files.back())) files.pop_back();
  for (const std::string& file : files) {
    LAIRD_TRY(replayer.file(file));
    if (result.difference) break;
  }
  if (result.older.size() == files.size()) {
    return fail(Code::kInvalid, files.back() +
                                    " was written by an older release, which decided by "
                                    "its own rules: replay it with that release");
  }
  result.state = replayer.take_state();
  return result;
}

std::string report(const ReplayResult& result) {
  std::string out;
  for (const std::string& file : result.older) {
    out += "left out: " + file + " is of an older release; replay it with that release\n";
  }
  for (const std::string& damage : result.damage) out += "damaged: " + damage + "\n";
  if (!result.difference) {
    out += "identical: " + std::to_string(result.events) + " events, " +
           std::to_string(result.commands) + " commands\n";
    if (result.unverified > 0) {
      out += "unverified: " + std::to_string(result.unverified) +
             " events whose answer was not on disk when the agent died\n";
    }
    return out;
  }
  const Difference& d = *result.difference;
  out += "different at event " + std::to_string(d.seq) + " of " + d.file +
         "\n  event:    " + d.event + "\n";
  if (d.state_only) {
    out += "  the commands agree, the state after them does not\n";
    return out;
  }
  for (std::size_t i = 0; i < std::max(d.recorded.size(), d.replayed.size()); ++i) {
    const std::string then = i < d.recorded.size() ? d.recorded[i] : "(nothing)";
    const std::string now = i < d.replayed.size() ? d.replayed[i] : "(nothing)";
    if (then == now) {
      out += "  both:     " + then + "\n";
    } else {
      out += "  recorded: " + then + "\n  replayed: " + now + "\n";
    }
  }
  return out + "after " + std::to_string(result.events - 1) + " identical events\n";
}

}  // namespace laird::lab
