#include "promote/verdict.hpp"

#include <cmath>
#include <cstdio>

namespace laird::promote {
namespace {

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f%%", 100.0 * part);
  return text;
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

}  // namespace

Verdict judge(const models::Judge& by, const models::Rows& rows, std::span<const float> answers) {
  Verdict out;
  out.agreement = models::agreement_of(by, rows.answers, answers);
  out.metric = models::metric_of(by, answers, rows.labels);
  out.loss_change = out.metric.loss - models::metric_of(by, rows.answers, rows.labels).loss;
  return out;
}

std::string refusal(const Verdict& verdict, const Limits& limits) {
  // Written so that a number that is none refuses.
  if (!(verdict.agreement.part >= limits.agreement_min)) {
    return "its answers agree with the model's on " + percent(verdict.agreement.part) +
           " of the rows, and " + percent(limits.agreement_min) + " is the least";
  }
  if (!(verdict.loss_change <= limits.loss_change_max)) {
    return "its loss is " + number(verdict.loss_change) + " above the model's, and " +
           number(limits.loss_change_max) + " is the most";
  }
  return {};
}

json::Value to_json(const Verdict& verdict) {
  json::Value out = json::Value::object();
  out.set("agreement", verdict.agreement.part)
      .set("largest_difference", verdict.agreement.largest)
      .set("loss", verdict.metric.loss)
      .set("loss_change", verdict.loss_change)
      .set("accuracy",
           verdict.metric.accuracy ? json::Value::number(*verdict.metric.accuracy) : json::Value());
  return out;
}

Result<Verdict> verdict_from(const json::Value& value) {
  const auto number_of = [&](std::string_view key) {
    const json::Value* v = value.find(key);
    return v != nullptr && v->is_number() ? v->as_double() : std::nan("");
  };
  Verdict out;
  out.agreement = {number_of("agreement"), number_of("largest_difference")};
  out.metric.loss = number_of("loss");
  out.loss_change = number_of("loss_change");
  if (const double accuracy = number_of("accuracy"); std::isfinite(accuracy)) {
    out.metric.accuracy = accuracy;
  }
  if (!std::isfinite(out.agreement.part) || !std::isfinite(out.loss_change)) {
    return fail(Code::kCorrupt, "holds no verdict");
  }
  return out;
}

}  // namespace laird::promote
