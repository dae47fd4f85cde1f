"""kill -9 of the agent at random moments: nothing accepted is lost, nothing ends twice, finished
work stays finished, checkpoints count, and no trainer outlives its agent.

LAIRD_E2E_SEED and LAIRD_E2E_KILLS change the moments and their number."""

import contextlib
import os
import random
import stat
import time
import unittest

import harness
from harness import LAIRD_TRAIN, TERMINAL, Board, is_alive, synthetic_task

KILLS = int(os.environ.get("LAIRD_E2E_KILLS", "50"))
RUNS = 5
SEED = int(os.environ.get("LAIRD_E2E_SEED", "20261116"))


def counting_trainer(board, kind):
    """The built-in trainer, leaving a line in its task's folder each time it is started."""
    path = os.path.join(board.root, "counting-" + kind)
    with open(path, "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\necho start >> starts\n"
                  f"exec {os.path.abspath(LAIRD_TRAIN)} {kind}\n")
    os.chmod(path, stat.S_IRWXU)
    return {"exec": [path]}


class Witness:
    """What was seen of a run across kills, and what therefore must hold from then on."""

    def __init__(self, test, board):
        self.test = test
        self.board = board
        self.accepted = set()
        self.ended = {}  # name: (outcome, times its trainer had been started)
        self.old_pids = set()

    def starts(self, name):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.board.task_folder(name), "starts"),
                      encoding="utf-8") as lines:
                return len(lines.readlines())
        return 0

    def look(self):
        """At the running agent."""
        rows = self.board.tasks()
        missing = self.accepted - set(rows)
        self.test.assertFalse(missing, "accepted tasks are gone")
        for name, row in rows.items():
            if name in self.ended:
                self.test.assertEqual(self.ended[name], (row["state"], self.starts(name)), name)
            elif row["state"] in TERMINAL and not self.board.trainer_pids(name):
                self.ended[name] = (row["state"], self.starts(name))
        return rows

    def journal(self):
        """At the journal of an agent that is dead."""
        decided = {}
        ended = set()
        checkpoint = {}
        rows = harness.read_journal(self.board.journal_folder)
        for row in rows:
            if row.kind == "trainer-checkpointed":
                checkpoint[row.fields["task"]] = row.fields["samples"]
            elif row.kind == "trainer-ready":
                self.test.assertGreaterEqual(
                    row.fields["samples"], checkpoint.get(row.fields["task"], 0),
                    f"event {row.seq}: resumed below its checkpoint")
        for row, kind, command in harness.commands_of(rows, "start-trainer", "task-changed"):
            key = command["task"]
            if kind == "start-trainer":
                self.test.assertNotIn(key, decided, f"event {row.seq}: started after its end")
            elif command["outcome"] != "none":
                self.test.assertEqual(decided.setdefault(key, command["outcome"]),
                                      command["outcome"], f"event {row.seq}: a second outcome")
                if command["state"] == "ended":
                    self.test.assertNotIn(key, ended, f"event {row.seq}: ended twice")
                    ended.add(key)

    def replay(self):
        code, text = self.board.replay()
        self.test.assertEqual((code, text.split(":")[0]), (0, "identical"), text)


class KilledAgent(unittest.TestCase):
    def test_nothing_is_lost_or_done_twice(self):
        print(f"seed {SEED}, {KILLS} kills", flush=True)
        for run in range(RUNS):
            rng = random.Random(SEED * 1000 + run)
            kills = KILLS // RUNS + (1 if run < KILLS % RUNS else 0)
            with self.subTest(seed=SEED, run=run):
                self.one_run(rng, kills, cgroups=run % 2 == 0)

    def one_run(self, rng, kills, cgroups):
        with Board(f"kill-{rng.randrange(10 ** 6)}", cgroups=cgroups) as board:
            board.config["trainers"] = {kind: counting_trainer(board, kind)
                                        for kind in ("linear", "softmax", "mlp")}
            board.config["board"]["memory"] = "100MB"  # some have to wait for memory
            if not cgroups:
                board.config["journal"] = {"file_max": "100kB"}  # most restarts begin a new file
            board.config["policy"] = rng.choice(["foresight", "round-robin", "uniform", "laira"])
            board.config["tasks"] = [self.random_task(rng, f"configured-{i}") for i in range(4)]
            witness = Witness(self, board)
            for i in range(kills):
                self.live_and_die(rng, board, witness, f"sub-{i}")
            board.start()
            self.assert_gone(board, witness.old_pids)
            names = witness.accepted | {task["name"] for task in board.config["tasks"]}
            board.wait_ended(*names, timeout=90)
            board.wait_for(lambda: not board.trainer_pids(), 10, "trainers stay")
            witness.look()
            self.assertEqual(set(witness.ended), names)
            self.assertEqual(board.terminate(), 0)
            witness.journal()
            witness.replay()

    def random_task(self, rng, name):
        target = rng.choice([-1.0, -1.0, 0.35, 100.0])
        return synthetic_task(name, trainer=rng.choice(["linear", "softmax", "mlp"]), target=target,
                              epochs=rng.choice([5, 40, 120]), memory=rng.choice(["20MB", "45MB"]))

    def live_and_die(self, rng, board, witness, name):
        early = rng.random() < 0.2
        board.start(wait=not early)
        if early:
            time.sleep(rng.uniform(0.0, 0.08))
        else:
            witness.accepted |= {task["name"] for task in board.config["tasks"]}
            board.wait_for(lambda: board.tasks().keys() >= witness.accepted, 10,
                           "configured tasks are not there")
            until = time.monotonic() + rng.expovariate(1 / 0.35)
            witness.look()
            if rng.random() < 0.6 and board.submit(self.random_task(rng, name)).get("ok"):
                witness.accepted.add(name)
            time.sleep(max(0.0, until - time.monotonic()))
        pids = set(board.trainer_pids())
        board.kill()
        witness.old_pids = pids
        if rng.random() < 0.5:
            self.assert_gone(board, pids)
        if os.path.isdir(board.journal_folder) and not early:
            witness.journal()
            witness.replay()

    def assert_gone(self, board, pids):
        board.wait_for(lambda: not any(is_alive(pid) for pid in pids), 10,
                       "trainers of an agent that is dead go on")


if __name__ == "__main__":
    harness.main()
