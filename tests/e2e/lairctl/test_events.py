"""What happened, asked for later: from the boards' memories, over their restarts, merged by time, and then
on with what happens next, each event once."""

import json
import select
import signal
import subprocess
import time
import unittest

from boards import OperatedFleet, task
from harness import LAIRCTL, wait_until


def next_event(watcher, deadline):
    """What the watcher says next, or nothing by then."""
    left = deadline - time.monotonic()
    if left <= 0 or not select.select([watcher.stdout], [], [], left)[0]:
        return None
    return json.loads(watcher.stdout.readline())


def seen_until(watcher, last, seconds):
    """(task, state) of the events up to the one that is waited for."""
    seen = []
    deadline = time.monotonic() + seconds
    while last not in seen:
        event = next_event(watcher, deadline)
        if event is None:
            raise AssertionError("no event %s within %d s, only %s" % (last, seconds, seen))
        seen.append((event["task"], event["state"]))
    return seen


class Events(OperatedFleet):

    boards = ("n-1", "n-2")
    nodes = ("n-1", "n-2")

    def events(self, *args, code=0, **more):
        return self.lairctl("get", "events", "-o", "json", *args, code=code, **more).json()

    def test_what_happened_before_is_told_by_time_and_by_board(self):
        for name, node in (("first", "n-1"), ("second", "n-2"), ("third", "n-1")):
            self.submit(task(name, target=100), "--node", node)
            self.wait_for_task(name, "succeeded")
        done = self.lairctl("get", "events", "-o", "json")
        self.assertIn("answered 2 of 2", done.err)
        mine = {"first", "second", "third"}
        ends = [e for e in done.json() if e.get("state") == "succeeded" and e["task"] in mine]
        self.assertEqual([(e["task"], e["node"]) for e in ends],
                         [("first", "n-1"), ("second", "n-2"), ("third", "n-1")])
        self.assertEqual([e["ts"] for e in ends], sorted(e["ts"] for e in ends))
        self.assertEqual({e["node"] for e in self.events("--node", "n-2")}, {"n-2"})
        self.assertEqual({e["kind"] for e in self.events("--kind", "task")}, {"task"})
        self.assertEqual(self.events("-n", "1", "--kind", "task")[0]["task"], "third")
        text = self.lairctl("get", "events").out
        self.assertIn("n-2  task  second: succeeded", text)
        # A board that is gone does not answer, and it is said; back, it still knows.
        self.agents["n-2"].signal(signal.SIGKILL)
        self.agents["n-2"].process.wait(10)
        self.assertTrue(wait_until(lambda: "lost" in self.lairctl("get", "nodes").out, 40, 0.5))
        done = self.lairctl("get", "events", code=5)
        self.assertIn("answered 1 of 2", done.err)
        self.assertNotIn("second: succeeded", done.out)
        self.agents["n-2"].start()
        self.wait_for_boards()
        self.assertIn("second: succeeded", self.lairctl("get", "events").out)
        time.sleep(1.2)
        self.assertNotIn("second: succeeded", self.lairctl("get", "events", "--since", "1s").out)
        self.lairctl("get", "events", "--since", "10", code=2)

    def test_watching_goes_on_without_gap_or_repetition(self):
        self.submit(task("before", target=100), "--node", "n-1")
        self.wait_for_task("before", "succeeded")
        watcher = subprocess.Popen([LAIRCTL, "get", "events", "-w", "-o", "json", "--kind", "task"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                                   env=self.environment())
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)
        # Submitted while the watcher may still be asking for what was.
        names = ["during-%d" % i for i in range(6)]
        for name in names:
            self.submit(task(name, target=100), "--node", "n-1")
        seen = seen_until(watcher, ("during-5", "succeeded"), 30)
        watcher.stdout.close()
        mine = [(t, s) for t, s in seen if t in ["before", *names]]
        self.assertEqual(len(mine), len(set(mine)), mine)
        self.assertTrue({(n, "succeeded") for n in ["before", *names]} <= set(mine), mine)

    def test_what_happens_while_the_broker_is_away_is_told_once_it_is_back(self):
        watcher = subprocess.Popen([LAIRCTL, "get", "events", "-w", "-o", "json", "--kind", "task"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                                   env=self.environment())
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)
        self.submit(task("there", target=100), "--node", "n-1")

        def ends(name):
            return seen_until(watcher, (name, "succeeded"), 40)
        seen = ends("there")
        self.broker.kill()
        self.submit(task("away", target=100), "--socket", self.agents["n-1"].socket)
        time.sleep(2)
        self.broker.start()
        seen += ends("away")
        self.wait_for_boards()
        self.submit(task("back", target=100), "--node", "n-1")
        seen += ends("back")
        watcher.stdout.close()
        self.assertEqual(len(seen), len(set(seen)), seen)
        self.assertTrue({(n, "succeeded") for n in ("there", "away", "back")} <= set(seen), seen)

    def test_a_board_that_does_not_answer_at_first_is_asked_again(self):
        watcher = subprocess.Popen([LAIRCTL, "get", "events", "-w", "-o", "json", "--kind", "task",
                                    "--timeout", "2s"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                                   env=self.environment())
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)
        self.submit(task("heard", target=100), "--node", "n-1")
        seen = seen_until(watcher, ("heard", "succeeded"), 40)
        # The board is back before the watcher: what it says then, the watcher does not hear.
        watcher.send_signal(signal.SIGSTOP)
        self.broker.kill()
        self.broker.start()
        self.wait_for_boards()
        self.submit(task("unheard", target=100), "--node", "n-1")
        self.wait_for_task("unheard", "succeeded")
        self.agents["n-1"].signal(signal.SIGSTOP)
        watcher.send_signal(signal.SIGCONT)
        self.submit(task("other", target=100), "--node", "n-2")
        seen += seen_until(watcher, ("other", "succeeded"), 40)
        time.sleep(3)
        self.agents["n-1"].signal(signal.SIGCONT)
        seen += seen_until(watcher, ("unheard", "succeeded"), 40)
        watcher.stdout.close()
        self.assertEqual(len(seen), len(set(seen)), seen)


if __name__ == "__main__":
    unittest.main(verbosity=2)
