// Rounds of co-training over a link that delays and loses: how long a board waits for its
// neighbours, when it goes on without one, and how a board that was left behind catches up.
// docs/cotraining.md.
//
// Rounds have numbers that all boards share. A board that has made round r sends its message r,
// waits for the messages r of its neighbours, and mixes with exactly those: both ends of an edge
// then use the same pair of copies, which is what keeps sum z = sum grad (cotrain.hpp). A board
// waits for a neighbour that has kept up so far, for a bounded time. To go on without a neighbour
// that took part before starts a tracking epoch. A message names the neighbours whose copies its
// sender has mixed, so an edge that only one end has used is noticed; that starts an epoch too. A
// board that hears of a round two ahead of its own was left behind: it takes over that neighbour's
// parameters and goes on at that round. A lost message is noticed by its number and replaced by a
// snapshot, for which the receiver asks. Two boards may disagree for a moment on who takes part,
// and so on the weights: that moves the mean of y a little; z is put right by the epoch that every
// change of neighbours starts.
//
// Pure: the owner tells the time and carries the bytes. Bounded: the messages kept for later
// rounds, the fragments of a message, the questions per second.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "consensus/cotrain/cotrain.hpp"

namespace laird::consensus {

inline constexpr std::size_t kRoundsDimensionMax = 32'768;   // a snapshot is 16 bytes for each
inline constexpr std::size_t kFragmentBytesMax = 32 * 1024;  // of a fragment, without its head
inline constexpr std::size_t kFragmentHeadBytesMin = 22;
inline constexpr std::size_t kFragmentHeadBytesMax = kFragmentHeadBytesMin + 4 * kEdgesMax;
inline constexpr std::uint32_t kRoundMax = 1'000'000'000;
inline constexpr std::size_t kAheadMax = 4;  // per peer: messages kept for later rounds

struct RoundsConfig {
  CotrainConfig model;
  DurationNs wait = 5 * kSecond;  // for a neighbour that has kept up so far
  std::uint32_t peers_min = 1;    // a board waits while fewer neighbours take part
  std::uint32_t rounds = 0;       // planned rounds; 0: no end
};

struct ToPeer {
  NodeId to = 0;
  bool everyone = false;  // every neighbour
  Bytes bytes;
};

class CoTrainRounds {
 public:
  // `attempt` grows from one process of a board to the next, so that late messages of an earlier
  // process are noticed. `round` and `epoch` are where the earlier process stopped.
  CoTrainRounds(const RoundsConfig& config, NodeId self, std::vector<double> start,
                std::uint64_t attempt, std::uint32_t round, std::uint32_t epoch);

  // `others_done`: some boards of the group have made all their rounds.
  void set_neighbours(const std::vector<std::pair<NodeId, double>>& neighbours, bool others_done,
                      TimeNs now);
  // Refuses a message that is malformed or not from a neighbour; the round goes on undisturbed.
  [[nodiscard]] Status hear(NodeId from, std::string_view bytes, TimeNs now);
  // Asks for missing messages. Returns the time of the next call if nothing happens before.
  [[nodiscard]] TimeNs tick(TimeNs now);

  [[nodiscard]] bool may_begin(TimeNs now) const;
  // Mixes the copies. The caller then computes the loss and the gradient of its own data at y().
  void begin();
  void end(const std::vector<double>& gradient, double loss, TimeNs now);

  // Hands the messages that are to be sent to the caller.
  [[nodiscard]] std::vector<ToPeer> take_outgoing() { return std::exchange(outgoing_, {}); }

  [[nodiscard]] bool in_round() const { return in_round_; }
  [[nodiscard]] bool finished() const;
  [[nodiscard]] std::uint32_t round() const { return round_; }
  [[nodiscard]] std::uint32_t epoch() const { return trainer_.epoch(); }
  [[nodiscard]] const std::vector<double>& y() const { return trainer_.y(); }
  // Neighbours that took part in the last mixing.
  [[nodiscard]] std::size_t present() const { return mixed_.size(); }
  // The mean loss of this board and the present neighbours in the last round that was mixed. Boards
  // that are all each other's neighbours have the same value. NaN before the first round.
  [[nodiscard]] double group_loss() const { return group_loss_; }

 private:
  enum class Kind : std::uint8_t { kDifference, kSnapshot, kAsk, kAskNewer };
  struct Head {
    Kind kind = Kind::kDifference;
    std::uint64_t attempt = 0;
    std::uint32_t round = 0;
    float loss = 0.0F;
    std::uint16_t fragment = 0;
    std::uint16_t fragments = 1;
    std::vector<NodeId> mixed;  // whose copies the sender mixed in that round
  };
  struct Ahead {
    Head head;
    std::string bytes;
  };
  struct Peer {
    NodeId node = 0;
    std::uint64_t attempt = 0;
    std::uint32_t round = 0;  // of the copy that this board holds
    float loss = 0.0F;
    bool mixed_us = false;  // it mixed this board's copy in that round
    TimeNs since = 0;       // when it became a neighbour
    TimeNs asked_at = -kHour;
    TimeNs answered_at = -kHour;
    std::deque<Ahead> ahead;
    Head assembling;
    std::string assembled;
  };

  [[nodiscard]] static Result<Head> parse_head(std::string_view& bytes);
  [[nodiscard]] Status take_fragment(Peer& peer, const Head& head, std::string_view body,
                                     TimeNs now);
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
  std::uint64_t attempt_;
  std::uint32_t round_;  // the last round this board has made
  bool in_round_ = false;
  bool told_ = false;  // a peer may hold a copy of this attempt
  bool others_done_ = false;
  bool joined_ = false;  // has made a round with others in this attempt
  TimeNs waiting_since_ = 0;
  float loss_ = 0.0F;
  double group_loss_;
  std::vector<Peer> peers_;
  std::vector<NodeId> mixed_;
  std::vector<ToPeer> outgoing_;
};

}  // namespace laird::consensus
