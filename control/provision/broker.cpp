#include "control/provision/broker.hpp"

#include <tuple>

#include "config/schema.hpp"
#include "control/provision/secure_files.hpp"
#include "mqtt/codec/join.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

std::vector<std::string> good_names(const PkiIndex& index, mqtt::Role role) {
  std::vector<std::string> out;
  for (const PkiEntry& entry : index.entries) {
    if (entry.role == role && entry.revoked_at_s == 0) out.push_back(entry.name);
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

}  // namespace

std::string broker_config(const BrokerOptions& options) {
  const std::string& at = options.folder;
  std::string out =
      "# Made by lairctl broker config; it writes it anew with --force.\n"
      "# Who connects has a certificate of the fleet's authority; its common name is the user "
      "name.\n";
  out += "listener " + std::to_string(options.port) +
         (options.listen.empty() ? "" : " " + options.listen) + "\n";
  out +=
      "protocol mqtt\n"
      "cafile " +
      at +
      "/ca.crt\n"
      "certfile " +
      at +
      "/server.crt\n"
      "keyfile " +
      at +
      "/server.key\n"
      "crlfile " +
      at +
      "/crl.pem\n"
      "require_certificate true\n"
      "use_identity_as_username true\n"
      "tls_version tlsv1.2\n"
      "allow_anonymous false\n"
      "acl_file " +
      at + "/acl\n\n";
  out +=
      "# A limit on everything: one slow or mad client must not take the broker down.\n"
      "message_size_limit " +
      std::to_string(mqtt::kPayloadBytesMax) +
      "\n"
      "max_packet_size " +
      std::to_string(2 * mqtt::kPayloadBytesMax) +
      "\n"
      "max_connections 2000\n"
      "max_inflight_messages 20\n"
      "max_queued_messages 2000\n"
      "max_queued_bytes 4194304\n"
      "memory_limit 536870912\n"
      "max_keepalive 300\n"
      "persistent_client_expiration 1d\n"
      "set_tcp_nodelay true\n\n";
  if (options.data_folder.empty()) {
    out += "persistence false\n";
  } else {
    out += "persistence true\npersistence_location " + options.data_folder +
           "/\nautosave_interval 60\n";
  }
  if (!options.user.empty()) out += "user " + options.user + "\n";
  out +=
      "log_dest stderr\n"
      "log_type error\n"
      "log_type warning\n"
      "log_type notice\n"
      "connection_messages true\n";
  return out;
}

std::string broker_acl(const std::string& fleet, const std::vector<std::string>& operators) {
  const std::string top = "laird/v1/" + fleet + "/";
  // Patterns hold for every user; %u is the common name of the certificate.
  std::string out =
      "# Made by lairctl broker config. One writer per subtree: a board writes below its own name\n"
      "# and answers under its own name, operators write commands, and nobody else writes.\n";
  for (const char* line :
       {"pattern write {}node/%u/#", "pattern read {}node/+/#", "pattern read {}ctl/%u/#",
        "pattern read {}ctl/all/#", "pattern write {}res/+/%u"}) {
    std::string text = line;
    text.replace(text.find("{}"), 2, top);
    out += text + "\n";
  }
  // Who has a board without an identity may ask for one, in one place, and read the answers.
  // Denials go before the patterns above, which would let it be a board of the name "join".
  out.append("\nuser ").append(mqtt::kJoinUser).append("\n");
  for (const char* part : {"node/#", "ctl/#", "res/#"}) {
    out.append("topic deny ").append(top).append(part).append("\n");
  }
  out.append("topic write ").append(mqtt::join_ask_topic(fleet)).append("\n");
  out.append("topic read ").append(mqtt::join_answer_topic(fleet, "+")).append("\n");
  for (const std::string& name : operators) {
    // An operator may not write as a board, not even as one of its own name.
    out.append("\nuser ").append(name).append("\n");
    out.append("topic deny ").append(top).append("node/").append(name).append("/#\n");
    out.append("topic deny ").append(top).append("res/+/").append(name).append("\n");
    out.append("topic read ").append(top).append("#\n");
    out.append("topic write ").append(top).append("ctl/#\n");
    out.append("topic write ").append(mqtt::join_answer_topic(fleet, "+")).append("\n");
  }
  return out;
}

Result<std::vector<BrokerFile>> broker_files(const std::string& pki, const BrokerOptions& options) {
  for (const auto& [text, what] :
       {std::pair(&options.folder, "the folder"), std::pair(&options.listen, "--listen"),
        std::pair(&options.user, "--user"), std::pair(&options.data_folder, "--data")}) {
    LAIRD_TRY(check_plain(*text, what));
  }
  const auto index = pki_index(pki);
  LAIRD_TRY(index);
  std::vector<BrokerFile> out = {
      {"mosquitto.conf", broker_config(options), kPublicMode},
      // mosquitto 2.1 wants an ACL that only its owner may read.
      {"acl", broker_acl(index->fleet, good_names(*index, mqtt::Role::kOperator)), kSecretMode}};
  for (const auto& [from, to, mode] :
       {std::tuple("ca.crt", "ca.crt", kPublicMode), std::tuple("crl.pem", "crl.pem", kPublicMode),
        std::tuple("broker/server.crt", "server.crt", kPublicMode),
        std::tuple("broker/server.key", "server.key", kSecretMode)}) {
    auto content = config::read_file(pki + "/" + from, kFileBytesMax);
    LAIRD_TRY(content);
    out.push_back({to, std::move(*content), mode});
  }
  return out;
}

}  // namespace laird::control
