#include "agent/commands/settings_changes.hpp"

#include <algorithm>

#include "agent/settings/settings_loader.hpp"

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;
using mqtt::ReplyCode;

constexpr std::size_t kProblemsShownMax = 32;
constexpr std::size_t kReplyBytesMax = 48 * 1024;
// Time for the answer to leave before the restart takes the link down.
constexpr DurationNs kRestartAfter = 300 * kMillisecond;
constexpr DurationNs kRevertAgainAfter = 5 * kSecond;

ConfigJudgement refusal(ReplyCode code, std::string text) {
  ConfigJudgement out;
  out.code = code;
  out.text = std::move(text);
  return out;
}

// The remote settings as they would be after the request.
Result<Value> wanted_settings(const Value& body, const Value& base, const RemoteSettings& now) {
  if (const Value* whole = body.find("apply")) {
    if (!whole->is(Kind::kObject))
      return fail(Code::kInvalid, "\"apply\" is an object of settings");
    return differing(base, *whole);
  }
  const Value* set = body.find("set", Kind::kObject);
  const Value* unset = body.find("unset", Kind::kArray);
  if (set == nullptr && unset == nullptr) {
    return fail(Code::kInvalid,
                "config needs \"set\", \"unset\", \"apply\" or \"confirm\"; see docs/mqtt-api.md");
  }
  Value out = now.settings;
  std::size_t keys = 0;
  if (set != nullptr) {
    for (const auto& [key, value] : set->members()) {
      if (++keys > kRemoteSettingsKeysMax) return fail(Code::kInvalid, "too many keys at once");
      if (const Status ok = set_key(out, key, value); !ok) {
        return fail(Code::kInvalid, key + ": " + ok.error().context);
      }
    }
  }
  if (unset != nullptr) {
    for (const Value& key : unset->items()) {
      if (!key.is(Kind::kString) || ++keys > kRemoteSettingsKeysMax) {
        return fail(Code::kInvalid, "\"unset\" is a list of at most 256 keys");
      }
      erase_key(out, key.as_string());
    }
  }
  return differing(base, out);
}

// "/power/cap" as operators write it: "power.cap".
std::string dotted(std::string path) {
  if (path.starts_with('/')) path.erase(0, 1);
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

ConfigJudgement with_problems(const std::vector<config::Problem>& problems) {
  ConfigJudgement out =
      refusal(ReplyCode::kRefused,
              std::to_string(problems.size()) + " problem" + (problems.size() == 1 ? "" : "s") +
                  ": " + dotted(problems.front().path) + ": " + problems.front().what);
  Value list = Value::array();
  for (std::size_t i = 0; i < std::min(problems.size(), kProblemsShownMax); ++i) {
    list.add(Value::object().set("key", dotted(problems[i].path)).set("what", problems[i].what));
  }
  out.data = Value::object().set("problems", std::move(list));
  return out;
}

std::string keys_of(const std::vector<Change>& list) {
  std::string out;
  for (const Change& change : list) out += (out.empty() ? "" : ", ") + change.key;
  return out;
}

ConfigJudgement judge_confirmation(const mqtt::Command& command, const Value& id,
                                   const RemoteSettings& now) {
  if (!id.is(Kind::kString)) {
    return refusal(ReplyCode::kInvalid, "\"confirm\" is the id of the command that asked for it");
  }
  Result<RemoteSettings> next = confirmed(now, id.as_string(), command.op);
  ConfigJudgement out;
  if (next) {
    out.text = "confirmed";
    out.what = command.op + " confirmed its settings";
    out.next = std::move(*next);
  } else if (next.error().code == Code::kExists) {
    out.text = next.error().context;
  } else {
    return refusal(mqtt::reply_code(next.error().code), next.error().context);
  }
  return out;
}

bool flag(const Value& body, std::string_view key) {
  const Value* value = body.find(key, Kind::kBool);
  return value != nullptr && value->as_bool();
}

}  // namespace

ConfigJudgement judge_config(const mqtt::Command& command, const Value& base,
                             const std::string& config_path, const RemoteSettings& now) {
  const Value& body = command.body;
  if (const Value* id = body.find("confirm")) return judge_confirmation(command, *id, now);
  std::int64_t within_s = kConfirmWithinS;
  if (const Value* within = body.find("confirm_within_s")) {
    within_s = within->is(Kind::kInteger) ? within->as_integer() : 0;
    if (within_s < kConfirmWithinMinS || within_s > kConfirmWithinMaxS) {
      return refusal(ReplyCode::kInvalid, "\"confirm_within_s\" is from 5 to 3600");
    }
  }
  Result<Value> wanted = wanted_settings(body, base, now);
  if (!wanted) return refusal(ReplyCode::kInvalid, wanted.error().context);
  if (json::to_text(*wanted).size() > kRemoteSettingsBytesMax) {
    return refusal(ReplyCode::kRefused, "more than 32 KiB of settings; put them into the file");
  }
  const std::vector<Change> list = changes(layered(base, now.settings), layered(base, *wanted));
  std::vector<config::Problem> problems;
  refuse_locked(list, *wanted, problems);
  if (!list.empty()) {
    static_cast<void>(settings_of(layered(base, *wanted), config_path, problems));
  }
  if (!problems.empty()) return with_problems(problems);

  ConfigJudgement out;
  out.data = Value::object().set("changes", to_json(list));
  if (list.empty()) {
    out.text = "no change";
  } else if (flag(body, "dry_run")) {
    out.text = "would change " + keys_of(list);
  } else if (now.trial) {
    return refusal(ReplyCode::kRefused, "a change by " + now.by +
                                            " is on trial; wait until it is confirmed or reverted");
  } else {
    out.text =
        "restarts with it; reverts unless confirmed within " + std::to_string(within_s) + " s";
    out.what = command.op + " changes " + keys_of(list) + "; on trial for " +
               std::to_string(within_s) + " s";
    out.next = proposed(now, std::move(*wanted), command.op, command.id, within_s);
    out.data.set("trial", command.id);
  }
  return out;
}

SettingsChanges::SettingsChanges(Loop& loop, Agent& agent, const LayeredSettings& settings,
                                 SettingsStore store, Restart restart, Log log)
    : loop_(loop),
      agent_(agent),
      config_path_(settings.config_path),
      base_(settings.base),
      remote_(settings.remote),
      store_(std::move(store)),
      restart_(std::move(restart)),
      log_(std::move(log)) {
  for (const std::string& note : settings.notes) log_(LogLevel::kError, "settings: " + note);
  if (remote_.trial) {
    log_(LogLevel::kInfo,
         "settings: on trial for " + std::to_string(remote_.trial->within_s) + " s");
    trial_timer_ = loop_.after(remote_.trial->within_s * kSecond, [this] { revert(); });
  }
  tell_news();
}

SettingsChanges::~SettingsChanges() {
  if (trial_timer_ != 0) loop_.cancel(trial_timer_);
  if (restart_timer_ != 0) loop_.cancel(restart_timer_);
}

// The news is told at least once: after a crash between telling it and noting that it was told, the
// next start tells it again.
void SettingsChanges::tell_news() {
  if (remote_.news.empty()) return;
  log_(LogLevel::kWarning, "settings: " + remote_.news);
  agent_.note_config(remote_.news);
  remote_.news.clear();
  if (const Status ok = store_.write(remote_); !ok)
    log_(LogLevel::kWarning, "settings: " + ok.error().context);
}

ConfigJudgement SettingsChanges::judge(const mqtt::Command& command) const {
  return judge_config(command, base_, config_path_, remote_);
}

Status SettingsChanges::keep(const RemoteSettings& next) {
  if (next.rev != remote_.rev + 1) {
    return fail(Code::kRefused, "another change came first; look again, and send it again");
  }
  LAIRD_TRY(store_.write(next));
  remote_ = next;
  if (trial_timer_ != 0) loop_.cancel(trial_timer_);
  trial_timer_ = 0;
  if (next.trial) restart_timer_ = loop_.after(kRestartAfter, [this] { restart_(); });
  return {};
}

void SettingsChanges::revert() {
  trial_timer_ = 0;
  const std::string within = std::to_string(remote_.trial->within_s) + " s";
  const bool up = connected_ && connected_();
  const RemoteSettings back = reverted(remote_, up ? "nobody confirmed it within " + within
                                                   : "the link did not come back within " + within);
  if (const Status ok = store_.write(back); !ok) {
    log_(LogLevel::kError, "settings: cannot revert: " + ok.error().context);
    trial_timer_ = loop_.after(kRevertAgainAfter, [this] { revert(); });
    return;
  }
  // The next start of the agent tells the fleet, because this one may have no link.
  log_(LogLevel::kWarning, "settings: " + back.news);
  restart_();
}

Result<Value> SettingsChanges::answer_get(const std::string& key) const {
  Value all = shown(layered(base_, remote_.settings));
  Value over = shown(remote_.settings);
  if (!key.empty()) {
    const Value* found = find_key(all, key);
    Value one = Value::object();
    if (found != nullptr) static_cast<void>(set_key(one, key, *found));
    all = std::move(one);
  }
  Value out = Value::object()
                  .set("rev", remote_.rev)
                  .set("by", remote_.by)
                  .set("trial", remote_.trial.has_value())
                  .set("settings", std::move(all))
                  .set("overlay", std::move(over));
  if (json::to_text(out).size() > kReplyBytesMax) {
    return fail(Code::kFull, "the settings are too long for one answer; ask for one key");
  }
  return out;
}

bool SettingsChanges::revert_failed_start(const LayeredSettings& settings,
                                          const SettingsStore& store, const Error& why) {
  if (!settings.remote.trial) return false;
  return store.write(reverted(settings.remote, "it could not start: " + why.context)).has_value();
}

}  // namespace laird::agent
