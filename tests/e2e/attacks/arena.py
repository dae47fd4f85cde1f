"""A fleet of real boards behind a real broker, one of which is taken by an attacker: its certificate and its key, and so
its place at the broker and its seal, are the attacker's. What happens is judged by what the boards report, count and
journal."""

import glob
import json
import os
import re
import ssl
import socket
import struct
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../fleet"))
sys.path.insert(0, os.path.join(HERE, "../formats"))

from boards import OperatedFleet  # noqa: E402
from harness import TOP, free_port, wait_until  # noqa: E402
from peer import SpeakingPeer, varint  # noqa: E402

BUDGET_W = 30.0  # a board of this test wants at most 15 W above its floor
FLOOR_W = 2.0


class Arena(OperatedFleet):
    """Three honest boards, and a fourth that falls."""

    honest = ("n-1", "n-2", "n-3")
    evil = "n-4"
    boards = honest + (evil,)
    nodes = boards
    fleet_options = {"budget": {"power": "%dW" % BUDGET_W}}

    @classmethod
    def configure(cls, board):
        # A port that is free now may be given again before the board has it.
        board.metrics_port = next(port for port in iter(free_port, 0) if port not in
                                  {getattr(b, "metrics_port", 0) for b in cls.agents.values()})
        board.config["metrics"] = {"listen": "127.0.0.1:%d" % board.metrics_port}

    def setUp(self):
        self.assertTrue(wait_until(self.shares_are_out, 40, 0.3), self.used_w())

    def shares_are_out(self):
        return sum(self.used_w().values()) > 0.95 * BUDGET_W

    def counters(self, node, name):
        """A family of counters, by its labels."""
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.agents[node].metrics_port,
                                    timeout=20) as answer:
            text = answer.read().decode()
        return {labels or "": float(value) for labels, value in re.findall(
            r"^%s(?:\{([^}]*)\})? (\S+)$" % name, text, re.M)}

    def packets(self, node, result):
        return int(self.counters(node, "laird_coop_packets_total")['result="%s"' % result])

    def rounds(self, node):
        return int(self.counters(node, "laird_coop_rounds_total")[""])

    def used_w(self):
        """What each board says it may use."""
        rows = self.lairctl("get", "nodes", "-o", "json").json()
        return {r["node"]: r["report"]["shares"]["power"]["enforced_w"] for r in rows
                if r["report"] and r["live"]}

    def assert_budget_holds(self, seconds, boards=None):
        """These never use more than the fleet's budget, less the floor of the evil one if it is not among them. Boards
        tell of their shares once a second, each at a time of its own: a share that moves may be told by both ends for
        so long, and what is used twice stays."""
        most, over_since = 0.0, None
        limit = BUDGET_W - (0.0 if boards and self.evil in boards else FLOOR_W) + 0.01
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or over_since is not None:
            used = self.used_w()
            total = sum(used.get(node, 0.0) for node in boards or self.honest)
            now = time.monotonic()
            if total <= limit:
                most, over_since = max(most, total), None
            else:
                over_since = over_since or now
                self.assertLess(now - over_since, 3.0, "%.3f W are used of %.3f W" % (total, limit))
            time.sleep(0.3)
        return most

    def fences(self):
        """How often an honest board fell to its floor, by its log."""
        return {node: self.agents[node].log().count("only the floor is used") for node in self.honest}

    def journal_bytes(self, node):
        return sum(os.path.getsize(path) for path in
                   glob.glob(os.path.join(self.agents[node].state, "journal", "*")))

    def fall(self):
        """The fourth board's agent dies, and the attacker comes in its place, to the end of the test."""
        self.addCleanup(self.agents[self.evil].start)
        self.agents[self.evil].kill()
        return SpeakingPeer(self, self.evil).meet(*self.honest)

    def cpu_s(self, node):
        with open("/proc/%d/stat" % self.agents[node].process.pid, encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class RawClient:
    """MQTT 5 by hand, for what no decent client would send, and as fast as the socket takes it."""

    def __init__(self, test, name, client_id):
        files = test.pki.files(name)
        context = ssl.create_default_context(cafile=files["ca"])
        context.load_cert_chain(files["cert"], files["key"])
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", test.broker.port), 10),
                                          server_hostname="localhost")
        self.socket.settimeout(10)
        body = b"\0\4MQTT\5\2\0\0\0" + self.text(client_id)  # clean start, no keep alive
        self.socket.sendall(b"\x10" + varint(len(body)) + body)
        self.connack = self.socket.recv(256)

    @staticmethod
    def text(value):
        return struct.pack(">H", len(value)) + value.encode()

    @classmethod
    def publish_bytes(cls, topic, payload):
        body = cls.text(topic) + b"\0" + payload  # QoS 0, no properties
        return b"\x30" + varint(len(body)) + body

    @property
    def connected(self):
        """Whether the broker let it in."""
        return len(self.connack) > 3 and self.connack[0] == 0x20 and self.connack[3] == 0

    def send(self, packets, per_second):
        """All of them, in bursts of a hundredth of a second; how long it took."""
        began = time.monotonic()
        step = max(1, per_second // 100)
        for first in range(0, len(packets), step):
            self.socket.sendall(b"".join(packets[first:first + step]))
            ahead = began + (first + step) / per_second - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
        return time.monotonic() - began

    def close(self):
        self.socket.close()


def time_to_settle():
    """Longer than any lease of these boards."""
    time.sleep(12)


def coop_topic(source, target):
    return TOP + "node/%s/coop/%s" % (source, target)


__all__ = ["Arena", "RawClient", "SpeakingPeer", "BUDGET_W", "FLOOR_W", "TOP", "coop_topic", "json",
           "time_to_settle", "wait_until"]
