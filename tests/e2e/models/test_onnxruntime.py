"""What laird-train exports, judged by onnx and onnxruntime: 10,000 rows of each kind."""

import os
import tempfile
import unittest

import numpy
import onnx
import onnxruntime

import exported

ROWS = 10_000
FASHION = "/usr/share/datasets/fashion-mnist/"
# Of the logits. Half precision has 11 bits; sums of a few hundred products lose some of them.
TOLERANCE = {"onnx": 1e-4, "onnx_fp16": 5e-2}
AGREEMENT = {"onnx": 0.9999, "onnx_fp16": 0.998}


class OnnxRuntime(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="laird-onnx-")
        self.folder = temporary.name
        self.addCleanup(temporary.cleanup)

    def judge(self, folder, part):
        about = exported.about(folder)
        rows = exported.Rows(os.path.join(folder, about["held_out"]["file"]))
        self.assertEqual(rows.rows, ROWS)
        inputs = numpy.array(rows.inputs, numpy.float32).reshape(ROWS, rows.features)
        mine = numpy.array(rows.answers, numpy.float32).reshape(ROWS, rows.outputs)
        path = os.path.join(folder, about[part]["file"])
        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        answers = session.run([about["output"]["name"]], {about["input"]["name"]: inputs})[0]
        decided = ((lambda z: z[:, 0] > 0) if about["output"]["decision"] == "sign"
                   else (lambda z: z.argmax(axis=1)))
        agreed = float((decided(answers) == decided(mine)).mean())
        largest = float(numpy.abs(answers - mine).max())
        print("%s %s: %.4f%% of %d rows agree, largest difference %.3g"
              % (about["kind"], part, 100 * agreed, ROWS, largest))
        self.assertGreaterEqual(agreed, AGREEMENT[part])
        self.assertLessEqual(largest, TOLERANCE[part])
        if "probabilities" in [output.name for output in session.get_outputs()]:
            sums = session.run(["probabilities"], {about["input"]["name"]: inputs})[0].sum(axis=1)
            self.assertLess(float(numpy.abs(sums - 1).max()), 1e-4)

    def check(self, name, kind, values):
        folder = os.path.join(self.folder, name)
        exported.train(folder, kind, values)
        exported.export(folder, "--rows", str(ROWS))
        for part in TOLERANCE:
            self.judge(folder, part)

    def test_every_kind_on_columns_of_their_own_scale(self):
        data = {"format": "synthetic", "rows": 2 * ROWS, "features": 30, "classes": 6, "noise": 2}
        for kind in exported.KINDS:
            self.check(kind, kind, {"data": data, "epochs": 2, "held_out": 0.5})

    def test_one_class_against_the_rest(self):
        data = {"format": "synthetic", "rows": 2 * ROWS, "features": 30, "classes": 6, "noise": 2}
        self.check("one", "svm",
                   {"data": data, "epochs": 2, "held_out": 0.5, "positive_class": 2})

    @unittest.skipUnless(os.path.isdir(FASHION), "dataset-fashion-mnist is not installed")
    def test_every_kind_on_pixels(self):
        data = {"format": "idx", "images": FASHION + "train-images-idx3-ubyte.gz",
                "labels": FASHION + "train-labels-idx1-ubyte.gz"}
        for kind in exported.KINDS:
            self.check("pixels-" + kind, kind,
                       {"data": data, "epochs": 1, "held_out": 0.5, "limit_rows": 2 * ROWS})


if __name__ == "__main__":
    unittest.main(verbosity=2)
