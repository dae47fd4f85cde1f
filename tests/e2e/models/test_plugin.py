"""The plugin for TensorRT, run against libraries that implement its virtual interfaces on the processor."""

import json
import os
import shutil
import tempfile
import unittest

import exported

PROMOTE = os.path.join(exported.BIN, "laird-promote")
PLUGIN = os.environ["LAIRD_PLUGIN"]
LIBRARIES = os.environ["LAIRD_FAKE_LIBRARIES"]


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.mkdtemp(prefix="laird-plugin-")
        for name, seed in (("a", 1), ("b", 2)):
            folder = os.path.join(cls.models, name)
            exported.train(folder, "mlp", exported.params(hidden=[6]), seed)
            exported.export(folder, "--rows", "1500")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.models)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="laird-plugin-")
        self.out = os.path.join(temporary.name, "models")
        self.addCleanup(temporary.cleanup)

    def promote(self, *more, name="a", mode="ok", code=0):
        done = exported.said(
            PROMOTE, "build", os.path.join(self.models, name, "model.onnx"), "--out", self.out,
            "--plugin", PLUGIN, "--trtexec", "/no/such/trtexec", *more,
            env=dict(os.environ, FAKE_NVINFER=mode, LD_LIBRARY_PATH=LIBRARIES))
        self.assertEqual(done.returncode, code, done)
        return done.stdout

    def current(self):
        with open(os.path.join(self.out, "current", "promoted.json")) as file:
            return json.load(file)

    def test_engines_are_built_verified_and_timed(self):
        self.assertIn("current: 000001 fp16", self.promote("--every"))
        about = self.current()
        print("TensorRT %s" % about["tensorrt"])
        self.assertEqual(about["backend"], "tensorrt")
        for attempt in about["attempts"]:
            self.assertTrue(attempt["good"], attempt)
            self.assertGreaterEqual(attempt["verdict"]["agreement"], 0.999)
            self.assertEqual(attempt["timings"][0]["batch"], 1)
            self.assertGreaterEqual(attempt["timings"][0]["runs"], 20)
        # What is there is not built again, and the timing cache fits.
        self.assertIn("fp16: cached", self.promote())
        self.assertIn("fp16: built", self.promote(name="b"))

    def test_wrong_answers_are_refused(self):
        self.assertIn("onnx: no engine is as good as the model", self.promote(mode="flipped"))

    def test_out_of_memory_is_one_sentence(self):
        self.promote("--precisions", "fp32", mode="no-memory")
        why = self.current()["attempts"][0]["why_not"]
        self.assertTrue(why.startswith("TensorRT ran out of memory; give it less"), why)
        self.assertNotIn("virtualMemoryBuffer", why)

    def test_without_a_device_tensorrt_is_not_touched(self):
        self.assertIn("onnx: no TensorRT on this board (CUDA finds no device",
                      self.promote(mode="no-device"))

    def test_a_timing_cache_that_does_not_fit_is_thrown_away(self):
        self.promote()
        cache = os.path.join(self.out, "cache")
        (timing,) = [n for n in os.listdir(cache) if n.startswith("timing_")]
        with open(os.path.join(cache, timing), "w") as file:
            file.write("of another board")
        self.assertIn("fp16: built", self.promote(name="b"))
        with open(os.path.join(cache, timing)) as file:
            self.assertEqual(file.read(), "times")


if __name__ == "__main__":
    unittest.main(verbosity=2)
