"""laird-promote against a trtexec without TensorRT: engines, verdicts, caches, and what is current."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import exported

PROMOTE = os.path.join(exported.BIN, "laird-promote")
FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_trtexec.py")
KILLS = int(os.environ.get("LAIRD_PROMOTE_KILLS", "50"))


class Promote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.mkdtemp(prefix="laird-promote-")
        for name, seed in (("a", 1), ("b", 2)):
            folder = os.path.join(cls.models, name)
            exported.train(folder, "mlp", exported.params(hidden=[6]), seed)
            exported.export(folder, "--rows", "1500")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.models)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="laird-promote-")
        self.out = os.path.join(temporary.name, "models")
        self.log = os.path.join(temporary.name, "log")
        self.addCleanup(temporary.cleanup)

    def model(self, name="a"):
        return os.path.join(self.models, name, "model.onnx")

    def command(self, name, *more):
        usual = {"--out": self.out, "--trtexec": FAKE, "--plugin": "/no/such/plugin.so",
                 "--module": "Test Board"}
        words = [word for option, value in usual.items() if option not in more
                 for word in (option, value)]
        return [PROMOTE, "build", self.model(name), *words, *more]

    def environment(self, mode="ok", version=8502):
        return dict(os.environ, FAKE_TRTEXEC_MODE=mode, FAKE_TRTEXEC_VERSION=str(version),
                    FAKE_TRTEXEC_LOG=self.log)

    def promote(self, *more, name="a", mode="ok", version=8502, code=0):
        done = exported.said(*self.command(name, *more), env=self.environment(mode, version))
        self.assertEqual(done.returncode, code, done)
        return done

    def current(self):
        with open(os.path.join(self.out, "current", "promoted.json")) as file:
            return json.load(file)

    def builds(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [line for line in file if "--onnx=" in line]

    def test_the_fastest_engine_that_is_right_becomes_current(self):
        done = self.promote()
        self.assertIn("current: 000001 fp16", done.stdout)
        about = self.current()
        self.assertEqual((about["choice"], about["tensorrt"], about["module"], about["backend"]),
                         ("fp16", "8.5.2", "Test Board", "trtexec"))
        (attempt,) = about["attempts"]
        self.assertGreaterEqual(attempt["verdict"]["agreement"], 0.999)
        # The fake takes 1 ms and 0.05 ms a row, so the largest batch has the most rows a second.
        one, best = attempt["timings"]
        self.assertEqual((one["batch"], best["batch"]), (1, 256))
        self.assertAlmostEqual(one["latency_us_p50"], 1050 * 1.099, delta=1)
        self.assertAlmostEqual(one["latency_us_p99"], 1050 * 1.197, delta=1)
        self.assertAlmostEqual(best["rows_per_s"], 256 / 13.8e-3, delta=10)
        self.assertIsNone(about["energy_mj_per_row"])
        for name in ("engine", "model.onnx", "model.fp16.onnx", "model.rows", "model.json"):
            self.assertTrue(os.path.getsize(os.path.join(self.out, "current", name)))

    def test_a_cache_hit_builds_nothing(self):
        self.promote("--every")
        self.assertEqual(len(self.builds()), 2)
        done = self.promote("--every")
        self.assertEqual(len(self.builds()), 2)
        self.assertIn("fp16: cached", done.stdout)
        self.assertIn("fp32: cached", done.stdout)
        # A damaged engine is no hit.
        cache = os.path.join(self.out, "cache")
        for name in os.listdir(cache):
            if name.endswith(".engine") and "fp16" in name:
                with open(os.path.join(cache, name), "ab") as file:
                    file.write(b"x")
        self.promote()
        self.assertEqual(len(self.builds()), 3)

    def test_another_tensorrt_module_model_or_batch_builds_anew(self):
        self.promote()
        for count, more in enumerate(({"version": 100300}, {"name": "b"}), 2):
            self.promote(**more)
            self.assertEqual(len(self.builds()), count)
        self.promote("--module", "Other Board")
        self.promote("--batch-max", "16")
        self.assertEqual(len(self.builds()), 5)

    def test_flags_follow_the_version(self):
        for version, has, has_not in (
                (8001, ("--workspace=256", "--buildOnly", "--fp16"), ("--memPoolSize",)),
                (8203, ("--workspace=256", "--buildOnly"), ("--memPoolSize",)),
                (8403, ("--memPoolSize=workspace:256", "--buildOnly"), ("--workspace",)),
                (8601, ("--memPoolSize=workspace:256", "--skipInference"), ("--buildOnly",)),
                (101300, ("--skipInference", "--fp16"), ("--buildOnly",)),
                (110100, ("--skipInference", "model.fp16.onnx"), ("--fp16",))):
            done = self.promote(version=version)
            self.assertIn("fp16: built", done.stdout)
            line = self.builds()[-1]
            for word in has:
                self.assertIn(word, line)
            for word in has_not:
                self.assertNotIn(word, line)

    def test_one_wrong_answer_in_a_hundred_is_refused(self):
        done = self.promote(mode="flipped")
        self.assertIn("current: 000001 onnx: no engine is as good as the model", done.stdout)
        for attempt in self.current()["attempts"]:
            self.assertFalse(attempt["good"])
            self.assertLess(attempt["verdict"]["agreement"], 0.995)
            self.assertGreater(attempt["verdict"]["agreement"], 0.97)
            self.assertIn("of the rows", attempt["why_not"])
        self.assertFalse(os.path.exists(os.path.join(self.out, "current", "engine")))
        # With the limits of somebody who can live with it, it is taken, and not built again.
        builds = len(self.builds())
        done = self.promote("--agreement-min", "0.9", "--loss-change-max", "1")
        self.assertIn("current: 000002 fp16", done.stdout)
        self.assertEqual(len(self.builds()), builds)

    def test_a_wrong_half_falls_back_to_single(self):
        done = self.promote(mode="fp16-flipped")
        self.assertIn("fp16: built", done.stdout)
        self.assertIn("current: 000001 fp32", done.stdout)

    def failing(self, mode, *more):
        start = time.monotonic()
        done = self.promote(*more, mode=mode)
        self.assertLess(time.monotonic() - start, 100)
        self.assertIn("current: 000001 onnx", done.stdout)
        why = {attempt["why_not"] for attempt in self.current()["attempts"]}
        return " ".join(sorted(why))

    def test_out_of_memory_is_one_clear_sentence(self):
        for mode in ("no-memory", "killed"):
            shutil.rmtree(self.out, ignore_errors=True)
            why = self.failing(mode, "--precisions", "fp16")
            self.assertIn("TensorRT ran out of memory while building fp16; give it less with "
                          "--workspace", why)
            self.assertNotIn("\n", why)
            self.assertNotIn("virtualMemoryBuffer", why)

    def test_an_unknown_operator_is_named(self):
        self.assertIn("does not know the operator GridSample", self.failing("unsupported"))

    def test_a_build_that_hangs_is_ended(self):
        why = self.failing("hang", "--timeout", "1", "--precisions", "fp32")
        self.assertIn("did not end within 1 s while building fp32", why)

    def test_a_timing_cache_that_does_not_fit_is_thrown_away(self):
        self.promote(mode="bad-cache", name="a")
        self.promote(name="b")
        self.assertEqual(self.current()["choice"], "fp16")
        self.assertEqual(len(self.builds()), 3)

    def test_int8_is_refused_with_the_reason(self):
        done = self.promote("--precisions", "int8,fp32")
        self.assertIn("int8: not used: int8 needs a model that was quantized", done.stdout)
        self.assertIn("current: 000001 fp32", done.stdout)

    def test_without_tensorrt_the_model_itself_is_promoted(self):
        done = self.promote("--trtexec", "/no/such/trtexec")
        self.assertIn("current: 000001 onnx: no TensorRT on this board", done.stdout)
        self.assertEqual(done.stderr, "")
        done = self.promote("--backend", "trtexec", "--trtexec", "/no/such/trtexec", code=1)
        self.assertIn("no trtexec at /no/such/trtexec", done.stderr)

    def test_a_folder_whose_name_trtexec_would_divide_is_refused(self):
        done = self.promote("--out", self.out + ",x", code=1)
        self.assertIn("choose another --out", done.stderr)

    def test_without_rows_there_is_no_engine(self):
        folder = os.path.join(os.path.dirname(self.out), "blind")
        shutil.copytree(os.path.join(self.models, "a"), folder)
        about = exported.about(folder)
        about["held_out"] = None
        with open(os.path.join(folder, "model.json"), "w") as file:
            json.dump(about, file)
        done = exported.said(PROMOTE, "build", os.path.join(folder, "model.onnx"), "--out", self.out,
                             "--trtexec", FAKE)
        self.assertIn("onnx: no rows to check an engine with", done.stdout)

    def test_files_that_are_not_what_model_json_says_are_refused(self):
        folder = os.path.join(os.path.dirname(self.out), "broken")
        shutil.copytree(os.path.join(self.models, "a"), folder)
        model = os.path.join(folder, "model.onnx")
        with open(model, "ab") as file:
            file.write(b"x")
        done = exported.said(PROMOTE, "build", model, "--out", self.out, "--trtexec", FAKE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("model.onnx is not the file that model.json tells of", done.stderr)
        self.assertFalse(os.path.lexists(os.path.join(self.out, "current")))
        os.unlink(os.path.join(folder, "model.json"))
        done = exported.said(PROMOTE, "build", model, "--out", self.out, "--trtexec", FAKE)
        self.assertIn("laird-train export", done.stderr)

    def test_rollback_returns_to_the_one_before(self):
        done = exported.said(PROMOTE, "rollback", self.out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no model was promoted", done.stderr)
        self.promote(name="a")
        first = self.current()["model_sha256"]
        self.assertEqual(exported.said(PROMOTE, "rollback", self.out).returncode, 1)
        self.promote(name="b")
        self.assertNotEqual(self.current()["model_sha256"], first)
        done = exported.said(PROMOTE, "rollback", self.out)
        self.assertEqual((done.returncode, done.stdout), (0, "current: 000001\n"))
        self.assertEqual(self.current()["model_sha256"], first)
        shown = json.loads(exported.said(PROMOTE, "show", self.out).stdout)
        self.assertEqual(shown["version"], "000001")
        # Only the current one and the one before are kept.
        self.promote(name="b")
        self.assertEqual(sorted(os.listdir(os.path.join(self.out, "versions"))),
                         ["000001", "000003"])

    def test_two_at_once_do_not_mix(self):
        with subprocess.Popen(self.command("a", "--timeout", "30"), env=self.environment("hang"),
                              stdout=subprocess.DEVNULL) as first:
            while not self.builds():
                time.sleep(0.02)
            done = self.promote(code=1)
            self.assertIn("another laird-promote is at work", done.stderr)
            first.kill()
        self.promote()

    def whole(self):
        """The model of what is current, after a look at every file of it."""
        folder = os.path.realpath(os.path.join(self.out, "current"))
        about = self.current()
        for part in ("onnx", "onnx_fp16", "held_out"):
            ref = exported.about(folder)[part]
            with open(os.path.join(folder, ref["file"]), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), ref["sha256"])
        with open(os.path.join(folder, "engine"), "rb") as file, \
                open(os.path.join(folder, "model.onnx"), "rb") as model:
            self.assertEqual(file.read()[4:], model.read())
        return about["model_sha256"]

    def test_killed_before_any_change_of_a_file_the_old_or_the_new_one_is_current(self):
        self.promote(name="a")
        self.promote(name="b")
        known = {exported.about(os.path.join(self.models, name))["onnx"]["sha256"]: name
                 for name in ("a", "b")}
        old = new = at = 0
        ended = False
        while not ended:
            at += 1
            last = known[self.whole()]
            wanted = "a" if last == "b" else "b"
            environment = dict(self.environment(), KILL_AT=str(at), KILL_AT_PROGRAM="laird-promote",
                               LD_PRELOAD=os.path.join(exported.BIN, "libkill_at.so"))
            # The timing of engines is in the cache: the way is short.
            done = exported.said(*self.command(wanted), env=environment)
            ended = done.returncode == 0
            self.assertIn(done.returncode, (0, -signal.SIGKILL), done)
            now = known[self.whole()]
            old += now == last
            new += now == wanted
        print("killed before each of %d changes: %d times the old one, %d the new" % (at - 1, old, new - 1))
        self.assertGreater(old, 25)
        self.assertGreater(new, 2)

    def test_killed_at_any_moment_the_old_or_the_new_one_is_current(self):
        self.promote(name="a")
        known = {exported.about(os.path.join(self.models, name))["onnx"]["sha256"]: name
                 for name in ("a", "b")}
        chance = random.Random(7)
        span = {}
        for cached, name in ((False, "b"), (True, "a")):
            start = time.monotonic()
            self.promote(name=name)
            span[cached] = 1.1 * (time.monotonic() - start)
        killed, changed, last = 0, 0, self.whole()
        for _ in range(KILLS):
            wanted = "a" if known[last] == "b" else "b"
            # With its cache gone it builds; with it, it is soon at the end, where it matters.
            cached = chance.random() < 0.5
            if not cached:
                shutil.rmtree(os.path.join(self.out, "cache"))
            with subprocess.Popen(self.command(wanted), env=self.environment(),
                                  stdout=subprocess.DEVNULL) as process:
                time.sleep(chance.random() * span[cached])
                process.send_signal(signal.SIGKILL)
                killed += process.wait() == -signal.SIGKILL
            now = self.whole()
            self.assertIn(now, known)
            changed += now != last
            last = now
        print("%d killed of %d, %d of them after the change" % (killed, KILLS, changed))
        self.assertGreater(killed, KILLS // 4)
        self.promote(name="a")
        self.assertEqual(known[self.whole()], "a")
        leftovers = [n for n in os.listdir(os.path.join(self.out, "versions")) if n.endswith(".new")]
        self.assertEqual(leftovers, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
