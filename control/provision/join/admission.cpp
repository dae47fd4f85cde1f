#include "control/provision/join/admission.hpp"

#include <algorithm>

#include "config/schema.hpp"
#include "control/provision/secure_files.hpp"
#include "mqtt/sign/join_keys.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024;
constexpr std::size_t kFingerprintPartMin = 8;
// A name of 32 characters holds a beginning and these.
constexpr std::size_t kPrefixMax = 22;

bool begins(const std::string& fingerprint, const std::string& wanted) {
  return wanted.size() >= kFingerprintPartMin && fingerprint.starts_with(wanted);
}

}  // namespace

bool is_meant(const Asking& board, const std::string& wanted) {
  return board.ask.serial == wanted || begins(board.fingerprint, wanted);
}

void AskBook::take(const std::string& message) {
  const auto form = mqtt::parse_ask_message(message);
  const auto ask =
      form ? mqtt::parse_ask(form->text) : Result<mqtt::JoinAsk>(fail(Code::kInvalid, ""));
  if (!ask || ask->fleet != fleet_) {
    ++refused_;
    return;
  }
  Asking board{*ask, form->key, mqtt::fingerprint_of(form->key), AskState::kNew, {}};
  const bool wanted =
      wanted_.empty() || std::any_of(wanted_.begin(), wanted_.end(),
                                     [&](const std::string& one) { return is_meant(board, one); });
  if (!wanted || boards_.count(board.fingerprint) != 0 || flooded()) return;
  ++checks_;
  if (!mqtt::fits_key(form->key, std::string(mqtt::kAskPrefix) + form->text, form->signature)) {
    ++refused_;
    return;
  }
  boards_.emplace(board.fingerprint, std::move(board));
}

std::vector<Asking> AskBook::judged(const PkiIndex& index) const {
  std::map<std::string, std::size_t> same;
  for (const auto& [print, board] : boards_) ++same[board.ask.serial];
  std::vector<Asking> out;
  for (const auto& [print, known] : boards_) {
    Asking board = known;
    if (same[board.ask.serial] > 1) board.state = AskState::kTwin;
    for (const PkiEntry& entry : index.entries) {
      if (entry.revoked_at_s != 0 || entry.fingerprint.empty()) continue;
      const bool own = entry.fingerprint == print;
      if (!own && entry.board_serial != board.ask.serial) continue;
      board.state = own ? AskState::kKnown : AskState::kClone;
      board.node = entry.name;
      if (own) break;
    }
    out.push_back(std::move(board));
  }
  std::sort(out.begin(), out.end(), [](const Asking& a, const Asking& b) {
    return std::pair(a.ask.serial, a.fingerprint) < std::pair(b.ask.serial, b.fingerprint);
  });
  return out;
}

bool AskBook::has(const std::string& wanted) const {
  return std::any_of(boards_.begin(), boards_.end(),
                     [&](const auto& one) { return is_meant(one.second, wanted); });
}

bool AskBook::only_keys() const {
  return std::all_of(wanted_.begin(), wanted_.end(), [&](const std::string& one) {
    return std::any_of(boards_.begin(), boards_.end(),
                       [&](const auto& board) { return begins(board.first, one); });
  });
}

std::string next_name(const PkiIndex& index, const std::string& prefix) {
  const std::string head = prefix.substr(0, kPrefixMax);
  std::uint64_t last = 0;
  for (const PkiEntry& entry : index.entries) {
    if (!entry.name.starts_with(head)) continue;
    const std::string digits = entry.name.substr(head.size());
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    last = std::max<std::uint64_t>(last, std::stoull(digits));
  }
  return head + std::to_string(last + 1);
}

Result<std::string> signed_answer(const std::string& pki, const mqtt::JoinAnswer& answer) {
  const auto key = config::read_file(pki + "/ca.key", kFileBytesMax);
  LAIRD_TRY(key);
  mqtt::SignedText out;
  out.text = mqtt::to_signed_text(answer);
  auto signature = mqtt::sign_text(*key, std::string(mqtt::kAnswerPrefix) + out.text);
  LAIRD_TRY(signature);
  out.signature = std::move(*signature);
  return mqtt::answer_message(out);
}

Status make_join_folder(const std::string& pki, const JoinFolder& what, IfThere if_there) {
  const auto index = pki_index(pki);
  LAIRD_TRY(index);
  const auto ca = config::read_file(pki + "/ca.crt", kFileBytesMax);
  LAIRD_TRY(ca);
  auto staged = StagedFolder::begin(what.folder);
  LAIRD_TRY(staged);
  const auto issued = pki_issue_join(pki, what.days);
  LAIRD_TRY(issued);
  json::Value brokers = json::Value::array();
  for (const std::string& broker : what.brokers) brokers.add(broker);
  const auto config = json::Value::object()
                          .set("s", "laird.join/1.0")
                          .set("fleet", index->fleet)
                          .set("brokers", std::move(brokers));
  LAIRD_TRY(staged->add("join.json", json::to_pretty_text(config) + "\n", kPublicMode));
  LAIRD_TRY(staged->add("ca.crt", *ca, kPublicMode));
  LAIRD_TRY(staged->add("join.crt", issued->cert_pem, kPublicMode));
  LAIRD_TRY(staged->add("join.key", issued->key_pem, kSecretMode));
  const auto aside = staged->commit(if_there);
  return aside ? Status{} : tl::make_unexpected(aside.error());
}

}  // namespace laird::control
