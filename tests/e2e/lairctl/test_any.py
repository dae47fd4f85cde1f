"""submit --any: the best board gets the task, and never two."""

import signal
import time
import unittest

from boards import OperatedFleet, task
from harness import wait_until


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
