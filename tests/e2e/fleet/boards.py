"""Real agents that join the fleet of harness.py, and lairctl as an operator of it."""

import contextlib
import glob
import json
import os
import signal
import subprocess
import tempfile
import time

from harness import BIN, FLEET, LAIRCTL, TOP, FleetTest, wait_until

LAIRD = os.path.abspath(os.path.join(BIN, "laird"))
LAIRD_TRAIN = os.path.abspath(os.path.join(BIN, "laird-train"))
LIVE = {"ready", "draining", "drained", "alert"}


def task(name, *, epochs=20, target=-1.0, deadline="10m", **more):
    """On made-up data. A target below zero is never reached; 100 is reached by the first report."""
    out = {"name": name, "trainer": "softmax", "deadline": deadline, "target_loss": target,
           "memory": "20MB", "report_every": 500,
           "params": {"data": {"format": "synthetic", "rows": 2000, "features": 8},
                      "epochs": epochs, "batch": 50}}
    out.update(more)
    return out


class Board:
    """One agent; `fleet` holds what differs from the usual section of its config."""

    def __init__(self, test, node, members, **fleet):
        self.node = node
        self.root = os.path.join(test.root, node)
        self.state = os.path.join(self.root, "state")
        self.socket = os.path.join(self.state, "laird.sock")
        self.log_path = os.path.join(self.root, "agent.log")
        self.config_path = os.path.join(self.root, "laird.json")
        self.process = None
        os.makedirs(self.root, exist_ok=True)
        with open(os.path.join(test.pki.folder, "operators", "op-alice", "signing.pub"),
                  encoding="utf-8") as f:
            key = f.read().strip()
        self.config = {
            "node": node, "state_dir": self.state, "slice": "0.05s",
            "board": {"lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}], "memory": "2GB"},
            "trainers": {"softmax": {"exec": [LAIRD_TRAIN, "softmax"]}},
            "fleet": {
                "name": FLEET, "brokers": [test.broker.url], "tls": test.pki.files(node),
                "operators": [{"name": "op-alice", "key": key}],
                "members": {m: {"power": "2W"} for m in members}, "budget": {"power": "60W"},
                "tick": "0.2s", "lease": "5s", **fleet,
            },
        }

    def start(self):
        with open(self.config_path, "w", encoding="utf-8") as out:
            json.dump(self.config, out, indent=1)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [LAIRD, "run", "--config", self.config_path, "--view", "none"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(10)
        for path in glob.glob("/proc/[0-9]*/environ"):
            with contextlib.suppress(OSError):
                with open(path, "rb") as f:
                    if self.state.encode() in f.read():
                        os.kill(int(path.split("/")[2]), signal.SIGKILL)
        for group in glob.glob("/sys/fs/cgroup/**/laird-%s-*" % self.node, recursive=True):
            for folder in [*glob.glob(group + "/*/"), group]:
                with contextlib.suppress(OSError):
                    os.rmdir(folder)

    def log(self):
        with open(self.log_path, encoding="utf-8") as f:
            return f.read()


class Done:
    """What a run of lairctl left."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return "exit %d\n--- out\n%s--- err\n%s" % (self.code, self.out, self.err)


class OperatedFleet(FleetTest):
    """A fleet whose boards run for the whole class."""

    boards = ("n-1", "n-2", "n-3")
    nodes = ("n-1", "n-2", "n-3")
    fleet_options = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = os.path.join(cls.root, "home")
        os.makedirs(os.path.join(cls.home, ".config", "laird"))
        cls.config = os.path.join(cls.home, ".config", "laird", "lairctl.json")
        cls.credentials = os.path.join(cls.pki.folder, "operators", "op-alice")
        with open(cls.config, "w", encoding="utf-8") as out:
            json.dump({"fleet": FLEET, "brokers": [cls.broker.url],
                       "credentials": cls.credentials}, out)
        cls.agents = {}
        for node in cls.boards:
            cls.agents[node] = Board(cls, node, cls.boards, **cls.fleet_options)
            cls.configure(cls.agents[node])
            cls.addClassCleanup(cls.agents[node].kill)
            cls.agents[node].start()
        cls.wait_for_boards()

    @classmethod
    def configure(cls, board):
        """Changes the board's config before it starts; for those who need another one."""

    @classmethod
    def wait_for_boards(cls):
        def all_live():
            done = cls.run_lairctl("get", "nodes", "-o", "json")
            rows = done.json() if done.code == 0 else []
            return {r["node"] for r in rows if r["live"] and r["report"]} == set(cls.boards)
        assert wait_until(all_live, max(20, 2 * len(cls.boards)), every=0.3), "\n".join(
            a.log()[-500:] for a in cls.agents.values())

    @classmethod
    def environment(cls, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("LAIR")}
        env.pop("XDG_CONFIG_HOME", None)
        env.update({"HOME": cls.home, "NO_COLOR": "1", **more})
        return env

    @classmethod
    def run_lairctl(cls, *args, text=None, timeout_s=90, env=None):
        done = subprocess.run([LAIRCTL, *args], input=(text or "").encode(), capture_output=True,
                              timeout=timeout_s, check=False, env=cls.environment(**(env or {})))
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def lairctl(self, *args, code=0, **more):
        done = self.run_lairctl(*args, **more)
        self.assertEqual(done.code, code, "lairctl %s: %s" % (" ".join(args), done))
        return done

    def judged(self, *names, budget_w=60):
        """What laird-lab finds in the journals of these, to the last instant: used they more than the budget?"""
        folder = tempfile.mkdtemp(prefix="states-", dir=self.root)
        for name in names:
            os.symlink(os.path.join(self.root, name, "state"), os.path.join(folder, name))
        recording = os.path.join(folder, "recording")
        with open(recording, "w", encoding="utf-8") as out:
            report = {"shares": {"power": {"floor_w": 2, "budget_w": budget_w}}}
            out.write("%f %snode/n-1/report %s\n" % (time.time(), TOP, json.dumps(report)))
        done = subprocess.run([os.path.join(BIN, "laird-lab"), "fleet", recording, "--json",
                               "--journals", folder], stdout=subprocess.PIPE, check=False)
        return json.loads(done.stdout)

    def submit(self, spec, *args, code=0, **more):
        return self.lairctl("submit", "-f", "-", *args, text=json.dumps(spec), code=code, **more)

    def tasks(self, **where):
        rows = self.lairctl("get", "tasks", "-o", "json").json()
        return [r for r in rows if all(r.get(k) == v for k, v in where.items())]

    def wait_for_task(self, name, state, seconds=20):
        """A task that a cap holds back runs too: it is shown as throttled."""
        states = {"running", "throttled"} if state == "running" else {state}
        self.assertTrue(wait_until(lambda: any(row["state"] in states
                                               for row in self.tasks(name=name)), seconds, every=0.3),
                        self.tasks(name=name))
        return self.tasks(name=name)[0]
