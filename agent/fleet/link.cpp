#include "agent/fleet/link.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "agent/fleet/report.hpp"
#include "agent/view/status.hpp"
#include "base/require.hpp"
#include "os/fd.hpp"

namespace laird::agent {
namespace {

using json::Value;
using mqtt::TopicKind;

// How long the broker has to tell of an earlier life of this board before it counts as new.
constexpr DurationNs kLookBack = 2 * kSecond;
constexpr std::uint32_t kModelExpiryS = 5;
constexpr std::uint32_t kKeepAliveOfManyS = 3;
constexpr std::size_t kLossesOfUnsteady = 3;  // in a minute
constexpr DurationNs kTellUnsteadyEvery = 10 * kMinute;
constexpr DurationNs kGoodbye = 2 * kSecond;
// Messages are worked off in turns of about this length, and ticks come between two turns.
constexpr DurationNs kTurn = 3 * kMillisecond;
constexpr std::size_t kMessagesAtOnce = 16;

// Empty if there is nothing. The folder is a trainer's: what it is asked for may be no file at all.
std::string read_part(const std::string& path, std::size_t at, std::size_t most) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return {};
  std::string out(most, '\0');
  const ssize_t got = ::pread(fd.get(), out.data(), out.size(), static_cast<off_t>(at));
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

}  // namespace

FleetLink::FleetLink(Loop& loop, Agent& agent, Machine& machine, const Settings& settings,
                     std::string version, Log log)
    : loop_(loop),
      agent_(agent),
      clock_(machine.clock),
      footprint_(machine.footprint),
      fleet_(settings.fleet.name),
      node_(settings.core.node),
      state_dir_(settings.state_dir),
      version_(std::move(version)),
      model_(settings.board.title),
      about_(facts_of(settings.board)),
      coop_expiry_s_(static_cast<std::uint32_t>(
          std::max<DurationNs>(1, 2 * settings.core.fleet.tick / kSecond))),
      publish_every_(settings.fleet.publish_every),
      log_(std::move(log)),
      events_(settings.state_dir + "/events.jsonl") {}

std::string FleetLink::topic(TopicKind kind, std::string_view name) const {
  return mqtt::node_topic(fleet_, node_, kind, name);
}

Result<std::unique_ptr<FleetLink>> FleetLink::open(Loop& loop, Agent& agent, Machine& machine,
                                                   const Settings& settings,
                                                   SettingsChanges& config, std::string version,
                                                   Log log) {
  LAIRD_TRY(operators_of(settings.fleet));
  std::unique_ptr<FleetLink> link(
      new FleetLink(loop, agent, machine, settings, std::move(version), std::move(log)));
  FleetLink* self = link.get();
  // Agent time never goes back, so neither does the number of this run.
  link->epoch_ = static_cast<std::uint64_t>(agent.now() / kMillisecond);

  Result<std::optional<mqtt::PeerIdentity>> identity =
      peer_identity_of(settings.fleet, link->node_, link->epoch_);
  LAIRD_TRY(identity);
  mqtt::Options options;
  options.brokers = settings.fleet.brokers;
  options.name = link->node_;
  options.client_id = link->node_;
  if (*identity) {
    Result<std::string> client_id = mqtt::client_id_of(link->node_, settings.fleet.key);
    LAIRD_TRY(client_id);
    options.client_id = std::move(*client_id);
  }
  options.ca = settings.fleet.ca;
  options.cert = settings.fleet.cert;
  options.key = settings.fleet.key;
  options.insecure_lab = settings.fleet.insecure_lab;
  // With another broker to go to, a silent one is given up sooner.
  if (options.brokers.size() > 1) options.keep_alive_s = kKeepAliveOfManyS;
  options.will.topic = link->topic(TopicKind::kStatus);
  options.will.payload =
      mqtt::to_text(mqtt::NodeStatus{mqtt::NodeState::kLost, link->epoch_, link->wall_ms()});
  options.will.qos = 1;
  options.will.retained = true;
  options.subscriptions = {
      {mqtt::command_topic(link->fleet_, link->node_, "+"), 1},
      {mqtt::command_topic(link->fleet_, mqtt::kEveryone, "+"), 1},
      {mqtt::config_topic(link->fleet_, mqtt::kEveryone), 1},
      {mqtt::config_topic(link->fleet_, link->node_), 1},
      {mqtt::revocations_topic(link->fleet_), 1},
      {mqtt::node_topic(link->fleet_, "+", TopicKind::kCoop, link->node_), 0},
      // This board's own topics: whether another agent has its name, and what an earlier start
      // said.
      {link->topic(TopicKind::kStatus), 1},
      {link->topic(TopicKind::kInfo), 1},
  };
  Result<std::unique_ptr<mqtt::Connection>> client = machine.connect(std::move(options));
  LAIRD_TRY(client);
  link->client_ = std::move(*client);
  link->hear_others(has_fleet_task(agent.state(), agent.now()));
  link->commands_ = std::make_unique<SignedCommands>(
      agent, machine.clock, settings, config, link->events_,
      [self](mqtt::Outgoing out) { self->client_->publish(std::move(out)); });
  const Status watched =
      loop.watch(link->client_->ready_fd(), EPOLLIN, [self](std::uint32_t) { self->on_ready(); });
  LAIRD_TRY(watched);
  link->open_peers(settings, std::move(*identity));
  Agent::Peers peers;
  peers.gather = [self] { return self->peers_->gather(); };
  peers.send = [self](const core::SendToPeer& message) {
    self->peers_->send(message, self->agent_.now());
  };
  peers.gather_titles = [self] { return self->peers_->gather_titles(); };
  peers.send_title = [self](const core::SendTitle& message) {
    self->peers_->send_title(message, self->agent_.now());
  };
  const bool shares_runs = settings.fleet.share_runs;
  peers.gather_runs = [self, shares_runs] {
    auto heard = self->peers_->gather_runs();
    return shares_runs ? std::move(heard) : decltype(heard){};
  };
  if (shares_runs) {
    peers.send_run = [self](const core::SendRun& message) {
      self->peers_->send_run(message, self->agent_.now());
    };
  }
  peers.notice = [self](const core::Notice& notice) {
    self->publish_event(std::string(core::name(notice.kind)), notice.text);
  };
  agent.set_peers(std::move(peers));
  link->open_groups();
  link->timer_ = loop.after(link->publish_every_, [self] { self->publish_all(); });
  return link;
}

void FleetLink::open_peers(const Settings& settings, std::optional<mqtt::PeerIdentity> identity) {
  const bool sealed = identity.has_value();
  PeerTraffic::Callbacks callbacks;
  callbacks.publish = [this](const std::string& peer, std::string packet, mqtt::Class kind) {
    send_to(peer, std::move(packet), kind);
  };
  callbacks.model_part = [this](const std::string& from, std::string_view body) {
    groups_->on_part(from, body, agent_.now());
  };
  callbacks.notice = [this](const std::string& text) {
    log_(LogLevel::kWarning, "fleet: " + text);
    publish_event("peer", text);
  };
  peers_ = std::make_unique<PeerTraffic>(node_, std::move(identity), settings.core.fleet.tick,
                                         std::move(callbacks));
  if (!sealed) {
    log_(LogLevel::kWarning,
         "fleet: no certificate, so anybody at the broker can speak for any board: for a lab only");
    return;
  }
  revocations_ =
      std::make_unique<RevocationStore>(settings.fleet.ca, settings.state_dir + "/crl.pem");
  if (!revocations_->problem().empty()) {
    log_(LogLevel::kWarning, "fleet: " + revocations_->problem());
  }
  peers_->guard().revoke(revocations_->list());
}

void FleetLink::open_groups() {
  GroupTracker::Callbacks callbacks;
  callbacks.publish = [this](const std::string& tasks) { publish_word(tasks); };
  callbacks.send = [this](const std::string& peer, const std::string& body) {
    if (client_->connected()) peers_->send_model(peer, body, agent_.now());
  };
  callbacks.send_all = [this](const std::vector<std::string>& peers, const std::string& body) {
    if (client_->connected()) peers_->send_model_to_all(peers, body, agent_.now());
  };
  callbacks.parcels = [this](const std::string& task, std::size_t at, std::size_t most) {
    const std::string path =
        state_dir_ + "/tasks/" + task + "/" + std::string(trainer_protocol::kParcelsFile);
    return read_part(path, at, most);
  };
  callbacks.tell = [this](core::TaskKey key, const std::string& line, bool may_drop) {
    agent_.tell_trainer(key, line, may_drop);
  };
  groups_ = std::make_unique<GroupTracker>(node_, std::move(callbacks));
  agent_.on_to_peers([this](core::TaskKey key, const std::string& to, std::string_view bytes) {
    groups_->on_to_peers(key, to, bytes);
  });
  agent_.on_group([this](core::TaskKey key, const trainer_protocol::GroupStatus& group) {
    groups_->on_group(key, group);
  });
}

// All boards' states, to all boards, is the square of the fleet in one instant when a broker comes
// back. Only a board with a co-training task needs them, and only as long as it has the task.
void FleetLink::hear_others(bool wanted) {
  hears_others_ = wanted;
  for (const TopicKind kind : {TopicKind::kStatus, TopicKind::kCotrain}) {
    const std::string filter = mqtt::node_topic(fleet_, "+", kind);
    const bool fits = wanted ? client_->subscribe(filter, 1) : client_->unsubscribe(filter);
    LAIRD_REQUIRE(fits, "two filters among few");
  }
  const std::string parts =
      mqtt::node_topic(fleet_, "+", TopicKind::kCoop, std::string(mqtt::kEveryone));
  const bool fits = wanted ? client_->subscribe(parts, 0) : client_->unsubscribe(parts);
  LAIRD_REQUIRE(fits, "three filters among few");
}

void FleetLink::refresh_groups() {
  const bool wanted = has_fleet_task(agent_.state(), agent_.now());
  if (wanted != hears_others_) hear_others(wanted);
  // What is known of the other boards grows old from now on.
  if (!wanted) groups_->forget_others();
  groups_->refresh(agent_.state(), agent_.now());
}

FleetLink::~FleetLink() {
  agent_.set_peers({});
  agent_.on_to_peers({});
  agent_.on_group({});
  loop_.cancel(timer_);
  // open() gave up before there was a link: there is nobody to tell.
  if (!client_) return;
  loop_.forget(client_->ready_fd());
  // The fall is published: whoever watches would otherwise count the old share until the lease
  // ends.
  const auto [wall, now] = agent_.instant();
  shares_.give_up(agent_.state(), wall, now);
  publish_shares();
  mqtt::Outgoing last;
  last.topic = topic(TopicKind::kStatus);
  last.payload = mqtt::to_text(mqtt::NodeStatus{mqtt::NodeState::kOffline, epoch_, wall_ms()});
  last.kind = mqtt::Class::kState;
  last.retained = true;
  last.qos = 1;
  client_->close(std::move(last), kGoodbye);
}

// A backlog is worked off in turns. The loop runs what is due between two of them: no flood of
// messages delays a tick.
void FleetLink::on_ready() {
  const TimeNs until = loop_.now() + kTurn;
  while (take_some() && loop_.now() < until) {
  }
}

bool FleetLink::take_some() {
  mqtt::Connection::Batch batch = client_->take(kMessagesAtOnce);
  for (const std::string& problem : batch.problems) log_(LogLevel::kWarning, "mqtt: " + problem);
  if (batch.taken_over) on_taken_over(batch.why);
  if (batch.link_changed) {
    log_(batch.connected ? LogLevel::kInfo : LogLevel::kWarning,
         std::string(batch.connected ? "joined the broker" : "no broker") +
             (batch.why.empty() ? "" : ": " + batch.why));
    if (batch.connected) {
      on_connected();
    } else {
      note_lost_link();
    }
  }
  for (mqtt::Incoming& message : batch.messages) on_message(message);
  return batch.messages.size() == kMessagesAtOnce;
}

void FleetLink::on_message(mqtt::Incoming& message) {
  const Result<mqtt::Topic> at = mqtt::parse_topic(message.topic);
  if (!at || at->fleet != fleet_) return;
  switch (at->kind) {
    case TopicKind::kCotrain:
      if (hears_others_) groups_->on_word(at->node, message.payload);
      return;
    case TopicKind::kCoop: {
      if ((at->name != node_ && at->name != mqtt::kEveryone) || at->node == node_) return;
      const core::FleetBudget& budget = agent_.state().fleet.budget;
      peers_->on_packet(
          at->node, message.payload, budget,
          {agent_.now(), clock_.wall_ns() / kSecond, budget.members.size(), hears_others_});
      return;
    }
    case TopicKind::kRevocations: on_revocations(message.payload); return;
    case TopicKind::kInfo: {
      if (!message.retained || joined_) return;
      const Result<Value> info = mqtt::parse_message(message.payload, "laird.info");
      if (!info) return;
      const Value* epoch = info->find("ledger_epoch", json::Kind::kInteger);
      seen_before_ =
          epoch != nullptr && epoch->as_integer() >= agent_.state().fleet.budget.founding_epoch;
      return;
    }
    case TopicKind::kStatus: on_status(at->node, message.payload); return;
    case TopicKind::kCommand:
    case TopicKind::kFleetConfig:
    case TopicKind::kNodeConfig: commands_->on_message(message, *at); return;
    default: return;
  }
}

void FleetLink::on_status(const std::string& node, std::string_view payload) {
  if (hears_others_) groups_->on_status(node, payload);
  const Result<mqtt::NodeStatus> status = mqtt::parse_status(payload);
  const bool alive = status && status->state != mqtt::NodeState::kLost &&
                     status->state != mqtt::NodeState::kOffline;
  // Of two agents of one name the one that started later keeps the name: both come to that answer.
  if (alive && node == node_ && status->epoch > epoch_) client_->yield_to_other();
}

// The authority has signed the list: whoever published it, it holds.
void FleetLink::on_revocations(std::string_view payload) {
  if (!revocations_ || payload.empty()) return;
  const Result<bool> newer = revocations_->take(payload);
  if (newer && !*newer) return;
  if (!newer) log_(LogLevel::kWarning, "fleet: " + newer.error().context);
  peers_->guard().revoke(revocations_->list());
  if (!newer) return;
  publish_event("revoked", "the list of revoked certificates number " +
                               std::to_string(revocations_->list().number()) + " is in force");
  if (joined_) publish_info();
}

// Two agents of one name must not use one share twice: this one lets go of it at once, and if it
// comes back it does so with nothing.
void FleetLink::on_taken_over(const std::string& why) {
  log_(LogLevel::kError, "fleet: " + why);
  publish_event("taken-over", why);
  agent_.leave_fleet();
  joined_ = false;
  seen_before_ = true;
}

// A broker that throws a client off for another of its id need not say so. Only who has this
// board's private key knows the id.
void FleetLink::note_lost_link() {
  const TimeNs now = agent_.now();
  if (was_connected_) lost_at_.push_back(now);
  was_connected_ = false;
  while (!lost_at_.empty() && now - lost_at_.front() > kMinute) lost_at_.pop_front();
  if (lost_at_.size() < kLossesOfUnsteady || now - told_unsteady_at_ < kTellUnsteadyEvery) return;
  told_unsteady_at_ = now;
  const std::string text = "the link was lost " + std::to_string(lost_at_.size()) +
                           " times within a minute, though the broker answers: the network is bad, "
                           "or somebody has this board's key and connects with it; if so, revoke "
                           "its certificate";
  log_(LogLevel::kWarning, "fleet: " + text);
  publish_event("link", text);
}

void FleetLink::on_connected() {
  was_connected_ = true;
  // At once: another agent of this name that comes back must see that there is a later one.
  publish_status();
  if (joined_ || join_planned_) return;
  // Retained messages come right after subscribing; so does our own last word, if there is one.
  join_planned_ = true;
  loop_.after(kLookBack, [this] { join(); });
}

void FleetLink::join() {
  join_planned_ = false;
  if (!client_->connected()) return;
  joined_ = true;
  agent_.join_fleet(seen_before_);
  publish_status();
  publish_info();
}

void FleetLink::flush() {
  // Before the messages of the same steps leave: whoever receives a share from us notes its rise
  // after our fall. Put together by time, the points of all boards then never show too much.
  // Only a step changes what is used, or the fence.
  if (agent_.steps() != noted_steps_ || shares_.passed_fence(agent_.now())) {
    const auto [wall, now] = agent_.instant();
    shares_.note(agent_.state(), wall, now);
    noted_steps_ = agent_.steps();
  }
  peers_->flush(agent_.now());
  if (client_->connected()) groups_->serve(agent_.now());
  if (joined_ && groups_->dirty()) refresh_groups();
}

void FleetLink::send_to(const std::string& peer, std::string packet, mqtt::Class kind) {
  mqtt::Outgoing out;
  out.topic = topic(TopicKind::kCoop, peer);
  out.payload = std::move(packet);
  out.kind = kind;
  out.expiry_s = kind == mqtt::Class::kModel ? kModelExpiryS : coop_expiry_s_;
  out.json = false;
  client_->publish(std::move(out));
}

}  // namespace laird::agent
