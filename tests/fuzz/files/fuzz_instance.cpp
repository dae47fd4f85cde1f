// Any JSON as an instance of the planner, and what comes of it: whatever is read is planned, and
// the plan survives being written and read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/placement/planner/plan_json.hpp"
#include "agent/placement/planner/split.hpp"
#include "agent/placement/planner/verify.hpp"
#include "agent/placement/search/explain.hpp"
#include "agent/placement/search/solve.hpp"
#include "base/require.hpp"
#include "json/value.hpp"
#include "tests/fuzz/events/feed.hpp"

namespace {

using namespace laird;

// A small instance from the bytes: mutations of JSON alone would seldom give one that is accepted.
json::Value almost_good(fuzz::Feed& feed) {
  json::Value boards = json::Value::array();
  const int count = 1 + feed.byte() % 3;
  for (int b = 0; b < count; ++b) {
    json::Value v = json::Value::object();
    v.set("name", "b" + std::to_string(b)).set("kind", b == 0 ? "x" : "y");
    v.set("memory_mb", feed.byte() * 10).set("lanes", feed.byte() % 4);
    if (feed.byte() % 4 == 0) {
      const int from = feed.byte();
      json::Value window = json::Value::array();
      window.add(from);
      if (feed.byte() % 4 != 0) window.add(from + feed.byte());
      v.set("closed", json::Value::array().add(std::move(window)));
    }
    boards.add(std::move(v));
  }
  json::Value tasks = json::Value::array();
  for (int t = feed.byte() % 6; t > 0; --t) {
    json::Value v = json::Value::object();
    v.set("name", "t" + std::to_string(t)).set("memory_mb", feed.byte() * 10);
    v.set("time_s", json::Value::object().set("x", feed.byte()).set("y", feed.byte()));
    v.set("gpu", json::Value::object().set("x", feed.byte() * 4).set("y", feed.byte() * 4));
    v.set("splittable", feed.byte() % 2 == 0);
    if (feed.byte() % 3 == 0) v.set("deadline_s", feed.byte()).set("weight", feed.byte());
    if (feed.byte() % 4 == 0) v.set("apart", "g");
    if (feed.byte() % 4 == 0) v.set("data", json::Value::object().set("transfer_s", feed.byte()));
    if (feed.byte() % 5 == 0) {
      v.set("running", json::Value::object().set("board", "b0").set("left_s", feed.byte()));
    }
    if (feed.byte() % 5 == 0) v.set("prefer", json::Value::array().add("x"));
    tasks.add(std::move(v));
  }
  return json::Value::object()
      .set("format", "laird.placement/1")
      .set("mode", feed.byte() % 2 == 0 ? "S" : "C")
      .set("boards", std::move(boards))
      .set("tasks", std::move(tasks));
}

void plan_it(const json::Value& document) {
  using namespace placement;
  Result<ReadInstance> read = read_instance(document);
  if (!read || read->instance.tasks.size() > 30) return;
  if (const Result<Split> split = split_oversized(read->instance, SplitRule::kFitsNone)) {
    if (split->instance.tasks.size() > 60) return;
    read->instance = split->instance;
  }
  const Result<Plan> plan = solve(read->instance, {1, 3'000, nullptr});
  if (!plan) return;
  LAIRD_REQUIRE(verify(read->instance, *plan).has_value(), "a plan keeps every rule");
  const Result<Plan> again = read_plan(plan_json(read->instance, read->hash, *plan), *read);
  LAIRD_REQUIRE(again.has_value() && again->objective == plan->objective,
                "a plan survives being written and read");
  if (!plan->tasks.empty())
    (void)explanation_text(read->instance, *plan, explain(read->instance, *plan, 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto document = json::parse(text, "fuzz")) plan_it(*document);
  fuzz::Feed feed(data, size);
  plan_it(almost_good(feed));
  return 0;
}
