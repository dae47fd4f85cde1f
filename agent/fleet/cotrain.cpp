#include "agent/fleet/cotrain.hpp"

#include <algorithm>

#include "agent/core/state/fleet.hpp"
#include "config/schema.hpp"
#include "consensus/neighbour_graph.hpp"
#include "mqtt/codec/coop.hpp"
#include "trainer_protocol/from_agent.hpp"

namespace laird::agent {
namespace {

using core::TaskState;
using json::Kind;
using json::Value;

constexpr std::string_view kAtWork = "at-work";
constexpr std::string_view kDone = "done";
// A board that was away may come back to the task until the task's deadline. Each board counts the
// deadline from the moment when it took the task.
constexpr DurationNs kDoneTold = 10 * kMinute;

TimeNs told_until(const core::Task& task) {
  const TimeNs latest = std::max(task.ended_at, task.deadline_at);
  return latest > kNever - kDoneTold ? kNever : latest + kDoneTold;
}

bool is_at_work(TaskState state) {
  return state == TaskState::kStarting || state == TaskState::kReady ||
         state == TaskState::kRunning || state == TaskState::kPreempting;
}

// Whether the trainer can be told of its neighbours: it has said that it is ready.
bool can_hear(TaskState state) { return is_at_work(state) && state != TaskState::kStarting; }

bool is_live(mqtt::NodeState state) {
  return state == mqtt::NodeState::kReady || state == mqtt::NodeState::kDraining ||
         state == mqtt::NodeState::kAlert;
}

}  // namespace

std::vector<std::pair<std::string, double>> neighbours_in(const std::vector<std::string>& members,
                                                          const std::string& self) {
  std::map<consensus::NodeId, std::string> names;
  std::vector<consensus::NodeId> numbers;
  for (const std::string& member : members) {
    names[core::node_number(member)] = member;
    numbers.push_back(core::node_number(member));
  }
  const consensus::NeighbourGraph remote(std::move(numbers));
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [number, weight] :
       consensus::metropolis_weights(remote, core::node_number(self))) {
    out.emplace_back(names[number], weight);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool has_fleet_task(const core::State& state) {
  return std::any_of(state.live.begin(), state.live.end(),
                     [](const core::Task& task) { return task.spec.cotrain; });
}

GroupTracker::Peer* GroupTracker::peer(const std::string& node) {
  if (node == self_) return nullptr;
  if (peers_.size() >= core::kMembersMax && peers_.count(node) == 0) return nullptr;
  return &peers_[node];
}

void GroupTracker::on_status(const std::string& node, std::string_view payload) {
  Peer* from = peer(node);
  const Result<mqtt::NodeStatus> status = mqtt::parse_status(payload);
  if (from == nullptr || !status) return;
  // The last will of an earlier start of that agent may come late, and means nothing.
  if (status->epoch < from->epoch) return;
  from->epoch = status->epoch;
  from->live = is_live(status->state);
  dirty_ = true;
}

void GroupTracker::on_word(const std::string& node, std::string_view payload) {
  Peer* from = peer(node);
  const Result<Value> word = mqtt::parse_message(payload, "laird.cotrain");
  if (from == nullptr || !word) return;
  const Value* epoch = word->find("epoch", Kind::kInteger);
  const Value* tasks = word->find("tasks", Kind::kObject);
  if (epoch == nullptr || epoch->as_integer() < 0 || tasks == nullptr) return;
  if (static_cast<std::uint64_t>(epoch->as_integer()) < from->word_epoch) return;
  from->word_epoch = static_cast<std::uint64_t>(epoch->as_integer());
  from->tasks.clear();
  for (const auto& [name, state] : tasks->members()) {
    if (from->tasks.size() == kWordTasksMax) break;
    if (config::is_name(name) && state.is(Kind::kString)) {
      from->tasks[name] = state.as_string() == kDone;
    }
  }
  dirty_ = true;
}

void GroupTracker::on_part(const std::string& from, std::string_view body) {
  const Result<mqtt::ModelPart> part = mqtt::parse_model_body(body);
  const auto peer = peers_.find(from);
  if (!part || peer == peers_.end()) return;
  const auto group = groups_.find(std::string(part->task));
  if (group == groups_.end()) return;
  const auto& around = group->second.neighbours;
  const bool is_neighbour =
      std::any_of(around.begin(), around.end(), [&](const auto& n) { return n.first == from; });
  if (!is_neighbour) return;
  callbacks_.tell(group->second.key, trainer_protocol::peer_line(from, part->bytes), true);
}

void GroupTracker::on_to_peers(core::TaskKey key, const std::string& to, std::string_view bytes) {
  for (const auto& [name, group] : groups_) {
    if (group.key != key) continue;
    const std::string body = mqtt::model_body(name, bytes);
    if (body.empty()) return;
    for (const auto& [node, weight] : group.neighbours) {
      if (to.empty() || to == node) callbacks_.send(node, body);
    }
  }
}

void GroupTracker::refresh(const core::State& state, TimeNs now) {
  dirty_ = false;
  Value tasks = Value::object();
  std::map<std::string, Group> kept;
  for (const core::Task& task : state.live) {
    if (kept.size() == kWordTasksMax || !is_at_work(task.state)) continue;
    if (!task.spec.cotrain) continue;
    tasks.set(task.spec.name, kAtWork);
    kept[task.spec.name] = std::move(groups_[task.spec.name]);
  }
  std::size_t told = kept.size();
  for (auto at = state.ended.rbegin(); at != state.ended.rend() && told < kWordTasksMax; ++at) {
    const core::Task& task = *at;
    const bool as_planned =
        task.outcome == core::Outcome::kSucceeded || task.outcome == core::Outcome::kExhausted;
    if (!as_planned || now > told_until(task) || !task.spec.cotrain) continue;
    if (kept.count(task.spec.name) != 0) continue;
    tasks.set(task.spec.name, kDone);
    ++told;
  }
  groups_ = std::move(kept);
  for (const core::Task& task : state.live) {
    if (groups_.count(task.spec.name) != 0) refresh_group(task, state, now);
  }
  const std::string word = json::to_text(tasks);
  // A board that never had a co-training task says nothing.
  if (word == word_ || (word_.empty() && told == 0)) return;
  word_ = word;
  callbacks_.publish(word);
}

void GroupTracker::refresh_group(const core::Task& task, const core::State& state, TimeNs now) {
  Group& group = groups_[task.spec.name];
  if (group.key != task.key || group.attempt != task.attempt) {
    group = Group{};
    group.key = task.key;
    group.attempt = task.attempt;
    group.life = static_cast<std::uint64_t>(now / kMillisecond);
  }
  group.members = {self_};
  trainer_protocol::Peers line;
  for (const auto& [node, peer] : peers_) {
    if (state.fleet.budget.member(node) == nullptr) continue;
    const auto said = peer.tasks.find(task.spec.name);
    if (said == peer.tasks.end()) continue;
    if (said->second) {
      line.others_done = true;
    } else if (peer.counts()) {
      group.members.push_back(node);
    }
  }
  group.neighbours = neighbours_in(group.members, self_);
  line.self = self_;
  line.life = group.life;
  for (const auto& [node, weight] : group.neighbours) line.peers.push_back({node, weight});
  const std::string text = line_of(line);
  if (!can_hear(task.state) || text == group.told) return;
  group.told = text;
  callbacks_.tell(task.key, text, false);
}

std::size_t GroupTracker::boards(const std::string& task) const {
  const auto found = groups_.find(task);
  return found == groups_.end() ? 0 : found->second.members.size();
}

}  // namespace laird::agent
