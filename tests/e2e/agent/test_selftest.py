"""`laird board --selftest` on a fake of every board that has a file: what it finds, what it finds wrong,
and that nothing of the board is left changed."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import fake_jetson
from fake_jetson import Draw, FakeJetson
from harness import BIN, LAIRD

SYSFS_PARTS = "board,sensors,meters,knobs"


class Selftest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="laird-selftest-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.report = os.path.join(self.folder, "report.json")

    def jetson(self, board_file, **more):
        root = tempfile.mkdtemp(prefix="board-", dir=self.folder)
        return FakeJetson(root, board_file, **more)

    def start(self, jetson, only, *more):
        environment = {**os.environ, "TMPDIR": self.folder,
                       "PATH": os.path.dirname(jetson.tegrastats) + ":" + os.environ["PATH"]}
        return subprocess.Popen(
            [LAIRD, "board", "--selftest", "--quick", "--only", only, "--report", self.report, "--root",
             jetson.root, "--tegrastats", jetson.tegrastats, "--priv", os.path.join(BIN, "laird-priv"),
             *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def run_it(self, jetson, only, *more):
        """Exit code, what it printed, its checks by name."""
        process = self.start(jetson, only, *more)
        out, err = process.communicate(timeout=300)
        with open(self.report, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual("laird.selftest/1.0", report["s"])
        self.assertTrue(report["rehearsal"])
        return process.returncode, out + err, {c["check"]: c for c in report["checks"]}, report

    def test_every_board_passes_and_is_left_as_it_was(self):
        self.assertGreaterEqual(len(fake_jetson.board_files()), 12)
        for board_file in fake_jetson.board_files():
            with self.subTest(board=board_file):
                jetson = self.jetson(board_file)
                before = jetson.snapshot()
                code, said, checks, report = self.run_it(jetson, SYSFS_PARTS)
                self.assertEqual(0, code, said)
                self.assertEqual(jetson.about["name"], checks["board"]["measured"]["board"])
                for check in ("board", "sensors", "meters", "gpu clock", "cpu clock"):
                    self.assertEqual("passed", checks[check]["outcome"], checks[check])
                clock = checks["gpu clock"]["measured"]
                self.assertEqual((612000000, 408000000, 408000000, 612000000),
                                 tuple(clock[k] for k in ("before", "asked", "held", "after")))
                self.assertTrue(report["tegrastats"][0].startswith("RAM 1866/7620MB"), report["tegrastats"])
                after = jetson.snapshot()
                after.pop(os.path.join(jetson.root, "laird-priv.journal"), None)
                self.assertEqual(before, after)

    def test_meters_that_disagree_are_found(self):
        code, said, checks, _ = self.run_it(self.jetson("orin_nano_8gb.json", lie=2), "meters")
        self.assertEqual(1, code, said)
        self.assertEqual("failed", checks["meters"]["outcome"])
        self.assertIn("apart", checks["meters"]["said"])
        self.assertIn("BAD  meters", said)

    def test_a_rail_that_is_not_there_is_named(self):
        code, said, checks, _ = self.run_it(self.jetson("tx2.json", without_rail="VDD_SYS_SOC"), "sensors")
        self.assertEqual(1, code, said)
        self.assertEqual(["VDD_SYS_SOC"], checks["sensors"]["measured"]["missing"])

    def test_without_tegrastats_it_says_so_and_goes_on(self):
        jetson = self.jetson("orin_nx_8gb.json")
        os.unlink(jetson.tegrastats)
        code, said, checks, _ = self.run_it(jetson, SYSFS_PARTS)
        self.assertEqual(0, code, said)
        self.assertEqual("skipped", checks["meters"]["outcome"])
        self.assertIn("tegrastats", checks["meters"]["said"])

    def test_a_part_that_is_none_is_refused(self):
        process = self.start(self.jetson("tx2.json"), "meters,tea")
        _, err = process.communicate(timeout=60)
        self.assertEqual(2, process.returncode)
        self.assertIn("no part 'tea'", err)

    def test_a_training_under_a_cap_with_its_energy_account_and_its_model(self):
        jetson = self.jetson("orin_nano_8gb.json")
        draw = Draw(jetson, "VDD_IN", 4000, 8000)
        draw.start()
        self.addCleanup(draw.join)
        self.addCleanup(setattr, draw, "over", True)
        process = self.start(jetson, "training")
        draw.pid = process.pid
        out, err = process.communicate(timeout=300)
        with open(self.report, encoding="utf-8") as file:
            report = json.load(file)
        checks = {c["check"]: c for c in report["checks"]}
        for check in ("training", "cap", "energy", "export"):
            self.assertEqual("passed", checks[check]["outcome"], (checks[check], out, err))
        seen = checks["cap"]["measured"]
        self.assertLess(seen["idle_mw"], 4500)
        self.assertGreater(seen["free_mw"], seen["cap_mw"])
        self.assertLessEqual(seen["capped_mw"], seen["cap_mw"] * 1.03)
        self.assertEqual("skipped", checks["tensorrt"]["outcome"])
        self.assertIn("no TensorRT", checks["tensorrt"]["said"])
        # Nothing is left behind but the report and the board.
        self.assertEqual([], [n for n in os.listdir(self.folder) if n.startswith("laird-selftest-")])

    def test_a_trainer_that_cannot_start_is_told_with_the_agents_words(self):
        jetson = self.jetson("orin_nano_8gb.json")
        alone = os.path.join(self.folder, "bin")
        os.mkdir(alone)
        shutil.copy(LAIRD, alone)
        process = subprocess.run([os.path.join(alone, "laird"), "board", "--selftest", "--quick", "--only",
                                  "training", "--report", self.report, "--root", jetson.root],
                                 capture_output=True, text=True, timeout=300, check=False,
                                 env={**os.environ, "TMPDIR": self.folder})
        self.assertEqual(1, process.returncode, process.stdout + process.stderr)
        self.assertIn("BAD  training", process.stdout)
        with open(self.report, encoding="utf-8") as file:
            self.assertIn("laird-train", json.load(file)["agent_log"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
