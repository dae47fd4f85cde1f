#include "control/fleet/access.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "config/units.hpp"
#include "mqtt/sign/tls_files.hpp"

namespace laird::control {
namespace {

using config::Field;
using config::kOptional;
using config::Type;
using json::Kind;
using json::Value;

constexpr std::size_t kFileBytesMax = 64 * 1024;

constexpr Field kTlsFields[] = {
    {.name = "ca", .type = Type::kText, .why = "The fleet's authority, PEM.", .min = 1, .max = 512},
    {.name = "cert",
     .type = Type::kText,
     .why = "The operator's certificate, PEM.",
     .min = 1,
     .max = 512},
    {.name = "key", .type = Type::kText, .why = "Its key, mode 0600.", .min = 1, .max = 512},
};
constexpr config::Schema kTls{"tls", "How the operator proves who it is to the broker.",
                              kTlsFields};
constexpr Field kFields[] = {
    {.name = "fleet", .type = Type::kName, .why = "The fleet's name."},
    {.name = "brokers",
     .type = Type::kList,
     .why = "Tried in order: \"mqtts://broker.local:8883\".",
     .min = 1,
     .max = 8},
    {.name = "credentials",
     .type = Type::kText,
     .why = "A folder as `lairctl pki issue operator` makes it; instead of tls and signing_key. "
            "Paths are relative to this file.",
     .fallback = kOptional,
     .min = 1,
     .max = 512},
    {.name = "tls",
     .type = Type::kObject,
     .why = "The files one by one.",
     .fallback = kOptional,
     .of = &kTls},
    {.name = "signing_key",
     .type = Type::kText,
     .why = "The Ed25519 key that signs commands, PEM, mode 0600.",
     .fallback = kOptional,
     .min = 1,
     .max = 512},
    {.name = "operator",
     .type = Type::kName,
     .why = "The operator's name; left out, that of the certificate.",
     .fallback = kOptional},
    {.name = "insecure_lab",
     .type = Type::kBool,
     .why = "Allow mqtt:// without TLS: for a broker on this machine only.",
     .fallback = "false"},
};
constexpr config::Schema kAccess{"lairctl", "How lairctl reaches a fleet.", kFields};

std::string text_of(const Value& object, const char* key) {
  const Value* value = object.find(key, Kind::kString);
  return value == nullptr ? std::string() : value->as_string();
}

std::string beside(const std::string& path, const std::string& config_path) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(config_path).parent_path() / path).lexically_normal().string();
}

void use_credentials(const std::string& folder, Access& access) {
  access.ca = folder + "/ca.crt";
  access.cert = folder + "/op.crt";
  access.key = folder + "/op.key";
  access.signing_key = folder + "/signing.key";
}

Result<Access> read_access(const std::string& path) {
  const auto text = config::read_file(path, kFileBytesMax);
  LAIRD_TRY(text);
  json::ParseLimits limits;
  limits.comments = true;
  const auto parsed = json::parse(*text, path, limits);
  LAIRD_TRY(parsed);
  std::vector<config::Problem> problems;
  const Value value = config::normalise(kAccess, *parsed, path, problems);
  if (!problems.empty()) {
    std::string all;
    for (const auto& problem : problems) all += (all.empty() ? "" : "\n") + problem.text();
    return fail(Code::kInvalid, all);
  }
  Access out;
  out.config_path = path;
  out.fleet = text_of(value, "fleet");
  for (const Value& broker : value.find("brokers")->items()) {
    out.brokers.push_back(broker.as_string());
  }
  if (const std::string at = text_of(value, "credentials"); !at.empty()) {
    use_credentials(beside(at, path), out);
  }
  if (const Value* tls = value.find("tls", Kind::kObject)) {
    out.ca = beside(text_of(*tls, "ca"), path);
    out.cert = beside(text_of(*tls, "cert"), path);
    out.key = beside(text_of(*tls, "key"), path);
  }
  if (const std::string key = text_of(value, "signing_key"); !key.empty()) {
    out.signing_key = beside(key, path);
  }
  out.op = text_of(value, "operator");
  const Value* insecure = value.find("insecure_lab", Kind::kBool);
  out.insecure_lab = insecure != nullptr && insecure->as_bool();
  return out;
}

bool is_there(const std::string& path) {
  struct stat info {};
  return !path.empty() && ::stat(path.c_str(), &info) == 0;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    if (comma > from) out.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

void apply_environment(const Environment& environment, Access& access) {
  const auto set = [&](const char* name, std::string& place) {
    if (const auto value = environment(name); value && !value->empty()) place = *value;
  };
  set("LAIRD_FLEET", access.fleet);
  if (const auto value = environment("LAIRD_BROKERS"); value && !value->empty()) {
    access.brokers = split(*value);
  }
  if (const auto value = environment("LAIRD_CREDENTIALS"); value && !value->empty()) {
    use_credentials(*value, access);
  }
  set("LAIRD_TLS_CA", access.ca);
  set("LAIRD_TLS_CERT", access.cert);
  set("LAIRD_TLS_KEY", access.key);
  set("LAIRD_SIGNING_KEY", access.signing_key);
  set("LAIRD_OPERATOR", access.op);
}

}  // namespace

const config::Schema& access_schema() { return kAccess; }

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::string usual_access_path(const Environment& environment) {
  if (const auto at = environment("XDG_CONFIG_HOME"); at && !at->empty()) {
    return *at + "/laird/lairctl.json";
  }
  const auto home = environment("HOME");
  return home && !home->empty() ? *home + "/.config/laird/lairctl.json" : std::string();
}

Result<Where> decide(const AccessFlags& flags, const Environment& environment, bool board_named) {
  Where where;
  const auto timeout = config::parse_duration(flags.timeout);
  if (!timeout) return fail(Code::kInvalid, "--timeout: " + timeout.error().context);
  if (*timeout <= 0 || *timeout > kHour) {
    return fail(Code::kInvalid, "--timeout: from 1ms to 1h, not '" + flags.timeout + "'");
  }
  where.timeout = *timeout;
  const auto socket = environment("LAIRD_SOCKET");
  where.socket = !flags.socket.empty() ? flags.socket : socket.value_or(kSocketDefault);

  const bool local_flag = flags.local || !flags.socket.empty();
  const bool fleet_flag = board_named || !flags.config.empty() || !flags.fleet.empty() ||
                          !flags.broker.empty() || !flags.credentials.empty();
  if (local_flag && fleet_flag) {
    return fail(Code::kInvalid,
                "--local and --socket mean this machine's agent, --node, --all, --any, --config, "
                "--fleet, --broker and --credentials the fleet: give one or the other");
  }
  const std::string usual = usual_access_path(environment);
  const auto from_env = environment("LAIRCTL_CONFIG");
  const bool fleet_known =
      (from_env && !from_env->empty()) || environment("LAIRD_FLEET") || is_there(usual);
  if (local_flag || (!fleet_flag && (socket || !fleet_known))) return where;

  where.local = false;
  std::string path = flags.config;
  if (path.empty() && from_env) path = *from_env;
  if (path.empty() && is_there(usual)) path = usual;
  if (!path.empty()) {
    auto access = read_access(path);
    LAIRD_TRY(access);
    where.fleet = std::move(*access);
  }
  apply_environment(environment, where.fleet);
  if (!flags.fleet.empty()) where.fleet.fleet = flags.fleet;
  if (!flags.broker.empty()) where.fleet.brokers = split(flags.broker);
  if (!flags.credentials.empty()) use_credentials(flags.credentials, where.fleet);
  if (where.fleet.fleet.empty() || where.fleet.brokers.empty()) {
    return fail(Code::kInvalid,
                "no fleet is configured: write " + (usual.empty() ? "a config file" : usual) +
                    " (see `man lairctl`), or give --config, or --fleet, --broker and "
                    "--credentials");
  }
  return where;
}

Status complete(Access& access) {
  if (!config::is_name(access.fleet)) {
    return fail(Code::kInvalid, "'" + access.fleet + "' is no fleet's name: a-z, 0-9 and -");
  }
  if (access.cert.empty() && !access.insecure_lab) {
    return fail(Code::kInvalid,
                "no certificate is configured: give \"credentials\" in " +
                    (access.config_path.empty() ? "a config file" : access.config_path) +
                    ", or --credentials, a folder that `lairctl pki issue operator` made");
  }
  if (access.op.empty() && !access.cert.empty()) {
    const auto name = mqtt::common_name(access.cert);
    LAIRD_TRY(name);
    access.op = *name;
  }
  if (!config::is_name(access.op)) {
    return fail(Code::kInvalid, access.op.empty()
                                    ? "no operator is configured: give \"operator\" in the config"
                                    : "'" + access.op + "' is no operator's name");
  }
  return {};
}

}  // namespace laird::control
