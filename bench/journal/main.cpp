// What one event costs the disk: the events of a recorded journal are written anew, through the
// agent's own journal, and the bytes handed to the kernel are counted.
//
//   bench_journal [JOURNAL] [--batch N]   JOURNAL: a file or a folder, else the replay baseline;
//                                         one commit per N events
//
// Bytes are those of /proc/self/io wchar: every write of SQLite's, to the log and, at checkpoints,
// to the file. What reaches the medium comes in blocks of the filesystem's and may be more where
// syncs are frequent, less where a page is written twice between two of them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/core/step/step.hpp"
#include "agent/journal/file_names.hpp"
#include "agent/journal/journal.hpp"
#include "agent/journal/reader.hpp"

using namespace laird;
namespace fs = std::filesystem;

namespace {

std::int64_t bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string key;
  std::int64_t value = 0;
  while (io >> key >> value) {
    if (key == "wchar:") return value;
  }
  return 0;
}

std::int64_t encoded_bytes(core::Event& event, core::Effects& commands) {
  Bytes bytes;
  Archive ar = Archive::writer(bytes);
  ar(event);
  ar.sequence(commands, commands.size());
  return static_cast<std::int64_t>(bytes.size());
}

struct Totals {
  std::int64_t events = 0;
  std::int64_t payload = 0;  // events and answers, encoded
  std::int64_t written = 0;
  TimeNs first = 0;
  TimeNs last = 0;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "bench_journal: %s\n", why.c_str());
  std::exit(1);
}

// Writes one recorded file into `folder`, a commit per `batch` events.
void rewrite(const std::string& path, const std::string& folder, std::int64_t batch, Totals& out) {
  auto reader = journal::Reader::open(path);
  if (!reader) stop(reader.error().context);
  core::State state = (*reader)->take_first_state();
  journal::Recovery recovery;
  auto log = journal::Journal::open(folder, {}, kDay, "bench", recovery);
  if (!log) stop(log.error().context);
  const std::int64_t before = bytes_written();
  core::Effects commands;
  std::int64_t in_batch = 0;
  while (std::optional<journal::Record> record = (*reader)->next()) {
    if (!core::admissible(state, record->event)) stop(path + ": an event does not fit");
    const std::uint64_t seq = (*log)->append(record->event);
    commands.clear();
    core::step(state, record->event, commands);
    (*log)->record(seq, commands, state.digest());
    if (++in_batch >= batch) {
      if (!(*log)->commit(false) || !(*log)->keep_up(state, kDay)) stop("the disk failed");
      in_batch = 0;
    }
    if (out.events++ == 0) out.first = record->event.at;
    out.last = record->event.at;
    out.payload += encoded_bytes(record->event, commands);
  }
  if (!(*log)->close(state)) stop("the disk failed");
  log->reset();  // the last checkpoint
  out.written += bytes_written() - before;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = LAIRD_BASELINE;
  std::int64_t batch = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--batch") == 0 && i + 1 < argc) {
      batch = std::max(1L, std::atol(argv[++i]));
    } else if (argv[i][0] != '-') {
      path = argv[i];
    } else {
      stop("usage: bench_journal [JOURNAL] [--batch N]");
    }
  }
  std::vector<std::string> files = {path};
  if (fs::is_directory(path)) files = journal::files_in(path);
  char folder[] = "/tmp/laird-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) stop("no temporary folder");
  Totals totals;
  for (std::size_t i = 0; i < files.size(); ++i) {
    rewrite(files[i], std::string(folder) + "/" + std::to_string(i), batch, totals);
  }
  fs::remove_all(folder);
  if (totals.events == 0) stop("no events in " + path);
  const auto per_event = [&](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(totals.events);
  };
  std::printf("events             %lld\n", static_cast<long long>(totals.events));
  std::printf("payload per event  %.0f B (event and answer, encoded)\n", per_event(totals.payload));
  std::printf("written per event  %.0f B\n", per_event(totals.written));
  const double seconds = static_cast<double>(totals.last - totals.first) * 1e-9;
  if (seconds > 1) {
    const double rate = static_cast<double>(totals.events) / seconds;
    std::printf("at its own rate    %.2f events/s, %.2f GB a day\n", rate,
                rate * per_event(totals.written) * 86400e-9);
  }
  return 0;
}
