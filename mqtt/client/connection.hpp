// A link to a broker, seen from its owner's thread: nothing here waits for the network or throws.
// Client is the real one; a test gives one of its own, on a network of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "mqtt/client/message.hpp"
#include "mqtt/client/outbox.hpp"

namespace laird::mqtt {

inline constexpr std::size_t kFiltersMax = 64;  // subscribed to, and as many left

struct Options {
  // mqtts://host:port, tried in turn; the first that answers, and earlier ones again while a later
  // one is used. mqtt:// see insecure_lab.
  std::vector<std::string> brokers;
  std::string client_id;  // two clients of one id throw each other out
  std::string name;       // of the certificate, for people and as the user name
  std::string ca;         // PEM files: whom to trust, who we are, our key
  std::string cert;
  std::string key;
  bool insecure_lab = false;  // allows mqtt://, without TLS; for a lab only
  Outgoing will;              // sent by the broker when we are gone; none when its topic is empty
  std::uint32_t will_delay_s = 5;
  std::vector<std::pair<std::string, int>> subscriptions;  // filter, QoS 0 or 1
  bool keep_session = true;  // the broker queues commands for us while we are away
  std::uint32_t session_expiry_s = 3'600;
  std::uint32_t keep_alive_s = 10;
  std::uint32_t connect_timeout_s = 5;
  std::uint32_t retry_min_s = 1;
  std::uint32_t retry_max_s = 8;
  // Up to so much is added at random, so that a fleet that lost its broker does not come back in
  // one instant.
  std::uint32_t retry_jitter_s = 2;
  // So often a client that is not at the first broker of its list looks for an earlier one. Brokers
  // do not share messages: a fleet meets where all of its boards look first.
  std::uint32_t look_home_every_s = 30;
  // Thrown out by another client of the same id, this one keeps away for so long, each time twice
  // as long as before: it cannot know which of the two is right, and must not fight.
  std::uint32_t yield_min_s = 60;
  std::uint32_t yield_max_s = 3'600;
  OutboxLimits outbox;
  std::size_t in_flight_max = 16;  // handed to Paho and not yet acknowledged
  std::size_t inbox_max = 1'024;   // messages; a quarter is kept free for QoS 1
  std::size_t inbox_bytes_max = 4 << 20;
  // Of messages of QoS 0 on one topic so many may wait, and so many are taken in a second: one
  // sender cannot fill the inbox, nor keep the owner busy.
  std::size_t inbox_topic_max = 128;
  std::size_t inbox_topic_per_second = 1'000;
};

struct Counters {
  std::uint64_t connects = 0;
  std::uint64_t sent = 0;     // acknowledged by the broker, or written for QoS 0
  std::uint64_t refused = 0;  // publishes the broker declined (ACL)
  std::uint64_t received = 0;
  std::uint64_t oversized = 0;           // incoming, longer than kPayloadBytesMax
  std::uint64_t inbox_dropped = 0;       // incoming, the owner was too slow
  std::uint64_t dropped[kClasses] = {};  // outgoing, by Class

  [[nodiscard]] std::uint64_t dropped_total() const {
    std::uint64_t out = inbox_dropped + oversized;
    for (const std::uint64_t n : dropped) out += n;
    return out;
  }
};

class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  // Without close() before it, the will is published: nobody said that all is well.
  virtual ~Connection() = default;

  // Readable while take() has something to give.
  [[nodiscard]] virtual int ready_fd() const = 0;

  struct Batch {
    std::vector<Incoming> messages;
    bool link_changed = false;
    bool connected = false;   // and subscribed: what is sent to us from now on arrives
    bool taken_over = false;  // another client came under our id, and has it now
    std::string why;          // of the last change or the failing attempts, for people
    // Worth a line in the log, each once: a refused topic, an oversized message, a wrong version.
    std::vector<std::string> problems;
    std::uint64_t dropped = 0;  // since the last take(), both ways
  };
  // With at most so many of the messages; while more are left, ready_fd() stays readable.
  [[nodiscard]] virtual Batch take(std::size_t messages_max = SIZE_MAX) = 0;

  virtual void publish(Outgoing message) = 0;

  // Adds to Options::subscriptions, or takes from what they have become. A filter that was left
  // stays left over connections: the broker's session may know it from an earlier life of ours.
  // False when the filter is malformed or there are too many.
  virtual bool subscribe(const std::string& filter, int qos) = 0;
  virtual bool unsubscribe(const std::string& filter) = 0;

  // As if the broker had told that another client has our id, which not every broker does.
  virtual void yield_to_other() = 0;

  [[nodiscard]] virtual bool connected() const = 0;
  [[nodiscard]] virtual Counters counters() const = 0;

  // Sends what waits and then `last_word` (none when its topic is empty), disconnects cleanly, so
  // that no will is sent, and returns after `wait_max` at the latest.
  virtual void close(Outgoing last_word, DurationNs wait_max) = 0;
};

// How a connection is made: starts to connect and returns. A broker that is away is no error;
// options that can never work are.
using Connect = std::function<Result<std::unique_ptr<Connection>>(Options)>;

}  // namespace laird::mqtt
