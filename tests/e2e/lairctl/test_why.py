"""A fleet in which power is held where nobody uses it: the throttled task says by whose limit, over the
network too, and `lairctl fleet status` names the boards that hold what nobody draws."""

import json
import os
import re
import unittest

import jsonschema

from boards import OperatedFleet, task
from harness import wait_until

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/schema/why.json")


class Why(OperatedFleet):
    # An orin-nano-8gb draws 4.3 W idle and 10.3 W with its cpu lane in use. The floors take all of
    # the budget: what the idle boards leave cannot move.
    fleet_options = {"budget": {"power": "24W"}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for board in cls.agents.values():
            board.kill()
            board.config["board"]["name"] = "orin-nano-8gb"
            board.config["fleet"]["members"] = {node: {"power": "8W"} for node in cls.boards}
            board.config["power"] = {"source": "modelled", "every": "0.1s"}
            board.start()
        cls.wait_for_boards()

    def setUp(self):
        if not self.tasks(name="slow"):
            self.submit(task("slow", epochs=1_000_000, deadline="1h"), "--node", "n-1")
        self.assertTrue(wait_until(lambda: self.tasks(name="slow", state="throttled"), 30, 0.3),
                        self.tasks(name="slow"))

    def once(self, condition):
        """What it gives as soon as it gives anything: the task runs and rests in turn, and is throttled in
        its rests."""
        got = []
        self.assertTrue(wait_until(lambda: got.append(condition()) or got[-1], 30, every=0.4))
        return got[-1]

    def test_the_holders_of_what_nobody_draws_are_named(self):
        def told():
            out = self.run_lairctl("fleet", "status", "-o", "json").json()
            return out if out["undrawn"] else None
        status = self.once(told)
        undrawn = status["undrawn"]
        self.assertEqual(["'slow' on n-1"], undrawn["throttled"])
        holders = {row["node"]: row["undrawn_w"] for row in undrawn["holders"]}
        self.assertLessEqual({"n-2", "n-3"}, set(holders))
        self.assertAlmostEqual(3.7, holders["n-2"], delta=0.3)
        self.assertAlmostEqual(24 - status["power_w"], undrawn["undrawn_w"], delta=0.01)
        held = (r"W of 24\.0 W is drawn by nobody while 'slow' on n-1 is throttled:\n"
                r"  held by .*n-[23] \(3\.\d W\)")
        self.once(lambda: re.search(held, self.run_lairctl("fleet", "status").out))

        def on_screen():
            text = self.run_lairctl("top", "--once", "--width", "200").out
            return re.search(held, text) and re.search(r"n-1 .* 1 throttled", text)
        self.once(on_screen)
        report = next(row for row in status["nodes"] if row["node"] == "n-1")["report"]
        self.assertEqual(8.0, report["shares"]["power"]["enforced_w"])
        self.assertGreaterEqual(report["shares"]["power"]["demand_w"], 8.0)
        self.assertEqual((1, 1), (report["tasks"]["running"], report["tasks"]["throttled"]))

    def test_a_task_says_by_whose_limit_it_is_throttled(self):
        row = self.tasks(name="slow")[0]
        self.assertEqual({"by": "fleet", "limit_w": 8.0}, row["throttled"])
        self.assertIn("by the board's share of the fleet's power, 8.0 W",
                      self.lairctl("get", "tasks", "-o", "wide").out)

    def test_why_is_asked_over_the_network(self):
        found = self.lairctl("why", "slow", "-o", "json").json()
        with open(SCHEMA, encoding="utf-8") as schema:
            jsonschema.validate(found, json.load(schema))
        self.assertEqual("power", found["cause"])
        self.assertEqual(found["whole_ns"], sum(line["ns"] for line in found["account"]))
        text = self.lairctl("why", "slow", "--node", "n-1").out
        self.assertTrue(text.startswith("slow: throttled by the board's share of 8.0 W of the "
                                        "fleet's power"), text)
        self.assertEqual(self.lairctl("pause", "slow").out, "n-1: paused\n")
        self.assertIn("paused by op-alice", self.lairctl("why", "slow").out)
        self.assertEqual(self.lairctl("resume", "slow").out, "n-1: resumed\n")
        self.lairctl("why", "nobody", code=3)
        self.lairctl("why", "slow", "--node", "n-9", code=3)


if __name__ == "__main__":
    unittest.main()
