// What one board does with titles: the book of them, what is known of the register, and the bytes
// that boards exchange about both. Pure; a part of the core's state.
//
// A packet's first byte holds the wire version (high nibble) and the kind (low nibble): a message
// of the book, a question to a keeper of the register about some nodes, or its answer. Each kind is
// idempotent and may be lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "consensus/register.hpp"
#include "consensus/titles/census.hpp"
#include "consensus/titles/titles.hpp"

namespace laird::consensus {

inline constexpr std::uint8_t kTitleWireVersion = 1;
inline constexpr std::size_t kNodesAskedMax = 64;
// How often a board that keeps no register asks those that do.
inline constexpr std::uint64_t kAskTicks = 3;
// Of bodies, in one tick, to all peers together.
inline constexpr std::size_t kBodyBytesPerTick = 128 * 1024;

struct TitlePacket {
  NodeId to = 0;
  std::string bytes;
};
using TitlePackets = std::vector<TitlePacket>;

// What the board's ledger knows at this moment.
struct Sight {
  Account self;                    // incarnation 0: no account
  bool fenced = true;              // or not entered yet, or leaving
  const Register* kept = nullptr;  // the register, of a keeper
  struct Near {
    Account peer;
    bool dead = false;
  };
  std::vector<Near> near;       // the other ends of its edges
  std::vector<NodeId> keepers;  // whom it asks
  std::size_t words = 2;        // how many of them have to say the same
  std::uint64_t tick = 0;
};

class TitleDesk {
 public:
  explicit TitleDesk(TitleRules rules = {}) : titles_(rules) {}

  // The board goes on under that account, and knows what its ledger knows.
  void follow(const Sight& sight);
  // Once a tick of the ledger. `wishes`: nodes to which something is to be given.
  void tick(const Sight& sight, const std::vector<NodeId>& wishes, TitlePackets& out);
  // A packet of that node. An error says why it was refused.
  [[nodiscard]] Status take(const Sight& sight, NodeId from, std::string_view packet,
                            const Willing& willing, TitlePackets& out);

  [[nodiscard]] RegisterView view(const Sight& sight) const;
  [[nodiscard]] const Titles& titles() const { return titles_; }
  [[nodiscard]] Titles& titles() { return titles_; }
  [[nodiscard]] const Census& census() const { return census_; }
  // Nothing to do at a tick.
  [[nodiscard]] bool idle() const { return titles_.held().empty() && titles_.copies() == 0; }
  void archive(Archive& ar);

 private:
  static void send(const TitleMessages& messages, TitlePackets& out);

  Titles titles_;
  Census census_;
};

}  // namespace laird::consensus
