// Any file as a journal, and a good small journal with edits or a cut: it opens or is refused with
// words, and what it yields steps through the core without an assertion.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/journal/journal.hpp"
#include "agent/journal/reader.hpp"
#include "base/require.hpp"
#include "tests/fuzz/events/board_events.hpp"

namespace {

using namespace laird;
namespace fs = std::filesystem;

constexpr int kRecordsMax = 1000;

// A folder of this process that goes when it does; a crash leaves it for the post-mortem.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "laird-fuzz-XXXXXX").string();
    LAIRD_REQUIRE(::mkdtemp(name.data()) != nullptr, "a temporary folder can be made");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string path;
};

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A short life with real content, closed properly, as the bytes of its file.
std::string good_journal(const std::string& folder) {
  journal::Recovery recovery;
  auto log = journal::Journal::open(folder, {}, kDay, "fuzz", recovery);
  LAIRD_REQUIRE(log.has_value(), "a journal opens in an empty folder");
  core::State state = std::move(recovery.state);
  core::Effects commands;
  // Fixed bytes: a boot, then whatever they say that is admissible.
  std::uint8_t script[2048];
  std::uint32_t x = 1;
  for (std::uint8_t& b : script)
    b = static_cast<std::uint8_t>((x = x * 1664525 + 1013904223) >> 24);
  script[0] = 0;
  fuzz::Feed feed(script, sizeof script);
  core::Event event{kDay, core::Booted{kDay, fuzz::board_config(feed)}};
  while (!feed.empty()) {
    if (core::admissible(state, event)) {
      const std::uint64_t seq = (*log)->append(event);
      commands.clear();
      core::step(state, event, commands);
      (*log)->record(seq, commands, state.digest());
    }
    event = fuzz::next_event(feed, state);
  }
  LAIRD_REQUIRE((*log)->close(state).has_value(), "the journal closes");
  const std::string path = (*log)->path();
  log->reset();
  return read_all(path);
}

void replay(journal::Reader& reader) {
  core::State state = reader.take_first_state();
  core::Effects commands;
  for (int i = 0; i < kRecordsMax; ++i) {
    const auto record = reader.next();
    if (!record || !core::admissible(state, record->event)) return;
    commands.clear();
    core::step(state, record->event, commands);
  }
}

std::string edited(const std::string& good, fuzz::Feed& feed) {
  std::string out = good;
  for (std::uint32_t edits = feed.below(16); edits > 0; --edits) {
    std::size_t where = std::size_t{feed.byte()} << 16 | std::size_t{feed.byte()} << 8;
    where = (where | feed.byte()) % out.size();
    out[where] = static_cast<char>(feed.byte());
  }
  if (feed.below(4) == 0) {
    std::size_t length = std::size_t{feed.byte()} << 16 | std::size_t{feed.byte()} << 8;
    out.resize((length | feed.byte()) % (out.size() + 1));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  static const std::string good = good_journal(folder.path + "/good");
  static const std::string path = folder.path + "/journal-000001-19700102.db";
  fuzz::Feed feed(data, size);
  const bool raw = feed.below(8) == 0;
  const std::string bytes = raw ? std::string(feed.rest()) : edited(good, feed);
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  auto reader = journal::Reader::open(path);
  if (!reader) {
    LAIRD_REQUIRE(!reader.error().context.empty(), "a refusal says why");
    return 0;
  }
  static_cast<void>((*reader)->meta("node"));
  replay(**reader);
  if ((*reader)->skip_to_newest_snapshot()) replay(**reader);
  return 0;
}
