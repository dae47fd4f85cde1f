// A board that runs, as lairctl sees and changes it over ssh: what the board is asked, what its
// answer means, what is still to be done, and the lines of shell that do it. Pure; ssh is the
// caller's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "control/provision/board_package.hpp"

namespace laird::control {

// The units that may start with a board, and those files of an image that its boards ask with.
inline constexpr const char* kBoardUnits[] = {"laird.service",
                                              "laird-cell.socket",
                                              "laird-priv.socket",
                                              "laird-upgrade.path",
                                              "laird-join.service",
                                              "laird-join-install.path",
                                              "laird-upgrade-back.service"};

struct RunningBoard {
  std::string architecture;
  std::string glibc;      // "2.31"
  std::string installed;  // SHA-256 of the list of the installed package's files; empty: not there
  std::vector<std::string> changed;         // files that are not as the package has them
  std::set<std::string> enabled;            // units
  std::map<std::string, std::string> join;  // file of /etc/laird/join -> its SHA-256
  bool configured = false;                  // has /etc/laird/laird.json
};

// One command for the board's shell; it changes nothing. It fails where sudo asks for a password.
[[nodiscard]] std::string probe_script();
// Fails on what no probe says: another program answered, or the board is no Debian or Ubuntu.
[[nodiscard]] Result<RunningBoard> parse_probe(std::string_view answer);

struct BoardWish {
  std::string package_sums;        // SHA-256 of the package's own list of files; empty: any package
  std::vector<std::string> units;  // that start with the board
  std::map<std::string, std::string> join;  // file -> SHA-256; empty: does not ask for its place
};

struct BoardPlan {
  bool install = false;
  std::vector<std::string> enable;
  bool join = false;

  [[nodiscard]] bool empty() const { return !install && enable.empty() && !join; }
};

// Refuses a package for another architecture, one that needs a newer glibc, and a board that is to
// ask for its place and has a config that it did not get by asking.
[[nodiscard]] Status check_fits(const RunningBoard& board, const BoardPackage& package,
                                const BoardWish& wish);
[[nodiscard]] BoardPlan plan_for(const RunningBoard& board, const BoardWish& wish);

// What differs from the wish, and from the package that is installed; empty: nothing.
[[nodiscard]] std::vector<std::string> findings_of(const RunningBoard& board,
                                                   const BoardWish& wish);

// Each is one command for the board's shell. What was copied there before lies in the home folder:
// laird-provision.deb, laird-provision-join/.
[[nodiscard]] std::string install_package_script();
[[nodiscard]] std::string put_join_script();
[[nodiscard]] std::string enable_script(const std::vector<std::string>& units);
[[nodiscard]] std::string purge_script();

}  // namespace laird::control
