// The messages of co-training tasks: which boards take part in a task, which of them are
// neighbours, and what their trainers say to each other. The core does not see them, and none is
// journalled.
//
// Each board says in a retained topic which co-training tasks it has, and how: at work, held (to
// come, or paused), or done. A group is every member of the budget that says so, live or not: a
// board that falls silent stays in its group until it says that it has the task no more, or leaves
// the fleet. Which of them a round is made of, the trainers agree on by themselves.
// A board that is done answers for its trainer, which is gone: with the model as the trainer left
// it, for whoever still speaks of the task.
// Bounded: groups by kWordTasksMax, boards by core::kMembersMax; what a peer may say, by PeerGuard;
// models under way by kServedMax. A model of any size is read from its file a message at a time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/core/state/state.hpp"
#include "mqtt/codec/messages.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::agent {

inline constexpr std::size_t kWordTasksMax = 64;  // co-training tasks of one board

inline constexpr std::size_t kServedMax = 8;  // models that are handed over at once

// Whether this board has a co-training task, at work, to come, or done and asked for until its
// deadline: only then it needs to hear of other boards' tasks.
[[nodiscard]] bool has_fleet_task(const core::State& state, TimeNs now);

class GroupTracker {
 public:
  struct Callbacks {
    std::function<void(const std::string& word)> publish;  // what this board works on, as JSON
    std::function<void(const std::string& peer, const std::string& body)> send;
    std::function<void(const std::vector<std::string>& peers, const std::string& body)> send_all;
    std::function<void(core::TaskKey key, const std::string& line, bool may_drop)> tell;
    // A part of what the trainer of a task that ended left for others: so many bytes of
    // trainer_protocol::kParcelsFile from `at` on, or as many as there are.
    std::function<std::string(const std::string& task, std::size_t at, std::size_t most)> parcels;
  };

  GroupTracker(std::string self, Callbacks callbacks)
      : self_(std::move(self)), callbacks_(std::move(callbacks)) {}

  // What another board said about itself. A budget may make it a member later.
  void on_status(const std::string& node, std::string_view payload);
  void on_word(const std::string& node, std::string_view payload);
  // A part of a model from a peer, and one from a trainer of this board.
  void on_part(const std::string& from, std::string_view body, TimeNs now);
  void on_to_peers(core::TaskKey key, const std::string& to, std::string_view bytes);
  void on_group(core::TaskKey key, const trainer_protocol::GroupStatus& group);

  // Looks at this board's tasks: says which are co-training tasks, and tells their trainers when
  // the group has changed.
  void refresh(const core::State& state, TimeNs now);
  // Hands over a little more of the models that were asked for.
  void serve(TimeNs now);
  // Something changed that refresh should look at before the next second.
  [[nodiscard]] bool dirty() const { return dirty_; }
  void touch() { dirty_ = true; }

  void forget_others() { peers_.clear(); }

  // How the group of that task is; none when it does not take part.
  [[nodiscard]] const trainer_protocol::GroupStatus* group(const std::string& task) const;
  // How many boards have that task at work, this one included; 0 when it does not take part.
  [[nodiscard]] std::size_t boards(const std::string& task) const;

 private:
  enum class Word : std::uint8_t { kAtWork, kHeld, kDone };
  struct Peer {
    std::uint64_t epoch = 0;
    bool live = false;
    bool draining = false;
    std::uint64_t word_epoch = 0;
    TimeNs stale_since = kNever;  // it lives on without having said its word again
    std::map<std::string, Word> tasks;
    [[nodiscard]] bool counts() const { return live && epoch == word_epoch; }
  };
  struct Group {
    core::TaskKey key = 0;
    std::uint32_t attempt = 0;
    std::uint64_t life = 0;
    std::vector<trainer_protocol::GroupPeer> peers;
    trainer_protocol::GroupStatus status;
    std::string told;
  };
  struct Served {
    std::string task;
    std::string to;
    std::size_t at = 0;  // in the file
  };

  [[nodiscard]] Peer* peer(const std::string& node);
  void refresh_group(const core::Task& task, const core::State& state, TimeNs now);
  [[nodiscard]] trainer_protocol::PeerState state_of(const std::string& task,
                                                     const std::string& node,
                                                     const core::State& state) const;
  void begin_to_serve(const std::string& task, const std::string& to, TimeNs now);
  // False: that was the last message, or what follows is none.
  [[nodiscard]] bool serve_next(Served& served);

  std::string self_;
  Callbacks callbacks_;
  std::map<std::string, Peer> peers_;
  std::map<std::string, Group> groups_;                              // by task
  std::map<std::string, trainer_protocol::GroupStatus> last_;        // that was told, by task
  std::map<std::string, trainer_protocol::GroupStatus> ended_;       // of tasks that are done
  std::map<std::pair<std::string, std::string>, TimeNs> served_at_;  // by task and board
  std::deque<Served> served_;
  TimeNs serve_at_ = 0;
  std::string word_;
  bool dirty_ = true;
};

}  // namespace laird::agent
