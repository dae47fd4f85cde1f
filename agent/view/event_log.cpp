#include "agent/view/event_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "config/schema.hpp"
#include "os/fd.hpp"
#include "os/whole_file.hpp"

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kLinesMax = 2 * kEventsKeptMax;
constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kTimeDigitsMax = 19;

// A line of the file: the time as a number, then the message.
std::string line_of(const KeptEvent& event) {
  return std::to_string(event.unix_ms) + " " + event.text + "\n";
}

std::optional<KeptEvent> event_of(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space > kTimeDigitsMax) return std::nullopt;  // none at all, too
  const Result<Value> time = json::parse(line.substr(0, space), "time");
  const std::string text(line.substr(space + 1));
  const Result<Value> message = mqtt::parse_message(text, "laird.event");
  if (!time || !time->is(Kind::kInteger) || !message) return std::nullopt;
  const Value* epoch = message->find("epoch", Kind::kInteger);
  const Value* seq = message->find("seq", Kind::kInteger);
  if (epoch == nullptr || seq == nullptr) return std::nullopt;
  return KeptEvent{{static_cast<std::uint64_t>(epoch->as_integer()),
                    static_cast<std::uint64_t>(seq->as_integer())},
                   time->as_integer(),
                   text};
}

}  // namespace

Value event_page(const std::deque<KeptEvent>& events, std::int64_t since_ms,
                 const std::optional<EventPlace>& before) {
  std::deque<const KeptEvent*> chosen;
  std::size_t bytes = 0;
  bool more = false;
  for (auto event = events.rbegin(); event != events.rend() && !more; ++event) {
    if (event->unix_ms < since_ms || (before && !event->place.is_before(*before))) continue;
    bytes += event->text.size() + 1;
    more = bytes > kEventPageBytesMax;
    if (!more) chosen.push_front(&*event);
  }
  Value list = Value::array();
  for (const KeptEvent* event : chosen) {
    if (Result<Value> value = json::parse(event->text, "event")) list.add(std::move(*value));
  }
  return Value::object().set("events", std::move(list)).set("more", more);
}

EventLog::EventLog(std::string path) : path_(std::move(path)) {
  const Result<std::string> text = config::read_file(path_, kLinesMax * kLineBytesMax);
  if (!text) return;
  std::string_view left = *text;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    ++lines_;
    if (auto event = event_of(left.substr(0, end))) {
      if (events_.size() >= kEventsKeptMax) events_.pop_front();
      events_.push_back(std::move(*event));
    }
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  // What follows a torn line would become part of it.
  if (!text->empty() && text->back() != '\n') write_anew();
}

void EventLog::add(const mqtt::NodeEvent& event) {
  mqtt::NodeEvent plain = event;
  plain.historical = false;  // said of a delivery, not of the event
  KeptEvent kept{{event.epoch, event.seq}, event.unix_ms, mqtt::to_text(plain)};
  if (kept.text.size() + 32 > kLineBytesMax) return;
  if (events_.size() >= kEventsKeptMax) events_.pop_front();
  events_.push_back(std::move(kept));
  if (++lines_ > kLinesMax) {
    write_anew();
    return;
  }
  const std::string line = line_of(events_.back());
  const Fd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));
  // A full disk costs the copy on disk, not the event.
  if (fd) static_cast<void>(!::write(fd.get(), line.data(), line.size()));
}

void EventLog::write_anew() {
  std::string all;
  for (const KeptEvent& event : events_) all += line_of(event);
  if (replace_file(path_, all)) lines_ = events_.size();
}

}  // namespace laird::agent
