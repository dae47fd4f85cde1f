#include "control/provision/running/running_board.hpp"

#include <algorithm>
#include <sstream>

namespace laird::control {
namespace {

constexpr std::string_view kBegin = "laird-probe 1";
constexpr std::string_view kEnd = "laird-probe end";
constexpr const char* kJoinService = "laird-join.service";

// "2.31" as numbers that compare; 0 for what is none.
int glibc_number(std::string_view text) {
  int parts[2] = {0, 0};
  std::size_t part = 0;
  for (const char c : text) {
    if (c == '.' && part == 0) {
      ++part;
    } else if (c >= '0' && c <= '9' && parts[part] < 1000) {
      parts[part] = parts[part] * 10 + (c - '0');
    } else {
      break;
    }
  }
  return parts[0] * 10'000 + parts[1];
}

bool is_unit_of_ours(const std::string& unit) {
  return std::any_of(std::begin(kBoardUnits), std::end(kBoardUnits),
                     [&](const char* known) { return unit == known; });
}

// What dpkg says of changed files, and which of them are not there.
struct Verified {
  std::string said;
  std::set<std::string> gone;
};

Result<std::vector<std::string>> changed_files(const Verified& verified) {
  auto out = parse_verify(verified.said);
  LAIRD_TRY(out);
  std::erase_if(*out, [&](const std::string& path) {
    return is_documentation(path) && verified.gone.contains(path);
  });
  return out;
}

void take_line(const std::string& line, RunningBoard& out, Verified& verified) {
  std::istringstream in(line);
  std::string key;
  std::string value;
  in >> key >> value;
  if (key == "architecture") {
    out.architecture = value;
  } else if (key == "glibc") {
    out.glibc = value;
  } else if (key == "installed") {
    out.installed = value;
  } else if (key == "changed") {
    verified.said += line.substr(std::min(line.size(), key.size() + 1)) + "\n";
  } else if (key == "gone") {
    verified.gone.insert(value);
  } else if (key == "enabled") {
    if (is_unit_of_ours(value)) out.enabled.insert(value);
  } else if (key == "join") {
    std::string name;
    in >> name;
    if (!name.empty()) out.join[name] = value;
  } else if (key == "configured") {
    out.configured = true;
  }
}

// An admitted board asks no more, and has put away what it asked with.
bool lacks_join(const RunningBoard& board, const BoardWish& wish) {
  return !wish.join.empty() && !board.configured && board.join != wish.join;
}

}  // namespace

std::string probe_script() {
  std::string units;
  for (const char* unit : kBoardUnits) units += std::string(" ") + unit;
  // Nobody can type sudo's password here, and without sudo a part of the answer would be missing.
  return "sudo -n true || exit 1; echo " + std::string(kBegin) +
         "; echo architecture $(dpkg --print-architecture)"
         "; echo glibc $(ldd --version | sed -n '1s/.* //p')"
         "; if [ \"$(dpkg-query -W -f '${db:Status-Status}' laird 2>/dev/null)\" = installed ]; "
         "then"
         " echo installed $(sha256sum < /var/lib/dpkg/info/laird.md5sums | cut -d' ' -f1)"
         "; dpkg --verify laird | while read -r line; do echo \"changed $line\";"
         " [ -e \"/${line#*/}\" ] || echo \"gone /${line#*/}\"; done; fi"
         "; for unit in" +
         units +
         "; do if [ \"$(systemctl is-enabled $unit 2>/dev/null)\" = enabled ]; then echo enabled "
         "$unit; fi; done"
         "; sudo sh -c 'cd /etc/laird/join 2>/dev/null && sha256sum * 2>/dev/null' | sed 's/^/join "
         "/'"
         "; sudo test -e /etc/laird/laird.json && echo configured"
         "; echo " +
         std::string(kEnd);
}

Result<RunningBoard> parse_probe(std::string_view answer) {
  RunningBoard out;
  std::istringstream in{std::string(answer)};
  Verified verified;
  bool begun = false;
  bool ended = false;
  // What a login shell prints before is not ours.
  for (std::string line; std::getline(in, line) && !ended;) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line == kBegin) {
      begun = true;
    } else if (line == kEnd) {
      ended = begun;
    } else if (begun) {
      take_line(line, out, verified);
    }
  }
  if (!ended) return fail(Code::kUnavailable, "the board's shell did not answer to the end");
  if (out.architecture.empty()) {
    return fail(Code::kRefused, "there is no dpkg on it: laird comes as a Debian package");
  }
  auto changed = changed_files(verified);
  LAIRD_TRY(changed);
  out.changed = std::move(*changed);
  return out;
}

Status check_fits(const RunningBoard& board, const BoardPackage& package, const BoardWish& wish) {
  if (package.architecture != board.architecture) {
    return fail(Code::kRefused, package.file + " is for " + package.architecture +
                                    ", the board's system is for " + board.architecture);
  }
  for (const std::vector<Dependency>& one_of : package.depends) {
    for (const Dependency& needed : one_of) {
      if (needed.name != "libc6" || needed.least.empty() || board.glibc.empty()) continue;
      if (glibc_number(board.glibc) < glibc_number(needed.least)) {
        return fail(Code::kRefused, package.file + " needs glibc " + needed.least +
                                        ", the board has " + board.glibc);
      }
    }
  }
  // One that has asked and was admitted has a config as well.
  if (!wish.join.empty() && board.configured && !board.enabled.contains(kJoinService)) {
    return fail(Code::kRefused,
                "the board has a config that it did not get by asking, so it would never ask for "
                "its place; remove /etc/laird/laird.json there, or leave out --join");
  }
  return {};
}

BoardPlan plan_for(const RunningBoard& board, const BoardWish& wish) {
  BoardPlan out;
  out.install = board.installed != wish.package_sums || !board.changed.empty();
  for (const std::string& unit : wish.units) {
    if (!board.enabled.contains(unit)) out.enable.push_back(unit);
  }
  out.join = lacks_join(board, wish);
  return out;
}

std::vector<std::string> findings_of(const RunningBoard& board, const BoardWish& wish) {
  if (board.installed.empty()) return {"laird is not installed"};
  std::vector<std::string> out;
  if (!wish.package_sums.empty() && board.installed != wish.package_sums) {
    out.emplace_back("another build of laird is installed");
  }
  for (const std::string& path : board.changed) {
    out.push_back(path + " is not as the package has it");
  }
  for (const std::string& unit : wish.units) {
    if (!board.enabled.contains(unit)) out.push_back(unit + " does not start with the board");
  }
  if (lacks_join(board, wish)) out.emplace_back("/etc/laird/join does not hold what was given");
  return out;
}

std::string install_package_script() {
  // --reinstall: another build of the same version, or files that somebody changed.
  return "sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --reinstall --allow-downgrades"
         " --no-install-recommends ./laird-provision.deb && rm -f laird-provision.deb";
}

std::string put_join_script() {
  const std::string put = "sudo install -o root -g laird";
  const std::string from = " laird-provision-join/";
  return put + " -d -m 0750 /etc/laird/join && " + put + " -m 0644" + from + "ca.crt" + from +
         "join.crt" + from + "join.json /etc/laird/join/ && " + put + " -m 0640" + from +
         "join.key /etc/laird/join/ && rm -rf laird-provision-join";
}

std::string enable_script(const std::vector<std::string>& units) {
  std::string all;
  for (const std::string& unit : units) all += " " + unit;
  return "sudo systemctl enable --now" + all;
}

std::string purge_script() {
  return "sudo env DEBIAN_FRONTEND=noninteractive apt-get purge -y laird";
}

}  // namespace laird::control
