// What the commands share: the options that say where a command goes, the exit code of a reply, and
// the report on a command that went to several boards.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "cli/command.hpp"
#include "control/fleet/access.hpp"
#include "control/fleet/exit.hpp"
#include "control/fleet/fleet_client.hpp"

namespace laird::control {

struct Reach {
  AccessFlags flags;
  std::string output = "text";
  std::string node;
  bool all = false;
  bool watch = false;
  bool yes = false;

  [[nodiscard]] Result<Where> where(bool board_named = false) const;
  [[nodiscard]] bool json() const { return output == "json"; }
  [[nodiscard]] bool wide() const { return output == "wide"; }
};

// The heading that --help gives the options of add_access.
inline constexpr const char* kWhereGroup = "Where it goes";

void add_access(cli::Command* command, Reach& reach);
void add_output(cli::Command* command, Reach& reach, bool wide, bool csv = false);

[[nodiscard]] int exit_code_of(const mqtt::Reply& reply);
// One board's answer: its text on standard output when it is good, else a complaint.
[[nodiscard]] int show(const mqtt::Reply& reply);
// The answers of many: a line for each, "answered 11 of 12", and the code for all of it.
[[nodiscard]] int show_all(const Replies& replies, const std::set<std::string>& asked, bool json);
// The answer of this machine's agent, shown in the same way.
[[nodiscard]] int show_text(const Result<json::Value>& answer);
// The power, cap and throttle of this machine's board.
[[nodiscard]] int show_local_power(const Where& where, bool json);

[[nodiscard]] std::set<std::string> live_boards(const FleetView& view);
// Checks that there is a board of this name. The error lists the boards that there are.
[[nodiscard]] Status check_board(const FleetView& view, const std::string& name);
// Which board has a task, by the retained topics. A board where it has not ended comes first.
[[nodiscard]] Result<std::string> board_of_task(const FleetView& view, const std::string& task);

}  // namespace laird::control
