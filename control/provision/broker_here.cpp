#include "control/provision/broker_here.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "config/schema.hpp"
#include "control/provision/host_program.hpp"
#include "control/provision/secure_files.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr const char* kService = "/etc/mosquitto/mosquitto.conf";

struct Kept {
  const char* name;
  mode_t mode;
};
constexpr std::array<Kept, 6> kFiles = {{{"ca.crt", kPublicMode},
                                         {"crl.pem", kPublicMode},
                                         {"server.crt", kPublicMode},
                                         {"server.key", kSecretMode},
                                         {"acl", kSecretMode},
                                         {"mosquitto.conf", kPublicMode}}};

bool is_there(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0;
}

// Where the configuration says that the folder stands: "acl_file AT/acl".
Result<std::string> place_of(const std::string& folder) {
  const auto text = config::read_file(folder + "/mosquitto.conf", kFileBytesMax);
  LAIRD_TRY(text);
  const std::string key = "\nacl_file ";
  const std::size_t from = text->find(key);
  if (from != std::string::npos) {
    std::string path = text->substr(from + key.size());
    path = path.substr(0, path.find('\n'));
    if (path.starts_with("/") && path.ends_with("/acl")) return path.substr(0, path.size() - 4);
  }
  return fail(Code::kInvalid,
              folder + "/mosquitto.conf is none that lairctl broker config has made");
}

Status give(const std::string& path, const passwd& to, mode_t mode) {
  if (::chown(path.c_str(), to.pw_uid, to.pw_gid) != 0) return fail_errno(errno, "chown " + path);
  if (::chmod(path.c_str(), mode) != 0) return fail_errno(errno, "chmod " + path);
  return {};
}

// Writes what differs. Returns whether it did.
Result<bool> put(const std::string& path, const std::string& content, mode_t mode) {
  const auto found = config::read_file(path, kFileBytesMax);
  if (found && *found == content) return false;
  LAIRD_TRY(write_file(path, content, mode, IfThere::kReplace));
  return true;
}

Status run(const std::vector<std::string>& argv) {
  const auto ran = run_host_program(argv);
  LAIRD_TRY(ran);
  if (ran->code == 0) return {};
  std::string all;
  for (const std::string& word : argv) all += (all.empty() ? "" : " ") + word;
  return fail(Code::kIo,
              all + " failed: " + ran->messages + "what the broker says: journalctl -u mosquitto");
}

Result<bool> replace_service_config(const std::string& text) {
  const auto found = config::read_file(kService, kFileBytesMax);
  if (found && *found == text) return false;
  const std::string kept = std::string(kService) + ".before-laird";
  if (found && !is_there(kept.c_str())) {
    LAIRD_TRY(write_file(kept, *found, kPublicMode, IfThere::kRefuse));
  }
  return put(kService, text, kPublicMode);
}

}  // namespace

Result<BrokerInstalled> install_broker_here(const std::string& folder) {
  BrokerInstalled out;
  const auto at = place_of(folder);
  LAIRD_TRY(at);
  out.at = *at;
  const passwd* user = ::getpwnam("mosquitto");
  if (user == nullptr || !is_there("/usr/sbin/mosquitto")) {
    return fail(Code::kNotFound, "this machine has no mosquitto: sudo apt install mosquitto");
  }
  if (::geteuid() != 0) {
    return fail(Code::kPermission, "the broker's files belong to its user: use sudo");
  }
  std::vector<std::string> contents;
  for (const Kept& file : kFiles) {
    auto content = config::read_file(folder + "/" + file.name, kFileBytesMax);
    LAIRD_TRY(content);
    contents.push_back(std::move(*content));
  }
  if (!is_there(at->c_str())) LAIRD_TRY(make_private_folder(*at));
  LAIRD_TRY(give(*at, *user, 0700));
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    const std::string path = *at + "/" + kFiles[i].name;
    const auto changed = put(path, contents[i], kFiles[i].mode);
    LAIRD_TRY(changed);
    if (*changed) out.changed.push_back(path);
    LAIRD_TRY(give(path, *user, kFiles[i].mode));
  }
  const auto replaced = replace_service_config(contents.back());
  LAIRD_TRY(replaced);
  if (*replaced) out.changed.emplace_back(kService);
  if (!is_there("/run/systemd/system")) return out;
  LAIRD_TRY(run({"/usr/bin/systemctl", "enable", "mosquitto"}));
  // A broker that has these files already is not thrown off its fleet.
  LAIRD_TRY(run({"/usr/bin/systemctl", out.changed.empty() ? "start" : "restart", "mosquitto"}));
  out.started = true;
  return out;
}

}  // namespace laird::control
