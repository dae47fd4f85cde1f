#include "control/provision/pki.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "config/schema.hpp"
#include "json/value.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/join.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/codec/topics.hpp"
#include "mqtt/sign/ed25519.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;
using mqtt::Role;

constexpr std::size_t kFileBytesMax = 4 << 20;
constexpr std::string_view kOperatorPrefix = "op-";
constexpr std::int64_t kBoardDays = 825;

std::string index_text(const PkiIndex& index) {
  Value entries = Value::array();
  for (const PkiEntry& entry : index.entries) {
    Value one = Value::object();
    one.set("serial", entry.serial);
    one.set("name", entry.name);
    one.set("role", name(entry.role));
    one.set("not_after_s", entry.not_after_s);
    one.set("revoked_at_s", entry.revoked_at_s == 0 ? Value() : Value::integer(entry.revoked_at_s));
    if (!entry.fingerprint.empty()) {
      one.set("board_serial", entry.board_serial).set("fingerprint", entry.fingerprint);
    }
    entries.add(std::move(one));
  }
  Value out = Value::object();
  out.set("s", "laird.pki/1.0");
  out.set("fleet", index.fleet);
  out.set("crl_number", index.list_number);
  out.set("issued", std::move(entries));
  return json::to_pretty_text(out) + "\n";
}

Result<PkiEntry> parse_entry(const Value& from) {
  const Value* serial = from.find("serial", Kind::kString);
  const Value* owner = from.find("name", Kind::kString);
  const Value* role = from.find("role", Kind::kString);
  const Value* until = from.find("not_after_s", Kind::kInteger);
  const Value* revoked = from.find("revoked_at_s", Kind::kInteger);
  if (serial == nullptr || owner == nullptr || role == nullptr || until == nullptr) {
    return fail(Code::kCorrupt, "index.json:" + std::to_string(from.line()) +
                                    ": an entry has serial, name, role and not_after_s");
  }
  PkiEntry out;
  out.serial = serial->as_string();
  out.name = owner->as_string();
  out.not_after_s = until->as_integer();
  out.revoked_at_s = revoked == nullptr ? 0 : revoked->as_integer();
  const Value* board_serial = from.find("board_serial", Kind::kString);
  const Value* fingerprint = from.find("fingerprint", Kind::kString);
  if (board_serial != nullptr) out.board_serial = board_serial->as_string();
  if (fingerprint != nullptr) out.fingerprint = fingerprint->as_string();
  for (const Role known : {Role::kNode, Role::kOperator, Role::kBroker, Role::kJoin}) {
    if (name(known) == role->as_string()) return out.role = known, out;
  }
  return fail(Code::kCorrupt, "index.json: an unknown role");
}

Result<mqtt::Authority> open_authority(const std::string& folder) {
  const auto cert = config::read_file(folder + "/ca.crt", kFileBytesMax);
  LAIRD_TRY(cert);
  const auto key = config::read_file(folder + "/ca.key", kFileBytesMax);
  LAIRD_TRY(key);
  return mqtt::Authority::parse(*cert, *key);
}

Result<std::string> revocations(const mqtt::Authority& authority, const PkiIndex& index) {
  std::vector<mqtt::Revoked> revoked;
  for (const PkiEntry& entry : index.entries) {
    if (entry.revoked_at_s != 0) revoked.push_back({entry.serial, entry.revoked_at_s});
  }
  return authority.revocation_list(revoked, index.list_number);
}

// Boards never go back to a list of a lower number. It grows with the time too, so that an index
// that was brought back from a copy does not number lists that the boards know already.
void number_next_list(PkiIndex& index) {
  index.list_number = std::max<std::uint64_t>(index.list_number + 1,
                                              static_cast<std::uint64_t>(std::time(nullptr)));
}

// Boards and operators are told apart by their names, because the broker's ACL sees only those.
Status check_name(const mqtt::Subject& subject) {
  const bool as_operator =
      std::string_view(subject.name).substr(0, kOperatorPrefix.size()) == kOperatorPrefix;
  if (subject.role == Role::kOperator && !as_operator) {
    return fail(Code::kInvalid, "an operator's name starts with op-: op-" + subject.name);
  }
  const bool taken = as_operator || subject.name == mqtt::kJoinUser;
  if (subject.role == Role::kNode && (taken || !mqtt::is_node_id(subject.name))) {
    return fail(Code::kInvalid,
                "'" + subject.name + "' is no name for a board: 1 to 32 of a-z, " +
                    "0-9 and -, not \"all\" or \"join\", not starting with - or op-");
  }
  return {};
}

std::string place_of(const mqtt::Subject& subject) {
  switch (subject.role) {
    case Role::kNode: return "nodes/" + subject.name;
    case Role::kOperator: return "operators/" + subject.name;
    case Role::kBroker:
    case Role::kJoin: break;
  }
  return "broker";
}

std::string stem_of(Role role) {
  return role == Role::kNode ? "node" : role == Role::kOperator ? "op" : "server";
}

// Writes the files of an identity into `folder`.
Status write_identity(const StagedFolder& folder, const std::string& ca, const mqtt::Issued& issued,
                      Role role, PkiMade& made) {
  const auto put = [&](const std::string& file, std::string_view content, mode_t mode) -> Status {
    made.files.push_back(file);
    return folder.add(file, content, mode);
  };
  const std::string stem = stem_of(role);
  if (role != Role::kBroker) {
    LAIRD_TRY(put("ca.crt", ca, kPublicMode));
  }
  LAIRD_TRY(put(stem + ".crt", issued.cert_pem, kPublicMode));
  if (issued.key_pem.empty()) return {};
  LAIRD_TRY(put(stem + ".key", issued.key_pem, kSecretMode));
  if (role != Role::kOperator) return {};
  const auto signing = mqtt::SigningKey::generate();
  LAIRD_TRY(signing);
  const auto pem = signing->to_pem();
  LAIRD_TRY(pem);
  made.signing_public_key = mqtt::to_base64(signing->public_key());
  LAIRD_TRY(put("signing.key", *pem, kSecretMode));
  return put("signing.pub", made.signing_public_key + "\n", kPublicMode);
}

PkiEntry entry_of(const mqtt::Subject& subject, const mqtt::Issued& issued) {
  return {issued.serial, subject.name, subject.role, issued.not_after_s, 0, {}, {}};
}

std::size_t revoke_all(PkiIndex& index, const std::string& name) {
  std::size_t count = 0;
  for (PkiEntry& entry : index.entries) {
    if (entry.name != name || entry.revoked_at_s != 0) continue;
    entry.revoked_at_s = std::time(nullptr);
    ++count;
  }
  return count;
}

// The index is written first, because the list of revoked certificates is made from it: an entry
// that is lost could never be revoked again.
Status write_index_and_list(const std::string& folder, PkiIndex& index,
                            const mqtt::Authority& authority) {
  number_next_list(index);
  const auto list = revocations(authority, index);
  LAIRD_TRY(list);
  auto done = write_file(folder + "/index.json", index_text(index), kSecretMode, IfThere::kReplace);
  if (!done) return done;
  return write_file(folder + "/crl.pem", *list, kPublicMode, IfThere::kReplace);
}

// The index with the folder locked, so that two runs give no name twice.
struct OpenPki {
  FolderGuard guard;
  PkiIndex index;
  mqtt::Authority authority;
};

Result<OpenPki> open_pki(const std::string& folder) {
  auto guard = FolderGuard::lock(folder);
  LAIRD_TRY(guard);
  auto index = pki_index(folder);
  LAIRD_TRY(index);
  auto authority = open_authority(folder);
  LAIRD_TRY(authority);
  return OpenPki{std::move(*guard), std::move(*index), std::move(*authority)};
}

Status check_free(const PkiIndex& index, const std::string& name, IfThere if_there) {
  const bool known =
      std::any_of(index.entries.begin(), index.entries.end(),
                  [&](const PkiEntry& e) { return e.name == name && e.revoked_at_s == 0; });
  if (!known || if_there == IfThere::kReplace) return {};
  return fail(Code::kExists,
              "'" + name + "' has a certificate; --force makes a new one and revokes it");
}

// Enters the certificate, then writes its folder: none is in use that could not be revoked.
Result<PkiMade> keep(OpenPki& pki, const std::string& folder, const mqtt::Subject& subject,
                     const mqtt::Issued& issued, PkiEntry entry) {
  const auto ca = pki.authority.cert_pem();
  LAIRD_TRY(ca);
  PkiMade made;
  made.folder = folder + "/" + place_of(subject);
  auto staged = StagedFolder::begin(made.folder);
  LAIRD_TRY(staged);
  LAIRD_TRY(write_identity(*staged, *ca, issued, subject.role, made));
  revoke_all(pki.index, subject.name);
  pki.index.entries.push_back(std::move(entry));
  LAIRD_TRY(write_index_and_list(folder, pki.index, pki.authority));
  // Files that are left in the folder of a revoked name do no harm.
  auto aside = staged->commit(IfThere::kReplace);
  LAIRD_TRY(aside);
  made.aside = std::move(*aside);
  return made;
}

}  // namespace

Result<PkiMade> pki_init(const PkiInit& what) {
  auto authority = mqtt::Authority::create(what.fleet, what.authority_days);
  LAIRD_TRY(authority);
  const mqtt::Subject broker{"broker", Role::kBroker, what.broker_hosts, what.broker_days};
  const auto server = authority->issue(broker);
  LAIRD_TRY(server);
  const auto cert = authority->cert_pem();
  const auto key = authority->key_pem();
  if (!cert || !key) return fail(Code::kIo, "cannot write the authority");
  PkiIndex index{what.fleet, {entry_of(broker, *server)}};
  number_next_list(index);
  const auto list = revocations(*authority, index);
  LAIRD_TRY(list);

  auto staged = StagedFolder::begin(what.folder);
  LAIRD_TRY(staged);
  PkiMade made;
  made.folder = what.folder;
  const struct {
    const char* file;
    std::string content;
    mode_t mode;
  } files[] = {{"ca.crt", *cert, kPublicMode},
               {"ca.key", *key, kSecretMode},
               {"crl.pem", *list, kPublicMode},
               {"index.json", index_text(index), kSecretMode}};
  for (const auto& [file, content, mode] : files) {
    LAIRD_TRY(staged->add(file, content, mode));
    made.files.emplace_back(file);
  }
  for (const char* sub : {"broker", "nodes", "operators"}) {
    LAIRD_TRY(make_private_folder(staged->path() + "/" + sub));
  }
  for (const auto& [file, content, mode] :
       {std::tuple("broker/server.crt", server->cert_pem, kPublicMode),
        std::tuple("broker/server.key", server->key_pem, kSecretMode)}) {
    LAIRD_TRY(staged->add(file, content, mode));
    made.files.emplace_back(file);
  }
  auto aside = staged->commit(what.if_there);
  LAIRD_TRY(aside);
  made.aside = std::move(*aside);
  return made;
}

Result<PkiIndex> pki_index(const std::string& folder) {
  const std::string path = folder + "/index.json";
  const auto text = config::read_file(path, kFileBytesMax);
  if (!text) {
    Error error = text.error();
    error.context += ": lairctl pki init makes one";
    return tl::make_unexpected(error);
  }
  json::ParseLimits limits;
  limits.bytes_max = kFileBytesMax;
  const auto value = json::parse(*text, path, limits);
  LAIRD_TRY(value);
  const Value* fleet = value->find("fleet", Kind::kString);
  const Value* issued = value->find("issued", Kind::kArray);
  if (fleet == nullptr || issued == nullptr || !config::is_name(fleet->as_string())) {
    return fail(Code::kCorrupt, path + " names no fleet or no certificates");
  }
  PkiIndex out;
  out.fleet = fleet->as_string();
  // Indexes made before lists were numbered have none.
  if (const Value* number = value->find("crl_number", Kind::kInteger)) {
    out.list_number = static_cast<std::uint64_t>(std::max<std::int64_t>(number->as_integer(), 0));
  }
  for (const Value& item : issued->items()) {
    auto entry = parse_entry(item);
    LAIRD_TRY(entry);
    out.entries.push_back(std::move(*entry));
  }
  return out;
}

Result<PkiMade> pki_issue(const std::string& folder, const mqtt::Subject& subject,
                          IfThere if_there) {
  LAIRD_TRY(check_name(subject));
  auto pki = open_pki(folder);
  LAIRD_TRY(pki);
  LAIRD_TRY(check_free(pki->index, subject.name, if_there));
  const auto issued = pki->authority.issue(subject);
  LAIRD_TRY(issued);
  return keep(*pki, folder, subject, *issued, entry_of(subject, *issued));
}

Result<PkiMade> pki_admit(const std::string& folder, const JoiningBoard& board, IfThere if_there) {
  const mqtt::Subject subject{board.name, Role::kNode, {}, kBoardDays};
  LAIRD_TRY(check_name(subject));
  auto pki = open_pki(folder);
  LAIRD_TRY(pki);
  LAIRD_TRY(check_free(pki->index, board.name, if_there));
  const std::string fingerprint = mqtt::fingerprint_of(board.public_key);
  for (const PkiEntry& other : pki->index.entries) {
    if (other.revoked_at_s != 0 || other.name == board.name) continue;
    if (other.fingerprint == fingerprint || other.board_serial == board.serial) {
      return fail(Code::kExists, "the board with the serial number " + board.serial + " is " +
                                     other.name + " already");
    }
  }
  const auto issued = pki->authority.issue_for(subject, board.public_key);
  LAIRD_TRY(issued);
  PkiEntry entry = entry_of(subject, *issued);
  entry.board_serial = board.serial;
  entry.fingerprint = fingerprint;
  return keep(*pki, folder, subject, *issued, std::move(entry));
}

Result<mqtt::Issued> pki_issue_join(const std::string& folder, std::int64_t days) {
  const mqtt::Subject subject{std::string(mqtt::kJoinUser), Role::kJoin, {}, days};
  auto pki = open_pki(folder);
  LAIRD_TRY(pki);
  auto issued = pki->authority.issue(subject);
  LAIRD_TRY(issued);
  pki->index.entries.push_back(entry_of(subject, *issued));
  LAIRD_TRY(write_index_and_list(folder, pki->index, pki->authority));
  return issued;
}

Result<std::size_t> pki_revoke(const std::string& folder, const std::string& name) {
  const auto guard = FolderGuard::lock(folder);
  LAIRD_TRY(guard);
  auto index = pki_index(folder);
  LAIRD_TRY(index);
  const bool known = std::any_of(index->entries.begin(), index->entries.end(),
                                 [&](const PkiEntry& e) { return e.name == name; });
  if (!known) return fail(Code::kNotFound, "no certificate was ever issued to '" + name + "'");
  const std::size_t count = revoke_all(*index, name);
  const auto authority = open_authority(folder);
  LAIRD_TRY(authority);
  LAIRD_TRY(write_index_and_list(folder, *index, *authority));
  return count;
}

}  // namespace laird::control
