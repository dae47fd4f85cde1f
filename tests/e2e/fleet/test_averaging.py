"""trainer.average(): trainers of one's own on real agents, one model from local steps on each board.

Each of three boards has rows of two of six classes; the yardstick is the same trainer's steps on the
pooled rows. One board is killed in the middle and comes back, one comes after the end."""

import json
import os
import random
import signal
import subprocess
import sys
import unittest

from averaging_trainer import judged, step
from boards import LAIRD_TRAIN, OperatedFleet
from harness import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
TOP_FOLDER = os.path.abspath(os.path.join(HERE, "../../.."))
CLASSES, FEATURES, ROWS = 6, 8, 300
# So long a board rests after each round: a group is to be killed in the middle of its work.
REST_S = 0.05


def made_up(rows, labels, seed):
    of_centres = random.Random(1000)
    centres = [[of_centres.gauss(0, 1) for _ in range(FEATURES)] for _ in range(CLASSES)]
    source = random.Random(seed)
    return [[round(x + source.gauss(0, 0.8), 4) for x in centres[labels[i % len(labels)]]] +
            [labels[i % len(labels)]] for i in range(rows)]


class Averaging(OperatedFleet):

    boards = ("n-1", "n-2", "n-3", "n-4")
    nodes = boards

    @classmethod
    def configure(cls, board):
        board.config["trainers"]["own"] = {
            "exec": [sys.executable, "-B", os.path.join(HERE, "averaging_trainer.py")],
            "env": {"LAIRD_TRAIN": LAIRD_TRAIN}}

    def rows_of(self, board):
        k = self.boards.index(board) % 3
        return made_up(ROWS, [2 * k, 2 * k + 1], seed=k)

    def spec(self, name, rounds, **fleet):
        for board in self.boards:
            folder = os.path.join(self.agents[board].state, "tasks", name)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "rows.json"), "w", encoding="utf-8") as out:
                json.dump(self.rows_of(board), out)
        return {"name": name, "trainer": "own", "deadline": "10m", "target_loss": -1,
                "memory": "50MB", "report_every": 100,
                "params": {"classes": CLASSES, "features": FEATURES, "steps": 3, "rest_s": REST_S,
                           "fleet": {"rounds": rounds, **fleet}}}

    def row(self, name, node):
        found = self.tasks(name=name, node=node)
        return found[0] if found else {"state": "none"}

    def group(self, name, node):
        return self.row(name, node).get("fleet") or {}

    def round(self, name, node):
        return self.group(name, node).get("round") or 0

    def model_of(self, name, node):
        folder = os.path.join(self.agents[node].state, "tasks", name)
        with open(os.path.join(folder, "checkpoint.json"), encoding="utf-8") as file:
            state = json.load(file)["state"]
        with open(os.path.join(folder, state), encoding="utf-8") as file:
            return json.load(file)

    def accuracy(self, model):
        right, rows, _ = judged(model, made_up(1800, list(range(CLASSES)), seed=99))
        return 100.0 * right / rows

    def trained_alone(self, rows):
        model = {"weights": [[0.0] * FEATURES for _ in range(CLASSES)], "biases": [0.0] * CLASSES}
        random.Random(3).shuffle(rows)
        for _ in range(8):
            for at in range(0, len(rows), 30):
                step(model, rows[at:at + 30], 0.1)
        return self.accuracy(model)

    def test_one_model_though_a_board_is_killed_and_comes_back_and_one_comes_after_the_end(self):
        name, rounds = "own", 400
        spec = self.spec(name, rounds)
        there = self.boards[:3]
        self.submit(spec, "--node", ",".join(there))
        killed = self.agents["n-3"]
        self.assertTrue(wait_until(lambda: self.round(name, "n-1") > 20, 90, 0.3),
                        killed.log()[-800:])
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait(10)
        self.assertTrue(wait_until(lambda: self.group(name, "n-1").get("waits_for") == ["n-3"], 30,
                                   0.3), self.group(name, "n-1"))
        before = self.round(name, "n-1")
        self.assertLess(before, rounds)
        killed.start()
        self.assertTrue(wait_until(lambda: self.round(name, "n-1") > before + 5, 90, 0.3),
                        "the group does not go on:\n" + killed.log()[-800:])
        self.assertTrue(wait_until(
            lambda: all(self.row(name, n)["state"] == "exhausted" for n in there), 400, 0.5),
            [self.row(name, n) for n in there])
        models = {n: self.model_of(name, n) for n in there}
        central = self.trained_alone([r for n in there for r in self.rows_of(n)])
        alone = self.trained_alone(self.rows_of("n-1"))
        print("pooled rows %.2f %%, a board alone %.2f %%, averaged %.2f %%" % (
            central, alone, self.accuracy(models["n-1"])))
        for node, model in models.items():
            self.assertEqual(model["weights"], models["n-1"]["weights"], node)
            self.assertGreater(self.accuracy(model), central - 2, node)
            self.assertGreater(self.accuracy(model), alone + 20, node)
            reason = self.row(name, node)["reason"]
            self.assertIn("made by n-1, n-2, n-3", reason)
            self.assertNotIn("; without", reason)
            self.assertIn("the best on the rows held out", reason)
            self.assertGreater(model["own.count"][0], 0)  # and it is of this board alone
        self.assertIn("round %d of %d" % (rounds, rounds),
                      self.lairctl("describe", "task", name, "--node", "n-2").out)

        self.submit(spec, "--node", "n-4")
        self.assertTrue(wait_until(lambda: self.row(name, "n-4")["state"] == "exhausted", 90, 0.5),
                        self.row(name, "n-4"))
        late = self.model_of(name, "n-4")
        self.assertEqual(late["weights"], models["n-1"]["weights"])
        self.assertEqual(late["own.count"], [0.0])

    def test_what_is_wrong_with_fleet_is_said_with_its_place(self):
        self.submit(self.spec("wrong", 10, roundz=3), "--node", "n-1")
        reason = self.wait_for_task("wrong", "failed", 90)["reason"]
        self.assertIn("/fleet/roundz", reason)
        self.assertIn('did you mean "rounds"', reason)


def torch_python():
    """An interpreter that has PyTorch and numpy; none if there is none."""
    for program in (sys.executable, os.path.join(TOP_FOLDER, "build/deps/venv/bin/python")):
        if os.path.exists(program) and subprocess.run(
                [program, "-c", "import torch, numpy"], capture_output=True, check=False).returncode == 0:
            return program
    return None


class WithTorch(OperatedFleet):
    """The example of the documentation, as it stands there."""

    boards = ("n-1", "n-2", "n-3")
    nodes = boards

    @classmethod
    def setUpClass(cls):
        cls.python = torch_python()
        if cls.python is None:
            raise unittest.SkipTest("no Python with torch and numpy: neither this one nor build/deps/venv's")
        super().setUpClass()

    @classmethod
    def configure(cls, board):
        env = {key: os.environ[key] for key in ("PYTHONPATH", "LD_LIBRARY_PATH") if key in os.environ}
        board.config["trainers"]["torch"] = {
            "exec": [cls.python, "-B", os.path.join(TOP_FOLDER, "trainers/python/examples/cotrain_torch.py")],
            "env": {"LAIRD_TRAIN": LAIRD_TRAIN, **env}}

    def test_a_network_learns_all_classes_from_boards_that_have_two_each(self):
        write = ("import json, sys, numpy; rows = numpy.array(json.load(sys.stdin), dtype='f4');"
                 "numpy.save('x.npy', rows[:, :-1].copy()); numpy.save('y.npy', rows[:, -1].astype('i8'))")
        for k, board in enumerate(self.boards):
            folder = os.path.join(self.agents[board].state, "tasks", "net")
            os.makedirs(folder)
            rows = made_up(1000, [2 * k, 2 * k + 1], seed=k)
            subprocess.run([self.python, "-c", write], input=json.dumps(rows).encode(), cwd=folder, check=True)
        self.submit({"name": "net", "trainer": "torch", "deadline": "10m", "target_loss": -1,
                     "memory": "1GB", "params": {"classes": CLASSES, "fleet": {"rounds": 60}}}, "--all")

        def row(node):
            found = self.tasks(name="net", node=node)
            return found[0] if found else {"state": "none"}

        def fleet(node):
            return row(node).get("fleet") or {}
        self.assertTrue(wait_until(lambda: all(row(n)["state"] == "exhausted" for n in self.boards),
                                   400, 0.5), [row(n) for n in self.boards])
        for node in self.boards:
            self.assertTrue(wait_until(lambda n=node: fleet(n).get("accuracy"), 20, 0.5), row(node))
            told = fleet(node)
            print("%s: round %d, held-out accuracy of all boards %.3f" % (
                node, told["round"], told["accuracy"]))
            self.assertGreater(told["accuracy"], 0.85)


if __name__ == "__main__":
    unittest.main(verbosity=2)
