// enroll: a new board's certificate and config, and its place in the budget. purge: the end of one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/fleet_budget.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/enroll.hpp"
#include "control/provision/pki.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

struct EnrollOptions {
  std::vector<std::string> names;
  std::string pki = "pki";
  std::string out = "enroll";
  std::string floor;
  std::string budget;
  bool offline = false;
  bool force = false;
};

// Founding: those enrolled together are the fleet.
Result<core::FleetBudget> founding_plan(const EnrollOptions& options, std::int64_t floor_mw) {
  core::FleetBudget budget;
  budget.founding_epoch = 1;
  for (const std::string& id : options.names) budget = with_member(std::move(budget), id, floor_mw);
  for (const core::FleetMember& member : budget.members) budget.founders.push_back(member.id);
  if (!options.budget.empty()) {
    const auto mw = config::parse_power(options.budget);
    if (!mw) return fail(Code::kInvalid, "--budget: " + mw.error().context);
    budget.total[static_cast<std::size_t>(core::Resource::kPower)] = *mw;
  }
  budget.rev = 0;
  if (const Status ok = core::check_fleet_budget(budget); !ok)
    return tl::make_unexpected(ok.error());
  return budget;
}

// A name that is taken, wrong or already of the fleet is found before anything is made.
Status check_names(const EnrollOptions& options) {
  const auto index = pki_index(options.pki);
  if (!index) return tl::make_unexpected(index.error());
  for (const std::string& id : options.names) {
    if (!mqtt::is_node_id(id)) {
      return fail(Code::kInvalid, "'" + id + "' is no board's name: 1 to 32 of a-z, 0-9 and -");
    }
    for (const PkiEntry& entry : index->entries) {
      if (entry.name != id || entry.revoked_at_s != 0 || options.force) continue;
      return fail(Code::kExists,
                  "'" + id + "' has a certificate; --force makes a new one and revokes it");
    }
  }
  return {};
}

Status make_files(const EnrollOptions& options, const std::vector<std::string>& brokers,
                  const core::FleetBudget& budget) {
  const auto operators = known_operators(options.pki);
  if (!operators) return tl::make_unexpected(operators.error());
  const auto index = pki_index(options.pki);
  if (!index) return tl::make_unexpected(index.error());
  const IfThere if_there = options.force ? IfThere::kReplace : IfThere::kRefuse;
  for (const std::string& id : options.names) {
    const auto config = board_config({id, index->fleet, brokers, *operators, budget});
    if (!config) return tl::make_unexpected(config.error());
    const auto made =
        pki_issue(options.pki, mqtt::Subject{id, mqtt::Role::kNode, {}, 825}, if_there);
    if (!made) return tl::make_unexpected(made.error());
    const std::string folder = options.out + "/" + id;
    if (Status ok = write_bundle(folder, *config, made->folder, if_there); !ok) return ok;
    std::printf("made %s: laird.json, tls/ca.crt, tls/node.crt, tls/node.key\n%s", folder.c_str(),
                install_commands(folder, id).c_str());
  }
  return {};
}

int enroll(const Reach& reach, const EnrollOptions& options) {
  const auto floor = config::parse_power(options.floor.empty() ? "0W" : options.floor);
  if (!floor) return complain({Code::kInvalid, "--floor: " + floor.error().context});
  if (const Status ok = check_names(options); !ok) return complain(ok.error());
  // Offline only the brokers' addresses are needed of what lairctl knows.
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  if (options.offline) {
    const auto budget = founding_plan(options, *floor);
    if (!budget) return complain(budget.error());
    const Status made = make_files(options, where->fleet.brokers, *budget);
    if (!made) return complain(made.error());
    say("the broker needs nothing: its ACL goes by the certificate's name");
    return 0;
  }
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  auto budget = budget_in_force(**client, where->timeout);
  if (!budget) {
    say("--offline founds a fleet: with every board that is enrolled in the same call");
    return complain(budget.error());
  }
  core::FleetBudget next = *budget;
  for (const std::string& id : options.names) {
    // Enrolled anew it keeps the floor it has, unless told otherwise.
    if (next.member(id) != nullptr && options.floor.empty()) continue;
    next = with_member(std::move(next), id, *floor);
  }
  if (next != *budget) next.rev = budget->rev + 1;
  if (const Status ok = core::check_fleet_budget(next); !ok) return complain(ok.error());
  if (const Status made = make_files(options, where->fleet.brokers, next); !made) {
    return complain(made.error());
  }
  if (next == *budget) return 0;
  const int code = put_in_force(**client, next, where->timeout);
  // The new boards cannot have taken it yet.
  return code == kPartial ? 0 : code;
}

// ---- purge ----

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

// Only the board itself may write its topics; who has its certificate is the board.
Status clear_topics(const Access& operators, const std::string& identity, const std::string& id,
                    const std::vector<std::string>& topics, DurationNs timeout) {
  mqtt::Options options;
  options.brokers = operators.brokers;
  options.client_id = id;  // takes over, and ends, the session that the broker may keep for it
  options.ca = identity + "/ca.crt";
  options.cert = identity + "/node.crt";
  options.key = identity + "/node.key";
  options.keep_session = false;
  options.retry_jitter_s = 0;
  auto client = mqtt::Client::create(std::move(options));
  if (!client) return tl::make_unexpected(client.error());
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
    const Status cleared =
        good ? clear_topics(where->fleet, options.pki + "/nodes/" + id, id, topics, where->timeout)
             : fail(Code::kNotFound,
                    "its certificate is not good any more; enroll it again with "
                    "--force, then purge it");
    if (cleared) {
      std::printf("cleared %zu topics of %s\n", topics.size(), id.c_str());
    } else {
      say("its topics stay: " + cleared.error().context);
      code = kPartial;
    }
  }
  // The certificate is what clears the topics: it goes only when they are gone.
  if (code == 0 && good) {
    const auto count = pki_revoke(options.pki, id);
    if (!count) return complain(count.error());
    std::printf("revoked %zu certificate%s of %s; made %s/crl.pem\n", *count,
                *count == 1 ? "" : "s", id.c_str(), options.pki.c_str());
  }
  if (member) {
    const int taken = put_in_force(**client, without_member(*budget, id), where->timeout);
    if (taken != 0) code = taken;
  } else if (!budget) {
    say("the plan is unknown: " + budget.error().context);
  }
  if (code != 0) return code;
  std::printf(
      "Next: lairctl broker config --force, and restart mosquitto: until then the certificate "
      "still\n"
      "      opens a connection. Wipe /etc/laird and /var/lib/laird on the board, or its disk.\n"
      "      A founder stays named in \"members\" of the boards' files until a new epoch.\n");
  return 0;
}

}  // namespace

void add_enroll(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<EnrollOptions>();
  cli::Command* command = app.add_subcommand(
      "enroll",
      "Make a new board's certificate and config, ready to copy, and give it a place in the plan.\n"
      "Example: lairctl enroll n-9 --floor 2W");
  command->add_option("node", options->names, "The boards' names")->required();
  command->add_option("--pki", options->pki, "The folder of the fleet's certificates")
      ->show_default();
  command->add_option("--out", options->out, "Where to put a folder for each board")
      ->show_default();
  command->add_option("--floor", options->floor,
                      "Power the board keeps whatever happens: 2W (default: 0W)");
  command->add_flag("--offline", options->offline,
                    "Found a fleet: these boards are its members; nothing is published");
  command->add_option("--budget", options->budget, "With --offline: power of all boards together");
  command->add_flag("--force", options->force,
                    "Replace what is there; old certificates are revoked");
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = enroll(*reach, *options); });
}

void add_purge(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<PurgeOptions>();
  cli::Command* command = app.add_subcommand("purge",
                                             "Remove a board that is gone for good: its retained "
                                             "topics, its certificate, its place in the "
                                             "plan.\nExample: lairctl purge n-9");
  command->add_option("node", options->name, "The board's name")->required();
  command->add_option("--pki", options->pki, "The folder of the fleet's certificates")
      ->show_default();
  command->add_flag("-y,--yes", reach->yes, "Do not ask");
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = purge(*reach, *options); });
}

}  // namespace laird::control
