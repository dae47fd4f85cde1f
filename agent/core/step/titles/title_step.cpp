// The steps of a board whose tasks may move: titles are issued, heard of and spoken about, tasks
// follow them, and a task works only while its title is this board's and the board is unfenced.
// What titles are is in consensus/titles; docs/placement.md has it in words.
#include <algorithm>
#include <utility>

#include "agent/core/step/stepper.hpp"
#include "consensus/titles/desk.hpp"

namespace laird::core {

using consensus::HeldTitle;
using consensus::TitleState;

// What the ledger will know `ahead` of now if nothing more is heard.
consensus::Sight Stepper::sight(DurationNs ahead) const {
  consensus::Sight out;
  const Fleet& fleet = s_.fleet;
  const auto& ledger = std::as_const(fleet.ledger);
  if (!ledger) return out;
  out.self = ledger->account();
  out.fenced = !ledger->entered() || ledger->leaving() || fleet.on_floor(s_.now + ahead);
  if (ledger->registered().version != 0) out.kept = &ledger->registered();
  for (const consensus::Edge& edge : ledger->edges()) {
    if (!edge.closing || edge.peer_dead) out.near.push_back({edge.peer, edge.peer_dead});
  }
  for (const consensus::Account& keeper : ledger->known_keepers()) {
    out.keepers.push_back(keeper.node);
  }
  const bool one_is_enough = out.keepers.size() == 1 || fleet.budget.members.size() <= 2;
  out.words = one_is_enough ? 1 : 2;
  out.tick = ledger->ticks();
  return out;
}

consensus::TitleDesk& Stepper::desk() {
  if (!s_.fleet.titles) s_.fleet.titles = std::make_unique<consensus::TitleDesk>();
  return *s_.fleet.titles;
}

const HeldTitle* Stepper::title_of(const Task& task) const {
  const auto& titles = std::as_const(s_.fleet.titles);
  if (!task.moving.titled() || !titles) return nullptr;
  return titles->titles().holds(task.moving.title);
}

bool Stepper::is_ours(const Task& task) const {
  if (!task.moving.titled()) return true;
  const HeldTitle* title = title_of(task);
  return title != nullptr && title->state == TitleState::kHeld;
}

bool Stepper::may_work(const Task& task) const {
  if (task.moving.stage != MoveStage::kNone) return false;
  if (!task.moving.titled()) return true;
  const auto& titles = std::as_const(s_.fleet.titles);
  const auto& ledger = std::as_const(s_.fleet.ledger);
  return may_run_titles_ && titles && ledger &&
         titles->titles().may_run(ledger->account(), task.moving.title);
}

TitleBody Stepper::body_of(const Task& task) const {
  TitleBody out;
  out.spec = task.spec;
  out.spec.cotrain = false;
  out.submitted_digest =
      task.submitted_digest != 0 ? task.submitted_digest : digest_of_spec(task.spec);
  out.accepted_wall = std::clamp<TimeNs>(task.accepted_at + s_.wall_minus_agent, 0, kTimeMax);
  out.moves = task.moving.moves;
  out.from = s_.config.node;
  out.planned_samples = task.planned_samples;
  // What was copied before goes on with it until there is something newer.
  const HeldTitle* title = title_of(task);
  if (title == nullptr) return out;
  if (Result<TitleBody> before = decode_title_body(title->body)) {
    out.samples = before->samples;
    out.files = std::move(before->files);
    out.too_large = before->too_large;
  }
  return out;
}

void Stepper::send(const consensus::TitlePackets& packets) {
  for (const consensus::TitlePacket& packet : packets) {
    const std::string* to = name_of(s_.fleet.budget, packet.to);
    if (to == nullptr || packet.bytes.size() > kTitlePacketBytesMax) continue;
    out_.push_back({SendTitle{*to, packet.bytes}});
  }
}

void Stepper::tell_move(const std::string& text) {
  out_.push_back({Notice{NoticeKind::kMove, clipped(text)}});
}

// Whether this board could run what the message brings.
bool Stepper::would_take(const consensus::TitleMessage& message) const {
  const Result<TitleBody> body = decode_title_body(message.body);
  if (!body || !check_admission(body->spec)) return false;
  const auto& titles = std::as_const(s_.fleet.titles);
  if (titles && titles->titles().body_bytes() + message.body.size() > kTitleBytesKept) return false;
  const bool has_name = std::any_of(s_.live.begin(), s_.live.end(), [&](const Task& task) {
    return task.spec.name == body->spec.name;
  });
  const bool has_schedule = s_.find_recurring(body->spec.name) != nullptr;
  return message.word == consensus::TitleWord::kCopy || (!has_name && !has_schedule);
}

void Stepper::on(const TitlesHeard& e) {
  const consensus::Sight now = sight(0);
  consensus::TitlePackets out;
  for (const PeerMessage& m : e.messages) {
    const consensus::NodeId from = node_number(m.from);
    const bool is_known = name_of(s_.fleet.budget, from) != nullptr;
    const auto willing = [this](const consensus::TitleMessage& brought) {
      return would_take(brought);
    };
    if (!is_known || !now.self.valid() || !desk().take(now, from, m.bytes, willing, out)) {
      ++s_.fleet.title_messages_refused;
    }
  }
  send(out);
  match_titles(false);
}

// After the ledger's tick. A board with nothing that may move does nothing here.
void Stepper::titles_tick() {
  const bool wants = std::any_of(s_.live.begin(), s_.live.end(),
                                 [](const Task& task) { return task.spec.movable; });
  const auto& titles = std::as_const(s_.fleet.titles);
  // Whoever names this account as a backup must find it remembered in its later lives.
  const consensus::Account self = std::as_const(s_.fleet.ledger)->account();
  if (!titles || titles->titles().account() != self) desk().titles().begin(self);
  if (!wants && titles->idle()) return;
  const consensus::Sight now = sight(fence_margin(s_.config.slice, s_.config.fleet.lease));
  if (!now.self.valid()) return;
  desk().follow(now);
  issue_titles(now);
  std::vector<consensus::NodeId> wishes;
  for (const Task& task : s_.live) {
    if (!task.moving.to.empty()) wishes.push_back(node_number(task.moving.to));
  }
  consensus::TitlePackets out;
  desk().tick(now, wishes, out);
  send(out);
  match_titles(true);
}

// A task gets its title once there is somebody to move to. Before that it is on this board alone,
// and runs like any other.
void Stepper::issue_titles(const consensus::Sight& now) {
  const consensus::RegisterView view = desk().view(now);
  const bool has_peer =
      std::any_of(view.living.begin(), view.living.end(),
                  [&](const consensus::Account& account) { return account != view.self; });
  if (view.fenced || !has_peer) return;
  for (Task& task : s_.live) {
    if (!task.spec.movable || task.moving.titled() || task.outcome != Outcome::kNone) continue;
    const Result<consensus::TitleId> id =
        desk().titles().issue(view, encode_title_body(body_of(task)));
    if (!id) return;
    task.moving.title = *id;
    // Its newest checkpoint may be older than the title.
    if (task.checkpoint_samples > 0 && has_process(task.state)) copy_checkpoint(task);
  }
}

// Makes the tasks what the titles say.
void Stepper::match_titles(bool reclaimed) {
  const auto& titles = std::as_const(s_.fleet.titles);
  if (!titles) return;
  for (Task& task : s_.live) {
    if (!task.moving.titled() || task.outcome != Outcome::kNone) continue;
    const HeldTitle* title = titles->titles().holds(task.moving.title);
    if (title == nullptr) {
      const bool was_given = task.moving.stage == MoveStage::kGiving;
      const std::string what =
          was_given ? "moved to " + task.moving.to : "another board has it by now";
      tell_move("'" + task.spec.name + "': " + what);
      task.removed = true;
      task.moving.stage = MoveStage::kNone;
      decide(task, Outcome::kMoved, what);
    } else if (task.moving.stage == MoveStage::kGiving && title->state == TitleState::kHeld) {
      call_off(task, task.moving.to + " did not take it");
    } else if (task.moving.stage != MoveStage::kNone && title->state == TitleState::kUnconfirmed &&
               task.moving.stage != MoveStage::kGiving) {
      call_off(task, "this board lost its place in the fleet meanwhile");
    }
  }
  std::vector<consensus::TitleId> fresh;
  for (const HeldTitle& title : titles->titles().held()) {
    const bool is_here = title.state == TitleState::kHeld ||
                         title.state == TitleState::kUnconfirmed ||
                         title.state == TitleState::kStranded;
    if (!is_here) continue;
    const bool is_known = std::any_of(s_.live.begin(), s_.live.end(), [&](const Task& task) {
      return task.moving.title == title.id;
    });
    if (!is_known) fresh.push_back(title.id);
  }
  for (const consensus::TitleId& id : fresh) adopt(*titles->titles().holds(id), reclaimed);
}

// A title came to this board: its task goes on here, from the checkpoint that was copied.
void Stepper::adopt(const HeldTitle& title, bool reclaimed) {
  Result<TitleBody> body = decode_title_body(title.body);
  if (!body || s_.live.size() >= kTasksLiveMax) return;
  // Another task may have taken the name here: then this one waits for that to end.
  const bool has_name = live_named(body->spec.name) != nullptr;
  if (has_name || s_.find_recurring(body->spec.name) != nullptr) return;
  TaskSpec spec = body->spec;
  if (spec.deadline_after > 0) {
    const TimeNs by = body->accepted_wall + spec.deadline_after;
    spec.deadline_wall = spec.deadline_wall > 0 ? std::min(spec.deadline_wall, by) : by;
    spec.deadline_after = 0;
  }
  const bool was_here = std::any_of(s_.ended.begin(), s_.ended.end(), [&](const Part<Task>& task) {
    return task->moving.title == title.id;
  });
  const bool fresh = !was_here && s_.had_name(spec.name);
  const TaskKey key = add_task(std::move(spec), fresh);
  Task& task = *s_.find_live(key);
  task.submitted_digest = body->submitted_digest;
  task.planned_samples = std::max(task.planned_samples, body->planned_samples);
  task.moving.title = title.id;
  task.moving.moves = body->moves + 1;
  task.moving.came = true;
  task.samples = task.checkpoint_samples = body->samples;
  const std::string whence =
      reclaimed ? "taken over from " + body->from + ", which is gone" : "came from " + body->from;
  const std::string how =
      !body->files.empty() ? "goes on at " + std::to_string(body->samples) + " samples"
      : body->too_large    ? "begins anew: its checkpoint is too large to be copied"
                           : "begins anew: no checkpoint of it was copied";
  task.moving.note = clipped(whence + "; " + how);
  task.reason = task.moving.note;
  tell_move("'" + task.spec.name + "': " + task.moving.note);
}

// The fence of titles: with the shares' margin no trainer of a titled task is told to work any
// more, and at the fence itself those that still do are ended.
void Stepper::watch_titles() {
  const DurationNs margin = fence_margin(s_.config.slice, s_.config.fleet.lease);
  const bool any = std::any_of(s_.live.begin(), s_.live.end(),
                               [](const Task& task) { return task.moving.titled(); });
  if (!any) return;
  may_run_titles_ = !sight(margin).fenced;
  const bool is_late = sight(0).fenced;
  for (Task& task : s_.live) {
    if (task.lane < 0 || task.moving.stage != MoveStage::kNone || may_work(task)) continue;
    if (task.state == TaskState::kRunning && !is_late) {
      move(task, Trigger::kPreempt);
      out_.push_back({PreemptTrainer{task.process()}});
    } else if (is_late && is_listed(task.state, Trigger::kEvict)) {
      leave_lane(task);
      move(task, Trigger::kEvict);
      out_.push_back({KillTrainer{task.process()}});
    }
  }
}

void Stepper::end_title(const Task& task) {
  if (!task.moving.titled() || !s_.fleet.titles) return;
  // Refused where the title is not this board's: then there is nothing to end here.
  static_cast<void>(desk().titles().end(task.moving.title));
}

void Stepper::renew_title(const Task& task, TitleBody body) {
  static_cast<void>(desk().titles().renew(task.moving.title, encode_title_body(std::move(body))));
}

}  // namespace laird::core
