"""A whole fleet on one machine: a mosquitto with TLS and ACL on loopback, and one real `laird` for
each board, posing as a Jetson with modelled power. The demo and the end-to-end tests run on it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
DATA = "/usr/share/datasets/fashion-mnist"
OPERATOR = "op-demo"


class Board:
    """What a board poses as, and what is reserved for it."""

    def __init__(self, node, kind, floor_w):
        self.node, self.kind, self.floor_w = node, kind, floor_w
        self.process = None
        self.started = 0


# The testbed of the MemBatch paper.
TESTBED = [("n-nano-%d" % i, "nano-4gb", 2.0) for i in (1, 2, 3, 4)] + [
    ("n-xavier-%d" % i, "xavier-nx-8gb", 5.0) for i in (1, 2)] + [
    ("n-orin-%d" % i, "orin-nx-16gb", 5.5) for i in (1, 2)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Fleet:
    def __init__(self, folder, programs, name="demo", boards=TESTBED, budget_w=90, tick="500ms",
                 lease="10s", policy="foresight", slice_="500ms", checkpoint_every="10s"):
        self.folder, self.programs, self.name = os.path.abspath(folder), programs, name
        self.boards = {node: Board(node, kind, floor) for node, kind, floor in boards}
        self.budget_w, self.tick, self.lease = budget_w, tick, lease
        self.policy, self.slice, self.checkpoint_every = policy, slice_, checkpoint_every
        self.port = free_port()
        self.pki = os.path.join(self.folder, "pki")
        self.recording = os.path.join(self.folder, "recording.txt")
        self.broker = None
        self.recorder = None
        self.done = threading.Event()
        self.leaving = False

    # --- making it ---

    def lairctl(self, *args, check=True):
        env = dict(os.environ, LAIRCTL_CONFIG=os.path.join(self.folder, "lairctl.json"))
        done = subprocess.run([os.path.join(self.programs, "lairctl"), *args], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
        if check and done.returncode != 0:
            raise RuntimeError("lairctl %s\n%s" % (" ".join(args), done.stdout))
        return done.stdout

    def make(self):
        """Certificates, the broker's files, and every board's config."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.lairctl("pki", "init", "--fleet", self.name, "--dir", self.pki, "--host", "localhost")
        self.lairctl("pki", "issue", "node", *self.boards, "--dir", self.pki)
        self.lairctl("pki", "issue", "operator", OPERATOR, "--dir", self.pki)
        self.configure_broker()
        for board in self.boards.values():
            with open(self.config_path(board.node), "w", encoding="utf-8") as out:
                json.dump(self.config_of(board), out, indent=2)
        self.write_operator_config()

    def configure_broker(self):
        user = "root" if os.geteuid() == 0 else ""
        extra = ["--user", user] if user else []
        self.lairctl("broker", "config", "--pki", self.pki, "--out",
                     os.path.join(self.folder, "mosquitto"), "--listen", "127.0.0.1", "--port",
                     str(self.port), "--data", "", *extra)

    def config_path(self, node):
        return os.path.join(self.folder, node + ".json")

    def signing_key(self):
        with open(os.path.join(self.pki, "operators", OPERATOR, "signing.pub"), encoding="utf-8") as f:
            return f.read().strip()

    def tls(self, kind, name):
        at = os.path.join(self.pki, kind, name)
        stem = "op" if kind == "operators" else "node"
        return {"ca": at + "/ca.crt", "cert": "%s/%s.crt" % (at, stem),
                "key": "%s/%s.key" % (at, stem)}

    def config_of(self, board):
        return {
            "node": board.node,
            "state_dir": os.path.join(self.folder, "state", board.node),
            "board": {"name": board.kind, "memory": "1200MB", "lanes": [
                {"name": "gpu0", "kind": "gpu", "cores": 1},
                {"name": "cpu0", "kind": "cpu", "cores": 1}]},
            "power": {"source": "modelled", "every": "500ms"},
            "policy": self.policy,
            "slice": self.slice,
            "timing": {"checkpoint_every": self.checkpoint_every},
            "fleet": {
                "name": self.name,
                "brokers": ["mqtts://localhost:%d" % self.port],
                "tls": self.tls("nodes", board.node),
                "operators": [{"name": OPERATOR, "key": self.signing_key()}],
                "members": {b.node: {"power": "%gW" % b.floor_w} for b in self.boards.values()},
                "budget": {"power": "%gW" % self.budget_w},
                "tick": self.tick,
                "lease": self.lease,
            },
        }

    def write_operator_config(self):
        """What lairctl needs to speak for the operator."""
        config = {"fleet": self.name, "brokers": ["mqtts://localhost:%d" % self.port],
                  "tls": self.tls("operators", OPERATOR), "operator": OPERATOR,
                  "signing_key": os.path.join(self.pki, "operators", OPERATOR, "signing.key")}
        path = os.path.join(self.folder, "lairctl.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(config, out, indent=2)
        os.chmod(path, 0o600)

    # --- running it ---

    def start_broker(self):
        with open(os.path.join(self.folder, "mosquitto.log"), "ab") as log:
            self.broker = subprocess.Popen(
                [MOSQUITTO, "-c", os.path.join(self.folder, "mosquitto", "mosquitto.conf")],
                stdout=log, stderr=log, start_new_session=True)
        for _ in range(250):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("mosquitto did not start; see %s/mosquitto.log" % self.folder)

    def kill_broker(self, how=signal.SIGKILL):
        self.broker.send_signal(how)
        self.broker.wait(10)
        self.broker = None

    def mosquitto_args(self, program):
        tls = self.tls("operators", OPERATOR)
        return [program, "-V", "mqttv5", "-h", "localhost", "-p", str(self.port), "--cafile",
                tls["ca"], "--cert", tls["cert"], "--key", tls["key"]]

    def start_recorder(self):
        """Everything the boards and operators say in public, as it comes. The recorder is started
        again whenever it ends, which it does when the broker is away for long."""
        topics = ["node/+/status", "node/+/info", "node/+/report", "node/+/task/#", "node/+/tele/#",
                  "node/+/evt/#", "ctl/all/config"]
        args = self.mosquitto_args("mosquitto_sub") + ["-i", OPERATOR + "-recorder", "-q", "1",
                                                       "-F", "%U %t %p"]
        for topic in topics:
            args += ["-t", "laird/v1/%s/%s" % (self.name, topic)]

        def record():
            while not self.done.is_set():
                with open(self.recording, "ab") as out:
                    self.recorder = subprocess.Popen(args, stdout=out, stderr=subprocess.DEVNULL,
                                                     start_new_session=True)
                self.recorder.wait()
                self.done.wait(0.3)

        threading.Thread(target=record, daemon=True).start()

    def env_of(self, _board):
        return dict(os.environ)

    def start_board(self, node):
        board = self.boards[node]
        board.started += 1
        with open(os.path.join(self.folder, node + ".log"), "ab") as log:
            board.process = subprocess.Popen(
                [os.path.join(self.programs, "laird"), "run", "--config", self.config_path(node),
                 "--view", "none"], env=self.env_of(board), stdout=log, stderr=log,
                start_new_session=True)

    def kill_board(self, node, how=signal.SIGKILL):
        process = self.boards[node].process
        if process is None:
            return
        process.send_signal(how)
        process.wait(30)
        self.boards[node].process = None

    def start(self):
        self.start_broker()
        self.start_recorder()
        for node in self.boards:
            self.start_board(node)

    def stop(self):
        """Boards say goodbye; the recorder hears them out."""
        self.leaving = True
        for board in self.boards.values():
            if board.process is not None:
                board.process.send_signal(signal.SIGTERM)
        for board in self.boards.values():
            if board.process is not None:
                try:
                    board.process.wait(30)
                except subprocess.TimeoutExpired:
                    board.process.kill()
                    board.process.wait(10)
                board.process = None
        time.sleep(0.5)
        self.done.set()
        for process in (self.recorder, self.broker):
            if process is not None and process.poll() is None:
                process.terminate()
                process.wait(10)

    # --- speaking to it ---

    def ctl(self, *args, check=True):
        """lairctl in the operator's name, to the fleet."""
        return self.lairctl(*args, check=check)

    def messages(self):
        """What was recorded so far: (unix seconds, topic without its stem, payload text)."""
        stem = "laird/v1/%s/" % self.name
        try:
            with open(self.recording, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    parts = line.rstrip("\n").split(" ", 2)
                    if len(parts) == 3 and parts[1].startswith(stem) and line.endswith("\n"):
                        yield float(parts[0]), parts[1][len(stem):], parts[2]
        except FileNotFoundError:
            return

    def newest(self, what, age_s):
        """As latest(), of boards heard within that many seconds."""
        out = {}
        for at, topic, payload in self.messages():
            level = topic.split("/")
            if level[0] == "node" and "/".join(level[2:]) == what and payload:
                out[level[1]] = (at, payload)
        since = time.time() - age_s
        return {node: json.loads(text) for node, (at, text) in out.items() if at >= since}

    def latest(self, what):
        """The newest JSON of node/<id>/<what>, by board."""
        out = {}
        for _, topic, payload in self.messages():
            level = topic.split("/")
            if level[0] == "node" and "/".join(level[2:]) == what and payload:
                out[level[1]] = json.loads(payload)
        return out


def fashion(trainer, **params):
    data = {"format": "idx", "images": DATA + "/train-images-idx3-ubyte.gz",
            "labels": DATA + "/train-labels-idx1-ubyte.gz"}
    return {"trainer": trainer, "params": {"data": data, **params}}
