// The messages of co-training tasks: which boards take part in a task, which of them are
// neighbours, and what their trainers say to each other. The core does not see them, and none is
// journalled.
//
// Each board says in a retained topic which co-training tasks it works on. A group is every member
// of the budget that is live and says so. Its graph is the ledger's neighbour graph over the sorted
// members, with Metropolis weights, so every board derives the same graph from the same list.
// Bounded: groups by kWordTasksMax, boards by core::kMembersMax; what a peer may say, by PeerGuard.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/core/state/state.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::agent {

inline constexpr std::size_t kWordTasksMax = 64;  // co-training tasks of one board

// Neighbours of `self` with their weights in the group of `members`; empty if it is not one of
// them.
[[nodiscard]] std::vector<std::pair<std::string, double>> neighbours_in(
    const std::vector<std::string>& members, const std::string& self);

// Whether this board has a co-training task, at work or to come: only then it needs to hear which
// other boards work on one.
[[nodiscard]] bool has_fleet_task(const core::State& state);

class GroupTracker {
 public:
  struct Callbacks {
    std::function<void(const std::string& word)> publish;  // what this board works on, as JSON
    std::function<void(const std::string& peer, std::string body)> send;
    std::function<void(core::TaskKey key, const std::string& line, bool may_drop)> tell;
  };

  GroupTracker(std::string self, Callbacks callbacks)
      : self_(std::move(self)), callbacks_(std::move(callbacks)) {}

  // What another board said about itself. A budget may make it a member later.
  void on_status(const std::string& node, std::string_view payload);
  void on_word(const std::string& node, std::string_view payload);
  // A part of a model from a peer, and one from a trainer of this board.
  void on_part(const std::string& from, std::string_view body);
  void on_to_peers(core::TaskKey key, const std::string& to, std::string_view bytes);

  // Looks at this board's tasks: says which are co-training tasks, and tells their trainers when
  // the group has changed.
  void refresh(const core::State& state, TimeNs now);
  // Something changed that refresh should look at before the next second.
  [[nodiscard]] bool dirty() const { return dirty_; }
  void touch() { dirty_ = true; }

  void forget_others() { peers_.clear(); }

  // How many boards the group of that task has, this one included; 0 when it does not take part.
  [[nodiscard]] std::size_t boards(const std::string& task) const;

 private:
  struct Peer {
    std::uint64_t epoch = 0;
    bool live = false;
    std::uint64_t word_epoch = 0;
    std::map<std::string, bool> tasks;  // at work, or done
    [[nodiscard]] bool counts() const { return live && epoch == word_epoch; }
  };
  struct Group {
    core::TaskKey key = 0;
    std::uint32_t attempt = 0;
    std::uint64_t life = 0;
    std::vector<std::string> members;
    std::vector<std::pair<std::string, double>> neighbours;
    std::string told;
  };

  [[nodiscard]] Peer* peer(const std::string& node);
  void refresh_group(const core::Task& task, const core::State& state, TimeNs now);

  std::string self_;
  Callbacks callbacks_;
  std::map<std::string, Peer> peers_;
  std::map<std::string, Group> groups_;  // by task
  std::string word_;
  bool dirty_ = true;
};

}  // namespace laird::agent
