#include "agent/fleet/revocation_store.hpp"

#include <utility>

#include "config/schema.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/messages.hpp"
#include "os/whole_file.hpp"

namespace laird::agent {

RevocationStore::RevocationStore(std::string ca, std::string path)
    : ca_(std::move(ca)), path_(std::move(path)) {
  const Result<std::string> kept = config::read_file(path_, mqtt::kPayloadBytesMax);
  if (!kept) {
    if (kept.error().code != Code::kNotFound) problem_ = kept.error().context;
    return;
  }
  Result<mqtt::Revocations> list = mqtt::Revocations::parse(*kept, ca_);
  if (list) {
    list_ = std::move(*list);
  } else {
    problem_ = path_ + ": " + list.error().context;
  }
}

Result<bool> RevocationStore::take(std::string_view payload) {
  const Result<std::string> pem = mqtt::parse_revocations(payload);
  LAIRD_TRY(pem);
  Result<mqtt::Revocations> list = mqtt::Revocations::parse(*pem, ca_);
  LAIRD_TRY(list);
  if (!list->newer_than(list_)) {
    if (!list_.newer_than(*list)) return false;
    return fail(Code::kRefused, "the list of revoked certificates number " +
                                    std::to_string(list->number()) + " is older than number " +
                                    std::to_string(list_.number()) +
                                    " in force: publish the newest one");
  }
  // In force even when the disk is full: then it is asked for again at the next start.
  list_ = std::move(*list);
  LAIRD_TRY(replace_file(path_, *pem));
  return true;
}

}  // namespace laird::agent
