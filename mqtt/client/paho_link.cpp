// The only file that names Paho (C++ 1.2 over C 1.3). Its traps that shape this code, all measured
// or read in its sources:
// - Its offline buffer leaks when it drops: the caller publishes only while connected, a bounded
//   number at once.
// - MQTT 5 must be asked for both when the client is made and when it connects, or it is 3.1.1.
// - Copies of connect_options keep pointing into the original's properties, and connect() copies:
//   the options live as long as the client and are filled by setters, not by the builder. For the
//   same reason ssl_options' error handler cannot be used: it would be called on a dead copy.
// - Callbacks run under the library's lock, and a call may wait for that lock while a host name is
//   resolved.
// - Its automatic reconnecting goes through a list of servers once and then stays with the last: it
//   is not used. Each attempt is a connect() of ours to one server. Why an attempt failed it hardly
//   says: mqtt/sign/tls_probe.hpp finds out.
// - To subscribe to several filters at once crashes: a copy of response_options loses their
// options.
// - disconnect_options cannot carry a reason code (its C struct says version 0).
#include "mqtt/client/paho_link.hpp"

#include <mqtt/async_client.h>

#include <chrono>

#include "base/require.hpp"
#include "mqtt/client/address.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::mqtt {
namespace {

namespace paho = ::mqtt;

constexpr std::uint32_t kPacketBytesMax = 256 * 1024;  // the broker need not send what we drop
constexpr int kRefusals = 0x80;                        // reason codes from here on
constexpr int kNotAuthorised = 0x87;
constexpr int kUnsupportedVersion = 0x84;
constexpr int kUnacceptableVersion311 = 1;  // the same in a CONNACK of MQTT 3.1.1

paho::properties properties_of(const Outgoing& from) {
  paho::properties out;
  // Bytes without a type are what they are; to say so would be a third of a peer's packet.
  if (from.json) {
    out.add({paho::property::PAYLOAD_FORMAT_INDICATOR, 1});
    out.add({paho::property::CONTENT_TYPE, "application/json"});
  }
  if (from.expiry_s != 0) {
    out.add({paho::property::MESSAGE_EXPIRY_INTERVAL, static_cast<std::int32_t>(from.expiry_s)});
  }
  if (!from.response_topic.empty()) {
    out.add({paho::property::RESPONSE_TOPIC, from.response_topic});
  }
  if (!from.correlation.empty()) {
    out.add({paho::property::CORRELATION_DATA, from.correlation});
  }
  return out;
}

std::string text_property(const paho::properties& from, paho::property::code code) {
  if (!from.contains(code)) return {};
  return paho::get<std::string>(from, code);
}

PahoLink::Handed broken_or_unfit(const std::exception& why) {
  const auto* told = dynamic_cast<const paho::exception*>(&why);
  return told != nullptr && told->get_return_code() == MQTTASYNC_DISCONNECTED
             ? PahoLink::Handed::kBroken
             : PahoLink::Handed::kUnfit;
}

// Empty when the broker said nothing.
std::string refusal_text(const paho::token& token) {
  const int code = static_cast<int>(token.get_reason_code());
  const int result = token.get_return_code();
  if (code == kUnsupportedVersion || result == kUnsupportedVersion ||
      result == kUnacceptableVersion311) {
    return "the broker does not speak MQTT 5: mosquitto does from 1.6 on";
  }
  if (code == kNotAuthorised || result == kNotAuthorised) {
    return "the broker does not let this client in: check its certificate and the broker's config";
  }
  if (code >= kRefusals) return "the broker refused: reason " + std::to_string(code);
  if (result > 0) return "the broker refused: code " + std::to_string(result);
  return {};
}

}  // namespace

struct PahoLink::Parts {
  struct PublishListener final : paho::iaction_listener {
    explicit PublishListener(LinkEvents& to) : events(to) {}
    void on_success(const paho::token& token) override {
      const int reason = static_cast<int>(token.get_reason_code());
      events.published(
          token.get_user_context(),
          reason >= kRefusals ? LinkEvents::Delivery::kRefused : LinkEvents::Delivery::kDone,
          reason);
    }
    void on_failure(const paho::token& token) override {
      const int reason = static_cast<int>(token.get_reason_code());
      events.published(
          token.get_user_context(),
          reason >= kRefusals ? LinkEvents::Delivery::kRefused : LinkEvents::Delivery::kLost,
          reason);
    }
    LinkEvents& events;
  };

  struct ConnectListener final : paho::iaction_listener {
    explicit ConnectListener(LinkEvents& to) : events(to) {}
    void on_success(const paho::token&) override {}  // the connected handler tells of every one
    void on_failure(const paho::token& token) override {
      const std::string said = refusal_text(token);
      events.connect_failed(said.empty() ? "no connection" : said, !said.empty());
    }
    LinkEvents& events;
  };

  struct SubscribeListener final : paho::iaction_listener {
    explicit SubscribeListener(LinkEvents& to) : events(to) {}
    void on_success(const paho::token& token) override { tell(token, true); }
    void on_failure(const paho::token& token) override { tell(token, false); }
    void tell(const paho::token& token, bool good) {
      const bool refused = static_cast<int>(token.get_reason_code()) >= kRefusals;
      events.subscribed((*token.get_topics())[0], refused ? LinkEvents::Delivery::kRefused
                                                  : good  ? LinkEvents::Delivery::kDone
                                                          : LinkEvents::Delivery::kLost);
    }
    LinkEvents& events;
  };

  Parts(const Options& given, LinkEvents& to)
      : options(given), events(to), on_publish(to), on_connect(to), on_subscribe(to) {}

  void make(const std::string& server, bool tls);
  void fill(bool tls);
  void arrived(const paho::message& message) const;

  const Options& options;
  LinkEvents& events;
  PublishListener on_publish;
  ConnectListener on_connect;
  SubscribeListener on_subscribe;
  paho::connect_options connect_options;
  std::unique_ptr<paho::async_client> client;
};

void PahoLink::Parts::arrived(const paho::message& message) const {
  const std::string& payload = message.get_payload_ref().str();
  if (!events.wants(message.get_topic(), message.get_qos(), payload.size())) return;
  const bool fits = payload.size() <= kPayloadBytesMax;
  Incoming in;
  in.topic = message.get_topic();
  in.retained = message.is_retained();
  in.qos = static_cast<std::uint8_t>(message.get_qos());
  if (fits) {
    in.payload = payload;
    in.response_topic = text_property(message.get_properties(), paho::property::RESPONSE_TOPIC);
    in.correlation = text_property(message.get_properties(), paho::property::CORRELATION_DATA);
  }
  events.arrived(std::move(in), fits ? 0 : payload.size());
}

void PahoLink::Parts::fill(bool tls) {
  paho::connect_options& c = connect_options;
  c.set_mqtt_version(MQTTVERSION_5);
  c.set_clean_start(!options.keep_session);
  c.set_keep_alive_interval(static_cast<int>(options.keep_alive_s));
  c.set_connect_timeout(static_cast<int>(options.connect_timeout_s));
  c.set_max_inflight(static_cast<int>(options.in_flight_max) + 4);
  if (!options.name.empty()) c.set_user_name(options.name);
  paho::properties properties;
  properties.add({paho::property::SESSION_EXPIRY_INTERVAL,
                  static_cast<std::int32_t>(options.keep_session ? options.session_expiry_s : 0)});
  properties.add({paho::property::MAXIMUM_PACKET_SIZE, static_cast<std::int32_t>(kPacketBytesMax)});
  c.set_properties(properties);
  if (tls) {
    paho::ssl_options ssl;
    ssl.set_trust_store(options.ca);
    ssl.set_key_store(options.cert);
    ssl.set_private_key(options.key);
    ssl.set_enable_server_cert_auth(true);
    ssl.set_verify(true);  // the host name
    c.set_ssl(ssl);
  }
  if (!options.will.topic.empty()) {
    paho::properties with = properties_of(options.will);
    with.add(
        {paho::property::WILL_DELAY_INTERVAL, static_cast<std::int32_t>(options.will_delay_s)});
    const std::string& payload = options.will.payload;
    c.set_will(paho::will_options(options.will.topic, payload.data(), payload.size(),
                                  options.will.qos, options.will.retained, with));
  }
  LAIRD_REQUIRE(c.get_mqtt_version() == MQTTVERSION_5, "MQTT 5 or nothing");
}

PahoLink::PahoLink(const Options& options, LinkEvents& events)
    : parts_(std::make_unique<Parts>(options, events)) {}

PahoLink::~PahoLink() = default;

void PahoLink::Parts::make(const std::string& server, bool tls) {
  // Otherwise the library formats lines of a trace for every packet, which nobody reads.
  MQTTAsync_setTraceLevel(MQTTASYNC_TRACE_ERROR);
  client = std::make_unique<paho::async_client>(server, options.client_id,
                                                paho::create_options(MQTTVERSION_5));
  // All callbacks before the first connect: to set one later can deadlock.
  client->set_connected_handler([this](const std::string&) { events.link_up(); });
  client->set_connection_lost_handler(
      [this](const std::string& cause) { events.link_down(cause); });
  client->set_disconnected_handler([this](const paho::properties&, paho::ReasonCode code) {
    if (code == paho::ReasonCode::SESSION_TAKEN_OVER) return events.taken_over();
    events.link_down("the broker closed it, reason " + std::to_string(static_cast<int>(code)));
  });
  client->set_message_callback(
      [this](const paho::const_message_ptr& message) { arrived(*message); });
  fill(tls);
}

std::string PahoLink::connect(std::size_t broker) {
  Parts& p = *parts_;
  bool tls = false;
  for (const std::string& each : p.options.brokers) tls = tls || parse_address(each)->tls;
  const auto address = parse_address(p.options.brokers.at(broker));
  LAIRD_REQUIRE(address.has_value(), "Client::create checked the addresses");
  const std::string server = (address->tls ? "ssl://" : "tcp://") + address->host_and_port();
  try {
    if (!p.client) p.make(server, tls);
    p.connect_options.set_servers(paho::string_collection::create({server}));
    p.client->connect(p.connect_options, nullptr, p.on_connect);
  } catch (const std::exception& e) {
    return std::string("the MQTT library refuses to connect: ") + e.what();
  }
  return {};
}

PahoLink::Handed PahoLink::publish(const Outgoing& m, void* context) {
  try {
    parts_->client->publish(paho::message::create(m.topic, m.payload.data(), m.payload.size(),
                                                  m.qos, m.retained, properties_of(m)),
                            context, parts_->on_publish);
  } catch (const std::exception& e) {
    return broken_or_unfit(e);
  }
  return Handed::kHanded;
}

PahoLink::Handed PahoLink::subscribe(const std::vector<std::pair<std::string, int>>& filters) {
  try {
    for (const auto& [filter, qos] : filters) {
      parts_->client->subscribe(filter, qos, nullptr, parts_->on_subscribe);
    }
  } catch (const std::exception& e) {
    return broken_or_unfit(e);
  }
  return Handed::kHanded;
}

PahoLink::Handed PahoLink::unsubscribe(const std::vector<std::string>& filters) {
  try {
    for (const std::string& filter : filters) parts_->client->unsubscribe(filter);
  } catch (const std::exception& e) {
    return broken_or_unfit(e);
  }
  return Handed::kHanded;
}

void PahoLink::disconnect() {
  if (!parts_->client) return;
  try {
    parts_->client->disconnect(paho::disconnect_options(100))->wait_for(std::chrono::seconds(1));
  } catch (const std::exception&) {
    // It was not connected.
  }
}

}  // namespace laird::mqtt
