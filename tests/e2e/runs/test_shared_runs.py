"""A board that begins a task asks the others for a run of it, unless its owner does not want that."""

import unittest

from boards import OperatedFleet, task


class SharedRuns(OperatedFleet):
    """n-1 has run the task; n-2 has not, and n-3 keeps its runs to itself and asks for none."""

    boards = ("n-1", "n-2", "n-3")
    nodes = boards

    @classmethod
    def configure(cls, board):
        if board.node == "n-3":
            board.config["fleet"]["share_runs"] = False

    def why(self, name):
        return self.lairctl("why", name, "-o", "json").json()

    @staticmethod
    def slow(name, **params):
        """Some ten reports, so far apart that an answer comes before many of them."""
        spec = task(name, epochs=1200, report_every=2_000_000)
        spec["params"]["data"].update(rows=20_000, features=50)
        spec["params"].update(params)
        return spec

    def run_once(self, name, node):
        self.submit(self.slow(name), "--node", node)
        self.wait_for_task(name, "exhausted", 60)

    def test_a_run_is_told_to_a_board_that_asks_and_named_there(self):
        self.run_once("night-1", "n-1")
        self.assertIsNone(self.why("night-1")["earlier_run"])
        self.run_once("night-2", "n-2")
        found = self.why("night-2")
        self.assertEqual((found["earlier_run"]["board"], found["earlier_run"]["task"]),
                         ("n-1", "night-1"), found)
        self.assertIn("the earlier run 'night-1' on n-1 has", found["text"])
        # The other way round nothing is asked, and nothing told.
        self.run_once("alone", "n-3")
        self.assertIsNone(self.why("alone")["earlier_run"])
        self.submit(self.slow("quiet", batch=40), "--node", "n-3")
        self.wait_for_task("quiet", "exhausted", 60)
        self.submit(self.slow("asks-in-vain", batch=40), "--node", "n-2")
        self.wait_for_task("asks-in-vain", "exhausted", 60)
        self.assertIsNone(self.why("asks-in-vain")["earlier_run"])


if __name__ == "__main__":
    unittest.main()
