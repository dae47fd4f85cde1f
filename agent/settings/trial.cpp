#include "agent/settings/trial.hpp"

#include <algorithm>

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;

constexpr std::string_view kSchema = "laird.overlay/1.0";

std::string text(const Value& from, std::string_view key) {
  const Value* value = from.find(key, Kind::kString);
  return value == nullptr ? std::string() : value->as_string();
}

std::int64_t integer(const Value& from, std::string_view key, std::int64_t otherwise) {
  const Value* value = from.find(key, Kind::kInteger);
  return value == nullptr ? otherwise : value->as_integer();
}

}  // namespace

RemoteSettings proposed(const RemoteSettings& now, Value settings, std::string by, std::string id,
                        std::int64_t within_s) {
  RemoteSettings out = now;
  out.rev = now.rev + 1;
  out.trial = Trial{now.settings, within_s, false};
  out.settings = std::move(settings);
  out.by = std::move(by);
  out.id = std::move(id);
  return out;
}

RemoteSettings at_start(RemoteSettings found) {
  if (!found.trial) return found;
  if (found.trial->begun) return reverted(found, "the agent ended before anybody confirmed it");
  found.trial->begun = true;
  return found;
}

RemoteSettings reverted(const RemoteSettings& now, const std::string& why) {
  if (!now.trial) return now;
  RemoteSettings out = now;
  out.rev = now.rev + 1;
  out.settings = now.trial->before;
  out.trial.reset();
  out.reverted_id = now.id;
  out.reverted_why = why;
  out.news = "reverted the change by " + now.by + ": " + why;
  return out;
}

Result<RemoteSettings> confirmed(const RemoteSettings& now, const std::string& id,
                                 const std::string& by) {
  if (id == now.reverted_id) return fail(Code::kRefused, "reverted: " + now.reverted_why);
  if (id != now.id) return fail(Code::kNotFound, "no change of that id is on trial");
  if (!now.trial) return fail(Code::kExists, "confirmed before");
  if (!now.trial->begun) return fail(Code::kRefused, "the agent has not restarted with it yet");
  RemoteSettings out = now;
  out.rev = now.rev + 1;
  out.trial.reset();
  out.by = by;
  return out;
}

Value to_json(const RemoteSettings& remote) {
  Value out = Value::object()
                  .set("s", kSchema)
                  .set("rev", remote.rev)
                  .set("settings", remote.settings)
                  .set("by", remote.by)
                  .set("id", remote.id)
                  .set("reverted_id", remote.reverted_id)
                  .set("reverted_why", remote.reverted_why)
                  .set("news", remote.news);
  if (remote.trial) {
    out.set("trial", Value::object()
                         .set("before", remote.trial->before)
                         .set("within_s", remote.trial->within_s)
                         .set("begun", remote.trial->begun));
  }
  return out;
}

Result<RemoteSettings> remote_settings_from(const Value& value) {
  const Value* settings = value.find("settings", Kind::kObject);
  if (!text(value, "s").starts_with("laird.overlay/1.") || settings == nullptr) {
    return fail(Code::kCorrupt, "not remote settings of version 1");
  }
  RemoteSettings out;
  out.rev = static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer(value, "rev", 0)));
  out.settings = *settings;
  out.by = text(value, "by");
  out.id = text(value, "id");
  out.reverted_id = text(value, "reverted_id");
  out.reverted_why = text(value, "reverted_why");
  out.news = text(value, "news");
  if (const Value* trial = value.find("trial", Kind::kObject)) {
    const Value* before = trial->find("before", Kind::kObject);
    const Value* begun = trial->find("begun", Kind::kBool);
    out.trial =
        Trial{before == nullptr ? Value::object() : *before,
              integer(*trial, "within_s", kConfirmWithinS), begun == nullptr || begun->as_bool()};
  }
  return out;
}

}  // namespace laird::agent
