#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/provision/broker.hpp"
#include "control/provision/broker_here.hpp"
#include "control/provision/pki.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

struct ConfigOptions {
  std::string pki = "pki";
  std::string out = "mosquitto";
  std::string at;  // on the broker's machine; empty: where it is written
  BrokerOptions broker;
  bool force = false;
};

std::string plain_path(const std::string& path) {
  std::string out = std::filesystem::absolute(path).lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

Status write_config(ConfigOptions& options) {
  const std::string out = plain_path(options.out);
  options.broker.folder = options.at.empty() ? out : plain_path(options.at);
  const auto files = broker_files(options.pki, options.broker);
  LAIRD_TRY(files);
  // Each file is replaced in one step; a running broker reads them at a reload or start only.
  LAIRD_TRY(make_private_folder(out));
  const IfThere if_there = options.force ? IfThere::kReplace : IfThere::kRefuse;
  for (const BrokerFile& file : *files) {
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
      "\nNext: on the broker's machine, with Debian's mosquitto: sudo lairctl broker install "
      "FOLDER,\n"
      "      which puts it to %s and starts it; or by hand: let mosquitto's user own the folder\n"
      "      there and run mosquitto -c %s/mosquitto.conf\n"
      "      After a change of boards nothing is to be done; after one of operators run this "
      "again\n"
      "      with --force and reload mosquitto (SIGHUP); after a revocation restart it.\n",
      at.c_str(), at.c_str());
  return 0;
}

int install(const std::string& folder) {
  const auto done = install_broker_here(plain_path(folder));
  if (!done) return complain(done.error());
  for (const std::string& path : done->changed) print("made %s\n", path.c_str());
  if (done->changed.empty()) print("the broker has these files already\n");
  if (!done->started) {
    print("\nNext: no systemd runs here; start the broker: mosquitto -c %s/mosquitto.conf\n",
          done->at.c_str());
  }
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

  const auto folder = std::make_shared<std::string>("mosquitto");
  cli::Command* install_command = broker->add_subcommand(
      "install",
      "On the broker's machine: put the folder that config or fleet create made into its place "
      "and start Debian's mosquitto with it.\n"
      "Example: sudo lairctl broker install mosquitto");
  install_command->add_option("folder", *folder, "The folder with mosquitto.conf")->show_default();
  install_command->callback([folder, &code] { code = install(*folder); });
}

}  // namespace laird::control
