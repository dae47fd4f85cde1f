"""Six planted causes, each named by `lairctl why` and, from the journal alone, by
`lairctl replay --why`: power, a rival, a crash loop, out of memory, out of reach, a late start.
The account adds up to the task's whole time to the nanosecond, live and replayed alike."""

import json
import os
import unittest

import jsonschema

from harness import Board
from test_trainers import PRELUDE

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/schema/why.json")
RATE = 500  # samples per second of the trainer below, in its own sleep

# Learns as its params say: loss = floor + (1 + samples / 100) ** -slope.
LEARNER = PRELUDE + f"""
params = start["params"]
time.sleep(params.get("start_s", 0))
samples = saved()
born = samples
say(type="ready", v=1, samples=samples, planned_samples=params.get("planned"))
def loss():
    return params.get("floor", 0.0) + (1.0 + samples / 100.0) ** -params.get("slope", 0.5)
while True:
    order = hear()
    if order["type"] == "run":
        while samples < order["until"]:
            samples += 1
            time.sleep({1 / RATE})
            if samples == params.get("eats_at"):
                hoard = bytearray(os.urandom(1 << 20) * 400)  # more than its group may have
                os.kill(os.getpid(), 9)  # without a group, what the kernel would do
            if samples - born == params.get("crashes_after"): sys.exit(7)
            if samples % start["report_every"] == 0 or samples == order["until"]:
                say(type="progress", samples=samples, loss=loss())
    elif order["type"] in ("pause", "checkpoint"):
        save(samples)
    elif order["type"] == "stop":
        save(samples); sys.exit(0)
"""


def loss_after(seconds, slope=0.5):
    """What the learner has come to after so many seconds of its lane."""
    return (1 + seconds * RATE / 100) ** -slope


def task(name, deadline_s, target, **params):
    return {"name": name, "trainer": "learner", "deadline": f"{deadline_s}s", "target_loss": target,
            "memory": "100MB", "report_every": 25, "params": params}


class Why(unittest.TestCase):
    def board(self, **config):
        board = Board("why", **config)
        self.addCleanup(board.__exit__)
        board.config["trainers"] = {"learner": board.script("learner", LEARNER)}
        board.config["timing"]["checkpoint_every"] = "1s"
        return board

    def finding(self, board, name):
        """What lairctl says of the task, live and then from the journal: the same."""
        def told():
            code, out, err = board.ctl("why", name, "-o", "json")
            self.assertEqual(0, code, err)
            return json.loads(out)
        board.wait_for(lambda: told()["over"], 20, "its trainer did not end")
        live = told()
        code, text, err = board.ctl("why", name)
        self.assertEqual(0, code, err)
        self.assertEqual(f"{name}: {live['headline']}", text.splitlines()[0])
        board.terminate()
        replay = ["replay", board.journal_folder, "--why", name]
        code, out, err = board.ctl(*replay, "--json", on_socket=False, timeout=60)
        self.assertEqual(0, code, err)
        self.assertEqual(live, json.loads(out))
        self.assertIn("identical", err)
        code, out, err = board.ctl(*replay, on_socket=False, timeout=60)
        self.assertEqual((0, text), (code, out[:len(text)]), err)
        self.assert_sound(live)
        return live

    def assert_sound(self, finding):
        with open(SCHEMA, encoding="utf-8") as schema:
            jsonschema.validate(finding, json.load(schema))
        self.assertEqual(finding["whole_ns"], sum(row["ns"] for row in finding["account"]))
        # What the text shows adds up as well.
        shown = [line.split("%")[0].split(" s ")[-2].split()[-1]
                 for line in finding["text"].splitlines() if line.startswith("  ") and "%" in line]
        ms = [round(float(seconds) * 1000) for seconds in shown]
        self.assertEqual(ms[-1], sum(ms[:-1]), finding["text"])

    def spent_s(self, finding, use, **more):
        rows = [row for row in finding["account"]
                if row["use"] == use and more.items() <= row.items()]
        return sum(row["ns"] for row in rows) * 1e-9

    def remedies(self, finding):
        return {row["remedy"]: row for row in finding["saved_by"]}

    def test_power(self):
        board = self.board(
            board={"name": "orin-nano-8gb", "memory": "2GB",
                   "lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}]},
            power={"source": "modelled", "every": "0.05s"})
        board.start()
        code, _, err = board.ctl("cap", "set", "5W")  # idle is 4.3 W
        self.assertEqual(0, code, err)
        board.accept(task("capped", 12, loss_after(6)))
        shown = set()

        def ended():
            row = board.tasks()["capped"]
            shown.add((row["state"], row.get("throttled", {}).get("by")))
            return row["state"] in ("missed", "succeeded")
        board.wait_for(ended, 60, "the task did not end")
        self.assertIn(("throttled", "operator"), shown)
        found = self.finding(board, "capped")
        self.assertEqual(("missed", "power"), (found["state"], found["cause"]), found["text"])
        self.assertIn("the operator's cap of 5.0 W", found["headline"])
        self.assertGreater(self.spent_s(found, "throttled", by="operator"), 4)
        self.assertGreater(self.remedies(found)["cap"]["amount"], 5.0)

    def test_a_rival(self):
        board = self.board()
        board.start()
        board.accept(task("hog", 60, -1))
        board.accept(task("squeezed", 8, loss_after(5.5)))
        board.wait_ended("squeezed")
        found = self.finding(board, "squeezed")
        self.assertEqual(("missed", "rival"), (found["state"], found["cause"]), found["text"])
        self.assertIn("'hog' had its lane", found["headline"])
        self.assertGreater(self.spent_s(found, "rival", task="hog"), 2)
        self.assertEqual("hog", self.remedies(found)["without-rival"]["task"])

    def test_a_crash_loop(self):
        board = self.board()
        board.start()
        board.accept(task("fragile", 60, -1, crashes_after=60))
        board.wait_ended("fragile")
        found = self.finding(board, "fragile")
        self.assertEqual(("failed", "crashes"), (found["state"], found["cause"]), found["text"])
        self.assertIn("crashed 5 times in a row", found["headline"])
        self.assertIn("code 7", found["headline"])
        crashed = [row for row in found["account"] if row["use"] == "crashed"]
        self.assertEqual(5, crashed[0]["times"])

    def test_out_of_memory(self):
        board = self.board()
        board.start()
        board.accept(task("greedy", 60, -1, eats_at=60))
        board.wait_ended("greedy")
        found = self.finding(board, "greedy")
        self.assertEqual(("failed", "out-of-memory"), (found["state"], found["cause"]),
                         found["text"])
        self.assertIn("ran out of memory 5 times", found["headline"])
        self.assertIn("it asked for 100 MB", found["headline"])
        self.assertIn("memory", self.remedies(found))

    def test_out_of_reach(self):
        board = self.board()
        board.start()
        board.accept(task("stuck", 6, 0.1, floor=0.5, slope=1.5))
        board.wait_ended("stuck")
        found = self.finding(board, "stuck")
        self.assertEqual(("missed", "out-of-reach"), (found["state"], found["cause"]),
                         found["text"])
        self.assertIn("its target 0.1", found["headline"])
        self.assertAlmostEqual(0.5, self.remedies(found)["target"]["amount"], delta=0.1)

    def test_a_late_start(self):
        board = self.board()
        board.start()
        board.accept(task("hurried", 4, loss_after(7)))
        board.wait_ended("hurried")
        found = self.finding(board, "hurried")
        self.assertEqual(("missed", "late"), (found["state"], found["cause"]), found["text"])
        self.assertIn("submitted too late", found["headline"])
        self.assertGreater(self.remedies(found)["earlier"]["amount"], 0.5)

    def test_a_slow_trainer_makes_a_late_start_too(self):
        board = self.board()
        board.start()
        board.accept(task("sleepy", 8, loss_after(4), start_s=6))
        board.wait_ended("sleepy")
        found = self.finding(board, "sleepy")
        self.assertEqual(("missed", "slow-start"), (found["state"], found["cause"]),
                         found["text"])
        self.assertGreater(self.spent_s(found, "starting"), 5.5)

    def test_a_killed_agent_and_a_pause_are_in_the_account(self):
        board = self.board()
        board.start()
        board.accept(task("patient", 60, loss_after(6)))
        board.wait_for(lambda: board.tasks()["patient"]["samples"] > 0, 20, "it did not run")
        board.kill()
        board.start()
        board.ctl("pause", "patient")
        board.wait_for(lambda: board.task_state("patient") == "held", 20, "it was not paused")
        code, out, _ = board.ctl("why", "patient")
        self.assertEqual(0, code)
        self.assertIn("paused by an operator", out.splitlines()[0])
        board.ctl("resume", "patient")
        board.wait_ended("patient")
        found = self.finding(board, "patient")
        self.assertEqual(("succeeded", "none"), (found["state"], found["cause"]), found["text"])
        self.assertGreater(self.spent_s(found, "paused"), 0)
        self.assertGreater(self.spent_s(found, "agent-down"), 0)

    def test_an_unknown_task_is_not_found(self):
        board = self.board()
        board.start()
        code, _, err = board.ctl("why", "nobody")
        self.assertEqual(3, code, err)
        self.assertIn("no task 'nobody'", err)
        board.terminate()
        code, _, err = board.ctl("replay", board.journal_folder, "--why", "nobody",
                                 on_socket=False)
        self.assertEqual(3, code, err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
