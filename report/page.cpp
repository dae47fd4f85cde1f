#include "report/page.hpp"

#include <algorithm>

#include "base/duration.hpp"
#include "base/harmless.hpp"
#include "base/sha256.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/messages.hpp"
#include "plot/figures.hpp"
#include "plot/page.hpp"
#include "report/page_data.hpp"
#include "report/scripts.hpp"
#include "report/story/numbers.hpp"
#include "report/what_if_page.hpp"

namespace laird::report {
namespace {

using story::BoardStory;
using story::Mark;
using story::TaskStory;
using story::Verdict;

// What a board says is shown as text, whatever it is.
std::string html(const std::string& said) { return plot::escaped(harmless(said)); }

// "2026-11-18 13:02:11"
std::string moment(TimeNs wall) {
  std::string out = mqtt::time_text(wall / kMillisecond).substr(0, 19);
  std::replace(out.begin(), out.end(), 'T', ' ');
  return out;
}

std::string joules(double j) { return story::fixed(j, j < 100 ? 1 : 0) + " J"; }

std::string counted(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string card(const std::string& big, const std::string& small) {
  return "<div class=card><b>" + html(big) + "</b><span>" + html(small) + "</span></div>";
}

std::string cards(std::span<const BoardStory> boards, const Verdict& v) {
  const std::uint64_t judged = v.tasks.all - v.tasks.open - v.tasks.cancelled;
  std::string out =
      "<div class=cards>" + card(std::to_string(v.tasks.met) + " of " + std::to_string(judged),
                                 "tasks met their deadline");
  if (v.metered) out += card(joules(v.energy_j), "used by the boards");
  if (v.capped_ns > 0) {
    out += card(v.breaches == 0 ? "held" : std::to_string(v.breaches) + " times not held",
                "power caps");
  }
  if (v.shares.judged) {
    out += card(story::figures(100.0 * v.shares.most_part, 5) + "%",
                "of the budget given out, at most");
  }
  if (v.crashes > 0) out += card(std::to_string(v.crashes), "crashes of trainers");
  if (boards.size() > 1) out += card(std::to_string(boards.size()), "boards");
  return out + "</div>";
}

std::string sign(Mark mark) {
  switch (mark) {
    case Mark::kGood: return "<i class=ok>&#10003;</i>";
    case Mark::kBad: return "<i class=bad>&#10007;</i>";
    case Mark::kNote: break;
  }
  return "<i>&#8226;</i>";
}

std::string verdict_box(const Verdict& v) {
  std::string out = "<div class=\"card verdict\"><ul>";
  for (const story::Sentence& s : v.sentences) {
    out += "<li>" + sign(s.mark) + "<span>" + html(s.text) + "</span></li>";
  }
  return out + "</ul></div>";
}

std::string margin_text(const TaskStory& task) {
  if (!task.over()) return "";
  if (task.outcome == core::Outcome::kSucceeded) return spoken(task.margin()) + " early";
  if (!task.loss) return "no loss";
  return "loss " + story::figures(*task.loss - task.target, 3) + " above";
}

std::string task_row(const BoardStory& board, const PageTask& shown, std::size_t index,
                     bool with_board) {
  const TaskStory& task = *shown.task;
  const bool good = task.outcome == core::Outcome::kSucceeded;
  const auto cell = [](const char* head, const std::string& value, const char* kind = "") {
    return std::string("<td data-head=\"") + head + "\"" + kind + ">" + value + "</td>";
  };
  const std::string name = html(task.name);
  std::string out =
      "<tr>" + cell("task", shown.detailed
                                ? "<a href=\"#task-" + std::to_string(index) + "\">" + name + "</a>"
                                : name);
  if (with_board) out += cell("board", html(board.node));
  out += cell("end", html(task.state),
              good          ? " class=ok"
              : task.over() ? " class=bad"
                            : "") +
         cell("margin", html(margin_text(task))) +
         cell("loss", task.loss ? story::figures(*task.loss, 4) : "-") +
         cell("target", story::figures(task.target, 4)) +
         cell("weight", story::figures(task.weight, 3)) +
         cell("energy",
              task.energy_uj < 0 ? "-" : joules(static_cast<double>(task.energy_uj) * 1e-6)) +
         cell("ran", html(spoken(task.busy_ns))) +
         cell("deadline", moment(board.wall(task.deadline_at)).substr(11)) +
         cell("why", html(task.headline), " class=why");
  return out + "</tr>";
}

std::string tasks_table(std::span<const BoardStory> boards, std::span<const PageTask> tasks,
                        std::size_t all) {
  const bool with_board = boards.size() > 1;
  std::string out = "<div class=scroll><table class=tasks><tr><th>task</th>";
  if (with_board) out += "<th>board</th>";
  for (const char* head :
       {"end", "margin", "loss", "target", "weight", "energy", "ran", "deadline", "why"}) {
    out += std::string("<th>") + head + "</th>";
  }
  out += "</tr>";
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    out += task_row(boards[tasks[i].board], tasks[i], i, with_board);
  }
  out += "</table></div>";
  if (tasks.size() < all) {
    out += "<p>" + std::to_string(all - tasks.size()) +
           " more tasks have no room here; <code>--csv</code> has all of them.</p>";
  }
  return out;
}

// Which tasks are opened at first: those that were lost, or the first.
bool opens(std::span<const PageTask> tasks, std::size_t index) {
  constexpr std::size_t kOpenMax = 3;
  const auto lost = [](const PageTask& t) { return is_lost(*t.task); };
  const auto lost_before = static_cast<std::size_t>(
      std::count_if(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(index), lost));
  if (lost(tasks[index])) return lost_before < kOpenMax;
  return index == 0 && std::none_of(tasks.begin(), tasks.end(), lost);
}

std::string details(std::span<const BoardStory> boards, std::span<const PageTask> tasks) {
  std::string out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].detailed) continue;
    const TaskStory& task = *tasks[i].task;
    const BoardStory& board = boards[tasks[i].board];
    out += "<details class=task id=task-" + std::to_string(i) + (opens(tasks, i) ? " open" : "") +
           "><summary><b>" + html(task.name) + "</b> " +
           (boards.size() > 1 ? "on " + html(board.node) + " " : "") + "<span>" +
           html(task.headline) + "</span></summary><div class=loss></div>" + "<p>" +
           html(task.trainer) + " on a " + html(task.lane_kind) + " lane, accepted " +
           moment(board.wall(task.accepted_at)) + ", deadline " +
           moment(board.wall(task.deadline_at)) +
           (task.over() ? ", ended " + moment(board.wall(task.ended_at)) : "") + "; " +
           counted(task.reports, "report") + ", " +
           (task.crashes == 0 ? "" : std::to_string(task.crashes) + " times crashed, ") +
           std::to_string(task.samples) + " samples" +
           (task.planned_samples > 0 ? " of " + std::to_string(task.planned_samples) : "") +
           "</p><pre>";
    // The lines stay lines; each is made harmless by itself.
    std::string_view rest = task.why;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      out += html(std::string(rest.substr(0, end))) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out += "</pre></details>";
  }
  return out;
}

struct ShownEvent {
  TimeNs wall = 0;
  const BoardStory* board = nullptr;
  const story::Happening* what = nullptr;
};

// The most telling kinds first, then in the order of time.
std::vector<ShownEvent> shown_events(std::span<const BoardStory> boards, std::size_t& left_out) {
  std::vector<ShownEvent> all;
  for (const BoardStory& board : boards) {
    for (const story::Happening& h : board.happenings)
      all.push_back({board.wall(h.at), &board, &h});
    left_out += board.happenings_left_out;
  }
  const auto rank = [](const ShownEvent& e) {
    switch (e.what->kind) {
      case story::Kind::kFault:
      case story::Kind::kCrash:
      case story::Kind::kPower: return 0;
      case story::Kind::kAgent:
      case story::Kind::kCommand: return 1;
      case story::Kind::kTask: return 2;
    }
    return 3;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const ShownEvent& a, const ShownEvent& b) { return rank(a) < rank(b); });
  if (all.size() > kPageEventsMax) {
    left_out += all.size() - kPageEventsMax;
    all.resize(kPageEventsMax);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const ShownEvent& a, const ShownEvent& b) { return a.wall < b.wall; });
  return all;
}

std::string events(std::span<const BoardStory> boards) {
  std::size_t left_out = 0;
  const bool with_board = boards.size() > 1;
  std::vector<std::vector<std::string>> rows = {{"at", "board", "kind", "by", "what"}};
  for (const ShownEvent& e : shown_events(boards, left_out)) {
    const std::string about = e.what->task.empty() ? "" : e.what->task + ": ";
    rows.push_back({moment(e.wall), harmless(e.board->node), story::name(e.what->kind),
                    harmless(e.what->by), harmless(about + e.what->text)});
  }
  if (!with_board) {
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + 1);
  }
  std::string out =
      "<div id=event-filter></div><div class=said id=events>" + plot::html_table(rows) + "</div>";
  if (left_out > 0) {
    out += "<p>" + std::to_string(left_out) + " more have no room here; " +
           "<code>lairctl replay --explain</code> tells all about a task.</p>";
  }
  return out;
}

std::string section(const char* id, const char* title, const char* says, const std::string& body) {
  return std::string("<section id=") + id + "><h2>" + title + "</h2><p>" + says + "</p>" + body +
         "</section>";
}

std::string lead(std::span<const BoardStory> boards) {
  TimeNs first = INT64_MAX;
  TimeNs last = INT64_MIN;
  std::uint64_t events = 0;
  std::uint64_t unverified = 0;
  for (const BoardStory& board : boards) {
    first = std::min(first, board.wall(board.from));
    last = std::max(last, board.wall(board.to));
    events += board.source.events;
    unverified += board.source.unverified;
  }
  const bool whole =
      std::all_of(boards.begin(), boards.end(), [](const BoardStory& b) { return b.source.whole; });
  std::string out = "<p class=lead>" + moment(first) + " to " + moment(last) + " UTC, " +
                    spoken(last - first) + "; " + std::to_string(events) +
                    " events, stepped again " +
                    (whole ? "with the same answers" : "as far as the journal is sound");
  if (unverified > 0) out += " (" + std::to_string(unverified) + " had no recorded answer)";
  return out + ". Times are UTC, by the clock at the journal's end.</p>";
}

bool has_heat(const BoardStory& board) {
  const story::PowerStory& p = board.power;
  return !p.hottest_c.empty() || !p.gpu_mhz.empty() || !p.cpu_mhz.empty() || !p.gpu_load.empty() ||
         !p.cpu_load.empty() || !p.ceiling.empty();
}

std::string charts(std::span<const BoardStory> boards) {
  std::string out = section(
      "timeline", "Who ran",
      "A row for each lane, in the colours of the tasks that ran on it, and one for each task. A "
      "green dot: it reached its target. A cross: it ended without. An upright line: its deadline.",
      "<div class=\"chart-place\" id=timeline-chart></div>");
  out += section("power", "Power",
                 "What was drawn, as means of five seconds, against what was allowed.",
                 "<div class=chart-place id=power-chart></div>"
                 "<div class=chart-place id=power-boards></div>");
  const auto members = std::count_if(boards.begin(), boards.end(),
                                     [](const BoardStory& b) { return !b.fleet.shares.empty(); });
  if (members > 1) {
    out += section("shares", "Who may draw how much",
                   "The power cap of each board, its floor and its share of the rest, one upon "
                   "the other.",
                   "<div class=chart-place id=shares-chart></div>");
  }
  if (std::any_of(boards.begin(), boards.end(), has_heat)) {
    out += section("heat", "Temperature, clocks and limits", "As the boards read them.",
                   "<div class=tiles id=heat-charts></div>");
  }
  return out;
}

std::string head_of(std::string_view script) {
  std::string digest = sha256_of(script);
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digest.size(); i += 2) {
    const auto digit = [&](std::size_t at) {
      const char c = digest[at];
      return c <= '9' ? c - '0' : c - 'a' + 10;
    };
    bytes += static_cast<char>(digit(i) * 16 + digit(i + 1));
  }
  // No script runs but the page's own, and nothing is fetched.
  return "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri "
         "'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
         mqtt::to_base64(bytes) + "'\"><style>" + std::string(page_style()) + "</style>";
}

// The parts that every page of stories has, after its head.
std::string page_with(const std::string& title, const std::string& head,
                      std::span<const BoardStory> boards, bool pairs) {
  std::size_t all = 0;
  for (const BoardStory& board : boards) all += board.tasks.size();
  const std::vector<PageTask> tasks = page_tasks(boards);
  const std::string script = page_script();
  const std::string body =
      "<svg id=seed width=0 height=0 aria-hidden=true></svg>" + head +
      "<div id=bar hidden></div><noscript><p>The charts need a script; the verdict and the tables "
      "do not.</p></noscript>" +
      section("tasks", "Tasks", "What became of each, and why.", tasks_table(boards, tasks, all)) +
      charts(boards) +
      section("details", "Task by task",
              "The loss as reported and the forecast as it was at the chosen moment: move the "
              "slider, or point at a chart. Below it, where the task's whole time went.",
              details(boards, tasks)) +
      section("happened", "What happened", "Commands and who gave them, crashes, faults, ends.",
              events(boards)) +
      "<script type=\"application/json\" id=data>" + page_data(boards, tasks, pairs) +
      "</script><script>" + script + "</script>";
  return plot::page(harmless(title), body, head_of(script));
}

std::string what_if_table(const WhatIfText& text) {
  std::vector<std::vector<std::string>> rows = {{}};
  if (text.with_board) rows[0].push_back("board");
  for (const char* head :
       {"task", "as it was", "margin", "energy", "what if", "margin ", "energy "}) {
    rows[0].emplace_back(head);
  }
  for (const std::vector<std::string>& row : text.rows) {
    rows.emplace_back();
    for (const std::string& cell : row) rows.back().push_back(harmless(cell));
  }
  std::string sums;
  for (const std::string& line : text.sums) sums += "<p class=sum>" + html(line) + "</p>";
  return sums + (text.with_board ? "<div class=\"scroll boards\">" : "<div class=scroll>") +
         plot::html_table(rows) + "</div>";
}

}  // namespace

std::string page_of(std::span<const BoardStory> boards, const Verdict& verdict) {
  const std::string title =
      boards.size() == 1 ? boards.front().node : "A fleet of " + counted(boards.size(), "board");
  const std::string head = "<header><h1>" + html(title) + "</h1>" + lead(boards) + "</header>" +
                           cards(boards, verdict) + verdict_box(verdict);
  return page_with(title, head, boards, false);
}

std::string what_if_page(std::span<const BoardStory> boards, const WhatIfText& text) {
  std::string changes;
  for (const std::string& word : text.changes) changes += (changes.empty() ? "" : ", ") + word;
  if (changes.empty()) changes = "nothing";
  std::string head = "<header><h1>What if: " + html(changes) +
                     "</h1><p class=lead>The same journal, run again with that changed. Of each "
                     "board the first rows are what happened, the second what would have.</p>"
                     "</header><div class=\"card verdict\"><ul>";
  for (const std::string& line : text.fidelity) {
    head += "<li>" + sign(text.good ? Mark::kGood : Mark::kNote) + "<span>" + html(line) +
            "</span></li>";
  }
  for (const std::string& line : text.notes) {
    head += "<li>" + sign(Mark::kNote) + "<span>" + html(line) + "</span></li>";
  }
  head += "</ul></div>" +
          section("compared", "As it was, and what if",
                  "A ~ marks a task that gets further than it did: its losses are forecast, and "
                  "where the ends of the forecast's band lead elsewhere, both ends are named.",
                  what_if_table(text));
  return page_with("What if: " + changes, head, boards, true);
}

}  // namespace laird::report
