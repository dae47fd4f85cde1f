// The least a program on Paho C++ can be: connected by MQTT 5, subscribed to one topic, waiting.
// The footprint benchmark measures it from outside; it lives until its standard input closes.
#include <mqtt/async_client.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: footprint_paho_client tcp://HOST:PORT < PIPE\n");
    return 2;
  }
  try {
    mqtt::create_options create(MQTTVERSION_5);
    mqtt::async_client client(argv[1], "footprint", create);
    mqtt::connect_options connect;
    connect.set_mqtt_version(MQTTVERSION_5);
    connect.set_clean_start(true);
    client.connect(connect)->wait();
    client.subscribe("footprint/#", 1)->wait();
    std::puts("connected");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    client.disconnect()->wait();
  } catch (const mqtt::exception& e) {
    std::fprintf(stderr, "footprint_paho_client: %s\n", e.what());
    return 1;
  }
  return 0;
}
