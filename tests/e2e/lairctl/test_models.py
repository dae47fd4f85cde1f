"""Models off the boards, through a real broker: listed, rolled back, pulled in pieces that survive any
interruption, and never at the cost of the ledger."""

import hashlib
import json
import os
import random
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../formats"))

import journal_reader
from boards import LAIRCTL, OperatedFleet, task
from harness import wait_until

BIG_BYTES = 20_000_000
INTERRUPTIONS = 20


def place_model(board, name, *contents):
    """Versions of a model as laird-promote leaves them, the last one current."""
    shelf = os.path.join(board.state, "models", name)
    for number, content in enumerate(contents, 1):
        folder = os.path.join(shelf, "versions", "%06d" % number)
        os.makedirs(folder)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(content)
        about = {"format": 1, "task": name, "choice": "onnx", "version": "%06d" % number,
                 "before": "%06d" % (number - 1) if number > 1 else None, "attempts": [],
                 "files": [{"file": "model.onnx", "bytes": len(content),
                            "sha256": hashlib.sha256(content).hexdigest()}]}
        with open(os.path.join(folder, "promoted.json"), "w", encoding="utf-8") as file:
            json.dump(about, file)
        link = os.path.join(shelf, "current")
        if os.path.lexists(link):
            os.remove(link)
        os.symlink("versions/%06d" % number, link)


class Models(OperatedFleet):
    boards = ("n-1", "n-2")
    nodes = ("n-1", "n-2")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.big = random.Random(1).randbytes(BIG_BYTES)
        place_model(cls.agents["n-1"], "big", cls.big)
        place_model(cls.agents["n-2"], "small", b"one", b"the second")

    def folder(self, name):
        return os.path.join(self.root, name)

    def test_models_of_all_boards_and_of_one(self):
        out = self.lairctl("models").out
        self.assertRegex(out, r"\AMODEL +NODE +VERSION +AS +ACCURACY +P50_US +P99_US +MJ/ROW +SIZE +AGE\n")
        self.assertRegex(out, r"\nbig +n-1 +000001 +onnx .* 20\.0 MB ")
        self.assertRegex(out, r"\nsmall +n-2 +00000\d +onnx ")
        rows = self.lairctl("models", "--node", "n-1", "-o", "json").json()
        self.assertEqual([(row["node"], row["model"], row["bytes"]) for row in rows],
                         [("n-1", "big", BIG_BYTES)])
        self.lairctl("models", "--node", "n-9", code=3)

    def test_rollback_on_one_board(self):
        self.assertIn("which board", self.lairctl("models", "rollback", "small", code=2).err)
        done = self.lairctl("models", "rollback", "small", "--node", "n-2")
        self.assertIn("000001", done.out)
        self.assertEqual(os.readlink(os.path.join(self.agents["n-2"].state, "models", "small",
                                                  "current")), "versions/000001")
        again = self.lairctl("models", "rollback", "small", "--node", "n-2", code=3)
        self.assertIn("no version before 000001", again.err)
        self.lairctl("models", "rollback", "big", "--node", "n-2", code=3)

    def test_a_model_interrupted_twenty_times_arrives_whole_and_the_ledger_ticks_on(self):
        chance = random.Random(20)
        folder = self.folder("pulled")
        command = [LAIRCTL, "pull", "big", folder, "--node", "n-1"]
        path = os.path.join(folder, "model.onnx")
        interrupted = 0
        sizes = [0]
        while interrupted < INTERRUPTIONS:
            pull = subprocess.Popen(command, env=self.environment(), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            grown = False
            while pull.poll() is None and not grown:
                time.sleep(chance.uniform(0.05, 0.3))
                size = os.path.getsize(path + ".part") if os.path.exists(path + ".part") else 0
                grown = size > sizes[-1]
            self.assertIsNone(pull.poll(), "it was done after %d interruptions" % interrupted)
            pull.kill()
            pull.wait()
            sizes.append(os.path.getsize(path + ".part"))
            interrupted += 1
        self.assertEqual(sizes, sorted(sizes))
        self.assertFalse(os.path.exists(path))
        done = self.lairctl("pull", "big", folder, "--node", "n-1", timeout_s=120)
        self.assertIn("going on at %d bytes" % sizes[-1], done.err)
        with open(path, "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).digest(), hashlib.sha256(self.big).digest())
        self.assertEqual(os.listdir(folder), ["model.onnx"])
        self.lairctl("pull", "big", folder, "--node", "n-1")  # there already
        self.assert_ledger_went_on()

    def assert_ledger_went_on(self):
        """No board was fenced, and the time between two of their ticks is told."""
        for node, agent in self.agents.items():
            rows = journal_reader.read_folder(journal_reader.schema(),
                                              os.path.join(agent.state, "journal"))
            notices = [fields for row in rows for kind, fields in row.commands or ()
                       if kind == "notice" and fields["kind"] == "fenced"]
            self.assertEqual(notices, [], node)
            ticks = [row.at for row in rows if row.kind == "peers-heard"]
            gaps = sorted(b - a for a, b in zip(ticks, ticks[1:]))
            print("%s: %d ticks heard peers; between two: median %.3f s, longest %.3f s" % (
                node, len(ticks), gaps[len(gaps) // 2] * 1e-9, gaps[-1] * 1e-9))

    def test_a_damaged_part_is_found_out(self):
        folder = self.folder("damaged")
        os.makedirs(folder)
        place_model(self.agents["n-2"], "other", b"x" * 100_000)
        with open(os.path.join(folder, "model.onnx.part"), "wb") as file:
            file.write(b"y" * 50_000)
        with open(os.path.join(folder, "model.onnx.part.version"), "w", encoding="utf-8") as file:
            file.write("000001")
        done = self.lairctl("pull", "other", folder, "--node", "n-2", code=1)
        self.assertIn("not the whole file; pull again", done.err)
        self.lairctl("pull", "other", folder, "--node", "n-2")
        with open(os.path.join(folder, "model.onnx"), "rb") as file:
            self.assertEqual(file.read(), b"x" * 100_000)

    def test_the_files_of_a_task_over_the_fleet_and_over_the_socket(self):
        self.submit(task("plain", epochs=3), "--node", "n-1")
        self.wait_for_task("plain", "exhausted", 30)
        one, two = self.folder("fleet"), self.folder("socket")
        self.lairctl("pull", "plain", one)
        self.lairctl("pull", "plain", two, "--socket", self.agents["n-1"].socket)
        self.assertTrue(os.listdir(one))
        self.assertEqual(sorted(os.listdir(one)), sorted(os.listdir(two)))
        for name in os.listdir(one):
            with open(os.path.join(one, name), "rb") as a, open(os.path.join(two, name), "rb") as b:
                self.assertEqual(a.read(), b.read())
        self.lairctl("pull", "nobody", one, "--node", "n-1", code=3)

    def test_an_operator_without_the_verb_gets_nothing(self):
        board = self.agents["n-2"]
        board.kill()
        board.config["fleet"]["operators"][0]["may"] = ["get", "ping", "models"]
        board.start()
        try:
            self.wait_for_boards()
            self.lairctl("models", "--node", "n-2")
            self.lairctl("pull", "small", self.folder("refused"), "--node", "n-2", code=4)
            self.lairctl("models", "rollback", "small", "--node", "n-2", code=4)
        finally:
            board.kill()
            board.config["fleet"]["operators"][0].pop("may")
            board.start()
            self.wait_for_boards()


class Names(OperatedFleet):
    boards = ("n-1",)
    nodes = ("n-1",)

    @classmethod
    def configure(cls, board):
        board.config["trainers"]["unlucky"] = {"exec": ["/bin/false"]}

    def test_what_its_trainer_does_not_take_is_refused_at_the_door(self):
        bad = task("door", epochs=2)
        bad["params"]["batch_size"] = 7
        refused = self.submit(bad, code=4)
        self.assertIn("batch_size", refused.err)
        bad = task("door", epochs=2)
        bad["params"]["data"] = {"format": "csv", "path": "/srv/none.csv", "label": "y"}
        self.assertIn("/srv/none.csv", self.submit(bad, code=4).err)
        self.assertEqual([], self.tasks(name="door"))
        self.submit(task("door", epochs=2))
        # The same again is known, and another is another's name: neither is asked of a trainer.
        self.submit(task("door", epochs=2))
        self.wait_for_task("door", "exhausted", 30)

    def test_a_failed_task_is_mended_and_tried_again_with_one_command(self):
        bad = task("mend", epochs=2, trainer="unlucky")
        self.submit(bad)
        self.wait_for_task("mend", "failed", 60)
        good = task("mend", epochs=2)
        refused = self.submit(good, code=4)
        self.assertIn("--replace", refused.err)
        self.submit(good, "--replace")
        self.wait_for_task("mend", "exhausted", 30)
        self.lairctl("rm", "mend")
        self.lairctl("rm", "mend", "--node", "n-1", code=3)
        self.submit(task("mend", epochs=2, deadline="9m"))

    def test_values_by_flag_and_a_task_for_each_of_several(self):
        done = self.submit(task("sweep", epochs=1), "--set", "report_every=250", "--sweep",
                           "params.learning_rate=0.1,0.01")
        self.assertIn("sweep-1: params.learning_rate=0.1", done.err)
        def swept():
            return {row["name"] for row in self.tasks() if row["name"].startswith("sweep")}
        self.assertTrue(wait_until(lambda: swept() == {"sweep-1", "sweep-2"}, 20, 0.3), swept())
        self.wait_for_task("sweep-1", "exhausted", 30)
        self.wait_for_task("sweep-2", "exhausted", 30)
        out = self.lairctl("get", "tasks").out
        self.assertRegex(out, r"\nsweep sweep: best is sweep-[12], loss \S+ \(exhausted\); "
                              r"0 of 2 go on\n")
        wrong = self.submit(task("w"), "--set", "params.learning_rate", code=2)
        self.assertIn("write params.lr=0.01", wrong.err)
        wrong = self.submit(task("w"), "--set", "wieght=3", code=2)
        self.assertIn("weight", wrong.err)

    def test_a_hopeless_member_of_a_sweep_ends_early_and_says_why(self):
        long = task("rates", epochs=40000, deadline="1h", report_every=2000)
        self.submit(long, "--sweep", "params.learning_rate=0.05,0.000000001")
        row = self.wait_for_task("rates-2", "cancelled", 90)
        self.assertIn("stopped early in the sweep 'rates': rates-1 has shown a loss of ", row["reason"])
        self.assertRegex(self.lairctl("get", "tasks").out,
                         r"\nsweep rates: best is rates-1, loss \S+ \((running|throttled)\); 1 of 2 go on\n")
        self.lairctl("cancel", "rates-1", "--yes")

    def test_a_deadline_and_a_weight_are_edited(self):
        self.submit(task("long", epochs=100000, deadline="1h"))
        self.wait_for_task("long", "running")
        self.lairctl("edit", "long", "--deadline", "+2h", "--weight", "3")
        row = self.lairctl("get", "tasks", "-o", "json", "--socket",
                           self.agents["n-1"].socket).json()
        row = [one for one in row if one["name"] == "long"][0]
        self.assertEqual(row["weight"], 3)
        self.assertGreater(row["deadline_in_s"], 2.5 * 3600)
        self.lairctl("edit", "long", code=2)
        self.lairctl("edit", "long", "--deadline", "yesterday", code=2)
        self.lairctl("cancel", "long", "--yes")


if __name__ == "__main__":
    unittest.main(verbosity=2)
