// Boards that ask for a place in the fleet: which of them may have one, under which name, and what
// they are answered. What boards say is not believed: a signature shows that the board has the key
// it asks for, and nothing shows its serial number but the operator's own list or eyes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "control/provision/enroll.hpp"
#include "control/provision/pki.hpp"
#include "mqtt/codec/join.hpp"

namespace laird::control {

enum class AskState : std::uint8_t {
  kNew,    // may be admitted
  kKnown,  // has its place already; it may be answered once more
  kClone,  // another board of this serial number has a place
  kTwin,   // another board that asks says the same serial number: only a fingerprint tells which
};

struct Asking {
  mqtt::JoinAsk ask;
  std::string public_key;  // DER
  std::string fingerprint;
  AskState state = AskState::kNew;
  std::string node;  // of a known one its name; of a clone that of the other board
};

// The boards that asked. Bounded, whatever comes.
class AskBook {
 public:
  static constexpr std::size_t kBoardsMax = 4'096;
  // So many signatures are checked; then a flood is in the way.
  static constexpr std::size_t kChecksMax = 50'000;

  // `wanted`: serial numbers and fingerprints, or their beginnings of eight digits and more; when
  // there are any, others' messages cost no check.
  AskBook(std::string fleet, std::vector<std::string> wanted)
      : fleet_(std::move(fleet)), wanted_(std::move(wanted)) {}

  void take(const std::string& message);
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] bool flooded() const {
    return boards_.size() >= kBoardsMax || checks_ >= kChecksMax;
  }
  // With what the index of certificates knows of each, by serial number and fingerprint.
  [[nodiscard]] std::vector<Asking> judged(const PkiIndex& index) const;
  // Whether a board of that serial number or fingerprint has asked.
  [[nodiscard]] bool has(const std::string& wanted) const;
  // Whether each that is wanted was named by the fingerprint of its key.
  [[nodiscard]] bool only_keys() const;

 private:
  std::string fleet_;
  std::vector<std::string> wanted_;
  std::map<std::string, Asking> boards_;  // by fingerprint
  std::size_t refused_ = 0;
  std::size_t checks_ = 0;
};

[[nodiscard]] bool is_meant(const Asking& board, const std::string& wanted);

// The next name of that beginning that was never given to anybody: "n-17".
[[nodiscard]] std::string next_name(const PkiIndex& index, const std::string& prefix);

// The answer, signed by the authority whose certificates are in the folder.
[[nodiscard]] Result<std::string> signed_answer(const std::string& pki,
                                                const mqtt::JoinAnswer& answer);

// What goes into an image so that its boards ask: join.json, ca.crt, join.crt, join.key.
struct JoinFolder {
  std::string folder;
  std::vector<std::string> brokers;
  std::int64_t days = 30;
};
[[nodiscard]] Status make_join_folder(const std::string& pki, const JoinFolder& what,
                                      IfThere if_there);

}  // namespace laird::control
