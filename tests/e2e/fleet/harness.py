"""A real fleet's surroundings in a temporary folder: certificates by `lairctl pki`, a mosquitto with
TLS and the ACL of `lairctl broker config` on a free loopback port, and clients to talk to it."""

import base64
import getpass
import itertools
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

BIN = os.environ.get("LAIRD_BIN", "build/release/bin")
LAIRCTL = os.path.abspath(os.path.join(BIN, "lairctl"))
DRIVER = os.path.abspath(os.environ.get("LAIRD_DRIVER", os.path.join(BIN, "mqtt_client_driver")))
MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
FLEET = "lab"
TOP = "laird/v1/%s/" % FLEET


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def lairctl(*args, code=0):
    """Runs it, asserts its exit code, gives what it said on both outputs."""
    done = subprocess.run([LAIRCTL, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=30, check=False)
    text = done.stdout.decode()
    assert done.returncode == code, "lairctl %s: exit %d, not %d\n%s" % (
        " ".join(args), done.returncode, code, text)
    return text


class Pki:
    """The certificates of a fleet with some boards and operators."""

    def __init__(self, root, nodes=("n-1", "n-2"), operators=("op-alice",),
                 hosts=("localhost", "127.0.0.1")):
        self.folder = os.path.join(root, "pki")
        host_args = [arg for host in hosts for arg in ("--host", host)]
        lairctl("pki", "init", "--fleet", FLEET, "--dir", self.folder, *host_args)
        if nodes:
            lairctl("pki", "issue", "node", *nodes, "--dir", self.folder)
        if operators:
            lairctl("pki", "issue", "operator", *operators, "--dir", self.folder)

    def files(self, name):
        """ca, cert and key of a board or an operator."""
        kind, stem = ("operators", "op") if name.startswith("op-") else ("nodes", "node")
        at = os.path.join(self.folder, kind, name)
        return {"ca": os.path.join(at, "ca.crt"), "cert": os.path.join(at, stem + ".crt"),
                "key": os.path.join(at, stem + ".key")}


class Broker:
    """mosquitto with the generated configuration. It keeps nothing over a restart."""

    def __init__(self, root, pki, port=None):
        self.port = port or free_port()
        self.folder = os.path.join(root, "mosquitto")
        self.log_path = os.path.join(root, "mosquitto.log")
        self.pki = pki
        self.process = None
        self.configure()

    def configure(self, *more):
        lairctl("broker", "config", "--pki", self.pki.folder, "--out", self.folder, "--listen",
                "127.0.0.1", "--port", str(self.port), "--user", getpass.getuser(), "--data", "",
                *more)

    @property
    def url(self):
        return "mqtts://localhost:%d" % self.port

    def start(self):
        assert self.process is None
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([MOSQUITTO, "-c", self.folder + "/mosquitto.conf"],
                                            stdout=log, stderr=log)
        wait_until(lambda: listening(self.port) or self.process.poll() is not None, 5)
        assert self.process.poll() is None, self.log()
        return self

    def kill(self, how=signal.SIGKILL):
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(how)
            self.process.wait(10)
            self.process = None
            os.rename(self.log_path, self.log_path + ".old")

    def log(self):
        try:
            with open(self.log_path, encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""


class Client:
    """Our MQTT client in a process of its own (client_driver.cpp)."""

    counter = itertools.count()

    def __init__(self, name, broker, pki, **more):
        # Operators come and go, each time as somebody new; a board has its id and its session.
        passing = name.startswith("op-")
        options = {"client_id": "%s-%d" % (name, next(Client.counter)) if passing else name,
                   "keep_session": not passing, "brokers": [broker.url], "subscriptions": [],
                   **pki.files(name)}
        options.update(more)
        self.name = name
        self.seen = []
        self.unclaimed = []
        self.lines = queue.Queue()
        self.process = subprocess.Popen([DRIVER, json.dumps(options)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def tell(self, op, **more):
        self.process.stdin.write((json.dumps({"op": op, **more}) + "\n").encode())
        self.process.stdin.flush()

    def publish(self, topic, payload, **more):
        self.tell("publish", topic=topic, payload=payload, **more)

    def expect(self, ev, timeout_s=10.0, **fields):
        """The first event of the kind with these fields that was not given before."""
        def fits(event):
            return event["ev"] == ev and all(event.get(k) == v for k, v in fields.items())
        for event in self.unclaimed:
            if fits(event):
                self.unclaimed.remove(event)
                return event
        deadline = time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            try:
                event = self.lines.get(timeout=max(left, 0.01))
            except queue.Empty:
                raise AssertionError("%s: no %s %s; seen %s" % (
                    self.name, ev, fields, self.seen[-20:])) from None
            if event is None:
                raise AssertionError("%s ended; seen %s" % (self.name, self.seen[-20:]))
            self.seen.append(event)
            if fits(event):
                return event
            self.unclaimed.append(event)

    def expect_up(self, timeout_s=10.0):
        return self.expect("link", timeout_s, connected=True)

    def message(self, topic=None, timeout_s=10.0):
        event = self.expect("message", timeout_s, **({"topic": topic} if topic else {}))
        event["payload"] = base64.b64decode(event["payload64"])
        event["correlation"] = base64.b64decode(event["correlation64"])
        return event

    def counters(self):
        self.tell("counters")
        return self.expect("counters")

    def nothing_within(self, seconds, ev):
        time.sleep(seconds)
        events = []
        while not self.lines.empty():
            events.append(self.lines.get())
        self.seen += [e for e in events if e]
        self.unclaimed += [e for e in events if e]
        found = [e for e in events if e and e["ev"] == ev]
        assert not found, found

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()
        self.reader.join(5)
        self.process.stdout.close()


def wait_until(condition, seconds, every=0.02):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(every)
    return bool(condition())


class FleetTest(unittest.TestCase):
    """A test with a folder, a PKI and a broker of its class; clients end with their test."""

    nodes = ("n-1", "n-2")
    operators = ("op-alice",)

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="laird-fleet-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.pki = Pki(cls.root, cls.nodes, cls.operators)
        cls.broker = Broker(cls.root, cls.pki)
        cls.addClassCleanup(cls.broker.kill)
        cls.broker.start()

    def client(self, name, **more):
        client = Client(name, self.broker, self.pki, **more)
        self.addCleanup(client.kill)
        return client

    def up(self, name, **more):
        client = self.client(name, **more)
        client.expect_up()
        return client


class Board:
    """A real agent in the fleet, with the built-in trainers."""

    def __init__(self, test, node, members=None, **more):
        self.node = node
        self.folder = tempfile.mkdtemp(prefix="board-", dir=test.root)
        self.log_path = os.path.join(self.folder, "log")
        with open(os.path.join(test.pki.folder, "operators/op-alice/signing.pub"),
                  encoding="utf-8") as f:
            key = f.read().strip()
        train = os.path.abspath(os.path.join(BIN, "laird-train"))
        config = {
            "node": node, "state_dir": os.path.join(self.folder, "state"), "slice": "0.05s",
            "board": {"lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}], "memory": "1GB"},
            "trainers": {kind: {"exec": [train, kind]} for kind in ("linear", "softmax")},
            "fleet": {"name": FLEET, "brokers": [test.broker.url], "tls": test.pki.files(node),
                      "operators": [{"name": "op-alice", "key": key,
                                     "may": more.pop("may", ["*"])}],
                      "members": {name: {} for name in members or [node]},
                      "budget": {"power": "40W"}, "tick": "200ms", "lease": "6s"},
        }
        config.update(more)
        self.config_path = os.path.join(self.folder, "laird.json")
        with open(self.config_path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        self.process = None
        test.addCleanup(self.stop)

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.abspath(os.path.join(BIN, "laird")), "run", "--config", self.config_path],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self, how=signal.SIGTERM):
        if self.process is not None:
            self.process.send_signal(how)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
            self.process = None


def sign(pki, operator, text):
    """The envelope around `text`, signed by openssl and not by us."""
    at = os.path.join(pki.folder, "operators", operator, "signing.key")
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"laird-cmd-v1\n" + text.encode())
        file.flush()
        sig = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", at, "-in",
                              file.name], check=True, stdout=subprocess.PIPE).stdout
    return {"s": "laird.cmd/1.0", "signed": text, "op": operator,
            "sig": base64.b64encode(sig).decode()}


def command(to, verb, body=None, **more):
    """The text of a command that is good for a minute."""
    now = int(time.time() * 1000)
    fields = {"id": "c-%d-%d" % (os.getpid(), next(Client.counter)), "fleet": FLEET, "to": to,
              "verb": verb, "issued_ms": now, "expires_ms": now + 60000, "body": body or {}}
    fields.update(more)
    return json.dumps(fields)
