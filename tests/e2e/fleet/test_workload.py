"""The demo's tasks: their targets follow the machine's speed, and those out of reach stay so."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../examples/fleet"))
import workload  # noqa: E402

BIN = os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin"))
TASKS = workload.FIRST + workload.LATE


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
