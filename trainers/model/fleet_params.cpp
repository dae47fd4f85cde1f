#include "trainers/model/fleet_params.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace laird::trainers {
namespace {

using config::Field;
using config::kOptional;
using config::Schema;
using config::Type;
using json::Value;

constexpr Field kFleetFields[] = {
    {.name = "rounds",
     .type = Type::kInteger,
     .why = "Planned rounds; each is a pass over the board's own rows and a message to its "
            "neighbours. 0: no end.",
     .fallback = "200",
     .max = 1e9},
    {.name = "quorum",
     .type = Type::kInteger,
     .why =
         "How many boards make a round at least; 1: a board goes on alone. If not given: all that "
         "ever took part, but for those that left for good; with \"wait\" more than half of them.",
     .fallback = kOptional,
     .min = 1,
     .max = 64},
    {.name = "wait",
     .type = Type::kDuration,
     .why =
         "How long a board that takes part is waited for before the group goes on without it. If "
         "not given: until it is back or leaves for good; with \"quorum\" 10 s.",
     .fallback = kOptional,
     .min = 1e8,
     .max = 8.64e13,
     .unit = "time"},
    {.name = "density",
     .type = Type::kNumber,
     .why = "Part of the coordinates that a message carries, the most changed first. If not given: "
            "0.5 up to 16384 weights, 0.25 above.",
     .fallback = kOptional,
     .min = 0.001,
     .max = 1},
    {.name = "rho",
     .type = Type::kNumber,
     .why = "Step of the logarithmic quantizer.",
     .fallback = "0.25",
     .min = 0.05,
     .max = 1},
    {.name = "trim",
     .type = Type::kInteger,
     .why = "Contributions left out at either end of each coordinate: so many wrong boards the "
            "model withstands, if the boards' rows are alike. Every board then counts the same.",
     .fallback = "0",
     .max = 31},
    {.name = "clip",
     .type = Type::kNumber,
     .why = "A contribution is shortened to so many times the median length of all; 0: not. Every "
            "board then counts the same.",
     .fallback = "0",
     .max = 1e6},
    {.name = "noise",
     .type = Type::kNumber,
     .why =
         "Noise for differential privacy in what a board tells of its rows: its deviation in what "
         "one row can change. Needs \"row_clip\". The task's reason tells the epsilon that is "
         "spent. Without \"learning_rate\" every kind steps by Adam then. Built-in trainers only.",
     .fallback = kOptional,
     .min = 0.01,
     .max = 1e6},
    {.name = "row_clip",
     .type = Type::kNumber,
     .why = "With \"noise\": the longest that the gradient of one row may be; a longer one is "
            "shortened. Built-in trainers only.",
     .fallback = kOptional,
     .min = 1e-6,
     .max = 1e6},
    {.name = "delta",
     .type = Type::kNumber,
     .why =
         "With \"noise\": the chance at which the epsilon that is told does not hold; 1e-5 if not "
         "given. Well below one part of the rows. Built-in trainers only.",
     .fallback = kOptional,
     .min = 1e-12,
     .max = 0.01},
};

constexpr Field kAverageOnly[] = {
    {.name = "momentum",
     .type = Type::kNumber,
     .why = "Part of the last averaged step kept in the next, along what it will be (Nesterov).",
     .fallback = "0.9",
     .max = 0.999},
    {.name = "rate",
     .type = Type::kNumber,
     .why = "How far the model goes along the mean of the boards' changes.",
     .fallback = "1",
     .min = 0.001,
     .max = 10},
};

constexpr auto kAverageFields = [] {
  std::array<Field, std::size(kFleetFields) + std::size(kAverageOnly)> out{};
  std::copy(std::begin(kFleetFields), std::end(kFleetFields), out.begin());
  std::copy(std::begin(kAverageOnly), std::end(kAverageOnly),
            out.begin() + std::size(kFleetFields));
  return out;
}();

constexpr std::string_view kOfPrivacy[] = {"noise", "row_clip", "delta"};

constexpr Schema kAverage{"fleet",
                          "Of a trainer that has the results of its own local steps averaged with "
                          "the other boards'.",
                          kAverageFields};

std::uint32_t to_u32(const Value* value, std::uint32_t otherwise) {
  return value == nullptr ? otherwise : static_cast<std::uint32_t>(value->as_integer());
}

}  // namespace

constexpr Schema kFleetSchema{
    "fleet",
    "Makes the task train one model together with every board of the fleet that "
    "has a task of this name; `\"fleet\": true` in the task does the same with "
    "these defaults.",
    kFleetFields};

FleetParams read_fleet(const Value& fleet) {
  FleetParams out;
  out.rounds = to_u32(fleet.find("rounds"), 0);
  if (const Value* quorum = fleet.find("quorum")) out.quorum = to_u32(quorum, 0);
  if (const Value* wait = fleet.find("wait")) out.wait = wait->as_integer();
  if (const Value* density = fleet.find("density")) out.density = density->as_double();
  out.rho = fleet.find("rho")->as_double();
  out.trim = to_u32(fleet.find("trim"), 0);
  out.clip = fleet.find("clip")->as_double();
  if (const Value* noise = fleet.find("noise")) {
    out.privacy.emplace();
    out.privacy->noise = noise->as_double();
    if (const Value* clip = fleet.find("row_clip")) out.privacy->row_clip = clip->as_double();
    if (const Value* delta = fleet.find("delta")) out.privacy->delta = delta->as_double();
  }
  return out;
}

void check_privacy(const Value& fleet, bool held_out, std::string_view source,
                   std::vector<config::Problem>& problems) {
  const auto report = [&](std::string_view key, std::string what) {
    const Value* at = fleet.find(key);
    problems.push_back({std::string(source), at != nullptr ? at->line() : fleet.line(),
                        "/fleet/" + std::string(key), std::move(what)});
  };
  if (fleet.find("noise") == nullptr) {
    for (const std::string_view key : {"row_clip", "delta"}) {
      if (fleet.find(key) != nullptr) {
        report(key, "protects nothing without \"noise\"; give that too, or remove it");
      }
    }
    return;
  }
  if (fleet.find("row_clip") == nullptr) {
    report("row_clip",
           "missing; noise protects a row only if its gradient has a longest length: give that "
           "length, as 2");
  }
  if (fleet.find("rounds")->as_integer() == 0) {
    report("rounds",
           "0 is no end; each round tells more of the rows, so a task with \"noise\" "
           "says how many");
  }
  if (held_out) {
    report("noise",
           "and rows held out do not go together: how the model does on them would be told without "
           "noise; remove \"held_out\" and judge with laird-train evaluate");
  }
}

const Schema& average_schema() { return kAverage; }

AverageParams read_average(const Value& params, std::string_view source,
                           std::vector<config::Problem>& problems) {
  AverageParams out;
  const Value* fleet = params.find("fleet", json::Kind::kObject);
  const Value v =
      config::normalise(kAverage, fleet != nullptr ? *fleet : Value::object(), source, problems);
  if (!problems.empty()) {
    for (config::Problem& problem : problems) problem.path = "/fleet" + problem.path;
    return out;
  }
  for (const std::string_view key : kOfPrivacy) {
    if (v.find(key) == nullptr) continue;
    problems.push_back(
        {std::string(source), fleet->line(), "/fleet/" + std::string(key),
         "is for the built-in trainers: only what computes a row's gradient can clip it. "
         "Remove it, and let the trainer's own steps clip and noise each row (DP-SGD)"});
  }
  if (!problems.empty()) return out;
  out.fleet = read_fleet(v);
  out.momentum = v.find("momentum")->as_double();
  out.rate = v.find("rate")->as_double();
  if (const Value* metric = params.find("target_metric", json::Kind::kString)) {
    const auto* at = std::find(std::begin(kTargetMetrics), std::end(kTargetMetrics),
                               std::string_view(metric->as_string()));
    if (at != std::end(kTargetMetrics)) {
      out.target_metric = static_cast<TargetMetric>(at - std::begin(kTargetMetrics));
    }
  }
  return out;
}

consensus::DeltaCoding coding_of(const FleetParams& fleet, std::size_t dimension) {
  consensus::DeltaCoding out;
  out.rho = fleet.rho;
  out.density = fleet.density.value_or(dimension <= kSmallModel ? 0.5 : 0.25);
  return out;
}

consensus::RoundsConfig rounds_of(const FleetParams& fleet, const consensus::GroupConfig& model) {
  consensus::RoundsConfig out;
  out.model = model;
  out.rounds = fleet.rounds;
  out.quorum = fleet.quorum;
  out.wait = fleet.wait;
  return out;
}

}  // namespace laird::trainers
