// serve: the fleet as a live page in a browser on this machine.
#include <sys/signalfd.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "agent/settings/listen_address.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"
#include "control/serve/server.hpp"
#include "os/fd.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kTokenDigits = 32;  // 128 bits

struct ServeOptions {
  std::string listen = "127.0.0.1:9478";
  std::vector<std::string> names;
  bool control = false;
};

// Signals end the page in order. They must be blocked before the link starts its threads.
Fd open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// By what name this program was started: one file can be two programs, told by its name.
std::string own_name() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string out;
  std::getline(file, out, '\0');
  return out.empty() ? "lairctl" : out;
}

// The options that lead another lairctl to where this one went.
std::vector<std::string> access_of(const AccessFlags& flags, const Where& where) {
  std::vector<std::string> out = {"--fleet", where.fleet.fleet, "--timeout", flags.timeout};
  const auto add = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.insert(out.end(), {name, value});
  };
  add("--config", flags.config);
  add("--broker", flags.broker);
  add("--credentials", flags.credentials);
  return out;
}

Status check(const ServeOptions& options, const agent::ListenAddress& at) {
  if (at.loopback || !options.control) return {};
  return fail(Code::kInvalid,
              "--control is for this machine alone: the page is not encrypted, and whoever reads "
              "its token could command the fleet. Listen on 127.0.0.1 and come by "
              "`ssh -L 9478:127.0.0.1:9478 THIS-MACHINE`");
}

serve::Guard guard_of(const ServeOptions& options, const agent::ListenAddress& at) {
  serve::Guard out;
  out.token = random_hex(kTokenDigits);
  out.control = options.control;
  const std::string host = serve::host_of(options.listen);
  out.hosts = options.names;
  out.hosts.push_back(host);
  if (at.loopback) out.hosts.insert(out.hosts.end(), {"localhost", "127.0.0.1", "[::1]"});
  out.any_address = host == "0.0.0.0" || host == "[::]";
  return out;
}

int serve_page(const Reach& reach, const ServeOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto at = agent::parse_listen_address(options.listen);
  if (!at) return complain({Code::kInvalid, "--listen: " + at.error().context});
  if (const Status ok = check(options, *at); !ok) return complain(ok.error());
  const Fd signals = open_signals();
  const auto client = FleetClient::open(where->fleet, Listen::kLive, where->timeout);
  if (!client) return complain(client.error());
  if (options.control) {
    if (const Status key = (*client)->load_key(); !key) return complain(key.error());
  }
  (*client)->view().note_changes();
  bring_past_events(**client, serve::kEventsShown);
  serve::OrderRunner orders(own_name(), access_of(reach.flags, *where));
  serve::ServerOptions how;
  how.listen = options.listen;
  how.guard = guard_of(options, *at);
  how.feed = {where->fleet.fleet, (*client)->access().op, options.control};
  how.timeout = where->timeout;
  const std::string token = how.guard.token;
  const auto server = serve::Server::open(std::move(how), **client, orders);
  if (!server) return complain(server.error());
  if (!at->loopback) {
    say("anybody who reaches " + options.listen +
        " and reads the network's traffic can read this page: it is not encrypted");
  }
  print("http://%s/#%s\n", options.listen.c_str(), token.c_str());
  std::fflush(stdout);  // whoever reads it through a pipe waits for it
  say(options.control ? "open this address; the page can command the fleet. Ctrl-C ends it"
                      : "open this address; the page only shows. Ctrl-C ends it");
  const int signal = (*server)->run(signals.get());
  return signal == SIGINT ? 0 : 128 + signal;
}

}  // namespace

void add_serve(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<ServeOptions>();
  cli::Command* command = app.add_subcommand(
      "serve",
      "The fleet as a live page in a browser: are the tasks on time, is the budget kept, what\n"
      "needs somebody. It prints the page's address, with a token that keeps others out.\n"
      "Example: lairctl serve --control");
  command->add_option("--listen", options->listen, "Where the page is")->show_default();
  command->add_flag("--control", options->control,
                    "The page may also submit, cancel, pause, drain and cap, signed with your key");
  command->add_option("--name", options->names,
                      "A name that the page is reached by, beside its address");
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = serve_page(*reach, *options); });
}

}  // namespace laird::control
