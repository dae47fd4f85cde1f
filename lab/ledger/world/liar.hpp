// A member that lies: beside what its ledger honestly says, or instead of it, it sends well-formed
// messages of every kind. It knows everything about all boards, so that its lies are near the truth
// and pass the cheap checks: it bends what is true, says different things to different boards, goes
// to the extremes, and repeats what it heard. It cannot speak in another board's name: the
// transport sees to that.
//
// What it does is drawn from a seed once: a few habits, how often, and whether it plays along.
#pragma once

#include <vector>

#include "consensus/ledger/ledger.hpp"
#include "lab/ledger/world/random.hpp"

namespace laird::lab {

class Liar {
 public:
  Liar(consensus::NodeId node, std::uint64_t seed);

  [[nodiscard]] consensus::NodeId node() const { return node_; }
  [[nodiscard]] bool active() const { return active_; }
  void stop() { active_ = false; }
  // A message has reached the liar, which may send it on under its own name.
  void overhear(const consensus::Message& message);
  // `own`: the ledger of the liar's board. `newest`: the newest register that there is. `sent`:
  // what the ledger wants to send; the liar drops from it and adds to it.
  void speak(const consensus::Ledger& own, const consensus::Register& newest,
             consensus::NodeId boards, consensus::Out& sent);
  // The habits in words, for a schedule that is told.
  [[nodiscard]] std::string habits() const;

 private:
  enum class Habit : std::uint8_t {
    kStatement,
    kRefer,
    kDecided,
    kAccept,
    kEquivocate,
    kVote,
    kPrepare,
    kPromise,
    kRelay,
    kRequest,
    kEdge,
    kFounding,
    kReplay,
    kMute,
    kCount
  };
  static constexpr std::size_t kHabits = static_cast<std::size_t>(Habit::kCount);

  void lie(Habit habit, const consensus::Ledger& own, const consensus::Register& newest);
  void say(consensus::NodeId to, consensus::Body body);
  void say_some(const consensus::Body& body);  // to one board, or to all
  [[nodiscard]] consensus::NodeId anybody();
  [[nodiscard]] consensus::Account any_account(const consensus::Register& r);
  [[nodiscard]] consensus::Parts number();
  [[nodiscard]] consensus::Shares three();
  [[nodiscard]] std::uint32_t version_near(std::uint32_t version);
  [[nodiscard]] std::uint64_t round_near(std::uint64_t round);
  [[nodiscard]] consensus::Ballot ballot(const consensus::Register& r);
  // The next version as no honest keeper would propose it, and one that it might.
  [[nodiscard]] consensus::Register bent(const consensus::Register& r);
  [[nodiscard]] consensus::Register harmless(const consensus::Register& r);
  [[nodiscard]] consensus::RequestBody request(const consensus::Register& r,
                                               const consensus::Account& author);
  void on_edges(const consensus::Ledger& own);
  void found(const consensus::Ledger& own, const consensus::Register& r);

  consensus::NodeId node_;
  Random random_;
  bool active_ = true;
  std::vector<Habit> habits_;
  std::uint32_t lies_per_tick_ = 1;
  bool plays_along_ = true;
  consensus::NodeId boards_ = 0;
  consensus::Epoch epoch_ = 0;
  std::uint32_t incarnation_ = 1;
  std::vector<consensus::NodeId> muted_;  // boards that hear nothing honest of it
  std::vector<consensus::Message> heard_;
  consensus::Out* out_ = nullptr;
};

}  // namespace laird::lab
