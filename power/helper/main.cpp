// laird-priv: the only part of laird that runs as root. It knows three controls with fixed ranges
// (controls.hpp), speaks lines on standard input and output (session.hpp), and undoes what it did.
//
// --root DIR and --journal FILE are for tests. They are refused in a process with raised privileges
// (setuid, file capabilities), and the folder must belong to the caller: whoever can use them could
// write those files anyway.
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "power/helper/session.hpp"

namespace {

constexpr const char* kJournal = "/run/laird-priv/journal";

int refuse(const char* why) {
  std::fprintf(stderr, "laird-priv: %s\n", why);
  return 2;
}

bool raised() {
  return ::getauxval(AT_SECURE) != 0 || ::getuid() != ::geteuid() || ::getgid() != ::getegid();
}

bool owned_by_caller(const std::string& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::getuid();
}

// Signals arrive as data, so that nothing but the loop ever runs.
int signal_descriptor() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

}  // namespace

int main(int argc, char** argv) {
  laird::power::priv::Place place;
  std::string journal = kJournal;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--help") {
      std::printf(
          "usage: laird-priv\n\nReads requests from standard input: get KEY, list KEY, set KEY "
          "VALUE, restore.\nKeys: gpu-max-freq (Hz), cpu-max-freq N (kHz), nvpmodel.\n"
          "Example: echo get gpu-max-freq | laird-priv\n");
      return 0;
    }
    if (raised()) return refuse("takes no arguments when it runs with raised privileges");
    if (argument == "--root" && has_value) {
      place.root = argv[++i];
      if (!owned_by_caller(place.root)) return refuse("--root must be a folder of your own");
    } else if (argument == "--journal" && has_value) {
      journal = argv[++i];
    } else {
      return refuse("unknown argument; see --help");
    }
  }
  ::clearenv();
  ::umask(077);
  if (place.root.empty() && ::chdir("/") != 0) return refuse("cannot go to /");
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int stop = signal_descriptor();
  if (journal == kJournal) ::mkdir("/run/laird-priv", 0700);
  auto session = laird::power::priv::Session::open(place, journal);
  if (!session) {
    std::fprintf(stderr, "laird-priv: %s\n", session.error().text().c_str());
    return 1;
  }
  return laird::power::priv::serve(*session, STDIN_FILENO, STDOUT_FILENO, stop);
}
