// Rounds of co-training over a link that delays and loses: who is waited for and for how long, who
// is left behind, and how a board that was catches up.
//
// Rounds have numbers that all boards share. A board that has made round r sends its message r,
// waits for the messages r of its neighbours, and mixes with exactly those: both ends of an edge
// then use the same pair of copies, which is what keeps sum z = sum grad (cotrain.hpp). Whoever has
// kept up is waited for, for a bounded time; going on without one that took part before starts a
// tracking epoch. A message names the neighbours it was mixed from: an edge that only one end used
// shows, and starts an epoch too. A board that hears of a round two ahead has been left behind: it
// takes over the neighbour's parameters and goes on at that round. A lost message is noticed by its
// number and made good by a snapshot that is asked for. Weights that do not match for a moment (two
// views of who takes part) move the mean of y a little; z is made good by the epoch that every
// change of neighbours starts.
//
// Pure: the owner says what time it is and carries the bytes. Bounded: messages kept ahead, parts
// of a message, questions a second.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "consensus/cotrain/cotrain.hpp"

namespace laird::consensus {

inline constexpr std::size_t kRoundsDimensionMax = 32'768;  // a snapshot is 16 bytes for each
inline constexpr std::size_t kPartBytesMax = 32 * 1024;     // of a message, without its head
inline constexpr std::size_t kPartHeadBytesMin = 22;
inline constexpr std::size_t kPartHeadBytesMax = kPartHeadBytesMin + 4 * kEdgesMax;
inline constexpr std::uint32_t kRoundMax = 1'000'000'000;
inline constexpr std::size_t kAheadMax = 4;  // messages of rounds we have not made yet, each peer

struct RoundsConfig {
  CotrainConfig model;
  DurationNs wait = 5 * kSecond;  // for a neighbour that kept up so far
  std::uint32_t peers_min = 1;    // with fewer neighbours at work a board waits
  std::uint32_t rounds = 0;       // planned; 0: no end
};

struct ToPeer {
  NodeId to = 0;
  bool everyone = false;  // every neighbour
  Bytes bytes;
};

class CoTrainRounds {
 public:
  // `life` grows from one process of a board to the next: what an earlier one said late is told
  // apart. `round` and `epoch` are where an earlier life stopped.
  CoTrainRounds(const RoundsConfig& config, NodeId self, std::vector<double> start,
                std::uint64_t life, std::uint32_t round, std::uint32_t epoch);

  // `others_done`: boards of the group have made all their rounds.
  void set_neighbours(const std::vector<std::pair<NodeId, double>>& neighbours, bool others_done,
                      TimeNs now);
  // Refuses what is malformed or from no neighbour; the round is not disturbed by it.
  [[nodiscard]] Status hear(NodeId from, std::string_view bytes, TimeNs now);
  // Asks for what is missing. Gives the time at which to call again if nothing happens before.
  [[nodiscard]] TimeNs tick(TimeNs now);

  [[nodiscard]] bool may_begin(TimeNs now) const;
  // Mixes; the caller then computes loss and gradient of its own data at y().
  void begin();
  void end(const std::vector<double>& gradient, double loss, TimeNs now);

  // What is to be sent; forgotten here.
  [[nodiscard]] std::vector<ToPeer> take_outgoing() { return std::exchange(outgoing_, {}); }

  [[nodiscard]] bool in_round() const { return in_round_; }
  [[nodiscard]] bool finished() const;
  [[nodiscard]] std::uint32_t round() const { return round_; }
  [[nodiscard]] std::uint32_t epoch() const { return trainer_.epoch(); }
  [[nodiscard]] const std::vector<double>& y() const { return trainer_.y(); }
  // Neighbours that took part in the last mixing.
  [[nodiscard]] std::size_t present() const { return mixed_.size(); }
  // Mean of the own and the present neighbours' losses of the last round that was mixed: boards
  // that are all each other's neighbours have the same. NaN before the first.
  [[nodiscard]] double group_loss() const { return group_loss_; }

 private:
  enum class Kind : std::uint8_t { kDifference, kSnapshot, kAsk, kAskNewer };
  struct Head {
    Kind kind = Kind::kDifference;
    std::uint64_t life = 0;
    std::uint32_t round = 0;
    float loss = 0.0F;
    std::uint16_t part = 0;
    std::uint16_t parts = 1;
    std::vector<NodeId> mixed;  // whom the sender mixed with to make the round
  };
  struct Ahead {
    Head head;
    std::string bytes;
  };
  struct Peer {
    NodeId node = 0;
    std::uint64_t life = 0;
    std::uint32_t round = 0;  // of the copy that is held
    float loss = 0.0F;
    bool mixed_us = false;  // to make that round
    TimeNs since = 0;       // a neighbour
    TimeNs asked_at = -kHour;
    TimeNs answered_at = -kHour;
    std::deque<Ahead> ahead;
    Head assembling;
    std::string assembled;
  };

  [[nodiscard]] static Result<Head> parse_head(std::string_view& bytes);
  [[nodiscard]] Status take_part(Peer& peer, const Head& head, std::string_view body, TimeNs now);
  [[nodiscard]] Status take_whole(Peer& peer, const Head& head, std::string_view body, TimeNs now);
  [[nodiscard]] Status apply(Peer& peer, const Head& head, std::string_view body, TimeNs now);
  void ask(Peer& peer, Kind kind, TimeNs now);
  void send(ToPeer to, Kind kind, std::uint32_t round, const Bytes& body);
  void settle(TimeNs now);
  void catch_up(const Peer& with, std::uint32_t round, TimeNs now);
  [[nodiscard]] bool is_known(const Peer& peer) const;
  [[nodiscard]] std::uint32_t newest(const Peer& peer) const;
  [[nodiscard]] bool is_late(const Peer& peer) const;

  RoundsConfig config_;
  Cotrainer trainer_;
  NodeId self_;
  std::uint64_t life_;
  std::uint32_t round_;  // the last one made
  bool in_round_ = false;
  bool told_ = false;  // somebody may hold a copy of ours in this life
  bool others_done_ = false;
  bool joined_ = false;  // made a round with others in this life
  TimeNs waiting_since_ = 0;
  float loss_ = 0.0F;
  double group_loss_;
  std::vector<Peer> peers_;
  std::vector<NodeId> mixed_;
  std::vector<ToPeer> outgoing_;
};

}  // namespace laird::consensus
