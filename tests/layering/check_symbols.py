#!/usr/bin/env python3
"""Checks in the built programs that lairctl links none of the agent's process code.

    check_symbols.py LAIRCTL LAIRD

lairctl may share the agent's words, settings and the journal's reader. Its loop, its ports, the
journal's writer and the trainers' host would make it a second agent. Each of them is looked for in
laird first: a name that laird does not have either has been renamed, and would check nothing.
"""

import re
import shutil
import subprocess
import sys

# What: where its code is.
FORBIDDEN = {
    "laird::agent::Loop::": "agent/os/loop",
    "laird::agent::MetricsPort::": "agent/view/metrics_port",
    "laird::agent::Agent::": "agent/agent",
    "laird::agent::LocalSocket::": "agent/commands/local_socket",
    "laird::agent::SignedCommands::": "agent/commands/signed_commands",
    "laird::agent::SettingsStore::": "agent/settings/settings_store",
    "laird::agent::TrainerPool::": "agent/trainer_host/trainer_pool",
    "laird::agent::PowerKnobs::": "agent/board_power/power_knobs",
    "laird::agent::FleetLink::": "agent/fleet/link",
    "laird::journal::Journal::": "agent/journal/journal (the writer)",
}


def functions_of(program):
    """The names of the functions that the program defines."""
    listed = subprocess.run(["nm", "-C", "--defined-only", program], check=True,
                            stdout=subprocess.PIPE).stdout.decode(errors="replace")
    return [line[1] for line in (re.split(r" [tTwW] ", row, maxsplit=1)
                                 for row in listed.splitlines()) if len(line) == 2]


def found(names, prefix):
    return next((name for name in names if name.startswith(prefix)), None)


def main():
    lairctl, laird = (functions_of(program) for program in sys.argv[1:3])
    wrong = ["no %s in laird: renamed? follow it in this script" % prefix
             for prefix in FORBIDDEN if not found(laird, prefix)]
    wrong += ["lairctl links %s of %s: %s" % (prefix.rstrip(":"), home, found(lairctl, prefix))
              for prefix, home in FORBIDDEN.items() if found(lairctl, prefix)]
    if not found(lairctl, "laird::control::"):
        wrong.append("no laird::control:: in lairctl: was it stripped of its symbols?")
    for text in wrong:
        print(text)
    print("%d names looked for, %d wrong" % (len(FORBIDDEN), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    if not shutil.which("nm"):
        print("nm is not installed (binutils)")
        sys.exit(77)
    sys.exit(main())
