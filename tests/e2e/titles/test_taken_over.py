"""Tasks that may move, on real agents that are killed, frozen and come back: their backups take them
over, and no two boards ever work on one."""

import random
import signal
import time
import unittest

from harness import wait_until
from titled_fleet import AGAIN_WITHIN_S, TitledFleet


class TakenOver(TitledFleet):
    """Four boards, so that the register lives on without one of them."""

    boards = ("n-1", "n-2", "n-3", "n-4")
    nodes = boards

    def test_a_dead_boards_task_goes_on_elsewhere_and_the_board_that_returns_leaves_it_there(self):
        row = self.start_task("orphan", "n-1")
        backup = row["title"]["backup"]
        self.assertTrue(wait_until(lambda: len(self.spans("orphan")[0].get("n-1", [])) > 100, 30))
        time.sleep(1)
        self.agents["n-1"].kill()
        killed = time.monotonic()
        self.assertTrue(wait_until(lambda: self.at_work_on("orphan", killed, ("n-1",)),
                                   2 * AGAIN_WITHIN_S + 10), self.tasks())
        self.assertEqual(backup, self.at_work_on("orphan", killed, ("n-1",)))
        spans, begins = self.spans("orphan")
        print("again after %.1f s, promised %.1f s" % (spans[backup][0][0] - killed, AGAIN_WITHIN_S))
        self.assertGreater(begins[backup][0], 0, "from the copied checkpoint")
        self.agents["n-1"].start()
        self.assertTrue(wait_until(lambda: not self.tasks(name="orphan", node="n-1"), 60, every=0.3),
                        self.agents["n-1"].log()[-2000:])
        since = time.monotonic()
        self.assertTrue(wait_until(lambda: self.at_work_on("orphan", since), 10))
        self.assertGreater(self.never_two_at_once("orphan"), 150)
        self.lairctl("cancel", "orphan", "--node", backup, "--yes")

    def test_boards_killed_frozen_and_cut_off_never_work_on_one_task_together(self):
        random.seed(7)
        names = ["hunted-%d" % i for i in range(3)]
        for name, node in zip(names, self.boards):
            self.start_task(name, node)
        until = time.monotonic() + 60
        hurt = None
        while time.monotonic() < until:
            node = random.choice(self.boards)
            what = random.choice(("kill", "freeze", "move", "move"))
            if what == "kill":
                self.agents[node].kill()
                time.sleep(random.choice((1, 9)))
                self.agents[node].start()
            elif what == "freeze":
                self.agents[node].signal(signal.SIGSTOP)
                time.sleep(random.choice((2, 8)))
                self.agents[node].signal(signal.SIGCONT)
            else:
                self.run_lairctl("move", random.choice(names), node, "--timeout", "2s")
            time.sleep(1)
            hurt = hurt or what
        self.assertIsNotNone(hurt)
        since = time.monotonic()
        for name in names:
            self.assertTrue(wait_until(lambda n=name: self.at_work_on(n, since), 60, every=0.5),
                            "%s: %s\n%s" % (name, self.tasks(name=name), "\n".join(
                                self.run_lairctl("explain", name, "--node", n).out
                                for n in self.boards)))
            print(name, "compared", self.never_two_at_once(name), "stretches")

if __name__ == "__main__":
    unittest.main(verbosity=2)
