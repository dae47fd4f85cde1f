"""Two agents under one name: a copied config, a copied key. They do not fight for the connection, the
one thrown out says so loudly and falls to its floor at once, and no share is used twice."""

import os
import time
import unittest

from boards import Board, OperatedFleet
from harness import wait_until


FLOOR_W = 2  # of each member, in boards.py


class Twin(Board):
    """A second agent of a board's name, with a state folder of its own."""

    def __init__(self, test, node, members, **fleet):
        super().__init__(test, node, members, **fleet)
        self.root = os.path.join(test.root, node + "-twin")
        os.makedirs(self.root)
        self.state = self.config["state_dir"] = os.path.join(self.root, "state")
        self.log_path = os.path.join(self.root, "agent.log")
        self.config_path = os.path.join(self.root, "laird.json")


class Takeover(OperatedFleet):

    def enforced_w(self, node):
        rows = self.lairctl("get", "nodes", "-o", "json").json()
        return {r["node"]: r for r in rows}[node]["report"]["shares"]["power"]["enforced_w"]

    def test_the_newcomer_stays_and_the_other_says_so_and_keeps_away(self):
        first = self.agents["n-1"]
        self.assertTrue(wait_until(lambda: self.enforced_w("n-1") > 10, 20, every=0.3))
        twin = Twin(type(self), "n-1", self.boards)
        self.addCleanup(twin.kill)
        twin.start()
        self.assertTrue(wait_until(lambda: "another client came under the name 'n-1'"
                                   in first.log(), 15), first.log()[-1000:])
        # Its share ended with that word; it works on within its floor.
        self.assertTrue(wait_until(lambda: "only the floor is used" in first.log(), 5),
                        first.log()[-1000:])
        # The newcomer is let in with nothing, after any lease of the name has ended, and gets its
        # share from its peers.
        self.assertTrue(wait_until(lambda: "shares agreed with peers are in use" in twin.log(), 40),
                        twin.log()[-1000:])
        self.assertTrue(wait_until(lambda: self.enforced_w("n-1") > 10, 30, every=0.3))
        # Thrown out, the first came back once and saw the later one; that one came back once.
        for agent in (first, twin):
            self.assertLessEqual(agent.log().count("joined the broker"), 3, agent.log())
        before = [agent.log().count("joined the broker") for agent in (first, twin)]
        time.sleep(8)
        self.assertEqual(before, [a.log().count("joined the broker") for a in (first, twin)])
        self.assertIsNone(first.process.poll())
        verdict = self.judged("n-1", "n-2", "n-3", "n-1-twin")
        self.assertEqual(4, verdict["nodes"])
        self.assertEqual(0, verdict["excess_parts"], verdict)
        # The budget keeps one floor back for each name. Two boards of one name are one more than it
        # was made for, and each works within that floor: no more than this is used too much.
        self.assertLessEqual(verdict["most_over_budget_w"], FLOOR_W)


if __name__ == "__main__":
    unittest.main(verbosity=2)
