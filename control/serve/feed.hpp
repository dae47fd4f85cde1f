// What the browsers are told: the whole picture once, then what changes. Pure: the view of the
// fleet and the time come in, texts go out, the same for every browser.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "control/serve/history.hpp"
#include "control/serve/summary.hpp"

namespace laird::control::serve {

// Of more tasks the page shows these: the ones in trouble first, then what runs, then the rest.
inline constexpr std::size_t kTasksShown = 500;
inline constexpr std::size_t kEventsShown = 200;

struct FeedOptions {
  std::string fleet;
  std::string operator_name;
  bool control = false;
};

class Feed {
 public:
  Feed(FeedOptions options, TimeNs started) : options_(std::move(options)), started_(started) {}

  // Takes what has changed in the view, and its new events. `now` is a wall clock that never goes
  // back.
  void take(FleetView& view, const Link& link, TimeNs now);

  // A server-sent event with everything, and one with what has changed since the last call. There
  // is always one: it tells the browser that somebody is there.
  [[nodiscard]] std::string whole(const FleetView& view, TimeNs now) const;
  [[nodiscard]] std::string changes(const FleetView& view, TimeNs now);

  // One board, one task, with its past.
  [[nodiscard]] json::Value board(const FleetView& view, const std::string& id) const;
  [[nodiscard]] json::Value task(const FleetView& view, const TaskPlace& place) const;

 private:
  using Places = std::set<TaskPlace, TaskPlaceLess>;
  [[nodiscard]] static Places choose(const FleetView& view);
  [[nodiscard]] json::Value head(TimeNs now) const;
  void add_event(const EventView& event);

  FeedOptions options_;
  TimeNs started_;
  TimeNs fleet_at_ = 0;   // when the sums were last noted
  TimeNs chosen_at_ = 0;  // when the tasks to show were last chosen
  History history_;
  Heard heard_;
  json::Value summary_ = json::Value::object();
  bool summary_connected_ = true;
  std::deque<json::Value> events_;  // the newest last
  Places shown_;
  FleetView::Changed changed_;           // not told yet
  std::vector<std::string> gone_;        // tasks that are shown no more, not told yet
  std::vector<json::Value> new_events_;  // not told yet
};

// "event: NAME\ndata: TEXT\n\n"; TEXT is one line.
[[nodiscard]] std::string server_sent_event(std::string_view name, std::string_view text);

}  // namespace laird::control::serve
