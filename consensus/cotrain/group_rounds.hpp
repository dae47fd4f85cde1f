// Rounds of co-training that a whole group makes together, over a link that delays and loses.
// docs/cotraining.md.
//
// Every board of the group has the same model (group_model.hpp). In a round each of them sends a
// contribution to all; who has every board's contribution applies them and is at the next round.
// So no round is made without a board that takes part, and a board that lags or lost something is
// at most one round behind the others.
//  - A lost contribution is asked for, and sent again; of a long message only the fragments that
//    are missing. A board that is further behind, begins anew or comes late asks for the model and
//    gets it whole; it then says that it is there, the others' contributions name it, and from the
//    next round on it takes part.
//  - A board that left for good, or was silent for longer than `wait`, is left out by a vote: each
//    of the others says without whom it would make which round, and keeps to it. When all others
//    have said the same, they make the round. So two boards never make the same round from
//    different contributions. A board is not silent while its contribution still comes, or the
//    model still goes to it, up to several times what such a message takes.
//  - A round needs its quorum: see RoundsConfig.
//  - A board that begins anew is told what it has contributed to the round under way, so that it
//    does not contribute something else.
//  - The board with the least name founds the group, once the boards at work have said hello.
//    Should two groups of one task meet, the smaller one's boards go over to the larger one.
//
// Pure: the owner tells the time and carries the bytes. Bounded: messages kept for later, fragments
// of a message, questions and answers in a second.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "consensus/cotrain/group_model.hpp"

namespace laird::consensus {

inline constexpr std::size_t kFragmentBytesMax = 32 * 1024;  // of a fragment, without its head
inline constexpr std::size_t kFragmentHeadBytes = 22;

struct RoundsConfig {
  GroupConfig model;
  std::uint32_t rounds = 0;  // planned rounds; 0: no end
  // How many boards make a round at least. Not said: all that ever took part, but for those that
  // left for good; where `wait` is said, more than half of all that ever took part. Never less than
  // two unless it says one.
  std::optional<std::uint32_t> quorum;
  // How long a silent board is waited for. Not said: until it is back or leaves for good; where
  // `quorum` is said, kWaitWithQuorum.
  std::optional<DurationNs> wait;
};
inline constexpr std::string_view kMadeBy = "made by ";
// Models are sent a few fragments at a time, so often.
inline constexpr DurationNs kParcelsEvery = 100 * kMillisecond;
inline constexpr DurationNs kWaitWithQuorum = 10 * kSecond;

// What the agent knows of another board with this task.
enum class GroupPeer : std::uint8_t { kAtWork, kAway, kDone, kLeft };

struct ToPeer {
  std::string to;  // empty: every board of the group
  Bytes bytes;
};

class GroupRounds {
 public:
  // `attempt` grows from one process of a board to the next.
  GroupRounds(const RoundsConfig& config, std::string self, std::vector<float> start,
              std::uint64_t attempt);

  // Goes on from a checkpoint.
  void restore(GroupModel model) {
    model_ = std::move(model);
    start_ = {};
  }
  void set_peers(const std::map<std::string, GroupPeer>& peers, TimeNs now);
  // Refuses a message that is malformed; the round goes on undisturbed.
  [[nodiscard]] Status hear(const std::string& from, std::string_view bytes, TimeNs now);
  // Asks for what is missing. Returns the time of the next call if nothing happens before.
  [[nodiscard]] TimeNs tick(TimeNs now);

  // Whether this board should work out its contribution to the next round, at x().
  [[nodiscard]] bool may_contribute() const;
  // `wanted`: the gradient, or the change after local steps. What is left of it untold afterwards
  // stands in it.
  void contribute(std::vector<float>& wanted, double weight, const Judgement& judged, TimeNs now);

  [[nodiscard]] std::vector<ToPeer> take_outgoing() { return std::exchange(outgoing_, {}); }

  [[nodiscard]] bool finished() const;
  [[nodiscard]] const GroupModel& model() const { return model_; }
  [[nodiscard]] std::uint32_t round() const { return model_.round(); }
  [[nodiscard]] bool takes_part() const { return model_.board(self_) != nullptr; }
  // The boards whose contribution to the next round is missing, when this board has given its own.
  [[nodiscard]] std::vector<std::string> waits_for() const;
  // Who made the model, for people: "made by n-1, n-2; without n-3 since
  // round 82".
  [[nodiscard]] std::string note() const;
  // The model as messages that any board of the task can take: for who comes after the end.
  [[nodiscard]] std::vector<Bytes> parcels() const;

 private:
  enum class Kind : std::uint8_t { kContribution, kModel, kAsk, kVote, kYours };
  struct Head {
    Kind kind = Kind::kAsk;
    bool urgent = false;  // of an ask: send the model whatever the round
    std::uint8_t boards = 0;
    std::uint64_t lineage = 0;
    std::uint32_t round = 0;
    std::uint32_t digest = 0;
    std::uint16_t fragment = 0;
    std::uint16_t fragments = 1;
  };
  // A message of which some fragments have come.
  struct Assembly {
    Head head;
    std::string bytes;
    std::vector<bool> have;
    std::size_t count = 0;
    TimeNs heard_at = 0;
    TimeNs asked_at = 0;
  };
  // The last part of a long message.
  struct LastPart {
    std::size_t parts = 0;  // of the whole
    TimeNs at = -kHour;
  };
  // A fragment that waits for its turn; those of one message are shared by all who get it.
  using Fragments = std::shared_ptr<const std::vector<Bytes>>;
  struct Parcel {
    std::string to;
    Fragments of;
    std::size_t index = 0;
  };
  struct Vote {
    std::uint32_t round = 0;
    std::vector<std::string> without;
  };
  struct Peer {
    GroupPeer state = GroupPeer::kAway;
    TimeNs since = 0;          // of the state
    TimeNs hello_at = -kHour;  // it asked and had no model
    TimeNs joins_at = -kHour;  // it has the model and does not take part
    TimeNs asked_at = -kHour;
    DurationNs ask_every = 0;
    TimeNs answered_at = -kHour;  // with a model
    TimeNs resent_at = -kHour;    // a contribution
    std::map<Kind, TimeNs> parts_resent_at;
    LastPart said;  // of a contribution
    LastPart got;   // of a model that it is sent
    Vote vote;
    std::map<Kind, Assembly> assembling;
  };
  using Contributions = std::map<std::string, Contribution>;

  [[nodiscard]] static Result<Head> parse_head(std::string_view& bytes);
  [[nodiscard]] Status take_whole(const std::string& from, const Head& head, std::string_view body,
                                  TimeNs now);
  [[nodiscard]] Status take_contribution(const std::string& from, const Head& head,
                                         std::string_view body, TimeNs now);
  [[nodiscard]] Status take_model(const std::string& from, std::string_view body, TimeNs now);
  [[nodiscard]] Status take_vote(const std::string& from, const Head& head, std::string_view body,
                                 TimeNs now);
  [[nodiscard]] Status take_yours(const Head& head, std::string_view body);
  void use_yours();
  void take_ask(const std::string& from, const Head& head, TimeNs now);
  void take_missing(const std::string& from, std::string_view body, TimeNs now);
  void ask_for_missing(TimeNs now);
  [[nodiscard]] bool is_arriving(const Peer& peer, Kind kind, TimeNs now) const;
  [[nodiscard]] Fragments asked_fragments(const std::string& by, Kind kind, std::uint32_t round,
                                          std::uint32_t digest) const;
  // How long the others' contributions may take, by the length of its own.
  [[nodiscard]] DurationNs takes() const;
  // Since when that board could have contributed to the next round, and nothing has come of it.
  [[nodiscard]] TimeNs silent_since(const std::string& name) const;
  [[nodiscard]] Fragments model_fragments(TimeNs now);
  void take_other_lineage(const std::string& from, const Head& head, TimeNs now);
  [[nodiscard]] bool is_preferred(std::uint64_t lineage, std::uint32_t round,
                                  std::size_t boards) const;
  void adopt(GroupModel model, bool final, TimeNs now);
  void advance(TimeNs now);
  void apply(const std::vector<std::string>& without, TimeNs now);
  void vote(TimeNs now);
  [[nodiscard]] bool may_leave_out(std::size_t count, bool all_left) const;
  [[nodiscard]] bool is_voted_by_all() const;
  void found(TimeNs now);
  [[nodiscard]] TimeNs look_for_group(TimeNs now);
  void ask(const std::string& to, Peer& peer, bool urgent, TimeNs now);
  void send(const std::string& to, Kind kind, std::uint32_t round, std::string_view body,
            bool urgent = false);
  [[nodiscard]] std::vector<Bytes> fragments_of(Kind kind, std::uint32_t round,
                                                std::string_view body, bool urgent) const;
  void send_model(const std::string& to, Peer& peer, TimeNs now);
  [[nodiscard]] GroupPeer state_of(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> missing() const;
  // Whether it is this board that answers those who have no model.
  [[nodiscard]] bool answers_newcomers() const;
  [[nodiscard]] bool is_to_be_left_out(const std::string& name, TimeNs now) const;
  void send_parcels(TimeNs now);
  void note_model_sent(const std::string& to, TimeNs now);

  RoundsConfig config_;
  std::string self_;
  std::vector<float> start_;
  std::uint64_t attempt_;
  GroupModel model_;
  std::map<std::string, Peer> peers_;
  Contributions now_;                 // to the next round
  Contributions next_;                // to the one after it
  std::string own_now_, own_before_;  // as sent, for who lost them
  TimeNs own_now_at_ = -kHour;
  TimeNs own_before_at_ = -kHour;
  std::uint32_t digest_before_ = 0;  // of the model of the round before
  std::uint32_t voted_before_ = 0;   // the last round that a vote made
  // What another board holds of an earlier process of this one, and the round it is for.
  std::uint64_t yours_lineage_ = 0;
  std::uint32_t yours_round_ = 0;
  std::string yours_;
  Vote vote_;
  bool final_ = false;  // the model came from a board that is done
  TimeNs waiting_since_ = 0;
  TimeNs hello_at_ = -kHour;
  TimeNs voted_at_ = -kHour;
  TimeNs peers_since_ = 0;
  TimeNs now_at_ = 0;
  std::vector<ToPeer> outgoing_;
  std::deque<Parcel> parcels_;  // models under way, a little at a time
  Fragments model_sent_;        // kept for who lost a part of it
  std::uint32_t sent_round_ = 0;
  std::uint32_t sent_digest_ = 0;
  TimeNs model_sent_at_ = 0;
  TimeNs parcels_at_ = -kHour;
  // Models are long: one is asked for at a time, and none while one is arriving.
  TimeNs model_asked_at_ = -kHour;
  TimeNs model_heard_at_ = -kHour;
  std::size_t hellos_ = 0;
};

}  // namespace laird::consensus
