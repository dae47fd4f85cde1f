#include "mqtt/client/address.hpp"
#include "tests/harness/unit.hpp"

using laird::mqtt::parse_address;

TEST(addresses_have_a_host_a_port_and_tls_or_not) {
  const struct {
    const char* text;
    bool tls;
    const char* host;
    int port;
    const char* shown;
  } good[] = {
      {"mqtts://broker.local:8884", true, "broker.local", 8884, "broker.local:8884"},
      {"mqtts://broker.local", true, "broker.local", 8883, "broker.local:8883"},
      {"mqtt://127.0.0.1", false, "127.0.0.1", 1883, "127.0.0.1:1883"},
      {"mqtts://[::1]:99", true, "::1", 99, "[::1]:99"},
      {"mqtts://[fe80::1%eth0]", true, "fe80::1%eth0", 8883, "[fe80::1%eth0]:8883"},
  };
  for (const auto& [text, tls, host, port, shown] : good) {
    const auto parsed = parse_address(text);
    TEST_ASSERT_TRUE_MESSAGE(parsed.has_value(), text);
    TEST_ASSERT_EQUAL(tls, parsed->tls);
    TEST_ASSERT_EQUAL_STRING(host, parsed->host.c_str());
    TEST_ASSERT_EQUAL_INT(port, parsed->port);
    TEST_ASSERT_EQUAL_STRING(shown, parsed->host_and_port().c_str());
  }
}

TEST(what_is_no_address_is_refused) {
  for (const char* text :
       {"", "broker:8883", "tcp://x:1", "mqtts://", "mqtts://:8883", "mqtts://x:", "mqtts://x:0",
        "mqtts://x:65536", "mqtts://x:1x", "mqtts://x/y", "mqtts://user@x", "mqtts://[::1",
        "mqtts://[::1]8883", "mqtts://a b", "mqtts://::1", "MQTTS://x"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_address(text).has_value(), text);
  }
}
