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

[[nodiscard]] Status write_page(const WhatIfWishes& wishes, RecordedBoards& all,
                                std::vector<BoardAnswer>& answers) {
  std::vector<story::BoardStory> stories;
  report::WhatIfText text;
  if (const std::string together = together_text(all); !together.empty()) {
    text.fidelity.push_back(together);
  }
  for (const RecordedBoard& board : all.boards) {
    text.fidelity.push_back(fidelity_text(board));
    text.good = text.good && board.fidelity.good();
  }
  text.changes = wishes.changes;
  text.rows = answer_rows({all.boards, answers, all.carrier.has_value()});
  text.with_board = answers.size() > 1;
  for (BoardAnswer& answer : answers) {
    for (const std::string& refused : answer.median.refused) {
      text.notes.push_back("refused on " + answer.node + ": " + refused);
    }
    if (answer.recorded && all.boards[*answer.recorded].story) {
      story::BoardStory& was = *all.boards[*answer.recorded].story;
      was.node += ", as it was";
      // What the fleet held together is told by lairctl report.
      was.fleet = story::FleetStory();
      stories.push_back(std::move(was));
    }
    if (!answer.story) continue;
    answer.story->node += ", what if";
    answer.story->fleet = story::FleetStory();
    stories.push_back(std::move(*answer.story));
  }
  WholeFileOptions options;
  options.mode = 0644;
  options.sync = false;
  return write_whole_file(wishes.page, report::what_if_page(stories, text), options);
}

[[nodiscard]] int compare_policies(const WhatIfWishes& wishes, const whatif::Changes& changes,
                                   const std::vector<std::string>& policies,
                                   const RecordedBoards& all, Progress& progress) {
  std::vector<PolicyRow> rows(1);
  rows[0].name = "as it was";
  for (const RecordedBoard& board : all.boards) rows[0].sums.add(board.recording.was);
  rows[0].succeeded_low = rows[0].succeeded_high = rows[0].sums.succeeded;
  for (const std::string& policy : policies) {
    PolicyRow row;
    row.name = policy;
    whatif::Changes with = changes;
    with.policy = policy;
    const auto answers =
        answers_for(all, with, false, [&](const std::string& doing, std::uint64_t events) {
          progress.see(policy + ": " + doing, events);
        });
    if (!answers) return complain(answers.error());
    for (const BoardAnswer& answer : *answers) {
      row.sums.add(answer.median.tally);
      const auto [low, high] = successes(answer);
      row.succeeded_low += low;
      row.succeeded_high += high;
      row.beyond += answer.median.beyond.size();
    }
    rows.push_back(std::move(row));
  }
  progress.clear();
  std::stable_sort(rows.begin() + 1, rows.end(), [](const PolicyRow& a, const PolicyRow& b) {
    return a.sums.succeeded > b.sums.succeeded;
  });
  if (wishes.json) {
    print_json(policies_json(all.boards, all.carrier.has_value(), rows), true);
  } else {
    print_text(policies_text(rows));
  }
  return 0;
}

[[nodiscard]] int answer(const WhatIfWishes& wishes, const whatif::Changes& changes,
                         RecordedBoards& all, Progress& progress) {
  auto answers = answers_for(
      all, changes, !wishes.page.empty(),
      [&](const std::string& doing, std::uint64_t events) { progress.see(doing, events); });
  progress.clear();
  if (!answers) return complain(answers.error());
  const Answered answered{all.boards, *answers, all.carrier.has_value()};
  if (wishes.json) {
    print_json(answer_json(answered, wishes.changes), true);
  } else {
    print_text(answer_text(answered));
  }
  if (wishes.page.empty()) return 0;
  const Status written = write_page(wishes, all, *answers);
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
  std::vector<Error> left_out;
  auto boards = read_boards(
      *journals, {!wishes.page.empty(), changes->wants_fleet()},
      [&](const std::string& doing, std::uint64_t events) { progress.see(doing, events); },
      left_out);
  progress.clear();
  if (!boards) return complain(boards.error());
  int code = 0;
  for (const Error& error : left_out) code = complain(error);
  for (const RecordedBoard& board : boards->boards) {
    for (const std::string& note : board.notes) say(board.recording.node + ": " + note);
    if (!board.whole) code = kPartial;
  }
  if (boards->boards.empty()) return code == 0 ? kFailed : code;
  const auto tell = [&](const std::string& text) {
    if (text.empty()) return;
    if (wishes.json) {
      say(text);
    } else {
      print_text(text + "\n");
    }
  };
  tell(together_text(*boards));
  for (const RecordedBoard& board : boards->boards) tell(fidelity_text(board));
  const int answered = policies->empty()
                           ? answer(wishes, *changes, *boards, progress)
                           : compare_policies(wishes, *changes, *policies, *boards, progress);
  return answered != 0 ? answered : code == 0 ? 0 : kPartial;
}

}  // namespace laird::control
