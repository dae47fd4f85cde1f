#include <cstdio>
#include <ctime>
#include <memory>
#include <set>

#include "cli/command.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/pki.hpp"
#include "control/screen/output.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/sign/revocations.hpp"

namespace laird::control {
namespace {

using mqtt::Role;

struct PkiOptions {
  std::string folder = "pki";
  PkiInit init;
  mqtt::Subject subject;
  std::vector<std::string> names;
  bool force = false;

  [[nodiscard]] IfThere if_there() const { return force ? IfThere::kReplace : IfThere::kRefuse; }
};

void show(const PkiMade& made) {
  for (const std::string& file : made.files) {
    print("made %s/%s\n", made.folder.c_str(), file.c_str());
  }
  if (!made.aside.empty()) print("what stood there is now %s\n", made.aside.c_str());
}

int init(PkiOptions& options) {
  options.init.folder = options.folder;
  options.init.if_there = options.if_there();
  const auto made = pki_init(options.init);
  if (!made) return complain(made.error());
  show(*made);
  print(
      "\nKeep %s/ca.key safe: who has it can make members of the fleet.\n"
      "Next: lairctl pki issue node n-1 n-2 --dir %s\n"
      "      lairctl pki issue operator op-alice --dir %s\n"
      "      lairctl broker config --pki %s --out mosquitto\n",
      options.folder.c_str(), options.folder.c_str(), options.folder.c_str(),
      options.folder.c_str());
  return 0;
}

void say_next(const PkiMade& made, const mqtt::Subject& subject) {
  const char* name = subject.name.c_str();
  switch (subject.role) {
    case Role::kNode:
      print(
          "Next: copy %s to the board as /etc/laird/tls (root:laird, key 0640), name its files in\n"
          "      laird.json: \"tls\": {\"ca\": \"/etc/laird/tls/ca.crt\", \"cert\": "
          "\"/etc/laird/tls/node.crt\", \"key\": \"/etc/laird/tls/node.key\"}\n",
          made.folder.c_str());
      break;
    case Role::kOperator:
      print(
          "Next: let the boards know the key, in laird.json:\n"
          "      \"operators\": [{\"name\": \"%s\", \"key\": \"%s\", \"may\": [\"*\"]}]\n"
          "      and the broker the name: lairctl broker config --force, then reload mosquitto\n",
          name, made.signing_public_key.c_str());
      break;
    case Role::kBroker:
      print("Next: lairctl broker config --force, then restart mosquitto\n");
      break;
    case Role::kJoin: break;
  }
}

int issue(PkiOptions& options, Role role) {
  options.subject.role = role;
  if (role == Role::kBroker) options.names = {"broker"};
  for (const std::string& name : options.names) {
    options.subject.name = name;
    const auto made = pki_issue(options.folder, options.subject, options.if_there());
    if (!made) return complain(made.error());
    show(*made);
    say_next(*made, options.subject);
  }
  return 0;
}

int revoke(const PkiOptions& options) {
  for (const std::string& name : options.names) {
    const auto count = pki_revoke(options.folder, name);
    if (!count) return complain(count.error());
    if (*count == 0) {
      print("%s was revoked before\n", name.c_str());
    } else {
      print("revoked %zu certificate%s of %s\n", *count, *count == 1 ? "" : "s", name.c_str());
    }
  }
  print(
      "made %s/crl.pem\n"
      "Next: lairctl pki publish --dir %s: the boards hear it at once and believe the name no "
      "more;\n"
      "      lairctl broker config --force, then restart mosquitto: it reads the list at start,\n"
      "      and a connection that stands is not looked at again.\n",
      options.folder.c_str(), options.folder.c_str());
  return 0;
}

int publish(const Reach& reach, const PkiOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  return publish_revocations(**client, options.folder, where->timeout);
}

int list(const PkiOptions& options) {
  const auto index = pki_index(options.folder);
  if (!index) return complain(index.error());
  print("%-32s %-8s %-24s %s\n", "NAME", "ROLE", "EXPIRES", "STATE");
  const std::int64_t now_s = std::time(nullptr);
  for (const PkiEntry& entry : index->entries) {
    const char* state = entry.revoked_at_s != 0      ? "revoked"
                        : entry.not_after_s <= now_s ? "expired"
                                                     : "good";
    print("%-32s %-8s %-24s %s\n", entry.name.c_str(), std::string(name(entry.role)).c_str(),
          mqtt::time_text(entry.not_after_s * 1000).c_str(), state);
  }
  return 0;
}

constexpr std::size_t kListBytesMax = 1 << 20;

// Which of the boards that are there do not say yet that the list is in force.
std::set<std::string> unaware(FleetClient& client, std::uint64_t number) {
  std::set<std::string> out;
  for (const std::string& board : live_boards(client.view())) {
    const auto told = number_at(client.view().boards().at(board).info, "crl_number");
    if (!told || *told < static_cast<double>(number)) out.insert(board);
  }
  return out;
}

}  // namespace

int publish_revocations(FleetClient& client, const std::string& pki, DurationNs timeout) {
  const auto pem = config::read_file(pki + "/crl.pem", kListBytesMax);
  if (!pem) return complain(pem.error());
  const auto list = mqtt::Revocations::parse(*pem, pki + "/ca.crt");
  if (!list) return complain(list.error());
  const SteadyTime until = after(timeout);
  if (const Status sent = client.publish_revocations(*pem, timeout); !sent) {
    return complain(sent.error());
  }
  client.wait(until, [&] { return unaware(client, list->number()).empty(); });
  const std::set<std::string> missing = unaware(client, list->number());
  const std::size_t there = live_boards(client.view()).size();
  print("list number %llu, %zu revoked: in force on %zu of %zu boards that are there\n",
        static_cast<unsigned long long>(list->number()), list->size(), there - missing.size(),
        there);
  if (missing.empty()) return 0;
  std::string names;
  for (const std::string& board : missing) names += " " + board;
  say("not in force yet on" + names + ": the broker keeps it for them");
  return kPartial;
}

void add_pki(cli::Command& app, int& code) {
  // The callbacks share it and keep it alive.
  const auto options = std::make_shared<PkiOptions>();
  cli::Command* pki =
      app.add_subcommand("pki",
                         "Certificates of a fleet: authority, boards, operators.\n"
                         "Example: lairctl pki init --fleet lab --host broker.local");
  pki->require_subcommand();
  const auto in_folder = [options](cli::Command* command) {
    command->add_option("--dir", options->folder, "The folder of the fleet's certificates")
        ->show_default();
    return command;
  };
  const auto replacing = [options](cli::Command* command) {
    command->add_flag("--force", options->force, "Replace what is there; it is kept aside");
  };

  cli::Command* init_command = in_folder(pki->add_subcommand(
      "init",
      "Make the authority and the broker's certificate.\n"
      "Example: lairctl pki init --fleet lab --host broker.local --host 192.0.2.7"));
  init_command->add_option("--fleet", options->init.fleet, "The fleet's name")->required();
  init_command
      ->add_option("--host", options->init.broker_hosts,
                   "A name or address the broker is reached by; once for each")
      ->required();
  init_command->add_option("--days", options->init.authority_days, "Life of the authority")
      ->show_default();
  replacing(init_command);
  init_command->callback([options, &code] { code = init(*options); });

  cli::Command* issue_command =
      pki->add_subcommand("issue", "Make a certificate.\nExample: lairctl pki issue node n-1 n-2");
  issue_command->require_subcommand();
  const auto issuing = [&](const char* role_name, const char* help, Role role) {
    cli::Command* command = in_folder(issue_command->add_subcommand(role_name, help));
    command->add_option("--days", options->subject.days, "Life of the certificate")->show_default();
    replacing(command);
    if (role == Role::kBroker) {
      command->add_option("--host", options->subject.hosts, "A name or address it is reached by")
          ->required();
    } else {
      command->add_option("name", options->names, "Who it is for")->required();
    }
    command->callback([options, &code, role] { code = issue(*options, role); });
  };
  issuing("node", "For a board; the name is its node id", Role::kNode);
  issuing("operator", "For a person or program that commands, with a key to sign with; op-...",
          Role::kOperator);
  issuing("broker", "For the broker, anew", Role::kBroker);

  cli::Command* revoke_command = in_folder(pki->add_subcommand(
      "revoke", "Revoke the certificates of a name.\nExample: lairctl pki revoke n-7"));
  revoke_command->add_option("name", options->names, "Whose")->required();
  revoke_command->callback([options, &code] { code = revoke(*options); });

  cli::Command* publish_command =
      in_folder(pki->add_subcommand("publish",
                                    "Tell the boards which certificates are revoked.\n"
                                    "Example: lairctl pki publish"));
  const auto reach = std::make_shared<Reach>();
  add_access(publish_command, *reach);
  publish_command->callback([options, reach, &code] { code = publish(*reach, *options); });

  cli::Command* list_command = in_folder(pki->add_subcommand("list", "What was issued"));
  list_command->callback([options, &code] { code = list(*options); });
}

}  // namespace laird::control
