// purge: the end of a board that is gone for good: its topics, its certificate, its place.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "control/commands/commands.hpp"
#include "control/fleet/fleet_budget.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/pki.hpp"
#include "control/screen/output.hpp"
#include "mqtt/sign/peer_keys.hpp"

namespace laird::control {
namespace {

struct PurgeOptions {
  std::string name;
  std::string pki = "pki";
};

std::vector<std::string> retained_topics(const FleetView& view, const std::string& fleet,
                                         const std::string& id) {
  std::vector<std::string> out;
  for (const mqtt::TopicKind kind :
       {mqtt::TopicKind::kReport, mqtt::TopicKind::kInfo, mqtt::TopicKind::kStatus}) {
    out.push_back(mqtt::node_topic(fleet, id, kind));
  }
  for (const auto& [key, task] : view.tasks()) {
    if (key.first != id) continue;
    out.push_back(mqtt::node_topic(fleet, id, mqtt::TopicKind::kTask, key.second));
  }
  return out;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Only the board may write its topics, so this connects with the board's certificate.
Status clear_topics(const Access& operators, const std::string& identity, const std::string& id,
                    const std::vector<std::string>& topics, DurationNs timeout) {
  mqtt::Options options;
  options.brokers = operators.brokers;
  // The board's own: ends the session that the broker may keep for it.
  auto client_id = mqtt::client_id_of(id, identity + "/node.key");
  LAIRD_TRY(client_id);
  options.client_id = std::move(*client_id);
  options.name = id;
  options.ca = identity + "/ca.crt";
  options.cert = identity + "/node.crt";
  options.key = identity + "/node.key";
  options.keep_session = false;
  options.retry_jitter_s = 0;
  auto client = mqtt::Client::create(std::move(options));
  LAIRD_TRY(client);
  for (const std::string& topic : topics) {
    mqtt::Outgoing out;
    out.topic = topic;
    out.kind = mqtt::Class::kEvent;
    out.retained = true;
    out.qos = 1;
    (*client)->publish(std::move(out));
  }
  const SteadyTime until = after(timeout);
  std::string why;
  while (std::chrono::steady_clock::now() < until) {
    const auto batch = (*client)->take();
    if (batch.link_changed) why = batch.why;
    const mqtt::Counters now = (*client)->counters();
    if (now.refused > 0) return fail(Code::kRefused, "the broker's ACL lets nobody clear them");
    if (now.sent >= topics.size()) {
      (*client)->close({}, kSecond);
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  (*client)->close({}, kSecond);
  return fail(Code::kUnavailable,
              "the broker did not take it in time" + (why.empty() ? std::string() : ": " + why));
}

int purge(const Reach& reach, const PurgeOptions& options) {
  const std::string& id = options.name;
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  const auto found = view.boards().find(id);
  if (found != view.boards().end() && found->second.is_live()) {
    return complain({Code::kRefused, id + " is " + found->second.state + ": `lairctl drain " + id +
                                         " --wait 2h`, stop it, and purge it then"});
  }
  const auto index = pki_index(options.pki);
  if (!index) return complain(index.error());
  const bool issued = std::any_of(
      index->entries.begin(), index->entries.end(),
      [&](const PkiEntry& entry) { return entry.name == id && entry.role == mqtt::Role::kNode; });
  const bool good =
      std::any_of(index->entries.begin(), index->entries.end(), [&](const PkiEntry& entry) {
        return entry.name == id && entry.role == mqtt::Role::kNode && entry.revoked_at_s == 0;
      });
  const auto budget = budget_in_force(**client, where->timeout);
  const bool member = budget && budget->member(id) != nullptr;
  if (!issued && found == view.boards().end() && !member) {
    return complain({Code::kNotFound, "nobody knows a board '" + id + "'"});
  }
  if (!confirmed("Remove board " + id + " for good: its topics, its certificate, its place?",
                 reach.yes)) {
    say("nothing was done");
    return kFailed;
  }
  int code = 0;
  if (found != view.boards().end()) {
    const auto topics = retained_topics(view, where->fleet.fleet, id);
    // A board that joined by itself has its key alone: for this it gets another one.
    if (good && !is_there(options.pki + "/nodes/" + id + "/node.key")) {
      const auto own =
          pki_issue(options.pki, mqtt::Subject{id, mqtt::Role::kNode, {}, 1}, IfThere::kReplace);
      if (!own) return complain(own.error());
    }
    const Status cleared =
        good ? clear_topics(where->fleet, options.pki + "/nodes/" + id, id, topics, where->timeout)
             : fail(Code::kNotFound,
                    "its certificate is not good any more; enroll it again with "
                    "--force, then purge it");
    if (cleared) {
      print("cleared %zu topics of %s\n", topics.size(), id.c_str());
    } else {
      say("its topics stay: " + cleared.error().context);
      code = kPartial;
    }
  }
  // The certificate is needed to clear the topics, so it is revoked only after that.
  if (code == 0 && good) {
    const auto count = pki_revoke(options.pki, id);
    if (!count) return complain(count.error());
    print("revoked %zu certificate%s of %s; made %s/crl.pem\n", *count, *count == 1 ? "" : "s",
          id.c_str(), options.pki.c_str());
    code = publish_revocations(**client, options.pki, where->timeout);
  }
  if (member) {
    const int taken = put_in_force(**client, without_member(*budget, id), where->timeout);
    if (taken != 0) code = taken;
  } else if (!budget) {
    say("the budget is unknown: " + budget.error().context);
  }
  if (code != 0) return code;
  print(
      "Next: lairctl broker config --force, and restart mosquitto: until then the certificate "
      "still\n"
      "      opens a connection. Wipe /etc/laird and /var/lib/laird on the board, or its disk.\n"
      "      A founder stays named in \"members\" of the boards' files until a new epoch.\n");
  return 0;
}

}  // namespace

void add_purge(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<PurgeOptions>();
  cli::Command* command = app.add_subcommand("purge",
                                             "Remove a board that is gone for good: its retained "
                                             "topics, its certificate, its place in the "
                                             "budget.\nExample: lairctl purge n-9");
  command->add_option("node", options->name, "The board's name")->required();
  command->add_option("--pki", options->pki, "The folder of the fleet's certificates")
      ->show_default();
  command->add_flag("-y,--yes", reach->yes, "Do not ask");
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = purge(*reach, *options); });
}

}  // namespace laird::control
