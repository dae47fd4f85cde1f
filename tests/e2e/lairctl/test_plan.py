"""lairctl plan and submit --any on a fleet of three modules: what boards publish is enough to plan with."""

import json
import os
import time
import unittest

import jsonschema

from boards import OperatedFleet, task
from harness import wait_until

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/schema")
MODULES = {"n-1": "nano-4gb", "n-2": "xavier-nx-8gb", "n-3": "orin-nx-16gb"}


class Plan(OperatedFleet):

    @classmethod
    def configure(cls, board):
        board.config["board"]["name"] = MODULES[board.node]
        board.config["fleet"]["members"] = {node: {"power": "6W"} for node in cls.boards}
        board.config["power"] = {"source": "none"}

    def plan(self, *args):
        return self.lairctl("plan", "--time", "200ms", "-o", "json", *args).json()

    def row(self, answer, name):
        return next(row for row in answer["tasks"] if row["task"] == name)

    def drop(self, *names):
        for name in names:
            self.run_lairctl("cancel", name)
        self.assertTrue(wait_until(lambda: all(t["state"] in ("cancelled", "succeeded", "exhausted")
                                               for t in self.tasks()), 20, every=0.3), self.tasks())

    def test_the_first_task_of_an_idle_fleet_goes_to_the_fastest_module(self):
        done = self.submit(task("first", epochs=900_000, deadline="1h"), "--any")
        self.assertEqual(done.out, "n-3: accepted\n")
        self.assertIn("offering it to n-3: done in", done.err)
        self.drop("first")

    def test_a_plan_names_places_costs_and_changes(self):
        self.submit(task("runs", epochs=900_000, deadline="1h"), "--node", "n-1")
        self.submit(task("waits", epochs=900_001, deadline="2h"), "--node", "n-1")
        self.assertTrue(wait_until(lambda: self.tasks(name="runs", state="running"), 20, every=0.2))
        answer = self.plan()
        runs = self.row(answer, "runs")
        self.assertEqual((runs["node"], runs["moves"]), ("n-1", False))
        self.assertEqual(3, len({row["name"].split("/")[0] for row in answer["instance"]["boards"]}))
        self.assertEqual(answer["plan"]["format"], "laird.plan/1")

        text = self.lairctl("plan", "--time", "200ms").out
        self.assertIn("tasks on 3 boards", text)
        self.assertRegex(text, r"(?m)^n-1 +A")
        self.assertIn("is on n-1", self.lairctl("plan", "--time", "100ms", "--why", "runs").out)
        why = self.lairctl("plan", "--time", "100ms", "--without", "n-1", "--with", "agx-orin-32gb",
                           "--why", "waits").out
        self.assertRegex(why, r"(?m)^Second best is ")
        self.assertRegex(why, r"(?m)^Or n(-|ew-)")

        without = self.plan("--without", "n-1", "--with", "agx-orin-32gb", "--deadline", "runs=+1h")
        self.assertNotIn("n-1", {row["node"] for row in without["tasks"]})
        self.assertEqual(3, len(without["changes"]))
        self.assertGreater(self.row(without, "runs")["deadline_s"],
                           self.row(answer, "runs")["deadline_s"] + 3500)

        page = os.path.join(self.root, "plan.html")
        self.lairctl("plan", "--time", "100ms", "--page", page)
        with open(page, encoding="utf-8") as f:
            self.assertIn("<svg", f.read())
        for wrong in (["--without", "n-9"], ["--with", "orin-nx-17gb"], ["--deadline", "runs"],
                      ["--why", "nobody"]):
            self.assertNotEqual(0, self.run_lairctl("plan", *wrong).code, wrong)
        self.drop("runs", "waits")

    def test_what_a_board_learned_is_published_and_used(self):
        # No machine is through with this before it is cancelled, and no other test has that work.
        work = {"epochs": 900_002, "deadline": "1h"}
        self.submit(task("taught", **work), "--node", "n-2")
        self.wait_for_task("taught", "running")
        time.sleep(3)
        self.drop("taught")
        self.assertGreater(self.tasks(name="taught")[0]["busy_s"], 1.0, "a run of a second counts")

        def info():
            rows = self.lairctl("get", "nodes", "-o", "json").json()
            return next(row["info"] for row in rows if row["node"] == "n-2")
        self.assertTrue(wait_until(lambda: info()["works"], 10, every=0.3), info())
        told = info()
        with open(os.path.join(SCHEMAS, "info.json"), encoding="utf-8") as schema:
            jsonschema.validate(told, json.load(schema))
        self.assertEqual("xavier-nx-8gb", told["module"])
        self.assertEqual(["softmax"], [work["trainer"] for work in told["works"]])
        # The same work again, elsewhere: its speed is known there before it has run there.
        asked = self.submit(task("again", **work), "--any", "--dry-run").err
        self.assertRegex(asked, "it would go to n-3: .*; speed scaled from other boards")
        self.submit(task("again", **work), "--node", "n-1")
        self.assertTrue(wait_until(lambda: self.tasks(name="again"), 10, every=0.3))
        row = self.row(self.plan(), "again")
        self.assertIn(row["speed_by"], ("measured there", "scaled from other boards"))
        self.drop("again")


if __name__ == "__main__":
    unittest.main(verbosity=2)
