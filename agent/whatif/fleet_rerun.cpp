#include "agent/whatif/fleet_rerun.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "agent/whatif/life.hpp"

namespace laird::whatif {
namespace {

// A board whose journal ends so long before the fleet's was gone then.
constexpr DurationNs kGoneAfter = 10 * kSecond;
// Revisions of other budgets go between the recorded ones.
constexpr std::uint64_t kRevisionSpread = 1000;
constexpr std::uint64_t kProgressEvery = 100'000;
// How long after its start an added board has reached the broker.
constexpr DurationNs kJoinAfter = 100 * kMillisecond;

struct Member {
  std::string node;
  std::optional<std::size_t> recorded;
  const Recording* recording = nullptr;
  std::unique_ptr<Recording> made;  // of an added board
  Changes changes;
  FleetPlace place;
  RerunWatch watch;
  std::unique_ptr<Life> life;
  std::map<TaskId, std::size_t> moved_here;
  // The last moment at which it sent to that board, and how many messages before the last one.
  std::map<std::string, std::pair<TimeNs, std::size_t>> sent_to;

  [[nodiscard]] TimeNs wall_at(TimeNs agent) const { return recording->wall_at(agent); }
  [[nodiscard]] TimeNs agent_at(TimeNs wall) const { return recording->agent_at(wall); }
};

[[nodiscard]] bool is_fresh(RecordedBoards boards) {
  return std::all_of(boards.begin(), boards.end(),
                     [](const Recording* board) { return board->first_state.empty(); });
}

class FleetRun {
 public:
  FleetRun(RecordedBoards boards, const Carrier& carrier, const Changes& changes, Beyond beyond,
           const FleetWatch& watch)
      : boards_(boards),
        carrier_(carrier),
        changes_(changes),
        beyond_(beyond),
        watch_(watch),
        fresh_(is_fresh(boards)) {}

  Result<std::vector<BoardRerun>> run() {
    LAIRD_TRY(changes_.fit(boards_));
    LAIRD_TRY(add_members());
    LAIRD_TRY(check_budget());
    for (const MovedTask& task : changes_.moved) LAIRD_TRY(move_task(task));
    for (const AddedTask& task : changes_.added) {
      if (!task.board.empty()) LAIRD_TRY(add_task(task));
    }
    if (changes_budget()) add_budgets();
    for (const auto& member : members_) LAIRD_TRY(begin(*member));
    live();
    return finish();
  }

 private:
  [[nodiscard]] Member* find(const std::string& node) {
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [&](const auto& m) { return m->node == node; });
    return found == members_.end() ? nullptr : found->get();
  }
  [[nodiscard]] bool is_left_out(const std::string& node) const {
    return std::find(changes_.boards_without.begin(), changes_.boards_without.end(), node) !=
           changes_.boards_without.end();
  }
  [[nodiscard]] const Recording* recording_of(const std::string& node) const {
    const auto found = std::find_if(boards_.begin(), boards_.end(),
                                    [&](const Recording* r) { return r->node == node; });
    return found == boards_.end() ? nullptr : *found;
  }
  [[nodiscard]] tl::unexpected<Error> no_board(const std::string& node) const {
    std::string known;
    for (const Recording* board : boards_) known += " " + board->node;
    return fail(Code::kNotFound,
                "no board '" + node + "' is in these journals; there are:" + known);
  }

  Status add_members();
  Status add_board(const AddedBoard& board);
  [[nodiscard]] Status check_budget() const;
  Status move_task(const MovedTask& task);
  Status add_task(const AddedTask& task);
  void add_budgets();
  Status begin(Member& member);
  void live();
  Result<std::vector<BoardRerun>> finish();
  void send(Member& from, const core::SendToPeer& message, TimeNs at);

  [[nodiscard]] bool changes_budget() const {
    return !changes_.boards_without.empty() || !changes_.boards_added.empty() ||
           !changes_.budgets.empty();
  }
  [[nodiscard]] std::size_t limits_by(TimeNs wall) const;
  [[nodiscard]] core::FleetBudget changed(const core::FleetBudget& budget, TimeNs wall) const;
  void change_members(core::FleetBudget& budget) const;

  const RecordedBoards boards_;
  const Carrier& carrier_;
  const Changes& changes_;
  const Beyond beyond_;
  const FleetWatch& watch_;
  const bool fresh_;  // every board is there from its first start on, and so is the fleet
  TimeNs from_wall_ = kNever;
  TimeNs to_wall_ = 0;
  std::vector<std::unique_ptr<Member>> members_;
};

Status FleetRun::add_members() {
  for (const std::string& node : changes_.boards_without) {
    if (recording_of(node) == nullptr) return no_board(node);
  }
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    const Recording& board = *boards_[i];
    from_wall_ = std::min(from_wall_, board.wall_at(board.from));
    to_wall_ = std::max(to_wall_, board.wall_at(board.to));
    if (is_left_out(board.node)) continue;
    auto member = std::make_unique<Member>();
    member->node = board.node;
    member->recorded = i;
    member->recording = &board;
    member->changes = changes_;
    members_.push_back(std::move(member));
  }
  for (const AddedBoard& board : changes_.boards_added) LAIRD_TRY(add_board(board));
  if (members_.empty()) return fail(Code::kInvalid, "no board is left of the fleet");
  for (const auto& member : members_) {
    const Recording& board = *member->recording;
    const bool gone = board.wall_at(board.to) + kGoneAfter < to_wall_;
    if (member->recorded && (gone || board.shut_down)) member->place.ends_at = board.to;
  }
  return {};
}

// What happens to an added board: it starts, its power is read, clocks are set, budgets come.
Status FleetRun::add_board(const AddedBoard& board) {
  const Recording* like = recording_of(board.like);
  if (like == nullptr) return no_board(board.like);
  if (recording_of(board.name) != nullptr || find(board.name) != nullptr) {
    return fail(Code::kExists, "a board '" + board.name + "' is there already; choose a new name");
  }
  auto member = std::make_unique<Member>();
  member->node = board.name;
  member->made = std::make_unique<Recording>();
  Recording& made = *member->made;
  made.node = board.name;
  made.from = like->from;
  made.to = like->to;
  made.wall_minus_agent = like->wall_minus_agent;
  made.clock = like->clock;
  made.tick_late = like->tick_late;
  made.reading_every = like->reading_every;
  made.base_mw = like->base_mw;
  made.lane_mw = like->lane_mw;
  std::optional<core::Booted> start;
  if (!like->first_state.empty()) {
    const auto state = core::decode_state(std::string_view(
        reinterpret_cast<const char*>(like->first_state.data()), like->first_state.size()));
    LAIRD_TRY(state);
    start.emplace();
    start->config = state->config;
    start->config.fleet.budget = state->fleet.budget;
    start->zone = state->zone;
    start->wall_ns = like->wall_at(like->from);
  }
  const auto add = [&made](TimeNs at, core::EventBody body, const Given* then) {
    Given given;
    given.at = at;
    given.body = std::move(body);
    if (then != nullptr) given.use = then->use;
    made.given.push_back(std::move(given));
  };
  const auto begin = [&](TimeNs at) {
    start->config.node = board.name;
    start->machine_boot = 1;
    add(at, *start, nullptr);
    add(at + kJoinAfter, core::FleetJoined{true}, nullptr);
  };
  bool begun = start.has_value();
  if (begun) begin(like->from);
  for (const Given& given : like->given) {
    if (!given.body) continue;
    if (const auto* booted = std::get_if<core::Booted>(&*given.body)) {
      if (begun) continue;
      start = *booted;
      begun = true;
      begin(given.at);
      continue;
    }
    const auto* command = std::get_if<core::OperatorCommand>(&*given.body);
    const bool budget =
        command != nullptr && std::holds_alternative<core::BudgetChanged>(command->body);
    if (budget || std::holds_alternative<core::PowerSampled>(*given.body) ||
        std::holds_alternative<core::ClockStepped>(*given.body) ||
        std::holds_alternative<core::BudgetChanged>(*given.body)) {
      add(given.at, *given.body, &given);
    }
  }
  if (!begun) return fail(Code::kNotFound, board.like + " was never started in these journals");
  std::stable_sort(made.given.begin(), made.given.end(),
                   [](const Given& a, const Given& b) { return a.at < b.at; });
  member->recording = &made;
  member->changes = changes_;
  if (board.module) member->changes.board = board.module;
  members_.push_back(std::move(member));
  return {};
}

// How many of the other budgets have begun.
std::size_t FleetRun::limits_by(TimeNs wall) const {
  return static_cast<std::size_t>(
      std::count_if(changes_.budgets.begin(), changes_.budgets.end(), [&](const LimitFrom& limit) {
        return limit.after == 0 || from_wall_ + limit.after <= wall;
      }));
}

void FleetRun::change_members(core::FleetBudget& budget) const {
  std::vector<core::FleetMember> members = budget.members;
  for (const AddedBoard& board : changes_.boards_added) {
    const core::FleetMember* like = budget.member(board.like);
    if (like == nullptr) continue;
    members.push_back({board.name, like->floor});
  }
  std::erase_if(members, [this](const core::FleetMember& m) { return is_left_out(m.id); });
  std::sort(members.begin(), members.end(),
            [](const core::FleetMember& a, const core::FleetMember& b) { return a.id < b.id; });
  budget.members = std::move(members);
  // Founders never change. A fleet that was founded in these journals is founded without the board.
  if (fresh_)
    std::erase_if(budget.founders, [this](const std::string& id) { return is_left_out(id); });
}

core::FleetBudget FleetRun::changed(const core::FleetBudget& budget, TimeNs wall) const {
  if (!changes_budget() || budget.founding_epoch == 0) return budget;
  core::FleetBudget out = budget;
  change_members(out);
  const std::size_t limits = limits_by(wall);
  if (limits > 0) {
    out.total[core::Resource::kPower] = changes_.budgets[limits - 1].mw.value_or(core::kUnlimited);
    out.power_mw_for_now = core::kUnlimited;
    out.power_for_now_until_wall = 0;
  }
  if (out.rev > 0) out.rev = out.rev * kRevisionSpread + 1 + limits;
  return out;
}

Status FleetRun::check_budget() const {
  if (!changes_budget()) return {};
  for (std::size_t limits = 0; limits <= changes_.budgets.size(); ++limits) {
    const TimeNs wall = limits == 0 ? from_wall_ : from_wall_ + changes_.budgets[limits - 1].after;
    const core::FleetBudget budget = changed(boards_.front()->budget, wall);
    if (const Status ok = core::check_fleet_budget(budget); !ok) {
      return fail(Code::kInvalid, "the fleet would have no such budget: " + ok.error().context);
    }
  }
  return {};
}

// Budgets that nobody gave then: of the boards that were there before, and of later moments.
void FleetRun::add_budgets() {
  for (const auto& member : members_) {
    const Recording& board = *member->recording;
    core::FleetBudget in_force;
    std::vector<std::pair<TimeNs, core::FleetBudget>> known;  // as they were recorded
    if (!board.first_state.empty()) {
      const auto state = core::decode_state(std::string_view(
          reinterpret_cast<const char*>(board.first_state.data()), board.first_state.size()));
      if (state) known.emplace_back(board.from, state->fleet.budget);
    }
    for (const Given& given : board.given) {
      if (!given.body) continue;
      const auto* command = std::get_if<core::OperatorCommand>(&*given.body);
      const auto* changed = command != nullptr ? std::get_if<core::BudgetChanged>(&command->body)
                                               : std::get_if<core::BudgetChanged>(&*given.body);
      const auto* booted = std::get_if<core::Booted>(&*given.body);
      if (changed != nullptr) known.emplace_back(given.at, changed->budget);
      if (booted != nullptr && known.empty())
        known.emplace_back(given.at, booted->config.fleet.budget);
    }
    const auto tell = [&](TimeNs at) {
      const core::FleetBudget* last = nullptr;
      for (const auto& [since, budget] : known) {
        if (since > at) break;
        if (last == nullptr || budget.rev >= last->rev) last = &budget;
      }
      if (last == nullptr || last->founding_epoch == 0) return;
      const TimeNs wall = board.wall_at(at);
      core::BudgetChanged told;
      told.budget = changed(*last, wall);
      // One from the config has no revision, and gives way to any.
      if (last->rev == 0) told.budget.rev = 1 + limits_by(wall);
      Given given;
      given.at = at;
      given.body = std::move(told);
      given.is_made = true;
      member->place.given.push_back(std::move(given));
    };
    if (!board.first_state.empty()) tell(board.from);
    for (const LimitFrom& limit : changes_.budgets) {
      if (limit.after > 0) tell(board.agent_at(from_wall_ + limit.after));
    }
  }
}

// All that names the task goes to the other board, at the same moment.
Status FleetRun::move_task(const MovedTask& task) {
  Member* to = find(task.board);
  if (to == nullptr) return no_board(task.board);
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    const Recording& from = *boards_[i];
    const auto record = from.tasks.find({task.task, 0});
    if (record == from.tasks.end()) continue;
    if (from.node == task.board) {
      return fail(Code::kExists, "'" + task.task + "' ran on " + task.board + " as it was");
    }
    if (to->recording->tasks.count({task.task, 0}) != 0) {
      return fail(Code::kExists, "a task '" + task.task + "' ran on " + task.board + " too");
    }
    bool came = false;
    for (const Given& given : from.given) {
      const std::string* named = given.body ? task_named_by(*given.body) : nullptr;
      if (named == nullptr || *named != task.task) continue;
      came = true;
      Given moved = given;
      moved.at = to->agent_at(from.wall_at(given.at));
      to->place.given.push_back(std::move(moved));
    }
    if (!came) {
      return fail(Code::kInvalid, "'" + task.task + "' was on " + from.node +
                                      " before the journals begin, and cannot be moved");
    }
    if (Member* old = find(from.node)) old->place.moved_away.insert(task.task);
    to->place.moved_here[{task.task, 0}] = &record->second;
    to->moved_here[{task.task, 0}] = i;
    return {};
  }
  return fail(Code::kNotFound, "no board ran a task '" + task.task + "'");
}

Status FleetRun::add_task(const AddedTask& task) {
  Member* to = find(task.board);
  if (to == nullptr) return no_board(task.board);
  for (const Recording* from : boards_) {
    const auto record = from->tasks.find({task.like, 0});
    if (record == from->tasks.end()) continue;
    for (const Given& given : from->given) {
      if (!given.body) continue;
      const auto* command = std::get_if<core::OperatorCommand>(&*given.body);
      const auto* submitted = command != nullptr ? std::get_if<core::Submitted>(&command->body)
                                                 : std::get_if<core::Submitted>(&*given.body);
      if (submitted == nullptr || submitted->spec.name != task.like) continue;
      core::Submitted more;
      more.spec = submitted->spec;
      more.spec.name = task.name;
      Given added;
      added.at = to->agent_at(from->wall_at(given.at));
      added.body = std::move(more);
      to->place.given.push_back(std::move(added));
      to->place.moved_here[{task.name, 0}] = &record->second;
      return {};
    }
  }
  return fail(Code::kInvalid, "'" + task.like +
                                  "' was there before the journals begin, so nobody " +
                                  "knows when '" + task.name + "' would have come");
}

Status FleetRun::begin(Member& member) {
  const std::size_t place =
      static_cast<std::size_t>(std::find_if(members_.begin(), members_.end(),
                                            [&](const auto& m) { return m.get() == &member; }) -
                               members_.begin());
  if (watch_.step) {
    member.watch = [this, place](const core::Event& event, const core::State& state,
                                 const core::Effects& effects) {
      watch_.step(place, event, state, effects);
    };
  }
  member.place.change_budget = [this, &member](const core::FleetBudget& budget, TimeNs at) {
    return changed(budget, member.wall_at(at));
  };
  member.place.send = [this, &member](const core::SendToPeer& message, TimeNs at) {
    send(member, message, at);
  };
  member.life = std::make_unique<Life>(*member.recording, member.changes, beyond_, member.watch,
                                       &member.place);
  return member.life->begin();
}

void FleetRun::send(Member& from, const core::SendToPeer& message, TimeNs at) {
  Member* to = find(message.to);
  if (to == nullptr) return;
  auto& [moment, count] = from.sent_to[message.to];
  count = moment == at ? count + 1 : 0;
  moment = at;
  const std::optional<TimeNs> arrives =
      carrier_.arrives(from.node, message.to, from.wall_at(at), count);
  if (!arrives) return;
  to->life->deliver(to->agent_at(*arrives), {from.node, message.bytes});
}

// Always the board on which something happens next.
void FleetRun::live() {
  for (std::uint64_t events = 1;; ++events) {
    Member* next = nullptr;
    TimeNs next_wall = kNever;
    bool all_over = true;
    for (const auto& member : members_) {
      const TimeNs at = member->life->next_at();
      if (at == kNever) continue;
      all_over = all_over && member->life->over();
      const TimeNs wall = member->wall_at(at);
      if (wall >= next_wall) continue;
      next_wall = wall;
      next = member.get();
    }
    if (all_over || next == nullptr) return;
    next->life->do_next();
    if (watch_.progress && events % kProgressEvery == 0) watch_.progress(events);
  }
}

Result<std::vector<BoardRerun>> FleetRun::finish() {
  std::vector<BoardRerun> out;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = *members_[i];
    BoardRerun board;
    board.node = member.node;
    board.recorded = member.recorded;
    board.moved_here = std::move(member.moved_here);
    board.rerun = member.life->finish([this, i](const core::State& state) {
      if (watch_.end) watch_.end(i, state);
    });
    out.push_back(std::move(board));
  }
  return out;
}

}  // namespace

std::optional<std::string> apart_because(RecordedBoards boards) {
  if (boards.size() < 2) return "there is one journal alone";
  std::set<std::string> nodes;
  for (const Recording* board : boards) {
    if (!nodes.insert(board->node).second) return "two journals are of " + board->node;
  }
  const std::uint32_t epoch = boards.front()->budget.founding_epoch;
  for (const Recording* board : boards) {
    if (board->budget.founding_epoch == 0) return board->node + " was in no fleet";
    if (board->budget.founding_epoch != epoch) {
      return board->node + " and " + boards.front()->node + " were not in one fleet";
    }
    for (const std::string& peer : board->peers) {
      if (nodes.count(peer) == 0) return "the journal of " + peer + " is not among them";
    }
  }
  return std::nullopt;
}

TimeNs begin_of(RecordedBoards boards) {
  TimeNs out = 0;
  for (const Recording* board : boards) {
    if (board->first_state.empty()) continue;
    out = std::max(out, board->wall_at(board->from));
  }
  return out;
}

Result<std::vector<BoardRerun>> run_fleet_again(RecordedBoards boards, const Carrier& carrier,
                                                const Changes& changes, Beyond beyond,
                                                const FleetWatch& watch) {
  return FleetRun(boards, carrier, changes, beyond, watch).run();
}

}  // namespace laird::whatif
