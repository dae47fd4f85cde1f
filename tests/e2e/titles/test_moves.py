"""Tasks that may move, on real agents: moved by an operator and by a plan that is carried out."""

import time
import unittest

from harness import wait_until
from titled_fleet import TitledFleet, span_task


class Moves(TitledFleet):

    def test_a_task_moves_and_goes_on_where_it_was(self):
        row = self.start_task("walker", "n-1")
        self.assertEqual("held", row["title"]["state"])
        backup = row["title"]["backup"]
        third = next(n for n in self.boards if n not in ("n-1", backup))
        at = "n-1"
        # To a third board, to the backup itself, and back.
        for to in (third, backup, "n-1"):
            self.assertTrue(wait_until(lambda: len(self.spans("walker")[0].get(at, [])) > 20, 20))
            done = self.lairctl("move", "walker", to)
            self.assertIn("walker: on %s now" % to, done.out)
            moved_at = time.monotonic()
            self.assertTrue(wait_until(lambda: self.at_work_on("walker", moved_at) == to, 20),
                            self.tasks(name="walker"))
            spans, begins = self.spans("walker")
            left_at = max(step for _, _, step in spans[at])
            self.assertGreaterEqual(begins[to][-1], left_at - 5, "it goes on from its checkpoint")
            at = to
            self.wait_backed("walker")
        self.assertEqual(["n-1"], [t["node"] for t in self.tasks(name="walker")])
        self.assertGreater(self.never_two_at_once("walker"), 60)
        self.lairctl("cancel", "walker", "--yes")

    def test_what_cannot_move_says_why_and_stays(self):
        self.submit(span_task("settled"), "--node", "n-2")
        self.wait_for_task("settled", "running")
        done = self.lairctl("move", "settled", "n-1", code=4)
        self.assertIn("it was submitted to this board and stays here", done.err)
        self.start_task("mover", "n-2")
        self.assertIn("no task 'nobody'", self.lairctl("move", "nobody", "n-1", "--node", "n-2",
                                                       code=3).err)
        self.lairctl("move", "mover", "n-9", code=3)
        # A board that takes no tasks refuses it, and it goes on where it was.
        self.lairctl("drain", "n-3")
        done = self.lairctl("move", "mover", "n-3", code=4)
        self.assertIn("mover stays on n-2: not moved: n-3 did not take it", done.err)
        since = time.monotonic()
        self.assertTrue(wait_until(lambda: self.at_work_on("mover", since) == "n-2", 20))
        self.lairctl("undrain", "n-3")
        self.lairctl("pause", "mover")
        self.assertIn("it is paused", self.lairctl("move", "mover", "n-1", code=4).err)
        for name in ("settled", "mover"):
            self.lairctl("cancel", name, "--yes")

    def test_a_checkpoint_that_is_too_large_stays_behind_and_it_is_said(self):
        self.start_task("heavy", "n-1", params={"bytes": 50_000})
        self.assertTrue(wait_until(lambda: len(self.spans("heavy")[0].get("n-1", [])) > 20, 20))
        done = self.lairctl("move", "heavy", "n-2")
        self.assertIn("begins anew: its checkpoint is too large to be copied", done.out)
        since = time.monotonic()
        self.assertTrue(wait_until(lambda: self.at_work_on("heavy", since) == "n-2", 20))
        self.assertEqual(0, self.spans("heavy")[1]["n-2"][0])
        self.never_two_at_once("heavy")
        self.lairctl("cancel", "heavy", "--yes")

    def test_a_plan_is_carried_out(self):
        for i in range(4):
            # One at a time fits: the others wait.
            self.submit(span_task("plan-%d" % i, movable=True, memory="1500MB", steps=2000),
                        "--node", "n-1")
        for i in range(4):
            self.wait_backed("plan-%d" % i)
        done = self.run_lairctl("plan", "--time", "200ms", "--apply")
        self.assertIn(done.code, (0, 5), done)
        # Those that have had a turn meanwhile stay.
        self.assertRegex(done.out, r"[1-3] of [1-3] moves done")
        self.assertRegex(done.err, r"move 1 of [1-3]: plan-\d from n-1 to n-[23]")
        nodes = {t["node"] for t in self.tasks() if t["name"].startswith("plan-")}
        self.assertTrue(len(nodes) >= 2, self.tasks())
        self.lairctl("plan", "--apply", "--without", "n-1", code=2)
        for i in range(4):
            self.lairctl("cancel", "plan-%d" % i, "--yes")

if __name__ == "__main__":
    unittest.main(verbosity=2)
