"""A board's beginning and end: enrolled it runs with the files as they were made, purged nothing of it is
left with the broker and its certificate opens no connection."""

import json
import os
import shutil
import stat
import unittest

from boards import Board, OperatedFleet, task

from harness import lairctl as plain_lairctl
from harness import wait_until


class Enroll(OperatedFleet):

    boards = ("n-1", "n-2")
    nodes = ("n-1", "n-2")

    def enrolled(self, node):
        """The new board with its files as enroll made them, but for the paths of this test."""
        folder = os.path.join(self.root, "enroll", node)
        with open(folder + "/laird.json", encoding="utf-8") as file:
            made = json.load(file)
        shutil.copytree(folder + "/tls", os.path.join(self.root, "etc", node))
        at = os.path.join(self.root, "etc", node)
        board = Board.__new__(Board)
        board.node, board.root = node, os.path.join(self.root, node)
        board.state = os.path.join(board.root, "state")
        board.socket = os.path.join(board.state, "laird.sock")
        board.log_path = os.path.join(board.root, "agent.log")
        board.config_path = os.path.join(board.root, "laird.json")
        board.process = None
        os.makedirs(board.root)
        usual = self.agents["n-1"].config
        for name in ("ca.crt", "node.crt", "node.key"):
            made["fleet"]["tls"][{"ca.crt": "ca", "node.crt": "cert", "node.key": "key"}[name]] = \
                os.path.join(at, name)
        made.update(state_dir=board.state, board=usual["board"], trainers=usual["trainers"],
                    slice="0.05s")
        made["fleet"].update(tick="0.2s", lease="5s")
        board.config = made
        self.addCleanup(board.kill)
        return board.start()

    def nodes_now(self):
        return {r["node"]: r for r in self.lairctl("get", "nodes", "-o", "json").json()}

    def test_from_enroll_to_purge(self):
        self.lairctl("fleet", "init", "--budget", "60W", "--floor", "2W")
        out = ["--pki", self.pki.folder, "--out", os.path.join(self.root, "enroll")]
        done = self.lairctl("enroll", "n-9", "--floor", "3W", *out)
        self.assertIn("ssh BOARD 'sudo install -d", done.out)
        # /etc/laird is not for an ordinary user to look into.
        self.assertIn(" && sudo laird check /etc/laird/laird.json && ", done.out)
        key = os.path.join(self.root, "enroll", "n-9", "tls", "node.key")
        self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
        self.lairctl("enroll", "n-9", *out, code=4)
        self.lairctl("enroll", "N 9", *out, code=2)
        board = self.enrolled("n-9")
        self.assertTrue(wait_until(lambda: self.nodes_now().get("n-9", {}).get("live"), 20, 0.3),
                        board.log())

        def has_its_floor():
            shares = (self.nodes_now()["n-9"]["report"] or {}).get("shares")
            return shares and shares["power"]["enforced_w"] is not None and \
                shares["power"]["enforced_w"] >= 3.0
        self.assertTrue(wait_until(has_its_floor, 30, 0.3), self.nodes_now()["n-9"])
        self.submit(task("last", target=100), "--node", "n-9")
        self.wait_for_task("last", "succeeded")

        refused = self.lairctl("purge", "n-9", "--pki", self.pki.folder, "--yes", code=4)
        self.assertIn("lairctl drain n-9", refused.err)
        board.process.terminate()
        board.process.wait(20)
        self.assertTrue(wait_until(lambda: not self.nodes_now()["n-9"]["live"], 20, 0.3))
        done = self.lairctl("purge", "n-9", "--pki", self.pki.folder, "--yes")
        self.assertIn("cleared 4 topics", done.out)
        self.assertIn("revoked 1 certificate", done.out)
        self.assertIn("broker config --force", done.out)
        self.assertNotIn("n-9", self.nodes_now())
        self.assertEqual(self.tasks(name="last"), [])
        plan = self.lairctl("fleet", "status", "-o", "json").json()
        self.assertEqual(plan["boards"], 2)
        self.lairctl("purge", "n-9", "--pki", self.pki.folder, "--yes")  # again: nothing left to do
        self.lairctl("purge", "n-77", "--pki", self.pki.folder, "--yes", code=3)
        # With the list of revoked certificates the broker lets it in no more.
        self.broker.configure("--force")
        self.broker.kill()
        self.broker.start()
        self.wait_for_boards()
        board.start()
        self.assertFalse(wait_until(lambda: "joined the broker" in board.log().split("stopping")[-1],
                                    6, 0.3))
        self.assertNotIn("n-9", self.nodes_now())

    def test_offline_founds_a_fleet(self):
        out = os.path.join(self.root, "founding")
        self.lairctl("enroll", "f-1", "f-2", "--offline", "--budget", "30W", "--floor", "2W", "--pki",
                     self.pki.folder, "--out", out)
        for node in ("f-1", "f-2"):
            with open(os.path.join(out, node, "laird.json"), encoding="utf-8") as file:
                made = json.load(file)
            self.assertEqual(made["node"], node)
            self.assertEqual(made["fleet"]["members"], {"f-1": {"power": "2W"},
                                                        "f-2": {"power": "2W"}})
            self.assertEqual(made["fleet"]["operators"][0]["name"], "op-alice")
        listed = plain_lairctl("pki", "list", "--dir", self.pki.folder)
        self.assertIn("f-2", listed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
