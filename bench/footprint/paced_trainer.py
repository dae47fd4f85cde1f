#!/usr/bin/env python3
"""A trainer that does nothing at a given pace: one report every SECONDS while it has a grant.

It speaks protocol v1 and uses next to no processor, so that what the agent itself costs can be
measured at a known rate of reports. Each report stands for `report_every` samples.
"""

import json
import os
import select
import socket
import sys
import time

PLANNED = 10**12


def main():
    pace_s = float(sys.argv[1])
    agent = socket.socket(fileno=int(os.environ["LAIRD_FD"]))
    samples, until, every = 0, 0, 1
    pending = b""
    due = None

    def say(kind, **fields):
        agent.sendall((json.dumps(dict(type=kind, **fields)) + "\n").encode())

    def loss():
        return 0.5 + 1.0 / (1.0 + samples / (1000.0 * every))

    while True:
        wait = None if due is None else max(0.0, due - time.monotonic())
        if select.select([agent], [], [], wait)[0]:
            data = agent.recv(65536)
            if not data:
                return 3
            pending += data
        while b"\n" in pending:
            line, pending = pending.split(b"\n", 1)
            message = json.loads(line)
            kind = message["type"]
            if kind == "start":
                every = message["report_every"]
                say("ready", v=1, samples=0, loss=None, resumed=False, planned_samples=PLANNED)
            elif kind == "run":
                until = message["until"]
                due = time.monotonic() + pace_s
            elif kind in ("pause", "checkpoint", "stop"):
                say("checkpointed", samples=samples, loss=loss())
                due = due if kind == "checkpoint" else None
                if kind == "stop":
                    return 0
        if due is not None and time.monotonic() >= due:
            samples = min(until, samples + every)
            say("progress", samples=samples, loss=loss())
            due = due + pace_s if samples < until else None


if __name__ == "__main__":
    sys.exit(main())
