#include "agent/running_agent.hpp"

#include "agent/settings/listen_address.hpp"
#include "agent/view/metrics.hpp"

namespace laird::agent {
namespace {

// A disk or a board that is full now may have room later.
constexpr DurationNs kSubmitAgainAfter = 10 * kSecond;

constexpr std::size_t kPeersToldMax = 32;

void add_peers(const PeerGuard& peers, MetricsInput& in) {
  for (std::size_t i = 0; i < kCoopResults; ++i) {
    in.coop.emplace_back(name(static_cast<CoopResult>(i)), peers.totals()[i]);
  }
  for (const auto& [peer, counts] : peers.refused_by_peer(kPeersToldMax)) {
    for (std::size_t i = 0; i < kCoopResults; ++i) {
      if (counts[i] == 0) continue;
      in.coop_refused.push_back({peer, std::string(name(static_cast<CoopResult>(i))), counts[i]});
    }
  }
}

MetricsInput metrics_of(const Agent& agent, const FleetLink* fleet, const Footprint& used) {
  MetricsInput in;
  in.state = &agent.state();
  in.reading = agent.last_reading();
  in.now = agent.now();
  in.over_cap_ns = agent.over_cap_ns();
  if (fleet != nullptr) {
    in.has_link = true;
    in.connected = fleet->connected();
    in.link = fleet->counters();
    add_peers(fleet->peers(), in);
    for (const core::Task& task : agent.state().live) {
      const auto* group = task.spec.cotrain ? fleet->group(task.spec.name) : nullptr;
      if (group != nullptr && in.groups.size() < kTasksLabelledMax) {
        in.groups.emplace_back(task.spec.name, *group);
      }
    }
  }
  in.resident_bytes = used.resident_kb * 1024;
  in.cpu_s = static_cast<double>(used.cpu_ms) * 1e-3;
  return in;
}

// What was opened goes to its place, or the reason why it was not is handed on.
template <class T>
[[nodiscard]] Status put_into(T& place, Result<T> opened) {
  LAIRD_TRY(opened);
  place = std::move(*opened);
  return {};
}

}  // namespace

Status RunningAgent::open() {
  Result<std::unique_ptr<Agent>> agent = Agent::create(loop_, machine_, settings_, log_);
  LAIRD_TRY(put_into(agent_, std::move(agent)));
  LAIRD_TRY(open_ways_in());
  LAIRD_TRY(open_metrics());
  agent_->on_changed([this](const core::Task& task, const core::TaskChanged& change) {
    if (changed_) changed_(task, change);
    if (change.state == core::TaskState::kEnded) {
      ++ended_[change.outcome];
    }
    if (fleet_) fleet_->task_changed(task, change);
  });
  return {};
}

// The local socket, and the fleet's link with what it may change.
Status RunningAgent::open_ways_in() {
  if (!settings_.control_socket.empty()) {
    Status ok = put_into(local_, LocalSocket::open(loop_, *agent_, settings_.control_socket));
    if (!ok) return ok;
  }
  config_.emplace(
      loop_, *agent_, layers_, store_,
      [this] {
        log_(LogLevel::kInfo,
             "starting anew, for other settings; tasks go on from their checkpoints");
        restart_ = true;
        agent_->shut_down();
      },
      log_);
  if (!settings_.fleet.name.empty()) {
    Status ok = put_into(
        fleet_, FleetLink::open(loop_, *agent_, machine_, settings_, *config_, version_, log_));
    if (!ok) return ok;
  }
  if (local_) local_->answer_from(*config_, fleet_ ? &fleet_->events() : nullptr);
  config_->set_link([this] { return fleet_ != nullptr && fleet_->connected(); });
  return {};
}

Status RunningAgent::open_metrics() {
  const std::string& listen = settings_.metrics_listen;
  if (listen.empty()) return {};
  const double started_s = static_cast<double>(machine_.clock.wall_ns()) * 1e-9;
  Result<std::unique_ptr<MetricsPort>> opened = MetricsPort::open(loop_, listen, [this, started_s] {
    MetricsInput in = metrics_of(*agent_, fleet_.get(), machine_.footprint());
    in.board = &settings_.board;
    in.version = version_;
    in.ended = ended_;
    in.started_unix_s = started_s;
    return metrics_text(in);
  });
  LAIRD_TRY(put_into(metrics_, std::move(opened)));
  const bool here = parse_listen_address(listen)->loopback;
  log_(here ? LogLevel::kInfo : LogLevel::kWarning,
       "metrics: http://" + listen + "/metrics" +
           (here ? "" : ", which anybody who reaches this machine can read"));
  return {};
}

void RunningAgent::submit_configured_tasks() {
  for (const core::TaskSpec& spec : settings_.tasks) submit(spec);
}

void RunningAgent::submit(const core::TaskSpec& spec) {
  agent_->submit(spec, [this, spec](const core::Answer& answer) {
    log_(answer.ok ? LogLevel::kDebug : LogLevel::kWarning,
         "task " + spec.name + ": " + answer.text);
    if (answer.ok || answer.code != Code::kFull) return;
    loop_.after(kSubmitAgainAfter, [this, spec] { submit(spec); });
  });
}

void RunningAgent::settle() {
  agent_->process();
  if (fleet_) fleet_->flush();
}

}  // namespace laird::agent
