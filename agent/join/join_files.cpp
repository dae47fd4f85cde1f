#include "agent/join/join_files.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "agent/settings/settings.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/join_keys.hpp"
#include "os/whole_file.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kFileBytesMax = 64 * 1024;
constexpr std::size_t kBrokersMax = 8;

// A serial number that a maker left empty: every digit the same.
bool tells_apart(const std::string& serial) {
  return mqtt::is_serial(serial) && serial.find_first_not_of(serial.front()) != std::string::npos;
}

// Of the network cards in the order of their names the first that is no bridge, tunnel or loopback:
// those have no device.
std::string first_card(const std::string& root) {
  std::error_code failed;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/sys/class/net", failed)) {
    if (std::filesystem::exists(entry.path() / "device", failed)) {
      names.push_back(entry.path().string());
    }
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const auto text = config::read_file(name + "/address", kFileBytesMax);
    if (!text) continue;
    const std::string address = text->substr(0, text->find('\n'));
    if (address != "00:00:00:00:00:00" && mqtt::is_serial(address)) return "mac-" + address;
  }
  return {};
}

Result<std::string> made_up(const std::string& folder) {
  const std::string path = folder + "/serial";
  const auto kept = config::read_file(path, kFileBytesMax);
  if (kept && mqtt::is_serial(*kept)) return *kept;
  std::array<unsigned char, 8> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(Code::kIo, "this system gives no random numbers");
  }
  std::string serial = "random-";
  for (const unsigned char byte : bytes) {
    serial += "0123456789abcdef"[byte >> 4];
    serial += "0123456789abcdef"[byte & 15];
  }
  LAIRD_TRY(write_whole_file(path, serial, {.mode = 0600}));
  return serial;
}

Status check_config(const mqtt::JoinAnswer& answer) {
  const Value* node = answer.config.find("node", Kind::kString);
  const Value* fleet = answer.config.find("fleet", Kind::kObject);
  const Value* name = fleet == nullptr ? nullptr : fleet->find("name", Kind::kString);
  if (node == nullptr || node->as_string() != answer.node || name == nullptr ||
      name->as_string() != answer.fleet) {
    return fail(Code::kInvalid, "the config is of another board or fleet");
  }
  std::vector<config::Problem> problems;
  static_cast<void>(config::normalise(settings_schema(), answer.config, "laird.json", problems));
  if (problems.empty()) return {};
  return fail(Code::kInvalid, "the config: " + problems.front().text());
}

}  // namespace

Result<JoinImage> read_join_image(const std::string& folder) {
  const std::string path = folder + "/join.json";
  const auto text = config::read_file(path, kFileBytesMax);
  LAIRD_TRY(text);
  const auto value = json::parse(*text, path);
  LAIRD_TRY(value);
  const Value* fleet = value->find("fleet", Kind::kString);
  const Value* brokers = value->find("brokers", Kind::kArray);
  if (fleet == nullptr || !config::is_name(fleet->as_string()) || brokers == nullptr ||
      brokers->items().empty() || brokers->items().size() > kBrokersMax) {
    return fail(Code::kInvalid,
                path + " names no fleet or no brokers: lairctl join image makes it");
  }
  JoinImage out;
  out.fleet = fleet->as_string();
  for (const Value& broker : brokers->items()) {
    if (!broker.is(Kind::kString)) return fail(Code::kInvalid, path + ": a broker is a text");
    out.brokers.push_back(broker.as_string());
  }
  auto ca = config::read_file(folder + "/ca.crt", kFileBytesMax);
  LAIRD_TRY(ca);
  out.ca_pem = std::move(*ca);
  return out;
}

std::string key_path(const std::string& folder) { return folder + "/node.key"; }
std::string answer_path(const std::string& folder) { return folder + "/answer.json"; }

Result<BoardKey> board_key(const std::string& folder) {
  BoardKey out;
  const auto kept = config::read_file(key_path(folder), kFileBytesMax);
  const auto known =
      kept ? mqtt::public_part(*kept) : Result<std::string>(fail(Code::kNotFound, ""));
  if (known) {
    out.pem = *kept;
    out.public_key = *known;
  } else {
    auto made = mqtt::make_board_key();
    LAIRD_TRY(made);
    LAIRD_TRY(write_whole_file(key_path(folder), made->key_pem, {.mode = 0600}));
    LAIRD_TRY(sync_folder(folder));
    out.pem = std::move(made->key_pem);
    out.public_key = std::move(made->public_key);
  }
  out.fingerprint = mqtt::fingerprint_of(out.public_key);
  return out;
}

Result<std::string> board_serial(const std::string& root, const std::string& folder) {
  if (std::string own = power::read_identity(root).serial; tells_apart(own)) return own;
  if (std::string card = first_card(root); !card.empty()) return card;
  return made_up(folder);
}

Result<mqtt::JoinAnswer> judged_answer(const std::string& message, const JoinImage& image,
                                       const BoardKey& key) {
  const auto form = mqtt::parse_answer_message(message);
  LAIRD_TRY(form);
  if (!mqtt::fits_certificate(image.ca_pem, std::string(mqtt::kAnswerPrefix) + form->text,
                              form->signature)) {
    return fail(Code::kRefused, "the answer is not signed by the fleet's authority");
  }
  auto answer = mqtt::parse_answer(form->text);
  LAIRD_TRY(answer);
  if (answer->fleet != image.fleet || answer->to != key.fingerprint) {
    return fail(Code::kRefused, "the answer is for another board");
  }
  if (!answer->admitted) return answer;
  LAIRD_TRY(mqtt::check_issued(answer->cert, image.ca_pem, key.public_key, answer->node));
  LAIRD_TRY(check_config(*answer));
  return answer;
}

}  // namespace laird::agent
