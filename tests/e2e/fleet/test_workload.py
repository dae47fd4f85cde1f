"""The demos' tasks: their targets follow the machine's speed, and those out of reach stay so."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples")
sys.path.insert(0, os.path.join(EXAMPLES, "fleet"))
import workload  # noqa: E402

_spec = importlib.util.spec_from_file_location("one_board",
                                               os.path.join(EXAMPLES, "one_board", "demo.py"))
one_board = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(one_board)

BIN = os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin"))
TASKS = workload.FIRST + workload.LATE + workload.ONE_BOARD


class Workload(unittest.TestCase):

    def test_a_faster_machine_gets_a_lower_target_within_what_was_measured(self):
        for task in TASKS:
            slow, fast = task.spec(0.3, 30), task.spec(1.0, 30)
            if task.why:
                self.assertEqual(slow["target_loss"], fast["target_loss"])
                continue
            curve = workload.MODELS[task.model][2]
            self.assertLessEqual(fast["target_loss"], slow["target_loss"], task.name)
            for spec in (slow, fast, task.spec(1e-6, 30), task.spec(1e6, 30)):
                self.assertLessEqual(curve[-1][1], spec["target_loss"])
                self.assertLessEqual(spec["target_loss"], curve[0][1])
                self.assertGreaterEqual(spec["report_every"], 1000)

    def test_curves_fall_and_are_followed_between_their_points(self):
        for kind, (_, _, curve) in workload.MODELS.items():
            self.assertEqual(curve, sorted(curve), kind)
            self.assertEqual(curve, sorted(curve, key=lambda p: -p[1]), kind)
            for (n0, l0), (n1, l1) in zip(curve, curve[1:]):
                self.assertAlmostEqual(workload.loss_after(curve, n1), l1, places=9)
                self.assertTrue(l1 < workload.loss_after(curve, (n0 + n1) / 2) < l0)

    def test_many_cores_help_only_as_far_as_one_trainer_goes(self):
        core = workload.REFERENCE_PER_CORE
        self.assertAlmostEqual(workload.pace_of(workload.REFERENCE_PER_S, core), 1.0)
        self.assertAlmostEqual(workload.pace_of(64 * core, core), 1.5)
        self.assertEqual(workload.pace_of(640 * core, 10 * core), workload.PACE_MAX)
        self.assertAlmostEqual(workload.pace_of(workload.REFERENCE_PER_S / 4, core / 4), 0.25)

    def test_calibration_trains_and_says_how_fast(self):
        with tempfile.TemporaryDirectory() as folder:
            per_s, per_core = workload.calibrate(BIN, folder)
        self.assertGreater(per_core, 0)
        self.assertAlmostEqual(per_s, per_core * len(os.sched_getaffinity(0)))

    def test_every_task_is_one_the_trainer_takes(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, (trainer, params, _) in workload.MODELS.items():
                path = os.path.join(folder, kind + ".json")
                with open(path, "w", encoding="utf-8") as out:
                    out.write(workload.json.dumps(
                        workload.one_machine.fashion(trainer, **params)["params"]))
                subprocess.run([os.path.join(BIN, "laird-train"), "check", trainer, path],
                               check=True, stdout=subprocess.DEVNULL)


class OneBoard(unittest.TestCase):

    def test_its_config_is_valid_with_targets_for_a_slow_and_a_fast_machine(self):
        for pace in (0.05, 1.0, workload.PACE_MAX):
            config = one_board.make_config(pace)
            self.assertEqual(len(config["tasks"]), 6)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as out:
                json.dump(config, out)
                out.flush()
                subprocess.run([os.path.join(BIN, "laird"), "check", out.name], check=True,
                               stdout=subprocess.DEVNULL)

    def test_the_tasks_in_reach_leave_their_lane_most_of_its_time(self):
        for lane in ("cpu", "gpu"):
            work = sum(task.samples(1.0, one_board.SECONDS) / task.rate
                       for task in workload.ONE_BOARD if task.lane == lane and not task.why)
            self.assertLess(work, 0.3 * one_board.SECONDS, lane)

    def test_the_verdict_counts_what_is_out_of_reach_by_design_apart(self):
        good = {t.name: "missed" if t.why else "succeeded" for t in workload.ONE_BOARD}
        self.assertEqual(one_board.verdict(good), (
            "4 of 4 tasks reached the target loss in time; of 2 out of reach by design 2 missed it",
            True))
        self.assertFalse(one_board.verdict(dict(good, **{"boots-svm": "exhausted"}))[1])
        self.assertFalse(one_board.verdict(dict(good, **{"softmax-perfect": "failed"}))[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
