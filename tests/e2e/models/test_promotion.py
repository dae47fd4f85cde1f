"""A task with "promote" on a real agent: its model is exported, promoted by a task of its own, and
stands in the board's store; over deaths of the agent it does so once."""

import json
import os
import random
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../agent"))

import harness  # noqa: E402
from harness import BIN, Board, synthetic_task  # noqa: E402

FAKE = os.path.join(HERE, "fake_trtexec.py")
PROMOTE = os.path.abspath(os.path.join(BIN, "laird-promote"))
KILLS = int(os.environ.get("LAIRD_PROMOTION_KILLS", "8"))
LIMITS = {"memory": "200MB", "deadline": "5m"}


def promoted_task(name, target=100.0, promote=None, **more):
    task = synthetic_task(name, target=target, trainer="mlp", memory="50MB",
                          promote=dict(LIMITS, **(promote or {})), **more)
    task["params"]["hidden"] = [6]
    task["params"]["held_out"] = 0.2
    return task


class Promotion(unittest.TestCase):
    def board(self, trtexec=None, **config):
        board = Board(**config)
        self.addCleanup(board.__exit__)
        if trtexec is not None:
            board.config["trainers"]["laird-promote"] = {
                "exec": [PROMOTE, "task", "--trtexec", FAKE, "--plugin", "/no/such.so"],
                "env": {"FAKE_TRTEXEC_MODE": trtexec, "PATH": "/usr/bin:/bin"}}
        return board

    def promotion_of(self, board, name, timeout=60):
        child = name + "-promote"
        board.wait_for(lambda: child in board.tasks(), timeout, "no promotion")
        return board.wait_ended(child, timeout=timeout)[child]

    def stored(self, board, name):
        path = os.path.join(board.state, "models", name, "current", "promoted.json")
        board.wait_for(lambda: os.path.exists(path), 20, "the model is not in the store")
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_a_target_reached_leads_to_an_engine_in_the_store(self):
        board = self.board("ok").start()
        board.accept(promoted_task("night"))
        row = self.promotion_of(board, "night")
        self.assertEqual((row["state"], row["promotes"]), ("succeeded", "night"), row)
        result = row["promotion"]
        self.assertEqual(result["choice"], "fp16")
        self.assertGreaterEqual(result["agreement"], 0.999)
        # The fake takes 1.05 ms for a row.
        self.assertAlmostEqual(result["latency_us_p50"], 1050 * 1.099, delta=1)
        self.assertLess(result["latency_us_p50"], result["latency_us_p99"])
        self.assertGreater(result["rows_per_s"], 10000)
        about = self.stored(board, "night")
        self.assertEqual((about["choice"], about["task"]), ("fp16", "night"))
        parent = board.tasks()["night"]
        self.assertEqual((parent["state"], parent["promotion_task"]),
                         ("succeeded", "night-promote"))
        code, out, err = board.ctl("get", "tasks", "-o", "wide")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"night-promote .*promoted as fp16: agreement \S+, p50 \d+ us")
        code, out, err = board.ctl("describe", "task", "night-promote")
        self.assertIn("promotes      night\n", out + err)
        self.assertIn("fp16", out)
        code, out, err = board.ctl("models")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"night +000001 +fp16 ")

    def test_the_energy_of_an_inference_is_the_meters(self):
        # A modelled board: what its one lane draws above idle is in its file.
        board = self.board("ok", power={"source": "modelled", "every": "0.1s"}).start()
        board.accept(promoted_task("night"))
        self.promotion_of(board, "night", timeout=90)
        about = self.stored(board, "night")
        energy = about["energy_mj_per_row"]
        self.assertIsNotNone(energy, about)
        self.assertIsNone(about["no_energy"])
        first = next(a for a in about["attempts"] if a["precision"] == about["choice"])["timings"][0]
        self.assertEqual(first["batch"], 1)
        with open(os.path.join(HERE, "../../../board_configs/generic.json"), encoding="utf-8") as file:
            watts = json.load(file)["model"]["cpu_dynamic"]
        watts = float(watts.rstrip("W"))
        # The promotion has the lane for nearly all of the time that is metered.
        self.assertLess(energy * 1e-3 * first["rows_per_s"], 1.1 * watts)
        self.assertGreater(energy * 1e-3 * first["rows_per_s"], 0.5 * watts)
        code, out, err = board.ctl("models")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"night +000001 +fp16 +\S+ +\d+ +\d+ +%s" % ("%.4f" % energy)[:3])

    def test_a_board_without_a_meter_says_so(self):
        board = self.board("ok").start()
        board.accept(promoted_task("night"))
        self.promotion_of(board, "night")
        about = self.stored(board, "night")
        self.assertIsNone(about["energy_mj_per_row"])
        self.assertEqual(about["no_energy"], "this board has no power meter")
        self.assertIn("no energy of a row (this board has no power meter): night",
                      board.ctl("models")[2])

    def test_without_tensorrt_the_onnx_is_promoted(self):
        board = self.board().start()
        board.accept(promoted_task("night"))
        row = self.promotion_of(board, "night")
        self.assertEqual(row["state"], "succeeded", row)
        self.assertEqual(row["promotion"]["choice"], "onnx")
        self.assertIn("no TensorRT", row["reason"])
        self.assertEqual(self.stored(board, "night")["choice"], "onnx")

    def test_an_engine_beyond_the_limits_of_the_file_is_not_taken(self):
        board = self.board("flipped").start()
        board.accept(promoted_task("strict"))
        row = self.promotion_of(board, "strict")
        self.assertEqual(row["promotion"]["choice"], "onnx", row)
        board.accept(promoted_task("lenient", promote={
            "agreement_min": 0.9, "loss_change_max": 10, "precisions": ["fp32"]}))
        row = self.promotion_of(board, "lenient")
        self.assertEqual(row["promotion"]["choice"], "fp32", row)

    def test_a_build_that_hangs_ends_with_its_own_deadline(self):
        board = self.board("hang").start()
        board.accept(promoted_task("slow", promote={"deadline": "3s"}))
        row = self.promotion_of(board, "slow")
        self.assertEqual(row["state"], "missed", row)
        board.wait_for(lambda: not board.trainer_pids("slow"), 10, "the build lives on")

    def test_a_build_that_holds_no_grant_stands_still(self):
        board = self.board("hang").start()
        board.accept(promoted_task("slow", promote={"deadline": "5m"}))
        board.wait_for(lambda: board.tasks().get("slow-promote", {}).get("samples", 0) > 20, 30,
                       "the promotion does not run")
        board.ask({"op": "pause", "task": "slow-promote"})
        board.wait_for(lambda: not board.trainer_pids("slow"), 20, "it was not paused")
        board.ask({"op": "cancel", "task": "slow"})
        self.assertEqual(board.wait_ended("slow-promote")["slow-promote"]["state"], "cancelled")

    def let_work(self, board, name):
        """Until the task is over or has a newer checkpoint: one that takes the agent along three times in
        a row, and has nothing to show in between, fails as the likely cause."""
        path = os.path.join(board.task_folder(name), "checkpoint.bin")

        def written():
            return os.stat(path).st_mtime_ns if os.path.exists(path) else 0
        began = written()
        board.wait_for(lambda: board.task_state(name) in harness.TERMINAL or written() > began, 60,
                       "the task does not work")

    def test_it_happens_once_over_deaths_of_the_agent(self):
        chance = random.Random(20261118)
        board = self.board("ok").start()
        board.accept(promoted_task("night", target=0.9, report_every=50))
        promoting = 0
        for kill in range(KILLS):
            if kill % 2:
                self.let_work(board, "night")
            time.sleep(chance.uniform(0.05, 0.8))
            board.kill()
            board.start()
            promoting += "night-promote" in board.tasks()
            if promoting == 2:
                break  # the promotion writes no checkpoint, so a third death would be its last
        row = self.promotion_of(board, "night")
        self.assertEqual(row["state"], "succeeded", row)
        self.assertEqual(self.stored(board, "night")["choice"], "fp16")
        versions = os.listdir(os.path.join(board.state, "models", "night", "versions"))
        self.assertEqual(versions, ["000001"])
        board.terminate()
        made = [fields for row, kind, fields in harness.commands_of(
            harness.read_journal(board.journal_folder), "task-changed")
            if fields["outcome"] == "succeeded" and fields["state"] == "ended"]
        self.assertEqual(len(made), 2, made)
        code, out = board.replay()
        self.assertEqual(code, 0, out)

    def test_bad_wishes_are_refused_with_a_remedy(self):
        board = self.board()
        board.config["trainers"]["prints"] = {"exec": ["/bin/true"], "protocol": "lines"}
        board.start()
        for change, words in (
                ({"promote": {"precisions": ["fp8"]}}, "int8"),
                ({"promote": {"agreement": 1}}, "agreement_min"),
                ({"promote": {"memory": "100GB"}}, "lower \"memory\""),
                ({"trainer": "prints"}, "only prints"),
                ({"name": "a-name-of-more-than-24-bytes"}, "at most 24"),
                ({"trainer": "laird-promote", "promote": None}, "allow-list")):
            task = dict(promoted_task("bad"), **change)
            task = {key: value for key, value in task.items() if value is not None}
            answer = board.submit(task)
            self.assertFalse(answer["ok"], answer)
            self.assertIn(words, json.dumps(answer).replace('\\"', '"'))


if __name__ == "__main__":
    harness.main()
