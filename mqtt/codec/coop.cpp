#include "mqtt/codec/coop.hpp"

#include <utility>

#include "config/schema.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::mqtt {

CoopWriter::CoopWriter() : bytes_(1, static_cast<char>(kCoopVersion)) {}

bool CoopWriter::add(std::string_view message) {
  if (message.empty() || message.size() > kCoopFrameBytesMax || frames_ == kCoopFramesMax ||
      bytes_.size() + 2 + message.size() > kPayloadBytesMax) {
    return false;
  }
  bytes_ += static_cast<char>(message.size() & 0xFF);
  bytes_ += static_cast<char>(message.size() >> 8);
  bytes_ += message;
  ++frames_;
  return true;
}

std::string CoopWriter::take() {
  frames_ = 0;
  return std::exchange(bytes_, std::string(1, static_cast<char>(kCoopVersion)));
}

std::string model_payload(std::string_view task, std::string_view bytes) {
  if (!config::is_name(task) || bytes.empty() || bytes.size() > kModelPartBytesMax) return {};
  std::string out(1, static_cast<char>(kCoopModelVersion));
  out += static_cast<char>(task.size());
  out.append(task).append(bytes);
  return out;
}

Result<ModelPart> parse_model_part(std::string_view payload) {
  if (!is_model_part(payload) || payload.size() < 2 || payload.size() > kPayloadBytesMax) {
    return fail(Code::kInvalid, "no part of a model, or too long");
  }
  const std::size_t length = static_cast<std::uint8_t>(payload[1]);
  payload.remove_prefix(2);
  ModelPart out;
  out.task = payload.substr(0, length);
  if (out.task.size() != length || !config::is_name(out.task) || payload.size() == length) {
    return fail(Code::kInvalid, "a part of a model with a wrong name, or cut");
  }
  out.bytes = payload.substr(length);
  if (out.bytes.size() > kModelPartBytesMax) return fail(Code::kInvalid, "too long a part");
  return out;
}

Result<std::vector<std::string_view>> parse_coop(std::string_view payload) {
  if (payload.size() > kPayloadBytesMax) return fail(Code::kInvalid, "a peer message too long");
  if (payload.empty() || static_cast<std::uint8_t>(payload[0]) != kCoopVersion) {
    return fail(Code::kInvalid, "a peer message of an unknown version");
  }
  payload.remove_prefix(1);
  std::vector<std::string_view> out;
  while (!payload.empty()) {
    if (payload.size() < 2) return fail(Code::kInvalid, "a peer message cut in a length");
    const std::size_t length = static_cast<std::uint8_t>(payload[0]) |
                               static_cast<std::size_t>(static_cast<std::uint8_t>(payload[1])) << 8;
    payload.remove_prefix(2);
    if (length == 0 || length > kCoopFrameBytesMax || length > payload.size()) {
      return fail(Code::kInvalid, "a peer message with a wrong length");
    }
    if (out.size() == kCoopFramesMax) return fail(Code::kInvalid, "too many messages in one");
    out.push_back(payload.substr(0, length));
    payload.remove_prefix(length);
  }
  return out;
}

}  // namespace laird::mqtt
