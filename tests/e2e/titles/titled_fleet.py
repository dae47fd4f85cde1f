"""A fleet whose trainers write down when they work, by the clock that they all have: so it is seen from
outside whether two boards ever work on one task."""

import os
import sys

from boards import OperatedFleet, task
from harness import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
TICK_S, LEASE_S = 0.2, 5
AGAIN_WITHIN_S = LEASE_S + 20 * TICK_S


def span_task(name, steps=10 ** 6, **more):
    params = {"steps": steps, **more.pop("params", {})}
    more = {"report_every": 5, "deadline": "20m", "memory": "20MB", **more}
    return task(name, trainer="spans", target=0.0, params=params, **more)


class TitledFleet(OperatedFleet):

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
        found = []

        # A copy that is being renewed is not acknowledged for a moment.
        def backed():
            found.extend(t for t in self.tasks(name=name) if (t.get("title") or {}).get("backed"))
            return bool(found)
        self.assertTrue(wait_until(backed, seconds, every=0.2), self.tasks(name=name))
        return found[0]

    def start_task(self, name, node, **more):
        self.submit(span_task(name, movable=True, **more), "--node", node)
        self.wait_for_task(name, "running")
        return self.wait_backed(name)
