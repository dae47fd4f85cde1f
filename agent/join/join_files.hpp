// What a board has on its disk while it joins, and the judgement on an answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mqtt/codec/join.hpp"

namespace laird::agent {

// join.json of the image.
struct JoinImage {
  std::string fleet;
  std::vector<std::string> brokers;
  std::string ca_pem;
};

[[nodiscard]] Result<JoinImage> read_join_image(const std::string& folder);

struct BoardKey {
  std::string pem;  // secret
  std::string public_key;
  std::string fingerprint;
};

// The key of the folder; made when there is none, or what stands there is none: nobody has asked
// with a key before it was on the disk.
[[nodiscard]] Result<BoardKey> board_key(const std::string& folder);
[[nodiscard]] std::string key_path(const std::string& folder);
[[nodiscard]] std::string answer_path(const std::string& folder);

// What the board calls its own: its serial number, else the address of its first network card, else
// what it has made up and kept.
[[nodiscard]] Result<std::string> board_serial(const std::string& root, const std::string& folder);

// The answer, if the authority of the image has signed it for this key, and, where it admits, the
// certificate is of this key and name and the config one that the agent takes.
[[nodiscard]] Result<mqtt::JoinAnswer> judged_answer(const std::string& message,
                                                     const JoinImage& image, const BoardKey& key);

}  // namespace laird::agent
