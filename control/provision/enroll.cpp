#include "control/provision/enroll.hpp"

#include "agent/settings/settings.hpp"
#include "config/units.hpp"
#include "control/provision/pki.hpp"

namespace laird::control {
namespace {

using core::Resource;
using json::Value;

constexpr std::size_t kFileBytesMax = 64 * 1024;

// Floors or a budget as the config writes them; what is not limited is left out.
Value amounts(const core::Amounts& of, bool zero_too) {
  Value out = Value::object();
  const auto wanted = [&](Resource r) { return of[r] > 0 || (zero_too && of[r] == 0); };
  if (wanted(Resource::kPower)) out.set("power", config::format_power(of[Resource::kPower]));
  if (wanted(Resource::kCpu)) out.set("cpu", static_cast<double>(of[Resource::kCpu]) / 1e3);
  if (wanted(Resource::kGpu)) out.set("gpu", static_cast<double>(of[Resource::kGpu]) / 1e6);
  return out;
}

Value fleet_section(const Enrolment& board) {
  Value brokers = Value::array();
  for (const std::string& broker : board.brokers) brokers.add(broker);
  Value operators = Value::array();
  for (const KnownOperator& who : board.operators) {
    operators.add(Value::object()
                      .set("name", who.name)
                      .set("key", who.key)
                      .set("may", Value::array().add("*")));
  }
  Value members = Value::object();
  for (const std::string& id : board.budget.founders) {
    const core::FleetMember* member = board.budget.member(id);
    members.set(id, member == nullptr ? Value::object() : amounts(member->floor, false));
  }
  const std::string tls = "/etc/laird/tls/";
  return Value::object()
      .set("name", board.fleet)
      .set("brokers", std::move(brokers))
      .set("tls", Value::object()
                      .set("ca", tls + "ca.crt")
                      .set("cert", tls + "node.crt")
                      .set("key", tls + "node.key"))
      .set("operators", std::move(operators))
      .set("epoch", board.budget.founding_epoch)
      .set("members", std::move(members))
      .set("budget", amounts(board.budget.total, true));
}

}  // namespace

Result<Value> board_config(const Enrolment& board) {
  Value out = Value::object()
                  .set("node", board.id)
                  .set("state_dir", "/var/lib/laird")
                  .set("policy", "foresight")
                  .set("fleet", fleet_section(board));
  std::vector<config::Problem> problems;
  static_cast<void>(config::normalise(agent::settings_schema(), out, "laird.json", problems));
  if (!problems.empty()) {
    return fail(Code::kInvalid, problems.front().path + ": " + problems.front().what);
  }
  return out;
}

Result<std::vector<KnownOperator>> known_operators(const std::string& pki) {
  const auto index = pki_index(pki);
  LAIRD_TRY(index);
  std::vector<KnownOperator> out;
  for (const PkiEntry& entry : index->entries) {
    if (entry.role != mqtt::Role::kOperator || entry.revoked_at_s != 0) continue;
    const std::string path = pki + "/operators/" + entry.name + "/signing.pub";
    auto key = config::read_file(path, kFileBytesMax);
    LAIRD_TRY(key);
    while (!key->empty() && key->back() == '\n') key->pop_back();
    out.push_back({entry.name, std::move(*key)});
  }
  if (out.empty()) {
    return fail(Code::kNotFound, "no operator has a certificate in " + pki +
                                     ": nobody could command the board; `lairctl pki issue "
                                     "operator op-NAME` makes one");
  }
  return out;
}

Status write_bundle(const std::string& folder, const Value& config, const std::string& identity,
                    IfThere if_there) {
  auto staged = StagedFolder::begin(folder);
  LAIRD_TRY(staged);
  LAIRD_TRY(make_private_folder(staged->path() + "/tls"));
  LAIRD_TRY(staged->add("laird.json", json::to_pretty_text(config) + "\n", kPublicMode));
  for (const auto& [name, mode] :
       {std::pair("ca.crt", kPublicMode), std::pair("node.crt", kPublicMode),
        std::pair("node.key", kSecretMode)}) {
    const auto content = config::read_file(identity + "/" + name, kFileBytesMax);
    LAIRD_TRY(content);
    LAIRD_TRY(staged->add(std::string("tls/") + name, *content, mode));
  }
  const auto aside = staged->commit(if_there);
  return aside ? Status{} : tl::make_unexpected(aside.error());
}

std::string install_script(const std::string& id) {
  const std::string at = "laird-" + id;
  const std::string put = "sudo install -o root -g laird -m 0640 " + at;
  return "sudo install -d -o root -g laird -m 0750 /etc/laird /etc/laird/tls && " + put +
         "/laird.json /etc/laird/ && " + put + "/tls/* /etc/laird/tls/ && rm -r " + at +
         " && sudo laird check /etc/laird/laird.json && sudo systemctl enable --now laird";
}

std::string install_commands(const std::string& folder, const std::string& id) {
  return "scp -rp " + folder + " BOARD:laird-" + id + "\nssh BOARD '" + install_script(id) + "'\n";
}

}  // namespace laird::control
