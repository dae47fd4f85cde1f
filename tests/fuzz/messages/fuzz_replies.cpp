// What a hostile board may say to lairctl: whatever comes on any of its topics or as a reply, what
// is printed of it holds no character that steers a terminal, and no line that is not lairctl's.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/harmless.hpp"
#include "base/require.hpp"
#include "control/fleet/fleet_view.hpp"
#include "control/fleet/place.hpp"
#include "control/screen/rows.hpp"
#include "json/value.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/codec/topics.hpp"

namespace {

using namespace laird;

constexpr std::int64_t kNowMs = 1'800'000'000'000;
struct Said {
  const char* topic;
  const char* schema;
};
constexpr Said kSaid[] = {
    {"laird/v1/lab/node/n-1/status", "laird.status/1.0"},
    {"laird/v1/lab/node/n-1/info", "laird.info/1.0"},
    {"laird/v1/lab/node/n-1/report", "laird.report/1.0"},
    {"laird/v1/lab/node/n-1/task/t", "laird.task/1.0"},
    {"laird/v1/lab/node/n-1/evt/task", "laird.event/1.0"},
    {"laird/v1/lab/ctl/all/config", "laird.cmd/1.0"},
};

// A message of that kind with the input in every text: mutations alone would not find one.
std::string with_text(const char* schema, std::string_view text) {
  std::string out = R"({"s":")" + std::string(schema) + '"';
  for (const char* key : {"name", "state", "lane", "reason", "text", "kind", "task", "model",
                          "version", "ts", "power_source", "policy"}) {
    out += ",\"" + std::string(key) + "\":" + json::quoted(text);
  }
  return out + R"(,"epoch":1,"seq":1,"samples":5,"loss":0.5})";
}

void check_printed(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    LAIRD_REQUIRE((byte >= 0x20 || c == '\n') && byte != 0x7F, "no control character is printed");
  }
  LAIRD_REQUIRE(text.find("\xe2\x80\xae") == std::string_view::npos, "nothing is turned around");
  LAIRD_REQUIRE(harmless_lines(text) == text, "what is printed is harmless");
}

void check_view(std::string_view input) {
  control::FleetView view;
  for (const Said& said : kSaid) {
    const auto topic = mqtt::parse_topic(said.topic);
    LAIRD_REQUIRE(topic.has_value(), "the topic is one");
    view.take(*topic, input);
    view.take(*topic, with_text(said.schema, input));
  }
  for (const auto& [name, board] : view.boards()) {
    check_printed(control::describe_board(name, board, kNowMs));
    static_cast<void>(control::board_json(name, board, kNowMs));
  }
  const auto tasks = view.tasks_of("");
  check_printed(control::tasks_table(tasks, true, true));
  for (const control::TaskView& task : tasks) check_printed(control::describe_task(task));
  for (const control::EventView& event : view.events()) {
    check_printed(harmless(control::event_line(event)));
  }
  static_cast<void>(control::sums_of(view));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_printed(harmless(bytes));
  check_view(bytes);
  if (const auto reply = mqtt::parse_reply(bytes)) {
    check_printed(harmless(reply->text));
    const control::Offer offer = control::offer_of(*reply);
    LAIRD_REQUIRE(offer.probability >= 0.0 && offer.probability <= 1.0, "a likelihood is one");
    check_printed(harmless(offer.why));
  }
  return 0;
}
