// doctor: what is wrong, and how to mend it.
#include <algorithm>
#include <cstdio>

#include "control/commands/commands.hpp"
#include "control/doctor/doctor.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;

Colour colour_of(Health health) {
  switch (health) {
    case Health::kOk: return Colour::kGreen;
    case Health::kSkipped: return Colour::kDim;
    case Health::kWarning: return Colour::kYellow;
    case Health::kFailed: return Colour::kRed;
  }
  return Colour::kNone;
}

void show_finding(const Finding& finding, bool colour) {
  std::string word(name(finding.health));
  word.resize(5, ' ');
  std::string subject = finding.subject;
  subject.resize(std::max<std::size_t>(subject.size(), 9), ' ');
  print("%s %s %s\n", painted(word, colour_of(finding.health), colour).c_str(), subject.c_str(),
        finding.text.c_str());
  if (!finding.remedy.empty()) print("                mend: %s\n", finding.remedy.c_str());
}

int doctor(const Reach& reach) {
  const auto where = reach.where();
  const Environment environment = process_environment();
  Findings all;
  if (!where) {
    all.push_back({Health::kFailed, "config", where.error().context, "mend that file first"});
  }
  const std::string socket =
      where ? where->socket : environment("LAIRD_SOCKET").value_or(kSocketDefault);
  const DurationNs timeout = where ? where->timeout : 10 * kSecond;
  const bool colour = colours_on(stdout);
  const auto take = [&](Findings found) {
    for (Finding& finding : found) {
      if (!reach.json()) show_finding(finding, colour);
      all.push_back(std::move(finding));
    }
  };
  if (!reach.json() && !all.empty()) show_finding(all.front(), colour);
  take(check_machine(socket, timeout));
  if (where && !where->local) {
    take(check_fleet(where->fleet, timeout));
  } else if (where) {
    take({{Health::kSkipped, "fleet", "none is configured for this user", ""}});
  }
  const auto count = [&all](Health health) {
    return std::count_if(all.begin(), all.end(),
                         [health](const Finding& f) { return f.health == health; });
  };
  if (reach.json()) {
    Value rows = Value::array();
    for (const Finding& finding : all) {
      rows.add(Value::object()
                   .set("health", name(finding.health))
                   .set("subject", finding.subject)
                   .set("text", finding.text)
                   .set("remedy", finding.remedy));
    }
    print_json(rows);
  } else {
    print("%lld ok, %lld to look at, %lld failed\n", static_cast<long long>(count(Health::kOk)),
          static_cast<long long>(count(Health::kWarning)),
          static_cast<long long>(count(Health::kFailed)));
  }
  return count(Health::kFailed) > 0 ? kFailed : 0;
}

}  // namespace

void add_doctor(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  cli::Command* command = app.add_subcommand(
      "doctor",
      "Look at clock, agent, disk, files, cgroups, power; at TLS, broker, ACL, boards, clocks; and "
      "say how to\nmend what is wrong. Changes nothing. Exits with 1 when something failed.\n"
      "Example: lairctl doctor");
  add_output(command, *reach, false);
  add_access(command, *reach);
  command->callback([reach, &code] { code = doctor(*reach); });
}

}  // namespace laird::control
