"""A real agent in a temporary folder, looked at only from outside: its control socket, its files,
its processes and its journal."""

import contextlib
import glob
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../formats"))

import journal_reader

BIN = os.environ.get("LAIRD_BIN", "build/release/bin")
LAIRD = os.path.join(BIN, "laird")
LAIRCTL = os.path.join(BIN, "lairctl")
LAIRD_TRAIN = os.path.join(BIN, "laird-train")

TERMINAL = {"succeeded", "missed", "exhausted", "failed", "cancelled"}

# Short patience everywhere: tests wait for these.
FAST_TIMING = {
    "start_timeout": "10s", "hang_timeout": "10s", "pause_timeout": "5s", "stop_grace": "5s",
    "checkpoint_every": "0.1s", "backoff_min": "0.05s", "backoff_max": "0.2s", "attempts_max": 5,
}


def synthetic_task(name, *, rows=2000, epochs=20, target=-1.0, trainer="softmax", memory="20MB",
                   deadline="10m", report_every=500, **more):
    """A task on made-up data. A target below zero is never reached: it trains to its last epoch
    and ends as exhausted; 100 is reached by the first report."""
    task = {
        "name": name, "trainer": trainer, "deadline": deadline, "target_loss": target,
        "memory": memory, "report_every": report_every,
        "params": {"data": {"format": "synthetic", "rows": rows, "features": 8},
                   "epochs": epochs, "batch": 50},
    }
    task.update(more)
    return task


def built_in(kind):
    return {"exec": [os.path.abspath(LAIRD_TRAIN), kind]}


class Board:
    """One agent with its own state folder. Use as a context manager: nothing outlives it."""

    counter = itertools.count()

    def __init__(self, name="board", folder=None, user=None, **config):
        # No two boards share a name, so what is left in their control groups can be told apart.
        name = f"{name[:16].strip('-')}-{os.getpid()}-{next(Board.counter)}"
        self.root = folder or tempfile.mkdtemp(prefix="laird-e2e-", dir="/tmp")
        self.keep_root = folder is not None
        self.user = user
        self.state = os.path.join(self.root, "state")
        self.socket = os.path.join(self.state, "laird.sock")
        self.log_path = os.path.join(self.root, "agent.log")
        self.config_path = os.path.join(self.root, "laird.json")
        self.process = None
        self.env = {}  # added to the agent's environment
        self.config = {
            "node": name, "state_dir": self.state, "slice": "0.05s",
            "board": {"lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}], "memory": "2GB"},
            "trainers": {kind: built_in(kind) for kind in ("linear", "svm", "softmax", "mlp")},
            # Everybody gets a turn: most tasks here have a target nobody can reach.
            "policy": "round-robin",
            "timing": dict(FAST_TIMING), "tasks": [], "log_level": "debug",
        }
        self.config.update(config)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        for pid in self.trainer_pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.remove_groups()
        if not self.keep_root:
            shutil.rmtree(self.root, ignore_errors=True)

    def remove_groups(self):
        """A killed agent cannot remove its control groups, and no later one has the same name."""
        pattern = f"/sys/fs/cgroup/**/laird-{self.config['node']}-*"
        for group in glob.glob(pattern, recursive=True):
            for folder in [*glob.glob(group + "/*/"), group]:
                with contextlib.suppress(OSError):
                    os.rmdir(folder)

    # ---- its life ----

    def script(self, name, source):
        """A trainer written by the test; returns its entry for the allow-list."""
        path = os.path.join(self.root, name + ".py")
        with open(path, "w", encoding="utf-8") as out:
            out.write("#!/usr/bin/python3 -ISB\n" + source)
        os.chmod(path, 0o755)
        return {"exec": [path]}

    def write_config(self):
        with open(self.config_path, "w", encoding="utf-8") as out:
            json.dump(self.config, out, indent=1)

    def start(self, *args, wait=True):
        self.write_config()
        command = [LAIRD, "run", "--config", self.config_path, "--view", "none", *args]
        if self.user is not None:
            command = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups",
                       *command]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env={**os.environ, **self.env})
        if wait:
            self.wait_for(self.answers, 20, "the agent did not come up")
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the agent exited with {self.process.returncode}:\n"
                                 + self.log_tail())
        try:
            return self.ask({"op": "status"}, timeout=2)["ok"]
        except OSError:
            return False

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait(timeout=20)

    def terminate(self, timeout=20):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=timeout)

    # ---- asking it ----

    def connect(self, timeout=10):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Not settimeout before connecting: that fails at once when the agent's queue is full.
        wait = struct.pack("ll", int(timeout), int(timeout % 1 * 1e6))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, wait)
        try:
            client.connect(self.socket)
        except OSError:
            client.close()
            raise
        client.settimeout(timeout)
        return client

    def ask(self, request, timeout=10):
        with self.connect(timeout) as client:
            client.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(read_line(client))

    def submit(self, task, timeout=10):
        return self.ask({"op": "submit", "task": task}, timeout)

    def accept(self, task):
        answer = self.submit(task)
        if not answer["ok"]:
            raise AssertionError(f"{task['name']} was refused: {answer}")
        return answer

    def ctl(self, *args, timeout=20, on_socket=True):
        """lairctl as people use it: (exit code, stdout, stderr)."""
        command = [LAIRCTL, *args]
        if on_socket:
            command += ["--socket", self.socket]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout, done.stderr

    def tasks(self):
        return {row["name"]: row for row in self.ask({"op": "tasks"})["tasks"]}

    def task_state(self, name):
        return self.tasks()[name]["state"]

    def explain(self, name):
        return self.ask({"op": "explain", "task": name})["text"]

    def wait_for(self, condition, timeout, message):
        until = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > until:
                raise AssertionError(f"{message} within {timeout} s\n{self.log_tail()}")
            time.sleep(0.02)

    def wait_ended(self, *names, timeout=60):
        def ended():
            rows = self.tasks()
            return all(rows[name]["state"] in TERMINAL for name in names) and rows
        return self.wait_for(ended, timeout, f"{names} did not end")

    def replay(self, path=None):
        code, out, err = self.ctl("replay", path or self.journal_folder, on_socket=False,
                                  timeout=60)
        return code, out + err

    # ---- looking at it ----

    @property
    def journal_folder(self):
        return os.path.join(self.state, "journal")

    def log_text(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                return log.read()
        return ""

    def log_tail(self):
        return "\n".join(self.log_text().splitlines()[-25:])

    def task_folder(self, name):
        return os.path.join(self.state, "tasks", name)

    def trainer_pids(self, name=None):
        """Every process that runs in a task's folder, whoever its parent is."""
        below = self.task_folder(name) if name else os.path.join(self.state, "tasks")
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with contextlib.suppress(OSError):
                cwd = os.readlink(f"/proc/{entry}/cwd")
                if (cwd + "/").startswith(below + "/"):
                    found.append(int(entry))
        return found

    def rss_kb(self, what="VmHWM"):
        """Peak resident memory of the agent since its start."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith(what + ":"):
                    return int(line.split()[1])
        raise AssertionError("no " + what)


def process_state(pid):
    """The kernel's letter: R, S, T (stopped), D (also frozen by cgroup v1), Z ..."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def is_alive(pid):
    try:
        return process_state(pid) not in "ZX"
    except OSError:
        return False


def read_line(client, limit=8 << 20):
    got = b""
    while not got.endswith(b"\n"):
        part = client.recv(65536)
        if not part:
            raise ConnectionError("the agent closed the connection")
        got += part
        if len(got) > limit:
            raise AssertionError("an answer beyond all bounds")
    return got


# ---- the journal, decoded without any of the agent's own code ----


def read_journal(folder):
    """The rows of all its files, oldest first."""
    return journal_reader.read_folder(journal_reader.schema(), folder)


def commands_of(rows, *kinds):
    """(row, kind, fields) of each recorded command of these kinds."""
    return [(row, kind, fields) for row in rows for kind, fields in row.commands or ()
            if kind in kinds]


def require_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")


def main():
    unittest.main(verbosity=2)
