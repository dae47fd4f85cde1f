// The data plane of fleet tasks: which boards take part in one, who of them is whose neighbour, and
// the words of trainers to each other. Passes the core by; nothing of it is journalled.
//
// Each board says in a retained topic which fleet tasks it works on. A group is every member of the
// budget that is live and says so; its graph is the ledger's remote over the sorted members, with
// Metropolis weights, so every board derives the same from the same list.
// Bounded: groups by kWordTasksMax, boards by core::kMembersMax, what a peer may say by bytes a
// second.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/core/state/state.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::agent {

inline constexpr std::size_t kWordTasksMax = 64;  // fleet tasks of one board

// Neighbours of `self` with their weights in the group of `members`; empty if it is not one of
// them.
[[nodiscard]] std::vector<std::pair<std::string, double>> neighbours_in(
    const std::vector<std::string>& members, const std::string& self);

// Whether a fleet task is here, at work or to come: then others' words are of use.
[[nodiscard]] bool has_fleet_task(const core::State& state);

class GroupTracker {
 public:
  struct Callbacks {
    std::function<void(const std::string& word)> publish;  // the own word, as JSON without a head
    std::function<void(const std::string& peer, std::string payload)> send;
    std::function<void(core::TaskKey key, const std::string& line, bool may_drop)> tell;
  };

  GroupTracker(std::string self, Callbacks callbacks)
      : self_(std::move(self)), callbacks_(std::move(callbacks)) {}

  // What another board said about itself. A budget may make it a member later.
  void on_status(const std::string& node, std::string_view payload);
  void on_word(const std::string& node, std::string_view payload);
  // A part of a model from a peer, and one from an own trainer.
  void on_part(const std::string& from, std::string_view payload, TimeNs now);
  void on_to_peers(core::TaskKey key, const std::string& to, std::string_view bytes);

  // Looks at the own tasks: says which are fleet tasks, tells their trainers of changed groups.
  void refresh(const core::State& state, TimeNs now);
  // Something changed that refresh should look at before the next second.
  [[nodiscard]] bool dirty() const { return dirty_; }
  void touch() { dirty_ = true; }

  void forget_others() { peers_.clear(); }

  // Boards in the group of the own task, itself included; 0 when it does not take part.
  [[nodiscard]] std::size_t boards(const std::string& task) const;

 private:
  struct Peer {
    std::uint64_t epoch = 0;
    bool live = false;
    std::uint64_t word_epoch = 0;
    std::map<std::string, bool> tasks;  // at work, or done
    TimeNs second_since = 0;
    std::size_t bytes_in_second = 0;
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
