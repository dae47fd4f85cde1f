#include "control/whatif/whatif_command.hpp"

#include <algorithm>

#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/report/files.hpp"
#include "control/report/progress.hpp"
#include "control/screen/output.hpp"
#include "control/whatif/change_words.hpp"
#include "control/whatif/words.hpp"
#include "report/what_if_page.hpp"

namespace laird::control {
namespace {

// Commas between them; "all" is every policy there is.
[[nodiscard]] Result<std::vector<std::string>> policies_of(std::string_view text) {
  std::vector<std::string> out;
  if (text == "all") {
    for (const std::string_view name : policies::policy_names()) out.emplace_back(name);
    return out;
  }
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    LAIRD_TRY(policies::make_policy(text.substr(0, comma)));
    out.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

[[nodiscard]] Status write_page(const WhatIfWishes& wishes, std::vector<AnsweredBoard>& boards) {
  std::vector<story::BoardStory> stories;
  report::WhatIfText text;
  for (AnsweredBoard& one : boards) {
    text.fidelity.push_back(fidelity_text(one.board));
    text.good = text.good && one.board.fidelity.good();
    for (const std::string& refused : one.answer.median.refused) {
      text.notes.push_back("refused on " + one.board.recording.node + ": " + refused);
    }
    if (!one.board.story || !one.answer.story) continue;
    one.board.story->node += ", as it was";
    // What the fleet held together is told by lairctl report.
    one.board.story->fleet = story::FleetStory();
    one.answer.story->node += ", what if";
    stories.push_back(std::move(*one.board.story));
    stories.push_back(std::move(*one.answer.story));
  }
  text.changes = wishes.changes;
  text.rows = answer_rows(boards);
  text.with_board = boards.size() > 1;
  WholeFileOptions options;
  options.mode = 0644;
  options.sync = false;
  return write_whole_file(wishes.page, report::what_if_page(stories, text), options);
}

[[nodiscard]] int compare_policies(const WhatIfWishes& wishes, const whatif::Changes& changes,
                                   const std::vector<std::string>& policies,
                                   std::vector<RecordedBoard>& boards, Progress& progress) {
  std::vector<PolicyRow> rows(1);
  rows[0].name = "as it was";
  for (const RecordedBoard& board : boards) rows[0].sums.add(board.recording.was);
  rows[0].succeeded_low = rows[0].succeeded_high = rows[0].sums.succeeded;
  std::uint64_t events = 0;
  for (const std::string& policy : policies) {
    PolicyRow row;
    row.name = policy;
    whatif::Changes with = changes;
    with.policy = policy;
    for (const RecordedBoard& board : boards) {
      progress.see(policy + " on " + board.recording.node, events);
      const auto answer = answer_for(board, with, false);
      if (!answer) return complain(answer.error());
      events += answer->median.events;
      row.sums.add(answer->median.tally);
      const auto [low, high] = successes(*answer);
      row.succeeded_low += low;
      row.succeeded_high += high;
      row.beyond += answer->median.beyond.size();
    }
    rows.push_back(std::move(row));
  }
  progress.clear();
  std::stable_sort(rows.begin() + 1, rows.end(), [](const PolicyRow& a, const PolicyRow& b) {
    return a.sums.succeeded > b.sums.succeeded;
  });
  if (wishes.json) {
    print_json(policies_json(boards, rows), true);
  } else {
    print_text(policies_text(rows));
  }
  return 0;
}

[[nodiscard]] int answer(const WhatIfWishes& wishes, const whatif::Changes& changes,
                         std::vector<RecordedBoard>& boards, Progress& progress) {
  std::vector<AnsweredBoard> answered;
  std::uint64_t events = 0;
  for (RecordedBoard& board : boards) {
    progress.see("what if on " + board.recording.node, events);
    auto one = answer_for(board, changes, !wishes.page.empty());
    if (!one) return complain(one.error());
    events += one->median.events;
    answered.push_back({std::move(board), std::move(*one)});
  }
  progress.clear();
  if (wishes.json) {
    print_json(answer_json(answered, wishes.changes), true);
  } else {
    print_text(answer_text(answered));
  }
  if (wishes.page.empty()) return 0;
  const Status written = write_page(wishes, answered);
  return written ? 0 : complain(written.error());
}

}  // namespace

int what_if(const WhatIfWishes& wishes) {
  const auto changes = changes_of(wishes.changes);
  if (!changes) return complain(changes.error());
  const auto policies = policies_of(wishes.policies);
  if (!policies) return complain(policies.error());
  if (!policies->empty() && !wishes.page.empty()) {
    return complain({Code::kInvalid,
                     "--policies makes a table; leave -o out, or name one policy "
                     "with --what-if policy=NAME"});
  }
  const auto journals = journals_of(wishes.journal);
  if (!journals) return complain(journals.error());
  Progress progress;
  std::vector<RecordedBoard> boards;
  int code = 0;
  for (const std::string& journal : *journals) {
    auto board = read_board(
        journal, !wishes.page.empty(),
        [&](const std::string& doing, std::uint64_t events) { progress.see(doing, events); });
    progress.clear();
    if (!board) {
      code = complain(board.error());
      continue;
    }
    for (const std::string& note : board->notes) say(board->recording.node + ": " + note);
    if (!board->whole) code = kPartial;
    boards.push_back(std::move(*board));
  }
  if (boards.empty()) return code == 0 ? kFailed : code;
  for (const RecordedBoard& board : boards) {
    if (wishes.json) {
      say(fidelity_text(board));
    } else {
      print_text(fidelity_text(board) + "\n");
    }
  }
  const int answered = policies->empty()
                           ? answer(wishes, *changes, boards, progress)
                           : compare_policies(wishes, *changes, *policies, boards, progress);
  return answered != 0 ? answered : code == 0 ? 0 : kPartial;
}

}  // namespace laird::control
