"""Another version on the boards of a fleet, in waves: well it stays, broken it stops in the first wave, and the board
goes back by itself, without a network."""

import json
import os
import random
import shutil
import subprocess
import tempfile
import time
import unittest

from upgrading import PackagedBoard, own_version, package, program

from boards import OperatedFleet, task
from harness import command, sign, wait_until

TOOLS = ("apt-ftparchive", "gpg", "apt-get", "dpkg-deb", "dpkg-query")
COUNT = int(os.environ.get("LAIRD_UPGRADE_BOARDS", "20"))
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BROKEN = b"#!/bin/sh\nexit 1\n"
HANGS = b"#!/bin/sh\nexec sleep 1000\n"


@unittest.skipUnless(os.getuid() == 0, "not root: dpkg installs only for root")
@unittest.skipUnless(all(shutil.which(tool) for tool in TOOLS), "apt-utils or gnupg is not installed")
class Upgraded(OperatedFleet):
    """Boards with the version of this build; the repository has this one, a newer one, and two that are broken."""

    boards = ()
    nodes = ()
    count = 4
    health = "30s"

    @classmethod
    def setUpClass(cls):
        cls.nodes = tuple("n-%d" % (i + 1) for i in range(cls.count))
        super().setUpClass()
        cls.gnupg = tempfile.mkdtemp(prefix="gpg-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.gnupg, ignore_errors=True)
        cls.addClassCleanup(subprocess.run, ["gpgconf", "--homedir", cls.gnupg, "--kill", "all"], check=False)
        subprocess.run(["gpg", "--batch", "--homedir", cls.gnupg, "--passphrase", "", "--quick-generate-key",
                        "repo@localhost", "ed25519", "sign", "never"], check=True, capture_output=True)
        cls.repo = os.path.join(cls.root, "repo")
        cls.old = own_version()
        debs = cls.packages(**{cls.old: program(cls.old), "0.2.0": program("0.2.0"), "0.3.0": BROKEN, "0.4.0": HANGS})
        for node in cls.nodes:
            board = PackagedBoard(cls, node, cls.nodes, debs[cls.old])
            cls.agents[node] = board
            cls.addClassCleanup(board.kill)
            board.start()
        cls.boards = cls.nodes
        cls.wait_for_boards()

    @classmethod
    def packages(cls, **contents):
        arch = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
        folder = tempfile.mkdtemp(dir=cls.root)
        debs = {version: package(folder, version, content, arch) for version, content in contents.items()}
        done = subprocess.run([os.path.join(TOP, "packaging/make_repo.sh"), cls.repo, "stable", "repo@localhost",
                               *debs.values()], capture_output=True, text=True, check=False,
                              env={"PATH": os.environ["PATH"], "GNUPGHOME": cls.gnupg})
        assert done.returncode == 0, done.stderr
        return debs

    def upgrade(self, version, *more, code=0):
        done = self.run_lairctl("upgrade", version, "--settle", "3s", "--within", "60s", *more, timeout_s=300)
        self.assertEqual(done.code, code, "%r\n%s" % (done, "\n".join(
            "%s: %s" % (n, b.upgrade_log()[-400:]) for n, b in self.agents.items())))
        return done

    def versions(self):
        rows = self.lairctl("get", "nodes", "-o", "json").json()
        return {r["node"]: (r["info"] or {}).get("version") for r in rows if r["live"]}

    def settled(self, node):
        return wait_until(lambda: not os.path.exists(self.agents[node].own + "/trying.json"), 60, 0.2)

    def live_tasks(self):
        return sorted(t["name"] for t in self.tasks() if t["state"] not in ("failed", "cancelled", "exhausted"))


class Waves(Upgraded):

    count = COUNT

    def test_a_broken_version_stops_in_wave_one_and_a_good_one_reaches_all(self):
        names = []
        for node in self.nodes[:3]:
            self.submit(task("long-" + node, deadline="2h", epochs=100000), "--node", node)
            names.append("long-" + node)
        self.assertTrue(wait_until(lambda: all(t["samples"] > 0 for t in self.tasks()) and
                                   self.live_tasks() == sorted(names), 60, 0.5), self.tasks())
        learnt = {t["name"]: t["samples"] for t in self.tasks()}

        began = time.monotonic()
        done = self.upgrade("0.3.0", "--waves", "1,25%,all", code=1)
        self.assertIn("stopped in wave 1: n-1", done.err)
        self.assertIn("went back to " + self.old, done.err)
        self.assertIn("0 of %d boards have 0.3.0" % COUNT, done.err)
        print("back after %.0f s" % (time.monotonic() - began))
        self.assertTrue(self.settled("n-1"))
        self.assertEqual({b.installed() for b in self.agents.values()}, {self.old})
        self.assertEqual([n for n, b in self.agents.items() if b.upgrade_log()], ["n-1"])
        self.assertTrue(wait_until(lambda: self.live_tasks() == sorted(names), 30, 0.5), self.tasks())

        said = self.upgrade("0.2.0", "--waves", "1,25%,all", "--dry-run").out
        self.assertRegex(said, r"wave 1 of \d: n-1\n")
        self.assertEqual({b.installed() for b in self.agents.values()}, {self.old})
        done = self.upgrade("0.2.0", "--waves", "1,25%,all")
        self.assertIn("%d of %d boards have 0.2.0" % (COUNT, COUNT), done.out)
        self.assertEqual({b.installed() for b in self.agents.values()}, {"0.2.0"})
        self.assertEqual(self.versions(), {n: "0.2.0" for n in self.nodes})
        # They go on where they were.
        self.assertTrue(wait_until(lambda: self.live_tasks() == sorted(names) and all(
            t["samples"] > learnt[t["name"]] for t in self.tasks()), 60, 0.5), self.tasks())
        for node in self.nodes:
            self.assertTrue(self.settled(node))
        self.assertIn("%d of %d boards have 0.2.0" % (COUNT, COUNT), self.upgrade("0.2.0").out)  # again: nothing to do


class Trials(Upgraded):

    count = 3
    health = "8s"

    def send(self, node, version, **more):
        operator = self.up("op-alice")
        text = command(node, "upgrade", {"version": version}, **more)
        operator.publish("laird/v1/lab/ctl/%s/cmd/upgrade" % node, json.dumps(sign(self.pki, "op-alice", text)), qos=1)
        return text

    def back_on_old(self, node):
        board = self.agents[node]
        return wait_until(lambda: board.installed() == self.old and not os.path.exists(board.own + "/trying.json") and
                          board.service is None, 60, 0.2)

    def test_a_version_that_hangs_goes_back_without_a_network(self):
        board = self.agents["n-1"]
        self.send("n-1", "0.4.0")
        self.assertTrue(wait_until(lambda: board.installed() == "0.4.0", 60, 0.1), board.upgrade_log())
        os.rename(self.repo, self.repo + ".away")
        self.addCleanup(lambda: os.path.exists(self.repo + ".away") and os.rename(self.repo + ".away", self.repo))
        self.broker.kill()
        try:
            self.assertTrue(self.back_on_old("n-1"), board.upgrade_log())
        finally:
            self.broker.start()
            os.rename(self.repo + ".away", self.repo)
        self.assertIn("the agent does not answer", board.upgrade_log())
        self.wait_for_boards()

    def test_a_version_that_nobody_confirms_goes_back(self):
        board = self.agents["n-2"]
        self.send("n-2", "0.2.0")
        self.assertTrue(wait_until(lambda: "no operator has confirmed" in board.upgrade_log(), 90, 0.2),
                        board.upgrade_log())
        self.assertTrue(self.back_on_old("n-2"), board.upgrade_log())
        self.wait_for_boards()

    def test_a_power_cut_in_a_trial_goes_back(self):
        board = self.agents["n-3"]
        chance = random.Random(7)
        for version in ("0.3.0", "0.2.0", "0.4.0"):
            self.send("n-3", version)
            self.assertTrue(wait_until(lambda: os.path.exists(board.own + "/trying.json"), 60, 0.01), board.upgrade_log())
            time.sleep(chance.uniform(0, 0.5))
            board.cut_power()
            self.assertTrue(self.back_on_old("n-3"), board.upgrade_log())
        self.wait_for_boards()

    def test_requests_that_are_forged_stale_or_of_no_version_change_nothing(self):
        board = self.agents["n-1"]
        before = board.upgrade_log()
        place = board.state + "/upgrade"
        os.makedirs(place, exist_ok=True)
        now = int(time.time() * 1000)
        good = sign(self.pki, "op-alice", command("n-1", "upgrade", {"version": "0.2.0"}))
        stale = sign(self.pki, "op-alice", command("n-1", "upgrade", {"version": "0.2.0"}, issued_ms=now - 700000,
                                                   expires_ms=now - 100000))
        other = sign(self.pki, "op-alice", command("n-2", "upgrade", {"version": "0.2.0"}))
        verb = sign(self.pki, "op-alice", command("n-1", "ping", {"version": "0.2.0"}))
        option = sign(self.pki, "op-alice", command("n-1", "upgrade", {"version": "-o=Dir=x"}))
        absent = sign(self.pki, "op-alice", command("n-1", "upgrade", {"version": "7.7.7"}))
        forged = {**good, "signed": good["signed"].replace("0.2.0", "0.3.0")}
        for text in ("", "{}", "x" * 5000, *map(json.dumps, (stale, other, verb, option, absent, forged))):
            with open(place + "/new", "w", encoding="utf-8") as out:
                out.write(text)
            os.rename(place + "/new", place + "/request.json")
            self.assertTrue(wait_until(lambda: not os.path.exists(place + "/request.json") and board.service is None, 30,
                                       0.05), board.upgrade_log())
        # What was done once is not done again, however late the broker sends it.
        again = json.dumps(sign(self.pki, "op-alice", command("n-1", "upgrade", {"version": self.old})))
        for text in (again, json.dumps(absent), again):
            with open(place + "/new", "w", encoding="utf-8") as out:
                out.write(text)
            os.rename(place + "/new", place + "/request.json")
            self.assertTrue(wait_until(lambda: not os.path.exists(place + "/request.json") and board.service is None, 30,
                                       0.05), board.upgrade_log())
        self.assertEqual(board.upgrade_log()[len(before):].count("is installed already"), 1)
        self.assertEqual(board.upgrade_log()[len(before):].count("op-alice asked for 7.7.7"), 1)
        self.assertFalse(os.path.exists(board.own + "/trying.json"))
        self.assertEqual(board.installed(), self.old)
        said = board.upgrade_log()[len(before):]
        self.assertIn("signature", said)
        self.assertIn("expired", said)
        self.assertNotIn("going back", said)

    def test_a_changed_package_is_not_installed(self):
        board = self.agents["n-1"]
        self.packages(**{"0.5.0": program("0.5.0")})
        deb = [f for f in os.listdir(self.repo + "/pool/stable") if "_0.5.0_" in f][0]
        with open(os.path.join(self.repo, "pool/stable", deb), "r+b") as file:
            file.seek(300)
            file.write(b"~~~~")
        self.send("n-1", "0.5.0")
        self.assertTrue(wait_until(lambda: "laird=0.5.0 failed" in board.upgrade_log(), 60, 0.2), board.upgrade_log())
        self.assertEqual(board.installed(), self.old)


if __name__ == "__main__":
    unittest.main(verbosity=2)
