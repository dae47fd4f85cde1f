// What a hostile board may say to lairctl: whatever comes on any of its topics or as a reply, what
// is printed of it holds no character that steers a terminal, and no line that is not lairctl's.
// And whatever numbers it tells, its fleet can be planned.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "agent/placement/fleet/new_task.hpp"
#include "agent/placement/search/solve.hpp"
#include "base/harmless.hpp"
#include "base/require.hpp"
#include "control/fleet/fleet_view.hpp"
#include "control/fleet/place.hpp"
#include "control/plan/fleet_facts.hpp"
#include "control/plan/plan_answer.hpp"
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

// An object of numbers, each from the next eight bytes of the input.
json::Value numbers(std::initializer_list<const char*> keys, std::string_view& bytes) {
  json::Value out = json::Value::object();
  for (const char* key : keys) {
    double v = 0.0;
    const std::size_t size = std::min(bytes.size(), sizeof v);
    std::memcpy(&v, bytes.data(), size);
    bytes.remove_prefix(size);
    out.set(key, std::isfinite(v) ? v : 1e308);
  }
  return out;
}

// A board that is ready, with odd lanes and numbers, and tasks of the same kind.
control::FleetView odd_fleet(std::string_view bytes) {
  control::FleetView view;
  const auto tell = [&](const std::string& leaf, const json::Value& said) {
    const auto topic = mqtt::parse_topic("laird/v1/lab/node/n-1/" + leaf);
    LAIRD_REQUIRE(topic.has_value(), "the topic is one");
    view.take(*topic, json::to_text(said));
  };
  tell("status",
       json::Value::object().set("s", "laird.status/1.0").set("state", "ready").set("epoch", 1));
  std::string text(bytes.substr(0, std::min<std::size_t>(bytes.size(), 20)));
  for (char& c : text) c = static_cast<char>(c & 0x7F);  // what is no UTF-8 is no JSON
  json::Value info = numbers({"memory_bytes"}, bytes);
  info.set("s", "laird.info/1.0").set("module", text);
  info.set("hardware", numbers({"cpu_cores", "cpu_mhz", "memory_gb_s", "cpu_w"}, bytes));
  info.set("lanes", json::Value::array().add("cpu0").add(text).add(text).add("cpu0"));
  info.set("lane_kinds", json::Value::array().add("cpu").add("cpu"));
  info.set("trainers", json::Value::array().add("trainer").add(text));
  json::Value work = numbers({"samples_per_s", "samples", "target_loss"}, bytes);
  work.set("trainer", "trainer").set("work", "w").set("lane", "cpu");
  info.set("works", json::Value::array().add(std::move(work)));
  tell("info", info);
  for (const char* state : {"running", "queued", "ready", "throttled"}) {
    json::Value task = numbers({"memory_bytes", "rate", "samples", "planned_samples", "weight",
                                "target_loss", "deadline_in_s"},
                               bytes);
    json::Value need = numbers({"probability"}, bytes);
    need.set("seconds", numbers({"low", "median", "high"}, bytes));
    task.set("s", "laird.task/1.0").set("epoch", 1).set("seq", 1).set("name", state);
    task.set("state", state).set("lane", "cpu").set("trainer", "trainer").set("work", "w");
    task.set("need", std::move(need));
    tell(std::string("task/") + state, task);
  }
  return view;
}

void check_plan(std::string_view bytes) {
  control::FleetPlan plan;
  plan.facts = control::fleet_facts(odd_fleet(bytes), "lab");
  auto of = placement::fleet_instance(plan.facts);
  LAIRD_REQUIRE(of.has_value(), "a fleet with a lane can be planned");
  plan.of = std::move(*of);
  auto solved = placement::solve(plan.of.instance, {1, 2'000, nullptr});
  LAIRD_REQUIRE(solved.has_value(), "what is left of the tasks has a plan");
  plan.plan = std::move(*solved);
  check_printed(control::plan_text(plan, 80));
  for (const placement::TaskFact& task : plan.facts.tasks) {
    const auto told = control::why_there(plan, task.name);
    LAIRD_REQUIRE(told.has_value(), "every task is planned, or left out");
    check_printed(*told);
  }
  placement::TaskFact task;
  task.name = "new";
  task.trainer = "trainer";
  task.work = "w";
  task.deadline_in_s = 3600.0;
  const auto places = placement::places_for(plan.facts, task, 2'000);
  LAIRD_REQUIRE(places.has_value(), "a new task is told where it could go");
  for (const auto& no : places->cannot) LAIRD_REQUIRE(harmless(no.why) == no.why, "one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_printed(harmless(bytes));
  check_view(bytes);
  if (size % sizeof(double) == 0) check_plan(bytes);  // it takes longer than the rest
  if (const auto reply = mqtt::parse_reply(bytes)) {
    check_printed(harmless(reply->text));
    const control::Offer offer = control::offer_of(*reply);
    LAIRD_REQUIRE(offer.probability >= 0.0 && offer.probability <= 1.0, "a likelihood is one");
    check_printed(harmless(offer.why));
  }
  return 0;
}
