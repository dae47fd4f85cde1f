// laird-cell: starts one trainer apart from the agent and ends with it.
//
// The agent starts it, as itself; or systemd does, as root, for a connection to its socket. Then it
// runs with --config: it obeys the agent's user alone and starts only what that file lists, in the
// way that file says.
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cell/agent_groups.hpp"
#include "cell/from_settings.hpp"
#include "cell/warden.hpp"

namespace {

constexpr const char* kUsage =
    "usage: laird-cell [--config FILE] [--agent USER]\n"
    "       laird-cell --make-groups [--agent USER]\n\n"
    "Starts one trainer for the agent that is connected to standard input, in a cell of its own.\n"
    "--config FILE  start only trainers of this file, which is root's; obey only --agent\n"
    "--agent USER   the agent's user (default: laird)\n"
    "--make-groups  make the agent's control groups where they are of version 1, and end\n"
    "It is started by laird, by laird-cell.socket or by laird.service; not by hand.\n";

int refuse(const char* why) {
  std::fprintf(stderr, "laird-cell: %s\n", why);
  return 2;
}

// Before an agent starts that is not root. Version 2 needs none of it, and an agent works without.
int make_groups(const std::string& agent) {
  const passwd* known = ::getpwnam(agent.c_str());
  if (known == nullptr) return refuse("the agent's user does not exist");
  const auto made =
      laird::cell::make_agent_groups("/sys/fs/cgroup", {known->pw_uid, known->pw_gid});
  if (!made) return refuse(made.error().context.c_str());
  if (!made->empty())
    std::printf("control groups of version 1 for %s: %s\n", agent.c_str(), made->c_str());
  return 0;
}

bool is_raised() {
  return ::getauxval(AT_SECURE) != 0 || ::getuid() != ::geteuid() || ::getgid() != ::getegid();
}

}  // namespace

int main(int argc, char** argv) {
  std::string config;
  std::string agent = "laird";
  bool groups = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (argument == "--config" && has_value) {
      config = argv[++i];
    } else if (argument == "--agent" && has_value) {
      agent = argv[++i];
    } else if (argument == "--make-groups") {
      groups = true;
    } else {
      return refuse("unknown argument; see --help");
    }
  }
  if (is_raised()) return refuse("must not be setuid or have capabilities of its own");
  if (groups) return make_groups(agent);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return refuse("standard input is no connection of an agent's; see --help");
  }
  laird::cell::Keeping keeping;
  keeping.control = STDIN_FILENO;
  keeping.agent = {peer.uid, peer.gid};
  keeping.resolve = [](const laird::cell::Request& request) {
    return laird::Result<laird::cell::Spec>(request.spec);
  };
  if (!config.empty()) {
    const passwd* known = ::getpwnam(agent.c_str());
    if (known == nullptr) return refuse("the agent's user does not exist");
    if (peer.uid != known->pw_uid && peer.uid != 0) return refuse("whoever connects is no agent");
    keeping.agent = {known->pw_uid, known->pw_gid};
    keeping.resolve = [config](const laird::cell::Request& request) {
      return laird::cell::listed(config, request);
    };
  }
  ::clearenv();
  ::umask(077);
  ::signal(SIGPIPE, SIG_IGN);
  // A terminal's or a service's signal ends it, and the cell with it: nothing is to be undone.
  if (::chdir("/") != 0) return refuse("cannot go to /");
  return laird::cell::keep(keeping);
}
