"""Tasks that may move, on real agents: they are moved, and taken over when their board dies for
good; boards are killed, frozen and cut off meanwhile. Whether two boards ever work on one task is
seen from outside: each trainer writes down when it works, by the clock that they all have."""

import glob
import json
import os
import random
import signal
import sys
import time
import unittest

from boards import OperatedFleet, task
from harness import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
TICK_S, LEASE_S = 0.2, 5
AGAIN_WITHIN_S = LEASE_S + 20 * TICK_S


def span_task(name, steps=10 ** 6, **more):
    params = {"steps": steps, **more.pop("params", {})}
    more = {"report_every": 5, "deadline": "20m", "memory": "20MB", **more}
    return task(name, trainer="spans", target=0.0, params=params, **more)


class Fleet(OperatedFleet):

    @classmethod
    def configure(cls, board):
        board.config["trainers"]["spans"] = {
            "exec": [sys.executable, "-B", os.path.join(HERE, "span_trainer.py")]}
        board.config["power"] = {"source": "none"}
        board.config["fleet"]["budget"] = {}
        board.config["timing"] = {"checkpoint_every": "1s"}

    def spans(self, name):
        """By board: (from, until, step)s; and the steps at which its trainers began."""
        out, begins = {}, {}
        for node in self.boards:
            path = os.path.join(self.agents[node].state, "tasks", name, "spans", "log")
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as log:
                for line in log.read().splitlines():
                    words = line.split()
                    if words[:1] == ["begins"]:
                        begins.setdefault(node, []).append(int(words[1]))
                    elif len(words) == 3:
                        out.setdefault(node, []).append(tuple(float(w) for w in words))
        return out, begins

    def never_two_at_once(self, name):
        """And how many stretches of work were compared."""
        spans, _ = self.spans(name)
        every = sorted((b, e, node) for node, rows in spans.items() for b, e, _ in rows)
        for (b1, e1, n1), (b2, e2, n2) in zip(every, every[1:]):
            self.assertFalse(n1 != n2 and b2 < e1, "%s worked from %f to %f and %s from %f to %f" % (
                n1, b1, e1, n2, b2, e2))
        return len(every)

    def at_work_on(self, name, since, but=()):
        """The board that has worked on it after that moment."""
        spans, _ = self.spans(name)
        return next((node for node, rows in spans.items()
                     if node not in but and rows[-1][0] > since), None)

    def row(self, name, node):
        return next(iter(self.tasks(name=name, node=node)), None)

    def wait_backed(self, name, seconds=30):
        def backed():
            return any((t.get("title") or {}).get("backed") for t in self.tasks(name=name))
        self.assertTrue(wait_until(backed, seconds, every=0.2), self.tasks(name=name))
        return next(t for t in self.tasks(name=name) if (t.get("title") or {}).get("backed"))

    def start_task(self, name, node, **more):
        self.submit(span_task(name, movable=True, **more), "--node", node)
        self.wait_for_task(name, "running")
        return self.wait_backed(name)


class Moves(Fleet):

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
        self.assertRegex(done.out, r"[1-3] of [1-3] moves done")
        self.assertTrue(wait_until(
            lambda: len({t["node"] for t in self.tasks() if t["name"].startswith("plan-")}) == 3,
            20, every=0.3), self.tasks())
        self.lairctl("plan", "--apply", "--without", "n-1", code=2)
        for i in range(4):
            self.lairctl("cancel", "plan-%d" % i, "--yes")


class TakenOver(Fleet):
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
