"""Boards that are drained give up their shares and their seats, and can be switched off together."""

import time
import unittest

from boards import OperatedFleet, task
from harness import wait_until

LEASE_S = 5


class Drained(OperatedFleet):
    """Five boards keep the register of the fleet; three of them are a majority."""

    boards = ("n-1", "n-2", "n-3", "n-4", "n-5")
    nodes = boards
    away = ("n-1", "n-2", "n-3")

    def rows(self):
        return {r["node"]: r for r in self.lairctl("get", "nodes", "-o", "json").json()}

    def given_out_w(self):
        rows = self.rows()
        return sum(r["report"]["shares"]["power"]["enforced_w"] for n, r in rows.items()
                   if n not in self.away)

    def unfenced(self, nodes):
        rows = self.rows()
        return all(rows[n]["live"] and not rows[n]["report"]["fenced"] for n in nodes)

    def test_most_of_the_fleet_is_switched_off_and_comes_back(self):
        staying = [n for n in self.boards if n not in self.away]
        self.assertTrue(wait_until(lambda: self.unfenced(self.boards), 30, every=0.5))
        self.submit(task("last", epochs=3, target=-1.0), "--node", "n-1")

        done = self.lairctl("drain", *self.away, "--wait", "60s")
        for node in self.away:
            self.assertIn(node + " is drained", done.out + done.err)
        self.assertEqual([t["state"] for t in self.tasks(name="last")], ["exhausted"])
        self.assertEqual({self.rows()[n]["state"] for n in self.away}, {"drained"})
        # 12 W each was a fair share of five; the two that stay have all that they can use.
        self.assertTrue(wait_until(lambda: self.given_out_w() > 30, 20, every=0.5),
                        self.given_out_w())
        self.assertEqual(self.lairctl("fleet", "status", "-o", "json").json()["fenced"], 0)

        for node in self.away:
            self.agents[node].kill()
        time.sleep(2 * LEASE_S)
        self.assertTrue(self.unfenced(staying))
        self.assertGreater(self.given_out_w(), 30)

        for node in self.away:
            self.agents[node].start()
        self.wait_for_boards()
        self.assertEqual({self.rows()[n]["state"] for n in self.away}, {"drained"})
        self.lairctl("undrain", *self.away)
        self.assertTrue(wait_until(lambda: self.unfenced(self.boards), 30, every=0.5), self.rows())
        self.submit(task("again", target=100), "--node", "n-1")
        self.wait_for_task("again", "succeeded")

    def test_waiting_for_a_board_that_does_not_finish_ends_in_time_and_says_what_is_left(self):
        self.submit(task("long", epochs=100000), "--node", "n-5")
        done = self.lairctl("drain", "n-5", "--wait", "2s", code=124)
        self.assertIn("n-5 is draining with 1 tasks", done.err)
        self.lairctl("cancel", "long", "--yes")
        self.lairctl("undrain", "n-5")
        self.lairctl("drain", "n-5", "--wait", "soon", code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
