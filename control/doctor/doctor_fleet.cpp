#include <algorithm>
#include <cmath>

#include "control/doctor/doctor.hpp"
#include "control/fleet/fleet_client.hpp"
#include "control/screen/output.hpp"
#include "control/screen/rows.hpp"
#include "mqtt/client/address.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/sign/tls_files.hpp"
#include "mqtt/sign/tls_probe.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr std::int64_t kDayS = 86'400;
constexpr double kSkewWarnS = 5.0;
// Reports come at least every five seconds.
constexpr DurationNs kReportWait = 7 * kSecond;

void check_credentials(const Access& access, Findings& out) {
  if (access.insecure_lab) {
    out.push_back({Health::kWarning, "tls", "insecure_lab is set: nothing is encrypted",
                   "only for a broker on this machine; otherwise use certificates"});
    return;
  }
  const Status files = mqtt::check_tls_files(access.ca, access.cert, access.key);
  if (!files) {
    out.push_back({Health::kFailed, "tls", files.error().context,
                   "`lairctl pki issue operator " + access.op + "` makes new ones"});
    return;
  }
  for (const std::string& path : {access.cert, access.ca}) {
    if (const auto left = mqtt::valid_for_s(path)) out.push_back(judge_certificate(path, *left));
  }
  const auto name = mqtt::common_name(access.cert);
  if (name && *name != access.op) {
    out.push_back({Health::kFailed, "tls",
                   "the certificate is of '" + *name + "', the operator is '" + access.op + "'",
                   "leave \"operator\" out of the config, or name the right credentials"});
  }
}

void check_brokers(const Access& access, DurationNs timeout, Findings& out) {
  for (const std::string& broker : access.brokers) {
    const auto address = mqtt::parse_address(broker);
    if (!address) {
      out.push_back({Health::kFailed, "broker", address.error().context, "mqtts://host:8883"});
      continue;
    }
    const Status reached = mqtt::probe(
        {address->host, address->port, address->tls, access.ca, access.cert, access.key}, timeout);
    if (reached) {
      out.push_back({Health::kOk, "broker",
                     broker + " reached" + (address->tls ? ", certificates taken" : ""), ""});
    } else {
      out.push_back({Health::kFailed, "broker", broker + ": " + reached.error().context,
                     "is mosquitto running there, and its configuration from `lairctl broker "
                     "config`?"});
    }
  }
}

void check_acl(FleetClient& client, DurationNs timeout, Findings& out) {
  // A topic of a board that does not exist: if a wrong ACL lets the message through, it does no
  // harm.
  const std::string topic = mqtt::node_topic(client.access().fleet, client.access().op,
                                             mqtt::TopicKind::kEvent, "doctor");
  const auto forbidden = client.is_forbidden(topic, timeout);
  if (!forbidden) {
    out.push_back({Health::kFailed, "acl", forbidden.error().context, "look at the broker's log"});
  } else if (*forbidden) {
    out.push_back({Health::kOk, "acl", "the broker refuses what an operator may not write", ""});
  } else {
    out.push_back({Health::kFailed, "acl",
                   "an operator may write in a board's place: the broker does not hold the ACL",
                   "`lairctl broker config --force`, then restart mosquitto"});
  }
}

void check_boards(FleetClient& client, DurationNs timeout, Findings& out) {
  std::set<std::string> live;
  std::string away;
  for (const auto& [id, board] : client.view().boards()) {
    if (board.is_live()) {
      live.insert(id);
    } else {
      away += (away.empty() ? "" : ", ") + id + " is " + board.state;
    }
  }
  if (client.view().boards().empty()) {
    out.push_back({Health::kWarning, "boards", "none has ever spoken to this broker",
                   "start laird on one with a \"fleet\" section; `laird check` looks at its file"});
    return;
  }
  out.push_back({away.empty() ? Health::kOk : Health::kWarning, "boards",
                 std::to_string(live.size()) + " live" + (away.empty() ? "" : "; " + away),
                 away.empty() ? "" : "look at the board's power, network, `journalctl -u laird`"});
  if (live.empty()) return;
  const auto replies = client.ask_all("ping", Value::object(), live, timeout);
  if (!replies) {
    out.push_back({Health::kFailed, "commands", replies.error().context, "chmod 0600 the key"});
    return;
  }
  std::string refused;
  std::string silent;
  for (const std::string& board : live) {
    const auto found = replies->find(board);
    if (found == replies->end()) {
      silent += (silent.empty() ? "" : ", ") + board;
    } else if (found->second.code != mqtt::ReplyCode::kOk) {
      refused += (refused.empty() ? "" : "; ") + board + ": " + harmless(found->second.text);
    }
  }
  if (!refused.empty()) {
    out.push_back({Health::kFailed, "commands", refused,
                   "put this operator's public key (signing.pub) into \"operators\" of the "
                   "boards' config; set the clocks"});
  } else if (!silent.empty()) {
    out.push_back({Health::kFailed, "commands", "no answer from " + silent,
                   "`lairctl describe node`; a longer --timeout"});
  } else {
    out.push_back({Health::kOk, "commands",
                   "signed ones are obeyed, answered " + std::to_string(replies->size()) + " of " +
                       std::to_string(live.size()),
                   ""});
  }
}

// How far each board's clock is ahead of this machine's, by the time of its reports.
void check_clocks(FleetClient& client, Findings& out) {
  std::map<std::string, double> before;
  std::map<std::string, double> ahead;
  const auto seq = [](const BoardView& board) { return board.number("seq").value_or(-1.0); };
  for (const auto& [id, board] : client.view().boards()) {
    if (board.is_live()) before[id] = seq(board);
  }
  if (before.empty()) return;
  client.wait(after(kReportWait), [&] {
    for (const auto& [id, first] : before) {
      const BoardView& board = client.view().boards().at(id);
      if (ahead.count(id) != 0 || seq(board) == first) continue;
      const Value* ts = board.report.find("ts", Kind::kString);
      const auto at = ts == nullptr ? std::nullopt : mqtt::parse_time_ms(ts->as_string());
      if (at) ahead[id] = static_cast<double>(*at - unix_ms_now()) / 1e3;
    }
    return ahead.size() == before.size();
  });
  double worst = 0.0;
  for (const auto& [id, seconds] : ahead) {
    const Finding finding = judge_clock(id, seconds);
    worst = std::max(worst, std::abs(seconds));
    if (finding.health != Health::kOk) out.push_back(finding);
  }
  if (!ahead.empty()) {
    out.push_back({Health::kOk, "clocks",
                   std::to_string(ahead.size()) + " boards compared, at most " +
                       fixed(worst, 1, " s") + " from this machine's",
                   ""});
  }
}

void check_fleet_budget(const FleetView& view, Findings& out) {
  const Verdict verdict = verdict_of(view);
  const Health health = verdict.level == Verdict::Level::kOk        ? Health::kOk
                        : verdict.level == Verdict::Level::kWarning ? Health::kWarning
                                                                    : Health::kFailed;
  out.push_back({health, "budget", verdict.text,
                 health == Health::kOk ? "" : "`lairctl fleet status` shows it board by board"});
}

}  // namespace

Finding judge_certificate(const std::string& path, std::int64_t valid_for_s) {
  const std::int64_t days = valid_for_s / kDayS;
  if (valid_for_s < 0) {
    return {Health::kFailed, "tls", path + " has expired", "`lairctl pki issue` makes a new one"};
  }
  const std::string text = path + " is good for " + std::to_string(days) + " days";
  if (days < 30) {
    return {Health::kWarning, "tls", text, "renew it in time: `lairctl pki issue ... --force`"};
  }
  return {Health::kOk, "tls", text, ""};
}

Finding judge_clock(const std::string& board, double ahead_s) {
  const std::string text = board + " is " + fixed(std::abs(ahead_s), 1, " s ") +
                           (ahead_s > 0 ? "ahead of" : "behind") + " this machine";
  const char* remedy = "set both by NTP; beyond 30 s commands are refused";
  if (std::abs(ahead_s) * 1e3 > static_cast<double>(mqtt::kClockSkewMaxMs)) {
    return {Health::kFailed, "clocks", text, remedy};
  }
  if (std::abs(ahead_s) > kSkewWarnS) return {Health::kWarning, "clocks", text, remedy};
  return {Health::kOk, "clocks", text, ""};
}

Findings check_fleet(Access access, DurationNs timeout) {
  Findings out;
  if (const Status ok = complete(access); !ok) {
    out.push_back({Health::kFailed, "config", ok.error().context, "see `man lairctl`"});
    return out;
  }
  out.push_back({Health::kOk, "config",
                 "fleet " + access.fleet + " as " + access.op +
                     (access.config_path.empty() ? "" : ", by " + access.config_path),
                 ""});
  check_credentials(access, out);
  check_brokers(access, timeout, out);
  if (std::all_of(out.begin(), out.end(), [](const Finding& f) {
        return f.subject != "broker" || f.health == Health::kFailed;
      })) {
    return out;
  }
  const auto client = FleetClient::open(access, Listen::kStates, timeout);
  if (!client) {
    out.push_back(
        {Health::kFailed, "link", client.error().context, "the broker's log says why it refused"});
    return out;
  }
  out.push_back({Health::kOk, "link", "MQTT 5, retained states received", ""});
  if (const Status key = (*client)->load_key(); !key) {
    out.push_back({Health::kFailed, "signing", key.error().context,
                   "`lairctl pki issue operator` makes one; chmod 0600"});
  } else {
    out.push_back({Health::kOk, "signing", "the signing key can be used and is ours alone", ""});
  }
  check_acl(**client, timeout, out);
  check_boards(**client, timeout, out);
  check_clocks(**client, out);
  check_fleet_budget((*client)->view(), out);
  return out;
}

}  // namespace laird::control
