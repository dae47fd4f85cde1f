// report: a journal's story as a page, and beside it as JSON, as CSV and as a trace.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "agent/replay/replay.hpp"
#include "base/duration.hpp"
#include "base/natural_order.hpp"
#include "cli/command.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/report/files.hpp"
#include "control/report/progress.hpp"
#include "control/report/side_by_side.hpp"
#include "control/screen/output.hpp"
#include "report/page.hpp"
#include "report/story/teller.hpp"
#include "report/summary.hpp"
#include "report/tables.hpp"
#include "report/trace.hpp"

namespace laird::control {
namespace {

struct Wishes {
  std::vector<std::string> journals;
  std::string page;
  std::string json;
  std::string csv;
  std::string trace;
};

// What is written while the journals are stepped.
struct Streams {
  std::array<std::unique_ptr<PieceFile>, report::kTables> tables;
  std::unique_ptr<PieceFile> trace;
  bool trace_empty = true;

  [[nodiscard]] report::TableSink table_sink() {
    if (!tables[0]) return {};
    return [this](report::Table table, std::string_view lines) {
      tables[static_cast<std::size_t>(table)]->add(lines);
    };
  }
};

Status open_streams(const Wishes& wishes, Streams& out) {
  if (!wishes.csv.empty()) {
    std::error_code error;
    std::filesystem::create_directories(wishes.csv, error);
    if (error) return fail(Code::kIo, wishes.csv + ": " + error.message());
    for (std::size_t i = 0; i < report::kTables; ++i) {
      const auto table = static_cast<report::Table>(i);
      auto file = PieceFile::open(wishes.csv + "/" + std::string(report::file_name(table)));
      LAIRD_TRY(file);
      out.tables[i] = std::move(*file);
      out.tables[i]->add(report::head_of(table));
    }
  }
  if (!wishes.trace.empty()) {
    auto file = PieceFile::open(wishes.trace);
    LAIRD_TRY(file);
    out.trace = std::move(*file);
    out.trace->add(report::trace_begin());
  }
  return {};
}

Status close_streams(Streams& streams) {
  for (const std::unique_ptr<PieceFile>& table : streams.tables) {
    if (table) LAIRD_TRY(table->finish());
  }
  if (!streams.trace) return {};
  streams.trace->add(report::trace_end());
  return streams.trace->finish();
}

// What became of the replay, for people: damage, older files, the first difference.
story::Source source_of(const std::string& path, const lab::ReplayResult& result) {
  story::Source out;
  out.path = path;
  out.events = result.events;
  out.unverified = result.unverified;
  for (const std::string& file : result.older) {
    out.notes.push_back("left out: " + file + " is of an older release");
  }
  for (const std::string& damage : result.damage) out.notes.push_back("damaged: " + damage);
  if (result.difference) {
    out.notes.push_back("the replay differs at event " + std::to_string(result.difference->seq) +
                        " of " + result.difference->file +
                        ": what follows is not told. lairctl replay shows the difference");
  }
  out.whole = !result.lost_events && !result.difference && result.older.empty();
  return out;
}

Result<story::BoardStory> tell(const std::string& path, int number, Streams& streams,
                               Progress& progress) {
  std::unique_ptr<report::TraceWriter> trace;
  if (streams.trace) {
    trace = std::make_unique<report::TraceWriter>(
        number, streams.trace_empty,
        [&streams](std::string_view text) { streams.trace->add(text); });
  }
  story::StretchWatch stretches;
  if (trace) {
    stretches = [&trace](const story::TaskStory& task, story::Doing doing, int lane, TimeNs from,
                         TimeNs to) { trace->see_stretch(task, doing, lane, from, to); };
  }
  story::Teller teller(std::move(stretches));
  std::unique_ptr<report::TableWriter> tables;
  const Result<lab::ReplayResult> result = lab::replay(
      path, [&](std::uint64_t events) { progress.see(path, events); },
      [&](const core::Event& event, const core::State& state, const core::Effects& commands) {
        if (!tables && streams.tables[0]) {
          tables = std::make_unique<report::TableWriter>(state.config.node, streams.table_sink());
        }
        if (trace) trace->see(event, state);
        teller.see(event, state, commands);
        if (tables) tables->see(event, state);
      });
  LAIRD_TRY(result);
  if (result->events == 0) return fail(Code::kNotFound, path + " holds no events");
  story::BoardStory out = teller.finish(result->state);
  if (trace) streams.trace_empty = trace->wrote_nothing();
  out.source = source_of(path, *result);
  return out;
}

// In the order of the journals. Tables and traces are written while the journals are stepped, one
// after the other; without them each journal is stepped by itself.
std::vector<std::optional<Result<story::BoardStory>>> tell_all(
    const std::vector<std::string>& journals, Streams& streams, Progress& progress) {
  std::vector<std::optional<Result<story::BoardStory>>> out(journals.size());
  if (!streams.tables[0] && !streams.trace) {
    side_by_side(journals.size(),
                 [&](std::size_t i) { out[i] = tell(journals[i], 0, streams, progress); });
    return out;
  }
  int number = 1;
  for (std::size_t i = 0; i < journals.size(); ++i) {
    out[i] = tell(journals[i], number, streams, progress);
    if (*out[i]) ++number;
  }
  return out;
}

// Two journals of one name are two agents.
void tell_apart(std::vector<story::BoardStory>& boards) {
  std::set<std::string> taken;
  for (story::BoardStory& board : boards) {
    if (!taken.insert(board.node).second) board.node += " (" + board.source.path + ")";
  }
  std::stable_sort(boards.begin(), boards.end(),
                   [](const story::BoardStory& a, const story::BoardStory& b) {
                     return natural_less(a.node, b.node);
                   });
}

Status write_results(const Wishes& wishes, const std::vector<story::BoardStory>& boards,
                     const story::Verdict& verdict, Streams& streams) {
  if (const report::TableSink sink = streams.table_sink()) report::write_tables(boards, sink);
  LAIRD_TRY(close_streams(streams));
  if (!wishes.page.empty()) {
    WholeFileOptions options;
    options.mode = 0644;
    options.sync = false;
    LAIRD_TRY(write_whole_file(wishes.page, report::page_of(boards, verdict), options));
  }
  if (wishes.json.empty()) return {};
  const json::Value summary = report::summary_of(boards, verdict);
  if (wishes.json == "-") {
    print_json(summary, true);
    return {};
  }
  WholeFileOptions options;
  options.mode = 0644;
  options.sync = false;
  return write_whole_file(wishes.json, harmless_json(json::to_pretty_text(summary)) + "\n",
                          options);
}

void print_verdict(const story::Verdict& verdict) {
  for (const story::Sentence& s : verdict.sentences) {
    const char* mark = s.mark == story::Mark::kGood  ? "ok    "
                       : s.mark == story::Mark::kBad ? "BAD   "
                                                     : "note  ";
    print_text(mark + s.text + "\n");
  }
}

int run(const Wishes& wishes) {
  if (wishes.page.empty() && wishes.json.empty() && wishes.csv.empty() && wishes.trace.empty()) {
    return complain({Code::kInvalid, "say what to write: -o page.html, --json, --csv or --trace"});
  }
  std::vector<std::string> journals;
  int code = 0;
  for (const std::string& argument : wishes.journals) {
    const auto found = journals_of(argument);
    if (!found) {
      code = complain(found.error());
      continue;
    }
    journals.insert(journals.end(), found->begin(), found->end());
  }
  Streams streams;
  if (const Status ok = open_streams(wishes, streams); !ok) return complain(ok.error());
  Progress progress;
  std::vector<story::BoardStory> boards;
  std::uint64_t events = 0;
  std::vector<std::optional<Result<story::BoardStory>>> told =
      tell_all(journals, streams, progress);
  for (std::optional<Result<story::BoardStory>>& one : told) {
    Result<story::BoardStory>& board = *one;
    if (!board) {
      code = complain(board.error());
      continue;
    }
    events += board->source.events;
    if (!board->source.whole) code = kPartial;
    for (const std::string& note : board->source.notes) say(board->node + ": " + note);
    boards.push_back(std::move(*board));
  }
  if (boards.empty()) return code == 0 ? kFailed : code;
  tell_apart(boards);
  const story::Verdict verdict = story::judge(boards);
  const Status written = write_results(wishes, boards, verdict, streams);
  progress.end(events);
  if (!written) return complain(written.error());
  if (wishes.json != "-") print_verdict(verdict);
  return code == 0 ? 0 : kPartial;
}

}  // namespace

void add_report(cli::Command& app, int& code) {
  const auto wishes = std::make_shared<Wishes>();
  cli::Command* command = app.add_subcommand(
      "report",
      "Tell a journal's story: a page with the verdict, timelines, curves and power.\n"
      "Reads one board's journal, or those of a whole fleet, joined by their clocks.\n"
      "Example: lairctl report /var/lib/laird/journal -o page.html");
  command
      ->add_option("journals", wishes->journals,
                   "Journal files, folders of them, state folders, or folders of state folders")
      ->required()
      ->take_all();
  command->add_option("-o,--out", wishes->page, "Write the page here: one file, no network");
  command->add_option("--json", wishes->json, "Write a summary as JSON here; - is standard output");
  command->add_option("--csv", wishes->csv,
                      "Write tidy tables into this folder: reports, decisions, power, rails,\n"
                      "shares, tasks, events");
  command->add_option("--trace", wishes->trace, "Write a trace for ui.perfetto.dev here");
  command->callback([wishes, &code] { code = run(*wishes); });
}

}  // namespace laird::control
