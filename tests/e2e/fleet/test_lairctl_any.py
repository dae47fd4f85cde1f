"""submit --any: the best board gets the task, and never two."""

import json
import os
import signal
import subprocess
import time
import unittest

from boards import OperatedFleet, task
from harness import LAIRCTL, wait_until


class Any(OperatedFleet):

    def test_a_task_goes_to_one_board_and_the_same_again_stays_there(self):
        first = self.submit(task("once", epochs=2000), "--any")
        again = self.submit(task("once", epochs=2000), "--any")
        board = first.out.split(":")[0]
        self.assertEqual(first.out, board + ": accepted\n")
        self.assertTrue(again.out.startswith(board + ": known already"), again)
        other = self.submit(task("once", epochs=2001), "--any", code=4)
        self.assertIn("another task has the name", other.err)
        wait_until(lambda: self.tasks(name="once"), 5)
        self.assertEqual(len(self.tasks(name="once")), 1)

    def test_dry_run_places_nothing(self):
        done = self.submit(task("only-asked"), "--dry-run", "-o", "json")
        self.assertEqual(len(done.json()), 3)
        self.assertIn("answered 3 of 3", done.err)
        time.sleep(1.5)
        self.assertEqual(self.tasks(name="only-asked"), [])

    def test_what_no_board_can_take_is_refused_with_every_reason(self):
        done = self.submit(task("alien", trainer="alien"), "--any", code=4)
        self.assertEqual(done.err.count("allow-list"), 3)

    def test_a_drained_board_is_passed_over(self):
        self.lairctl("drain", "n-1", "n-2")
        self.addCleanup(self.run_lairctl, "undrain", "--all")
        self.assertEqual(self.submit(task("third", target=100), "--any").out, "n-3: accepted\n")

    def test_a_silent_board_is_not_passed_over_before_a_name_is_known_to_be_free(self):
        self.agents["n-2"].signal(signal.SIGSTOP)
        try:
            done = self.submit(task("unsure"), "--any", "--timeout", "2s", code=5)
            self.assertIn("n-2 did not answer", done.err)
        finally:
            self.agents["n-2"].signal(signal.SIGCONT)


class Silent(OperatedFleet):
    """The chosen board falls silent between its bid and the submission."""

    boards = ("n-1", "n-2")
    nodes = ("n-1", "n-2")

    def start_submission(self, name):
        spec = os.path.join(self.root, name + ".json")
        with open(spec, "w", encoding="utf-8") as out:
            json.dump(task(name, epochs=100000), out)
        # Stops the board that is about to be asked: it is named before the task is sent there.
        run = subprocess.Popen([LAIRCTL, "submit", "-f", spec, "--any", "--timeout", "2s"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=self.environment())
        return run

    def test_the_next_board_is_asked_only_after_the_first_surely_does_not_have_it(self):
        # n-1 bids best by name. Its link is cut by stopping it as soon as it has bid; the stop may
        # come too late, and then the task is simply there.
        self.lairctl("drain", "n-2")
        self.lairctl("undrain", "n-2")
        run = self.start_submission("fenced")
        told = b""
        while b"offering it to n-1" not in told:
            told = run.stderr.readline()
            self.assertTrue(told, "lairctl ended early")
        self.agents["n-1"].signal(signal.SIGSTOP)
        time.sleep(8)
        self.agents["n-1"].signal(signal.SIGCONT)
        out, err = run.communicate(timeout=60)
        text = out.decode() + err.decode()
        self.assertEqual(run.returncode, 0, text)
        # Whichever way it went, exactly one board has it, and the one that was told.
        board = out.decode().split(":")[0]
        self.assertTrue(wait_until(lambda: self.tasks(name="fenced"), 5, every=0.3), text)
        time.sleep(2)
        self.assertEqual([t["node"] for t in self.tasks(name="fenced")], [board], text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
