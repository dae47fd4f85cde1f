#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/provision/broker.hpp"
#include "control/provision/pki.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

struct ConfigOptions {
  std::string pki = "pki";
  std::string out = "mosquitto";
  std::string at;  // on the broker's machine; empty: where it is written
  BrokerOptions broker;
  bool force = false;
};

std::vector<std::string> good_operators(const PkiIndex& index) {
  std::vector<std::string> out;
  for (const PkiEntry& entry : index.entries) {
    if (entry.role == mqtt::Role::kOperator && entry.revoked_at_s == 0) out.push_back(entry.name);
  }
  return out;
}

// A space or a line break would end a value in mosquitto.conf; names there are plain anyway.
Status check_plain(const std::string& text, const char* what) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '#') {
      return fail(Code::kInvalid,
                  std::string(what) + " '" + text +
                      "' has a space or a # in it, which mosquitto.conf cannot say");
    }
  }
  return {};
}

std::string plain_path(const std::string& path) {
  std::string out = std::filesystem::absolute(path).lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

Status write_config(ConfigOptions& options) {
  const auto index = pki_index(options.pki);
  LAIRD_TRY(index);
  const std::string out = plain_path(options.out);
  options.broker.folder = options.at.empty() ? out : plain_path(options.at);
  for (const auto& [text, what] :
       {std::pair(&options.broker.folder, "the folder"),
        std::pair(&options.broker.listen, "--listen"), std::pair(&options.broker.user, "--user"),
        std::pair(&options.broker.data_folder, "--data")}) {
    LAIRD_TRY(check_plain(*text, what));
  }
  struct File {
    std::string name;
    std::string content;
    mode_t mode;
  };
  std::vector<File> files = {
      {"mosquitto.conf", broker_config(options.broker), kPublicMode},
      // mosquitto 2.1 wants an ACL that only its owner may read.
      {"acl", broker_acl(index->fleet, good_operators(*index)), kSecretMode}};
  for (const auto& [from, to, mode] :
       {std::tuple("ca.crt", "ca.crt", kPublicMode), std::tuple("crl.pem", "crl.pem", kPublicMode),
        std::tuple("broker/server.crt", "server.crt", kPublicMode),
        std::tuple("broker/server.key", "server.key", kSecretMode)}) {
    auto content = config::read_file(options.pki + "/" + from, kFileBytesMax);
    LAIRD_TRY(content);
    files.push_back({to, std::move(*content), mode});
  }
  // Each file is replaced in one step; a running broker reads them at a reload or start only.
  LAIRD_TRY(make_private_folder(out));
  const IfThere if_there = options.force ? IfThere::kReplace : IfThere::kRefuse;
  for (const File& file : files) {
    const std::string path = out + "/" + file.name;
    LAIRD_TRY(write_file(path, file.content, file.mode, if_there));
    print("made %s\n", path.c_str());
  }
  return {};
}

int config(ConfigOptions& options) {
  const auto done = write_config(options);
  if (!done) return complain(done.error());
  const std::string& at = options.broker.folder;
  print(
      "\nNext: on the broker's machine, let its user own the folder %s and start it:\n"
      "      chown -R mosquitto %s && mosquitto -c %s/mosquitto.conf\n"
      "      or, with Debian's service: cp %s/mosquitto.conf /etc/mosquitto/ &&\n"
      "      systemctl restart mosquitto\n"
      "      After a change of boards nothing is to be done; after one of operators run this "
      "again\n"
      "      with --force and reload mosquitto (SIGHUP); after a revocation restart it.\n",
      at.c_str(), at.c_str(), at.c_str(), at.c_str());
  return 0;
}

}  // namespace

void add_broker(cli::Command& app, int& code) {
  const auto options = std::make_shared<ConfigOptions>();
  options->broker.data_folder = "/var/lib/mosquitto";
  cli::Command* broker =
      app.add_subcommand("broker",
                         "The fleet's MQTT broker.\n"
                         "Example: lairctl broker config --pki pki --out mosquitto");
  broker->require_subcommand();
  cli::Command* command =
      broker->add_subcommand("config",
                             "Write mosquitto.conf, the ACL and what they need into one folder.\n"
                             "Example: lairctl broker config --pki pki --out /etc/mosquitto/laird");
  command->add_option("--pki", options->pki, "The folder of the fleet's certificates")
      ->show_default();
  command->add_option("--out", options->out, "The folder to write")->show_default();
  command->add_option("--at", options->at,
                      "Where the folder will stand on the broker's machine (default: where --out "
                      "is); its files name each other by it");
  command->add_option("--listen", options->broker.listen,
                      "The address to listen on, such as 127.0.0.1 (default: all)");
  command->add_option("--port", options->broker.port, "The port")->show_default();
  command->add_option("--user", options->broker.user,
                      "Whom mosquitto becomes when root starts it (default: mosquitto)");
  command
      ->add_option("--data", options->broker.data_folder,
                   "Where retained messages survive a restart; '' for nowhere")
      ->show_default();
  command->add_flag("--force", options->force, "Replace what is there");
  command->callback([options, &code] { code = config(*options); });
}

}  // namespace laird::control
