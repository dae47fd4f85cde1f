#include "agent/fleet/cotrain.hpp"

#include <algorithm>
#include <set>

#include "agent/core/state/fleet.hpp"
#include "config/schema.hpp"
#include "mqtt/codec/coop.hpp"
#include "trainer_protocol/from_agent.hpp"

namespace laird::agent {
namespace {

using core::TaskState;
using json::Kind;
using json::Value;
using trainer_protocol::PeerState;

constexpr std::string_view kAtWork = "at-work";
constexpr std::string_view kHeld = "held";
constexpr std::string_view kDone = "done";
// A board that lives and has not said its word for so long since its start has no such task.
constexpr DurationNs kStaleMax = 30 * kSecond;
// A model is handed to a board again at most so often, and in such portions.
constexpr DurationNs kServeAgain = 5 * kSecond;
constexpr DurationNs kServeEvery = 100 * kMillisecond;
constexpr std::size_t kServeAtOnce = 4;
// Who hears it drops what one board says beyond 2 MiB in a second.
static_assert(kServeAtOnce * mqtt::kModelPartBytesMax * (kSecond / kServeEvery) <= 2 << 20);
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

namespace {

bool ended_as_planned(const core::Task& task) {
  return task.outcome == core::Outcome::kSucceeded || task.outcome == core::Outcome::kExhausted;
}

}  // namespace

bool has_fleet_task(const core::State& state, TimeNs now) {
  const auto is_one = [](const core::Task& task) { return task.spec.cotrain; };
  if (std::any_of(state.live.begin(), state.live.end(), is_one)) return true;
  return std::any_of(state.ended.begin(), state.ended.end(), [&](const core::Task& task) {
    return is_one(task) && ended_as_planned(task) && now <= told_until(task);
  });
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
  from->draining =
      status->state == mqtt::NodeState::kDraining || status->state == mqtt::NodeState::kDrained;
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
      const std::string& said = state.as_string();
      from->tasks[name] = said == kDone ? Word::kDone : said == kHeld ? Word::kHeld : Word::kAtWork;
    }
  }
  dirty_ = true;
}

void GroupTracker::on_part(const std::string& from, std::string_view body, TimeNs now) {
  const Result<mqtt::ModelPart> part = mqtt::parse_model_body(body);
  const auto peer = peers_.find(from);
  if (!part || peer == peers_.end()) return;
  const std::string task(part->task);
  if (ended_.count(task) != 0) return begin_to_serve(task, from, now);
  const auto group = groups_.find(task);
  if (group == groups_.end()) return;
  const auto& peers = group->second.peers;
  const bool is_peer =
      std::any_of(peers.begin(), peers.end(), [&](const auto& p) { return p.node == from; });
  if (!is_peer) return;
  callbacks_.tell(group->second.key, trainer_protocol::peer_line(from, part->bytes), true);
}

void GroupTracker::on_to_peers(core::TaskKey key, const std::string& to, std::string_view bytes) {
  for (const auto& [name, group] : groups_) {
    if (group.key != key) continue;
    const std::string body = mqtt::model_body(name, bytes);
    if (body.empty()) return;
    std::vector<std::string> all;
    for (const auto& [node, state] : group.peers) {
      if (to == node) callbacks_.send(node, body);
      if (state == PeerState::kAtWork) all.push_back(node);
    }
    if (to.empty() && !all.empty()) callbacks_.send_all(all, body);
  }
}

void GroupTracker::on_group(core::TaskKey key, const trainer_protocol::GroupStatus& status) {
  for (auto& [name, group] : groups_) {
    if (group.key != key) continue;
    group.status = status;
    last_[name] = status;
  }
}

void GroupTracker::begin_to_serve(const std::string& task, const std::string& to, TimeNs now) {
  const auto [at, first] = served_at_.try_emplace({task, to}, now);
  if (!first && now - at->second < kServeAgain) return;
  const bool under_way = std::any_of(served_.begin(), served_.end(),
                                     [&](const Served& s) { return s.task == task && s.to == to; });
  if (under_way || served_.size() >= kServedMax) return;
  at->second = now;
  served_.push_back({task, to, 0});
}

void GroupTracker::serve(TimeNs now) {
  if (served_.empty() || now < serve_at_) return;
  serve_at_ = now + kServeEvery;
  for (std::size_t k = 0; k < kServeAtOnce && !served_.empty(); ++k) {
    if (!serve_next(served_.front())) served_.pop_front();
  }
}

bool GroupTracker::serve_next(Served& served) {
  constexpr std::size_t kHead = 4;
  const std::string read =
      callbacks_.parcels(served.task, served.at, kHead + mqtt::kModelPartBytesMax);
  if (read.size() <= kHead) return false;
  std::size_t size = 0;
  for (std::size_t b = kHead; b-- > 0;) size = size << 8 | static_cast<std::uint8_t>(read[b]);
  if (size == 0 || size > read.size() - kHead) return false;
  const std::string body =
      mqtt::model_body(served.task, std::string_view(read).substr(kHead, size));
  if (!body.empty()) callbacks_.send(served.to, body);
  served.at += kHead + size;
  return true;
}

void GroupTracker::refresh(const core::State& state, TimeNs now) {
  dirty_ = false;
  Value tasks = Value::object();
  std::map<std::string, Group> kept;
  for (const core::Task& task : state.live) {
    if (!task.spec.cotrain || kept.size() == kWordTasksMax) continue;
    if (!is_at_work(task.state)) {
      if (tasks.members().size() < kWordTasksMax) tasks.set(task.spec.name, kHeld);
      continue;
    }
    tasks.set(task.spec.name, kAtWork);
    kept[task.spec.name] = std::move(groups_[task.spec.name]);
  }
  std::size_t told = tasks.members().size();
  std::map<std::string, trainer_protocol::GroupStatus> ended;
  for (auto at = state.ended.rbegin(); at != state.ended.rend() && told < kWordTasksMax; ++at) {
    const core::Task& task = *at;
    if (!ended_as_planned(task) || now > told_until(task) || !task.spec.cotrain) continue;
    if (tasks.find(task.spec.name) != nullptr) continue;
    tasks.set(task.spec.name, kDone);
    const auto known = last_.find(task.spec.name);
    ended[task.spec.name] = known != last_.end() ? known->second : trainer_protocol::GroupStatus{};
    ++told;
  }
  groups_ = std::move(kept);
  ended_ = std::move(ended);
  std::erase_if(last_, [&](const auto& l) { return tasks.find(l.first) == nullptr; });
  std::erase_if(served_at_, [this](const auto& s) { return ended_.count(s.first.first) == 0; });
  std::erase_if(served_, [this](const Served& s) { return ended_.count(s.task) == 0; });
  for (auto& [node, peer] : peers_) {
    const bool stale = peer.live && peer.word_epoch > 0 && peer.epoch > peer.word_epoch;
    peer.stale_since = stale ? std::min(peer.stale_since, now) : kNever;
    if (stale && now - peer.stale_since > kStaleMax) peer.tasks.clear();
  }
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
  // A board without its own place in the budget knows of no other's either.
  if (state.fleet.budget.member(self_) == nullptr) return;
  std::set<std::string> names;
  for (const auto& [node, peer] : peers_) {
    if (peer.tasks.count(task.spec.name) != 0) names.insert(node);
  }
  // Whom the trainers count as theirs is told of too when it is there no more.
  for (const auto& board : group.status.boards) names.insert(board.node);
  for (const auto& known : group.peers) names.insert(known.node);
  names.erase(self_);
  group.peers.clear();
  for (const std::string& node : names) {
    if (group.peers.size() == trainer_protocol::kGroupPeersMax) break;
    group.peers.push_back({node, state_of(task.spec.name, node, state)});
  }
  trainer_protocol::Peers line;
  line.self = self_;
  line.life = group.life;
  line.peers = group.peers;
  const std::string text = line_of(line);
  if (!can_hear(task.state) || text == group.told) return;
  group.told = text;
  callbacks_.tell(task.key, text, false);
}

PeerState GroupTracker::state_of(const std::string& task, const std::string& node,
                                 const core::State& state) const {
  if (state.fleet.budget.member(node) == nullptr) return PeerState::kLeft;
  const auto found = peers_.find(node);
  if (found == peers_.end() || found->second.word_epoch == 0) return PeerState::kAway;
  const Peer& peer = found->second;
  const auto said = peer.tasks.find(task);
  if (said == peer.tasks.end()) return PeerState::kLeft;
  if (said->second == Word::kDone) return PeerState::kDone;
  if (said->second == Word::kHeld) return peer.draining ? PeerState::kLeft : PeerState::kAway;
  return peer.counts() ? PeerState::kAtWork : PeerState::kAway;
}

const trainer_protocol::GroupStatus* GroupTracker::group(const std::string& task) const {
  if (const auto found = groups_.find(task); found != groups_.end()) return &found->second.status;
  if (const auto found = ended_.find(task); found != ended_.end()) return &found->second;
  // It has just ended, and refresh() did not look yet.
  if (const auto found = last_.find(task); found != last_.end()) return &found->second;
  return nullptr;
}

std::size_t GroupTracker::boards(const std::string& task) const {
  const auto found = groups_.find(task);
  if (found == groups_.end()) return 0;
  const auto& peers = found->second.peers;
  return 1 + static_cast<std::size_t>(std::count_if(peers.begin(), peers.end(), [](const auto& p) {
           return p.state == PeerState::kAtWork;
         }));
}

}  // namespace laird::agent
