#include "control/provision/founding/founding.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "config/schema.hpp"
#include "control/provision/broker.hpp"
#include "control/provision/enroll.hpp"
#include "control/provision/pki.hpp"
#include "control/provision/secure_files.hpp"

namespace laird::control {
namespace {

using json::Value;

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::int64_t kCertificateDays = 825;

bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool holds(const std::string& path, const std::string& text) {
  const auto found = config::read_file(path, kFileBytesMax);
  return found && *found == text;
}

// One run over all steps.
class Founder {
 public:
  explicit Founder(const Founding& founding) : founding_(founding) {}

  [[nodiscard]] Status run() {
    LAIRD_TRY(access_is_free());
    LAIRD_TRY(authority());
    LAIRD_TRY(keep_plan());
    LAIRD_TRY(identity("the operator", {plan().op, mqtt::Role::kOperator, {}, kCertificateDays}));
    for (const PlannedBoard& board : plan().boards) {
      LAIRD_TRY(identity("the key of", {board.id, mqtt::Role::kNode, {}, kCertificateDays}));
    }
    for (const PlannedBoard& board : plan().boards) LAIRD_TRY(bundle(board.id));
    LAIRD_TRY(broker());
    return access();
  }

 private:
  [[nodiscard]] const FoundingPlan& plan() const { return founding_.plan; }
  [[nodiscard]] const std::string& pki() const { return founding_.places.pki; }

  // Does what is not there yet, unless it is only to be told.
  template <class Make>
  [[nodiscard]] Status step(const std::string& what, const std::string& where, bool there,
                            Make make) {
    if (!there && !founding_.dry_run) LAIRD_TRY(make());
    founding_.tell({what, where, there});
    return {};
  }

  [[nodiscard]] Status authority() {
    bool there = false;
    if (is_there(pki())) {
      const auto index = pki_index(pki());
      LAIRD_TRY(index);
      if (index->fleet != plan().fleet) {
        return fail(Code::kRefused, pki() + " holds the certificates of the fleet '" +
                                        index->fleet + "', not of '" + plan().fleet +
                                        "'; go to another folder");
      }
      there = true;
    }
    return step("the authority of " + plan().fleet, pki(), there, [&]() -> Status {
      PkiInit what;
      what.folder = pki();
      what.fleet = plan().fleet;
      what.broker_hosts = plan().hosts;
      LAIRD_TRY(pki_init(what));
      return {};
    });
  }

  [[nodiscard]] Status keep_plan() {
    const std::string path = pki() + "/fleet.json";
    return step("the plan", path, holds(path, plan_text(plan())),
                [&] { return write_plan(pki(), plan()); });
  }

  // A good certificate in the index without its files is what a run leaves that was killed between
  // the two: the certificate is made anew, and the one that nobody has is revoked.
  [[nodiscard]] Status identity(const std::string& what, const mqtt::Subject& subject) {
    const bool is_operator = subject.role == mqtt::Role::kOperator;
    const std::string folder = pki() + (is_operator ? "/operators/" : "/nodes/") + subject.name;
    bool good = false;
    if (const auto index = pki_index(pki())) {
      for (const PkiEntry& entry : index->entries) {
        good = good || (entry.name == subject.name && entry.revoked_at_s == 0);
      }
    }
    const bool there = good && is_there(folder + (is_operator ? "/op.key" : "/node.key"));
    return step(what + " " + subject.name, folder, there, [&]() -> Status {
      LAIRD_TRY(pki_issue(pki(), subject, IfThere::kReplace));
      return {};
    });
  }

  [[nodiscard]] Status bundle(const std::string& id) {
    const std::string folder = founding_.places.enroll + "/" + id;
    const bool there = is_there(folder) && same_key(folder, id);
    return step("the files of " + id, folder, there, [&]() -> Status {
      const auto operators = known_operators(pki());
      LAIRD_TRY(operators);
      const auto config =
          board_config({id, plan().fleet, {plan().broker_url()}, *operators, plan().budget()});
      LAIRD_TRY(config);
      return write_bundle(folder, *config, pki() + "/nodes/" + id, IfThere::kReplace);
    });
  }

  // Whether the folder is of the key that is good now. The config may have been edited since.
  [[nodiscard]] bool same_key(const std::string& folder, const std::string& id) const {
    const auto good = config::read_file(pki() + "/nodes/" + id + "/node.crt", kFileBytesMax);
    return good && holds(folder + "/tls/node.crt", *good) && is_there(folder + "/laird.json");
  }

  [[nodiscard]] Status broker() {
    BrokerOptions options;
    options.folder = founding_.places.broker_at;
    options.port = plan().port;
    options.data_folder = "/var/lib/mosquitto";
    const std::string& out = founding_.places.mosquitto;
    std::vector<BrokerFile> files;
    if (is_there(pki())) {
      auto made = broker_files(pki(), options);
      LAIRD_TRY(made);
      files = std::move(*made);
    }
    const bool there =
        !files.empty() && std::all_of(files.begin(), files.end(), [&](const BrokerFile& file) {
          return holds(out + "/" + file.name, file.content);
        });
    return step("the broker's folder", out, there, [&]() -> Status {
      LAIRD_TRY(make_private_folder(out));
      for (const BrokerFile& file : files) {
        LAIRD_TRY(write_file(out + "/" + file.name, file.content, file.mode, IfThere::kReplace));
      }
      return {};
    });
  }

  [[nodiscard]] std::string access_wanted() const {
    const std::string folder =
        std::filesystem::absolute(pki() + "/operators/" + plan().op).lexically_normal().string();
    return access_text(plan(), folder);
  }

  // Asked before anything is made: the config of another fleet is never touched.
  [[nodiscard]] Status access_is_free() const {
    const std::string& path = founding_.places.access;
    if (path.empty() || !is_there(path) || holds(path, access_wanted())) return {};
    return fail(Code::kExists,
                path +
                    " says another fleet or operator; give --config with another name, and "
                    "say that name to lairctl with LAIRCTL_CONFIG");
  }

  [[nodiscard]] Status access() {
    const std::string& path = founding_.places.access;
    if (path.empty()) return {};
    return step("lairctl's config", path, holds(path, access_wanted()), [&]() -> Status {
      std::error_code failed;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
      if (failed) return fail_errno(failed.value(), "make the folder of " + path);
      return write_file(path, access_wanted(), kPublicMode, IfThere::kRefuse);
    });
  }

  const Founding& founding_;
};

}  // namespace

std::string access_text(const FoundingPlan& plan, const std::string& credentials) {
  return json::to_pretty_text(Value::object()
                                  .set("fleet", plan.fleet)
                                  .set("brokers", Value::array().add(plan.broker_url()))
                                  .set("credentials", credentials)) +
         "\n";
}

Status found_files(const Founding& founding) {
  LAIRD_TRY(check_plan(founding.plan));
  return Founder(founding).run();
}

}  // namespace laird::control
