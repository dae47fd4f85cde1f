"""What happened, asked for later: from the boards' memories, over their restarts, merged by time, and then
on with what happens next, each event once."""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
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

    def test_a_program_is_run_once_for_each_end_also_over_a_restart_of_the_broker(self):
        folder = tempfile.mkdtemp(prefix="laird-watch-")
        self.addCleanup(shutil.rmtree, folder)
        told, program = os.path.join(folder, "told"), os.path.join(folder, "tell")
        with open(program, "w", encoding="utf-8") as out:
            # Slower than the ends come, and it fails: neither loses nor repeats one.
            out.write("#!/bin/sh\nsleep 0.3\necho \"$LAIRD_NODE $LAIRD_TASK $LAIRD_STATE\" >> %s\n"
                      "cat >> %s.json\nexit 3\n" % (told, told))
        os.chmod(program, 0o755)
        watcher = subprocess.Popen([LAIRCTL, "watch", "--exec", program],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=self.environment(), text=True)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)

        def lines():
            if not os.path.exists(told):
                return []
            with open(told, encoding="utf-8") as file:
                return file.read().splitlines()
        # It listens from its own start on: only then is an end its business.
        for number in range(100):
            self.submit(task("warm-%d" % number, target=100), "--node", "n-2")
            if wait_until(lambda: lines(), 3, 0.2):
                break
        self.submit(task("here", target=100), "--node", "n-1")
        self.assertTrue(wait_until(lambda: "n-1 here succeeded" in lines(), 40, 0.2), lines())
        self.broker.kill()
        for name in ("away-1", "away-2", "away-3"):
            self.submit(task(name, target=100), "--socket", self.agents["n-1"].socket)
        time.sleep(2)
        self.broker.start()
        self.wait_for_boards()
        self.submit(task("after", target=100), "--node", "n-2")
        mine = ["n-1 here succeeded", "n-1 away-1 succeeded", "n-1 away-2 succeeded",
                "n-1 away-3 succeeded", "n-2 after succeeded"]
        self.assertTrue(wait_until(lambda: set(mine) <= set(lines()), 60, 0.2), lines())
        time.sleep(2)
        self.assertEqual(len(lines()), len(set(lines())), lines())
        with open(told + ".json", encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        ended = {event["task"]: event for event in events}
        self.assertEqual(ended["here"]["reason"], "reached its target loss")
        watcher.terminate()
        self.assertIn("exit code 3 when it was told of here on n-1", watcher.stderr.read())
        for program in ("rm -rf", "tell", folder, program + " --loud"):
            self.assertIn("no words for a shell",
                          self.lairctl("watch", "--exec", program, code=2).err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
