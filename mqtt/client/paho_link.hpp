// Eclipse Paho behind a small interface: one connection, its publishes and subscriptions, as calls
// that return at once and events that come on the library's own threads.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mqtt/client/client.hpp"
#include "mqtt/client/message.hpp"

namespace laird::mqtt {

// Called on Paho's threads, under its lock: an implementation takes note and returns, and never
// calls the link from here.
class LinkEvents {
 public:
  virtual void link_up() = 0;
  virtual void link_down(const std::string& why) = 0;
  // Another client connected under our id. The library would fight it for ever: end the link.
  virtual void taken_over() = 0;
  // An attempt to connect has failed. `by_broker`: it answered, `why` is what it said.
  virtual void connect_failed(const std::string& why, bool by_broker) = 0;
  // Asked first, of every message: whether arrived() may have it. What is not wanted costs no copy.
  [[nodiscard]] virtual bool wants(const std::string& topic, int qos, std::size_t bytes) = 0;
  // `oversized_bytes`: the length of a payload that was too long and so is not here, or 0.
  virtual void arrived(Incoming message, std::size_t oversized_bytes) = 0;
  // `reason` as MQTT 5 has it: 0x80 and more is the broker's refusal. Lost: the link broke first.
  enum class Delivery : std::uint8_t { kDone, kRefused, kLost };
  virtual void published(void* context, Delivery how, int reason) = 0;
  // For each filter once.
  virtual void subscribed(const std::string& filter, Delivery how) = 0;

 protected:
  ~LinkEvents() = default;
};

class PahoLink {
 public:
  // `options` and `events` outlive the link.
  PahoLink(const Options& options, LinkEvents& events);
  PahoLink(const PahoLink&) = delete;
  PahoLink& operator=(const PahoLink&) = delete;
  // No event comes after this. May wait for a host name being resolved.
  ~PahoLink();

  // One attempt, at that broker of Options::brokers: link_up() or connect_failed() follows. Only
  // while there is no link. An error text, or nothing.
  [[nodiscard]] std::string connect(std::size_t broker);
  // Handed: published() or subscribed() follow, maybe before this returns. Broken: there is no
  // link now. Unfit: it can never be sent.
  enum class Handed : std::uint8_t { kHanded, kBroken, kUnfit };
  [[nodiscard]] Handed publish(const Outgoing& message, void* context);
  [[nodiscard]] Handed subscribe(const std::vector<std::pair<std::string, int>>& filters);
  // Nothing follows: a filter that the broker does not know is no error.
  [[nodiscard]] Handed unsubscribe(const std::vector<std::string>& filters);
  void disconnect();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace laird::mqtt
