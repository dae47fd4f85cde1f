// The last events that people were told of, kept over restarts so that who asks later hears them.
//
// A convenience beside the journal, which stays the record: lines of JSON in one bounded file,
// appended without waiting for the disk. A line that a power cut tore is left out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "json/value.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::agent {

// Where an event stands in the life of its board.
struct EventPlace {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;
  [[nodiscard]] bool is_before(const EventPlace& other) const {
    return epoch != other.epoch ? epoch < other.epoch : seq < other.seq;
  }
};

struct KeptEvent {
  EventPlace place;
  std::int64_t unix_ms = 0;
  std::string text;  // the message as it was published
};

inline constexpr std::size_t kEventsKeptMax = 512;
inline constexpr std::size_t kEventPageBytesMax = 40 * 1024;

// {"events":[...],"more":bool}: the newest that fit into one answer, oldest first, of those not
// before `since_ms` and, when given, before `before`. `more`: older ones were left out. Pure.
[[nodiscard]] json::Value event_page(const std::deque<KeptEvent>& events, std::int64_t since_ms,
                                     const std::optional<EventPlace>& before);
class EventLog {
 public:
  // Takes up what an earlier run left.
  explicit EventLog(std::string path);

  void add(const mqtt::NodeEvent& event);
  [[nodiscard]] const std::deque<KeptEvent>& events() const { return events_; }

 private:
  void write_anew();

  std::string path_;
  std::deque<KeptEvent> events_;
  std::size_t lines_ = 0;  // in the file
};

}  // namespace laird::agent
