// Folds a journal into a story, an event at a time. Pure: no file, no clock.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "report/story/grants.hpp"
#include "report/story/share_watch.hpp"
#include "report/story/story.hpp"

namespace laird::story {

// What is drawn is told as means of so long, and held against the cap as such. One mean above the
// cap is what a new cap takes to be held; so many in a row, each by so much, are a breach.
inline constexpr DurationNs kPowerWindow = 5 * kSecond;
inline constexpr double kBreachFactor = 1.03;
inline constexpr int kBreachWindows = 2;
inline constexpr DurationNs kPowerGapMax = 10 * kSecond;

// Hears of every stretch of a task's time as it was, before anything is thinned.
using StretchWatch =
    std::function<void(const TaskStory& task, Doing doing, int lane, TimeNs from, TimeNs to)>;

class Teller {
 public:
  explicit Teller(StretchWatch on_stretch = {}) : on_stretch_(std::move(on_stretch)) {}
  // `state` is the one after the event, `commands` what the core answered.
  void see(const core::Event& event, const core::State& state, const core::Effects& commands);
  // `state` is the last one. The teller has nothing left to tell afterwards.
  [[nodiscard]] BoardStory finish(const core::State& state);

 private:
  // What is remembered of a task while it lives.
  struct Live {
    std::size_t index = 0;  // of story_.tasks
    Doing doing = Doing::kWaiting;
    int lane = -1;
    TimeNs since = 0;
    DurationNs forecast_every = 0;
    TimeNs forecast_at = 0;
  };

  void begin(const core::State& state);
  void see_booted(const core::State& state);
  void see_tasks(const core::State& state);
  void see_ended(const core::State& state);
  void see_report(const core::TrainerProgressed& report, const core::State& state);
  void see_decisions(const core::State& state);
  void see_power(const core::Event& event, const core::State& state);
  void see_reading(const power::PowerReading& reading, const core::State& state);
  void see_cap(const core::State& state);
  void see_fleet(const core::Event& event, const core::State& state);
  void see_happenings(const core::Event& event, const core::State& state,
                      const core::Effects& commands);
  void see_governor(const core::State& state);
  void see_wish(TimeNs at, const std::string& by, const std::string& what, const std::string& task,
                const core::Effects& commands);
  void see_answers(const core::State& state, const core::Effects& commands);

  void add_stretch(TaskStory& task, Doing doing, int lane, TimeNs from, TimeNs to);
  Live& meet(const core::Task& task, const core::State& state);
  void fill(TaskStory& out, const core::State& state, const core::Task& task);
  void add_forecast(TaskStory& out, Live& live, const core::State& state, const core::Task& task);
  void tell(TimeNs at, Kind kind, std::string text, std::string task = {}, std::string by = {});
  void end_window(TimeNs at);
  void end_breach();
  [[nodiscard]] std::size_t places_each() const;

  StretchWatch on_stretch_;
  BoardStory story_;
  std::map<core::TaskKey, Live> live_;
  ShareWatch shares_;
  bool begun_ = false;
  bool shut_down_ = false;
  TimeNs last_at_ = 0;
  DurationNs last_wall_minus_agent_ = 0;
  core::TaskKey newest_ended_ = 0;
  GrantWatch grants_;
  std::uint64_t first_switches_ = 0;
  TimeNs decision_at_ = 0;
  DurationNs decision_every_ = 0;
  double first_energy_j_ = 0.0;
  DurationNs first_metered_ns_ = 0;
  TimeNs mean_at_ = 0;
  struct Window {
    DurationNs ns = 0;
    DurationNs capped_ns = 0;
    double drawn_j = 0.0;
    double allowed_j = 0.0;
  };
  Window window_;
  int breach_windows_ = 0;
  Breach breach_;
  bool hot_ = false;
  bool blind_ = false;
  bool exhausted_ = false;
};

}  // namespace laird::story
