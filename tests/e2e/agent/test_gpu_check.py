"""The GPU without a GPU: a libcuda.so.1 that runs the plugin's own PTX, translated to C when the tests
were built. `laird board --gpu-check` with it, and agents whose forecasts it computes."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BIN, LAIRD

FAKE = os.path.join(os.path.dirname(BIN), "fake_cuda", "exact")
KERNELS = ["dkf_f64", "dkf_f32", "bank_step", "bank_look"]


def environment(how=None, driver=FAKE):
    out = {k: v for k, v in os.environ.items() if k not in ("LAIRD_FAKE_CUDA", "LD_LIBRARY_PATH")}
    if driver:
        out["LD_LIBRARY_PATH"] = driver
    if how:
        out["LAIRD_FAKE_CUDA"] = how
    return out


def gpu_check(*args, **how):
    return subprocess.run([LAIRD, "board", "--gpu-check", *args], env=environment(**how), timeout=240,
                          capture_output=True, text=True)


@unittest.skipUnless(os.path.exists(FAKE), "no clang that makes PTX when this was built")
class GpuCheck(unittest.TestCase):

    def test_every_word_of_every_kernel_is_compared(self):
        done = gpu_check("--json")
        self.assertEqual(0, done.returncode, done.stderr)
        found = json.loads(done.stdout)
        self.assertTrue(found["same_bits"])
        self.assertEqual("translated PTX on the CPU", found["device"])
        self.assertEqual(KERNELS, [k["kernel"] for k in found["kernels"]])
        for kernel in found["kernels"]:
            self.assertGreater(kernel["words"], 1000)
            self.assertEqual(0, kernel["different"])
        self.assertGreater(found["gpu_cost"]["update_ns"], 0)
        # The translation is no GPU: nobody would use it.
        self.assertNotIn("gpu_from_updates", found)
        said = gpu_check().stdout
        self.assertIn("the GPU gives the bits of the CPU", said)
        self.assertIn("the CPU is faster at every size", said)

    def test_one_wrong_bit_is_found_and_the_remedy_named(self):
        done = gpu_check(how="flip:500")
        self.assertEqual(1, done.returncode)
        self.assertIn("dkf_f64    1 of", done.stdout)
        self.assertIn('estimator.device to "cpu"', done.stdout)

    def test_what_fails_and_what_is_not_there_are_told_apart(self):
        for how, code, words in (("no-device", 3, "no CUDA-capable device"),
                                 ("no-jit", 1, "libnvidia-ptxjitcompiler.so.1 is missing"),
                                 ("bad-ptx", 1, "(error 218)"), ("new-ptx", 1, "(error 222)"),
                                 ("launch:7", 1, "unspecified launch failure"),
                                 ("crash", 1, "ended by signal 6")):
            with self.subTest(how=how):
                done = gpu_check(how=how)
                self.assertEqual(code, done.returncode, done.stderr)
                self.assertIn(words, done.stderr)
        done = gpu_check(driver=None)
        self.assertIn(done.returncode, (0, 3))  # 0 where this machine has a GPU
        if done.returncode == 3:
            self.assertIn("no CUDA driver", done.stderr)

    def test_the_self_test_calls_it(self):
        folder = tempfile.mkdtemp(prefix="laird-gpu-check-")
        self.addCleanup(shutil.rmtree, folder)
        report = os.path.join(folder, "report.json")
        command = [LAIRD, "board", "--selftest", "--only", "gpu", "--report", report]
        for how, outcome in ((None, "passed"), ("flip:500", "failed"), ("no-device", "skipped")):
            subprocess.run(command, env=environment(how), timeout=240, capture_output=True, check=False)
            with open(report, encoding="utf-8") as file:
                checks = {c["check"]: c for c in json.load(file)["checks"]}
            self.assertEqual(outcome, checks["engines"]["outcome"], checks["engines"])


@unittest.skipUnless(os.path.exists(FAKE), "no clang that makes PTX when this was built")
class AgentsDevice(unittest.TestCase):

    def run_agent(self, device, how=None, driver=FAKE):
        """The lines of its log about banks, and whether it opened the driver."""
        folder = tempfile.mkdtemp(prefix="laird-device-")
        self.addCleanup(shutil.rmtree, folder)
        config = os.path.join(folder, "laird.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"node": "gpu-1", "state_dir": "state", "cgroups": False,
                       "board": {"name": "generic", "memory": "2GB"}, "power": {"source": "none"},
                       "estimator": {"device": device},
                       "tasks": [{"name": "t", "trainer": "linear", "deadline": "60s", "target_loss": 0.9,
                                  "memory": "20MB", "report_every": 500,
                                  "params": {"data": {"format": "synthetic", "rows": 2000, "features": 4}}}]},
                      file)
        traced = os.path.join(folder, "libraries")
        done = subprocess.run([LAIRD, "run", "--config", config, "--view", "none", "--until-done"], timeout=120,
                              env={**environment(how, driver), "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": traced},
                              capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        opened = False
        for name in os.listdir(folder):
            if name.startswith("libraries."):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    opened |= "file=libcuda.so.1" in file.read()
        return [line for line in done.stderr.splitlines() if "banks are" in line or "batches of" in line], opened

    def test_automatically_no_agent_opens_the_driver_for_its_own_forecasts(self):
        for device in ("auto", "cpu"):
            self.assertEqual(([], False), self.run_agent(device))

    def test_asked_for_it_is_opened_and_said_once(self):
        said, opened = self.run_agent("gpu")
        self.assertEqual(1, len(said), said)
        self.assertIn("translated PTX on the CPU", said[0])
        self.assertTrue(opened)

    def test_each_failure_ends_on_the_cpu_with_one_line(self):
        for how, words in (("no-device", "no CUDA-capable device"), ("no-jit", "(error 221)"),
                           ("bad-ptx", "(error 218)"), ("new-ptx", "(error 222)"),
                           ("launch:3", "unspecified launch failure")):
            with self.subTest(how=how):
                said, _ = self.run_agent("gpu", how)
                self.assertEqual(1, len(said), said)
                self.assertIn("on the CPU", said[0])
                self.assertIn(words, said[0])


if __name__ == "__main__":
    unittest.main()
