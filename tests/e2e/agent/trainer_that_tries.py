#!/usr/bin/python3 -ISB
"""A trainer that tries what a trainer must not do, and tells what came of it.

Its params say which: {"try": "key", ...}. It writes the outcome to the file `said` in its folder
and then goes on as a trainer that has nothing to do, or as the attempt says. What it found out
about its agent stands in params too: paths, the agent's process, its control group.

    refused WHY    the system did not let it
    DONE WHAT      it could
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time

channel = socket.socket(fileno=int(os.environ["LAIRD_FD"]))
lines = channel.makefile("r", encoding="utf-8")


def say(**message):
    channel.sendall((json.dumps(message) + "\n").encode())


def read_file(path):
    with open(path, "rb") as file:
        got = file.read(100)
    if not got:
        raise OSError("nothing in " + path)
    return "read %s" % path


def write_file(path, text="x"):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
    return "wrote " + path


def first_of(attempts):
    """What the first that works did; if none does, why not."""
    why = []
    for attempt in attempts:
        try:
            return attempt()
        except (OSError, ValueError) as error:
            why.append(str(error))
    raise OSError("; ".join(why))


def trace(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid, 0, 0) != 0:  # PTRACE_ATTACH
        raise OSError(os.strerror(ctypes.get_errno()))
    return "traced %d" % pid


def agents(params):
    """The agent by the number it has outside, and whatever looks like it from here."""
    found = [params["agent"]]
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/comm" % name, encoding="ascii") as comm:
                    if comm.read().strip() in ("laird", "laird-cell"):
                        found.append(int(name))
            except OSError:
                pass
    return found


def read_memory(pid):
    with open("/proc/%d/maps" % pid, encoding="ascii") as maps:
        start = int(maps.readline().split("-")[0], 16)
    with open("/proc/%d/mem" % pid, "rb") as memory:
        memory.seek(start)
        return "read %d bytes" % len(memory.read(64))


def ask(path, request):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5)
    client.connect(path)
    client.sendall((json.dumps(request) + "\n").encode())
    return "was answered " + client.recv(1000).decode()[:80]


def leave_group(params):
    def go(path):
        with open(path, "w", encoding="ascii") as procs:
            procs.write("0")
        return "left for " + path
    return first_of([lambda p=path: go(p) for path in params["groups"]])


def kill_agent(params):
    def kill(pid):
        os.kill(pid, signal.SIGKILL)
        return "killed %d" % pid
    return first_of([lambda p=pid: kill(p) for pid in agents(params)])


def live_on(params):
    """Somebody in a session of their own who notes that they live, until they do not."""
    for _ in range(3):
        subprocess.Popen(["/bin/sh", "-c", "trap '' HUP TERM; while :; do sleep 0.1; done"],
                         start_new_session=True)
    return None


def fork(params):
    children = []
    try:
        while len(children) < params["most"]:
            pid = os.fork()
            if pid == 0:
                while True:
                    time.sleep(60)
            children.append(pid)
        return "made %d processes" % len(children)
    except OSError as error:
        raise OSError("%s after %d processes" % (error, len(children))) from error
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def fill(params):
    block = b"x" * (1 << 20)
    written = 0
    for path in (".", "/tmp", "/var/tmp", "/dev/shm", "/"):
        try:
            for number in range(params["megabytes"]):
                with open(os.path.join(path, "fill%d" % number), "wb") as file:
                    file.write(block)
                written += 1
        except OSError:
            pass
        if written >= params["megabytes"]:
            break
    return None  # whoever watches ends it


ATTEMPTS = {
    "key": lambda p: first_of([lambda f=f: read_file(f) for f in p["keys"]]),
    "journal": lambda p: first_of([lambda: read_file(p["journal"]), lambda: write_file(p["journal"])]),
    "settings": lambda p: first_of([lambda f=f: write_file(f) for f in p["settings"]]),
    "other": lambda p: first_of([lambda f=f: write_file(f) for f in p["others"]]),
    "ptrace": lambda p: first_of([lambda a=a: trace(a) for a in agents(p)]),
    "memory": lambda p: first_of([lambda a=a: read_memory(a) for a in agents(p)]),
    "socket": lambda p: first_of([lambda s=s: ask(s, {"op": "status"}) for s in p["sockets"]]),
    "cap": lambda p: first_of([lambda s=s: ask(s, {"op": "cap-set", "power": "1000W"})
                               for s in p["sockets"]]),
    "group": leave_group,
    "outlive": live_on,
    "kill": kill_agent,
    "fork": fork,
    "disk": fill,
}


def main():
    start = json.loads(lines.readline())
    params = start["params"]
    try:
        outcome = ATTEMPTS[params["try"]](params)
        said = "tried" if outcome is None else "DONE " + outcome
    except OSError as error:
        said = "refused %s" % error
    with open("said", "w", encoding="utf-8") as file:
        file.write(said)
    say(type="ready", v=1, samples=0)
    samples = 0
    for line in lines:
        order = json.loads(line)
        if order["type"] == "run":
            time.sleep(0.2)
            samples = order["until"]
            say(type="progress", samples=samples, loss=5.0)
        elif order["type"] in ("pause", "checkpoint"):
            say(type="checkpointed", samples=samples)
        elif order["type"] == "stop":
            say(type="checkpointed", samples=samples)
            sys.exit(0)


main()
